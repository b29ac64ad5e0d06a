"""Self-consistency: which pairs are judged, what is made of them, and which turn is to blame."""

import json
import math
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from scipy import stats

import dialoscope as ds
from dialoscope.core.errors import DialoscopeError
from dialoscope.metrics import metrics
from dialoscope.models.classifier import TransformerClassifier
from dialoscope.models.fakes import FakeClassifier
from dialoscope.models.protocols import Pair

OVER = "self-consistency:nli=fake,over=mean/max/last"


def reply(text, *context, name="1", system="s"):
    return ds.Example(name, system, text, context)


@dataclass(frozen=True)
class Recorded(FakeClassifier):
    """Answers with what it was told for each pair, and remembers what it was asked."""

    told: ClassVar[Mapping[Pair, float]] = {}
    asked: ClassVar[list[Pair]] = []

    def classify(self, pairs):
        self.asked.extend(pairs)
        against = np.array([self.told[pair] for pair in pairs])
        return np.stack([(1 - against) / 2, (1 - against) / 2, against], axis=1)


@pytest.fixture
def recorded(monkeypatch):
    def telling(told):
        monkeypatch.setattr(Recorded, "told", {Pair(*pair): value for pair, value in told.items()})
        monkeypatch.setattr(Recorded, "asked", [])
        return Recorded()

    return telling


THREE = {("I hike", "I sit"): 0.9, ("I swim", "I sit"): 0.2, ("I run", "I sit"): 0.4}
TALK = ("I hike", "do you?", "I swim", "often?", "I run", "now?")


def test_the_reply_is_held_against_each_earlier_turn_of_its_speaker(recorded):
    nli = recorded(THREE)
    chosen = [ds.SelfConsistency(nli=nli, over=over) for over in ("mean", "max", "last")]
    result = ds.evaluate([reply("I sit", *TALK)], chosen)
    assert Recorded.asked == [Pair("I hike", "I sit"), Pair("I swim", "I sit"), Pair("I run", "I sit")]
    assert [result.score(one, "s") for one in chosen] == pytest.approx([0.5, 0.1, 0.6])
    assert len(result.tallies) == 1  # all three from the same judgements


def test_a_speaker_who_began_is_the_one_who_goes_on(recorded):
    nli = recorded({("I hike", "I sit"): 0.5})
    ds.evaluate([reply("I sit", "hello", "I hike", "do you?")], ds.SelfConsistency(nli=nli))
    assert Recorded.asked == [Pair("I hike", "I sit")]


def spoken(text, *turns, by):
    """A reply whose context says who spoke."""
    names, said = zip(*turns, strict=True)
    return ds.Example("1", "s", text, said, speakers=(*names, by))


DOGS = (("bot", "I do not have a dog."), ("human", "Oh."), ("human", "Really?"))


def test_speakers_that_the_data_name_are_those_whose_turns_count(recorded):
    nli = recorded({("I do not have a dog.", "I have a dog."): 0.998})
    result = ds.evaluate([spoken("I have a dog.", *DOGS, by="bot")], ds.SelfConsistency(nli=nli))
    assert Recorded.asked == [Pair("I do not have a dog.", "I have a dog.")]
    assert result.score(result.metrics[0], "s") == pytest.approx(0.002)
    assert result.provenance.warnings == ()


def test_a_speaker_who_has_not_spoken_contradicts_nobody():
    example = spoken("I have a dog.", *DOGS, by="")
    assert math.isnan(
        ds.evaluate([example], "self-consistency:nli=fake").score("self-consistency:nli=fake", "s")
    )


def test_without_names_speakers_are_assumed_to_alternate_and_the_run_says_so(recorded):
    nli = recorded({("Oh.", "I have a dog."): 0.03})
    unnamed = ds.Example("1", "s", "I have a dog.", tuple(text for _, text in DOGS))
    result = ds.evaluate([unnamed, reply("yes", "tea?", name="2")], ds.SelfConsistency(nli=nli))
    assert Recorded.asked == [Pair("Oh.", "I have a dog.")]
    assert result.provenance.warnings == (
        "For 1 of 2 replies the data do not say who replies and who said each turn before; "
        "for self-consistency turns are taken to alternate.",
    )


@pytest.mark.parametrize(
    "row",
    [
        {"turns": [{"speaker": who, "text": text} for who, text in (*DOGS, ("bot", "I have a dog."))]},
        {
            "turns": [text for _, text in (*DOGS, ("", "I have a dog."))],
            "speakers": ["bot", "human", "human", "bot"],
        },
        {"context": [{"speaker": who, "text": text} for who, text in DOGS], "response": "I have a dog."},
        {"context": [{"role": who, "content": text} for who, text in DOGS], "response": "I have a dog."},
        {
            "context": [text for _, text in DOGS],
            "speakers": ["bot", "human", "human"],
            "response": "I have a dog.",
        },
        {
            "context": [text for _, text in DOGS],
            "speakers": ["A", "B", "B", "A"],
            "response": "I have a dog.",
        },
        {"context": [text for _, text in DOGS], "speakers": ["A", "B", "B"], "response": "I have a dog."},
        {"context": [text for _, text in DOGS], "speakers": "ABB", "response": "I have a dog."},
    ],
    ids=["turns", "plain turns", "context", "roles", "column", "with the replier", "two people", "letters"],
)
def test_speakers_travel_from_the_file_to_the_metric(row, recorded, tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"id": "e", **row}) + "\n", encoding="utf-8")
    nli = recorded({("I do not have a dog.", "I have a dog."): 0.998})
    ds.evaluate(ds.read(path), ds.SelfConsistency(nli=nli), missing="undefined")
    assert Recorded.asked[-1:] == [Pair("I do not have a dog.", "I have a dog.")]
    assert len(Recorded.asked) == 1


@pytest.mark.parametrize(
    "example",
    [
        reply("yes", "tea?"),
        reply("", "I hike", "do you?"),
        reply(" \n", "I hike", "do you?"),
        reply("yes", " ", "do you?"),
        reply("yes"),
    ],
    ids=["nothing said before", "empty reply", "blank reply", "blank before", "no context"],
)
def test_where_there_is_nothing_to_contradict_it_is_undefined(example):
    result = ds.evaluate([example], metrics(OVER), missing="undefined")
    for one in result.metrics:
        assert math.isnan(result.score(one, "s"))
        assert result.table().cell("s", str(one)).undefined == 1
        assert result.explanations(one) == []


def test_blank_turns_are_passed_over(recorded):
    nli = recorded({("I hike", "I sit"): 0.75})
    result = ds.evaluate(
        [reply("I sit", "I hike", "do you?", "", "what?")], ds.SelfConsistency(nli=nli, over="last")
    )
    assert result.score(result.metrics[0], "s") == 0.25


def test_a_pair_without_a_judgement_does_not_count(recorded):
    nli = recorded({**THREE, ("I swim", "I sit"): math.nan, ("?", "no"): math.nan})
    examples = [reply("I sit", *TALK), reply("no", "?", "what?", name="2")]
    result = ds.evaluate(examples, ds.SelfConsistency(nli=nli))
    assert result.values(result.metrics[0]) == pytest.approx([0.35, math.nan], nan_ok=True)


def test_a_system_has_the_mean_of_its_replies(recorded):
    nli = recorded({("a", "b"): 0.5, ("c", "d"): 0.0})
    examples = [reply("b", "a", "?"), reply("d", "c", "?", name="2"), reply("e", "only one", name="3")]
    result = ds.evaluate(examples, ds.SelfConsistency(nli=nli))
    assert result.score(result.metrics[0], "s") == 0.75


def test_the_turn_contradicted_most_is_the_explanation(recorded):
    nli = recorded({**THREE, ("so", "no"): 0.95})
    examples = [reply("I sit", *TALK), reply("no", "hm", "so", "?", name="2", system="t")]
    result = ds.evaluate(examples, ds.SelfConsistency(nli=nli))
    worst, other = result.explanations(result.metrics[0])
    assert (worst.id, worst.system, worst.turn, worst.strength) == ("2", "t", 2, 0.95)
    assert (other.id, other.turn, other.strength, other.value) == ("1", 1, 0.9, 0.5)


def test_of_turns_contradicted_alike_the_latest_explains(recorded):
    nli = recorded({("a", "b"): 0.5, ("c", "b"): 0.5})
    result = ds.evaluate([reply("b", "a", "?", "c", "?")], ds.SelfConsistency(nli=nli))
    assert result.explanations(result.metrics[0])[0].turn == 3


def test_other_metrics_explain_nothing():
    result = ds.evaluate([reply("yes", "tea?")], "words")
    with pytest.raises(DialoscopeError, match="words cannot explain its values; self-consist"):
        result.explanations("words")


@dataclass(frozen=True)
class Nameless(FakeClassifier):
    """Does not say what its classes are."""

    labels: ClassVar[tuple[str, ...]] = ("label_0", "label_1", "label_2")

    def classify(self, pairs):
        raise AssertionError("asked although it cannot answer")


def test_a_model_that_knows_no_contradiction_is_refused_before_anything_is_computed():
    first = ds.SelfConsistency(nli=FakeClassifier())
    with pytest.raises(ds.MetricError) as refused:
        ds.evaluate([reply("I sit", *TALK)], [first, ds.SelfConsistency(nli=Nameless())])
    assert str(refused.value) == (
        "self-consistency: fake has no class 'contradiction', but label_0, label_1, label_2. Name a model "
        "for natural language inference whose configuration (id2label) says what its classes are."
    )


def test_no_metric_computes_before_the_model_is_refused():
    Recorded.asked.clear()
    with pytest.raises(ds.MetricError, match="has no class 'contradiction'"):
        ds.evaluate(
            [reply("I sit", *TALK)], [ds.SelfConsistency(nli=Recorded()), ds.SelfConsistency(nli=Nameless())]
        )
    assert Recorded.asked == []


@pytest.mark.parametrize(
    ("text", "nli", "over"),
    [
        ("self-consistency:nli=fake", FakeClassifier(), "mean"),
        ("self-consistency:nli=org/model,over=max", TransformerClassifier("org/model"), "max"),
        ("self-consistency:variant=pang-code,nli=a/b", TransformerClassifier("a/b"), "last"),
        ("self-consistency:nli.dtype=bfloat16", TransformerClassifier("nli", dtype="bfloat16"), "mean"),
    ],
)
def test_a_text_names_it(text, nli, over):
    (found,) = metrics(text)
    assert (found.nli, found.over) == (nli, over)
    assert metrics(str(found)) == [found]


def test_a_real_classifier_is_asked_for_each_pair_once(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    from dialoscope.models.engines import encoder as encoder_engine
    from tests.unit.models.tiny_encoders import save_classifier

    monkeypatch.setenv("DIALOSCOPE_SCORES", "off")
    labels = {0: "CONTRADICTION", 1: "NEUTRAL", 2: "ENTAILMENT"}
    folder = save_classifier("bert", tmp_path / "bert", id2label=labels)
    asked: list[Pair] = []
    plain = encoder_engine.ClassifierEngine.probabilities

    def counting(engine, pairs, places):
        asked.extend(pairs[place] for place in places)
        return plain(engine, pairs, places)

    monkeypatch.setattr(encoder_engine.ClassifierEngine, "probabilities", counting)
    model = TransformerClassifier(str(folder), device="cpu")
    examples = [reply("I sit", *TALK, name=f"{i}", system=system) for i in range(2) for system in "ab"]
    chosen = [ds.SelfConsistency(nli=model, over=over) for over in ("mean", "max", "last")]
    result = ds.evaluate(examples, chosen)
    assert sorted(Counter(asked).values()) == [1, 1, 1]
    expected = model.classify([Pair(*pair) for pair in THREE])[:, 0]
    assert result.values(chosen[0]) == pytest.approx([1 - expected.mean()] * 4)
    assert result.values(chosen[1]) == pytest.approx([1 - expected.max()] * 4)


def test_a_real_classifier_without_names_for_its_classes_is_refused(tmp_path):
    pytest.importorskip("torch")
    from tests.unit.models.tiny_encoders import save_classifier

    folder = save_classifier("bert", tmp_path / "bert", num_labels=3)
    with pytest.raises(ds.MetricError, match="has no class 'contradiction', but label_0, label_1, label_2"):
        ds.evaluate([reply("I sit", *TALK)], ds.SelfConsistency(nli=TransformerClassifier(str(folder))))


class Released:
    """The authors' replies under WordNet substitution, whose stored judgements are sound."""

    def __init__(self, corpora):
        lines = (corpora / "rated" / "pang2020" / "self_consistency.jsonl").read_text(encoding="utf-8")
        rows = [json.loads(line) for line in lines.splitlines()]
        self.rows = [row for row in rows if not row["gold"]["gold_is_corrupt"]]
        self.examples = [
            ds.Example(row["id"], "agent", row["response"], tuple(row["context"])) for row in self.rows
        ]
        self.judged = [each for row in self.rows for each in row["gold"]["author_nli"]]
        self.pairs = [Pair(each["premise"], each["hypothesis"]) for each in self.judged]
        self.probabilities = [each["p_contradiction"] for each in self.judged]
        self.people = [np.mean(row["ratings"]["self_consistency"]) for row in self.rows]


@pytest.fixture(scope="module")
def released(corpora):
    return Released(corpora)


@pytest.mark.corpora
def test_the_stored_judgements_give_the_authors_scores_and_correlation(released, recorded):
    nli = recorded(dict(zip(released.pairs, released.probabilities, strict=True)))
    one = ds.SelfConsistency(nli=nli, **ds.SelfConsistency.variants["pang-code"])
    values = ds.evaluate(released.examples, one).values(one)
    assert len(released.pairs) == 281
    assert Counter(Recorded.asked) == Counter(released.pairs)  # the very pairs that the authors judged
    assert 5 * values == pytest.approx([row["gold"]["author_system_score"] for row in released.rows])
    assert stats.pearsonr(values, released.people).statistic == pytest.approx(0.589, abs=5e-4)
    assert stats.spearmanr(values, released.people).statistic == pytest.approx(0.641, abs=5e-4)


@pytest.mark.corpora
def test_roberta_large_mnli_judges_as_it_did_for_the_authors(released, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setenv("DIALOSCOPE_OFFLINE", "1")  # it has 1.4 GB: used where it is, never fetched for a test
    name = os.environ.get("DIALOSCOPE_ROBERTA_LARGE_MNLI", "FacebookAI/roberta-large-mnli")
    nli = TransformerClassifier(name)
    try:
        column = nli.labels.index("contradiction")
    except DialoscopeError as absent:
        pytest.skip(
            f"roberta-large-mnli is not here; name its folder in DIALOSCOPE_ROBERTA_LARGE_MNLI: {absent}"
        )
    found = nli.classify(released.pairs)[:, column]
    assert found == pytest.approx(released.probabilities, abs=2e-3)
