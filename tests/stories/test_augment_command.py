"""Asking in other words at the command line."""

import inspect
import json
import re
import sys

import pytest

import dialoscope as ds
from dialoscope.cli.augment import augment as command
from dialoscope.core.errors import AssetError
from dialoscope.models.registry import locate
from scripts import documents
from tests.conftest import ROOT

pytestmark = pytest.mark.processor

PAGE = ROOT / "docs" / "augment.md"


@pytest.fixture(autouse=True, scope="module")
def models():
    """Without the tagger, the lexicon and the encoder there is nothing to show."""
    try:
        for name in ("spacy-tagger", "wordnet", "minilm"):
            locate(name)
    except AssetError as lacking:
        pytest.skip(str(lacking))


@pytest.fixture
def data(tmp_path):
    rows = [
        {"id": "a", "context": ["Hi.", "Do you want to buy a car?"], "response": "No.", "topic": "cars"},
        {"id": "b", "context": ["Ok."], "response": "So?", "topic": "none"},
    ]
    path = tmp_path / "data.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def rows(text):
    return [json.loads(line) for line in text.splitlines()]


def test_rows_on_standard_output_and_what_was_made_on_standard_error(data, cli):
    code, out, err = cli("augment", data)
    assert code == 0
    made = rows(out)
    assert made[0]["variant"] == "original"
    assert {row["group"] for row in made} == {"a"}
    assert {row["topic"] for row in made} == {"cars"}
    assert all(row["context"][0] == "Hi." and "response" not in row for row in made)
    assert err.splitlines()[0] == "2 queries, 4 variants: all 4 for 1, fewer for 0, none for 1 (left out)."
    assert "1 query: no verb with a suitable synonym." in err


def test_the_command_line_makes_the_rows_of_python(data, cli):
    _, out, _ = cli("augment", data, "-k", "2", "--min-similarity", "0.9", "--seed", "5")
    assert rows(out) == list(ds.augment(data, k=2, min_similarity=0.9, seed=5))


def test_the_defaults_are_those_of_python():
    ours, theirs = (inspect.signature(one).parameters for one in (command, ds.augment))
    for name in set(theirs) - {"data"}:
        assert ours[name].default == theirs[name].default, name


def test_a_file_is_written_and_not_lost(data, cli, tmp_path):
    path = tmp_path / "variants.jsonl"
    code, out, err = cli("augment", data, "-o", path)
    assert (code, out) == (0, "")
    before = path.read_text()
    assert rows(before) == list(ds.augment(data))
    code, _, err = cli("augment", data, "-o", path)
    assert code == 2
    assert "variants.jsonl exists already; choose another name, or replace a file with --overwrite." in err
    assert cli("augment", data, "-o", path, "--overwrite", "-k", "1")[0] == 0
    assert len(path.read_text().splitlines()) < len(before.splitlines())


def test_variants_are_scored_like_any_replies(data, cli, tmp_path):
    answered = tmp_path / "answered.jsonl"
    made = [{**row, "system": "bot", "response": "No, thanks."} for row in ds.augment(data)]
    answered.write_text("".join(json.dumps(row) + "\n" for row in made))
    assert {example.group for example in ds.read(answered)} == {"a"}
    assert cli("score", answered, "-m", "distinct-2")[0] == 0


def test_asking_again_follows_the_reply(data, cli):
    _, out, _ = cli("augment", data, "--ask", "again", "-k", "1")
    original, variant = rows(out)
    assert original["context"] == ["Hi.", "Do you want to buy a car?", "No.", "Do you want to buy a car?"]
    assert variant["context"][:3] == original["context"][:3]
    assert variant["context"][3] != original["context"][3]


def test_a_system_is_asked_its_own_rows_again(cli):
    sample = ROOT / "examples" / "sample.jsonl"
    _, out, err = cli("augment", sample, "--ask", "again", "-k", "1", "--system", "generic", "--full")
    assert {row["system"] for row in rows(out)} == {"generic"}
    assert "systems" not in err
    _, _, err = cli("augment", sample, "--ask", "again", "-k", "1")
    assert "Replies of 4 systems; name one with --system, and ask it its own rows only." in err


def test_whole_dialogues_give_a_query_before_each_turn_of_the_system(cli, tmp_path):
    path = tmp_path / "people.jsonl"
    path.write_text(json.dumps({"id": "d", "turns": ["I want a dog.", "Why?", "I feel alone.", "Buy one."]}))
    _, out, _ = cli("augment", path)
    assert {row["group"]: len(row["context"]) for row in rows(out)} == {"d#2": 1, "d#4": 3}


def test_columns_can_be_called_otherwise_and_malformed_rows_left_out(cli, tmp_path):
    path = tmp_path / "odd.jsonl"
    path.write_text('{"id": 1, "asked": "I want a dog."}\n{"id": 2}\n')
    code, _, err = cli("augment", path, "--map", "context=asked")
    assert code == 2
    assert "--on-error skip" in err
    code, out, err = cli("augment", path, "--map", "context=asked", "--on-error", "skip", "-k", "1")
    assert code == 0
    assert len(rows(out)) == 2
    assert err.splitlines()[-1] == "1 malformed row: skipped."


def test_malformed_rows_are_counted_when_asking_again_too(cli, tmp_path):
    path = tmp_path / "odd.jsonl"
    path.write_text('{"id": 1, "context": ["I want a dog."], "response": "Why?"}\n{"id": 2}\n')
    code, out, err = cli("augment", path, "--ask", "again", "--on-error", "skip", "-k", "1")
    assert code == 0
    assert len(rows(out)) == 2
    assert err.splitlines()[-1] == "1 malformed row: skipped."


def test_other_languages_are_counted_and_nothing_is_printed(cli, tmp_path):
    path = tmp_path / "chinese.jsonl"
    path.write_text('{"id": 1, "context": ["买车吗？"]}\n', encoding="utf-8")
    code, out, err = cli("augment", path)
    assert (code, out) == (0, "")
    assert err.startswith("1 query, 0 variants: all 4 for 0, fewer for 0, none for 1 (left out).")


def test_a_generator_goes_on_from_the_history(data, cli):
    code, out, err = cli("augment", data, "--method", "generator", "--lm", "fake", "--encoder", "fake")
    assert code == 0, err
    assert "1 query: no turn before it that a generator could continue." in err
    code, out, err = cli("augment", data, "--method", "generator", "--lm", "fake", "--sample", "-k", "1")
    assert code == 0
    assert rows(out or "") == [] or rows(out)[1]["variant"].startswith("sample")


def test_a_server_without_beams_says_what_to_do(data, cli):
    code, _, err = cli("augment", data, "--method", "generator", "--lm", "http://127.0.0.1:9/v1#m")
    assert code == 2
    assert "servers have no beam search. Sample" in err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--method", "magic"), "There is no method 'magic'; choose one of: wordnet, generator."),
        (("--ask", "twice"), "ask is 'twice'; it must be one of: instead, again."),
        (
            ("--lm", "fake"),
            "A language model and sampling are settings of the generator: method='generator'.",
        ),
    ],
)
def test_what_makes_no_sense_is_told_in_a_line(data, cli, options, message):
    code, out, err = cli("augment", data, *options)
    assert (code, out, err) == (2, "", f"Error: {message}\n")


def test_the_page_shows_what_the_commands_print():
    text = PAGE.read_text(encoding="utf-8")
    assert documents.renewed(text) == text, "run: python scripts/documents.py"
    assert "```\n$ dialoscope augment" in text


def test_the_page_leads_somewhere():
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", PAGE.read_text(encoding="utf-8")):
        assert (PAGE.parent / target).exists(), target


FUNCTION_WORDS = """
    i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she
    her hers herself it its itself they them their theirs themselves what which who whom whose this that these
    those am is are was were be been being have has had having do does did doing done a an the and but if or
    because as until while of at by for with about against between into through during before after above
    below to from up down in out on off over under again further then once here there when where why how all
    any both each few more most other some such no nor not only own same so than too very can will just should
    now could would may might must shall ought n't 's 're 've 'll 'd 'm let's lets don't doesn't didn't won't
    can't couldn't wouldn't isn't aren't wasn't weren't haven't hasn't hadn't i'm i'll i've i'd you're you'll
    you've you'd he's she's it's we're we'll we've we'd they're they'll they've they'd that's there's what's
    yes hello hi bye goodbye thanks please okay ok oh ah well one two three four five six seven eight nine ten
    every another anyone anything anybody everyone everything everybody someone something somebody nobody
    nothing none either neither never always also even still already yet maybe perhaps quite rather almost
    without within upon among across along around behind beside besides beyond except since toward towards
    though although whether unless however therefore instead else ever everywhere anywhere somewhere
    mr mrs ms sir madam"""
"""Written for this test, from a grammar's point of view; the package has a list of its own."""


def tokens(text):
    return re.findall(r"[A-Za-z]+(?:['’][A-Za-z]+)?|\d+|[^\sA-Za-z\d]", text)


def fault(query, variant):
    """What is wrong with a variant: a function word that changed, or no content word that did."""
    old, new = tokens(query), tokens(variant)
    if len(old) != len(new):
        return "another number of words"
    changed = [(a.lower(), b.lower()) for a, b in zip(old, new, strict=True) if a != b]
    content = [pair for pair in changed if not set(pair) & set(FUNCTION_WORDS.split())]
    if not content:
        return "no content word changed"
    articles = {("a", "an"), ("an", "a")}  # these follow from the next word, and would be wrong otherwise
    if [pair for pair in changed if pair not in content and pair not in articles]:
        return f"a function word changed: {changed}"
    return ""


@pytest.mark.corpora
@pytest.mark.assets
def test_variants_of_real_queries_change_content_words_and_no_function_words(corpora, capsys):
    """Of 200 queries of DailyDialog's validation part: at least 95 % of the variants."""
    path = corpora / "dialogues" / "dailydialog" / "dailydialog_valid.jsonl"
    dialogues = [json.loads(line)["turns"] for line in path.read_text(encoding="utf-8").splitlines()]
    queries = [turns[:2] for turns in dialogues if len(turns) > 1][:200]
    made = ds.augment(queries)
    original = {row["group"]: row["context"][-1] for row in made if row["variant"] == "original"}
    variants = [row for row in made if row["variant"] != "original"]
    faults = [(row, why) for row in variants if (why := fault(original[row["group"]], row["context"][-1]))]
    with capsys.disabled():
        for row, why in faults:
            sys.stderr.write(f"\n{why}\n  {original[row['group']]}\n  {row['context'][-1]}\n")
        sys.stderr.write(f"\n{len(variants)} variants, {len(faults)} faults; {made.summary()}\n")
    assert len(variants) > 400
    assert len(faults) <= 0.05 * len(variants)
    for group, query in original.items():
        texts = [query, *(row["context"][-1] for row in variants if row["group"] == group)]
        assert len(set(texts)) == len(texts)
