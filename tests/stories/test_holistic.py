"""The four aspects of a dialogue system, from one file of replies."""

import json
import math

import pytest

import dialoscope as ds
from tests.conftest import ROOT

VARIANTS = ROOT / "examples" / "variants.jsonl"
FAKE = {"coherence": "lm", "fluency": "lm", "self-consistency": "nli"}


def faked():
    """The suite with stand-ins for its models."""
    for one in ds.suite("holistic"):
        model = FAKE.get(one.name)
        yield ds.metric(f"{one.name}:{model}=fake") if model else one


@pytest.fixture
def four(sample):
    return ds.evaluate(ds.read(sample, VARIANTS), list(faked()), missing="leave-out")


def test_the_suite_has_four_aspects_and_diversity_as_the_authors_code_has_it():
    assert [str(one) for one in ds.suite("holistic")] == [
        "coherence",
        "fluency",
        "diversity-2",
        "self-consistency",
    ]


UNNAMED = (
    "For {} of {} replies the data do not say who replies and who said each turn before; "
    "for self-consistency turns are taken to alternate."
)


def test_every_system_has_all_four(four):
    assert not any(math.isnan(four.score(one, system)) for one in four.metrics for system in four.systems)
    assert four.provenance.warnings == (UNNAMED.format(252, 336),)


def test_replies_that_lack_something_are_undefined_and_counted(four):
    cell = four.table().cell("parrot", "diversity-2")
    assert (cell.replies, cell.undefined, cell.beside["n"]) == (84, 44, 8)
    assert "diversity-2 is undefined for 176 of 336 replies." in four.table().notes()
    assert any(", 44 of 84 of parrot" in note for note in four.table().notes(details=True))


def test_what_nobody_has_data_for_is_left_out_and_told(sample):
    result = ds.evaluate(ds.read(sample), list(faked()), missing="leave-out")
    assert not any(one.name == "diversity" for one in result.metrics)
    assert result.provenance.warnings == (
        "No reply has group, so these were left out: diversity-2.",
        UNNAMED.format(132, 176),
    )


def test_the_variants_are_what_their_readme_says(sample):
    rows = [json.loads(line) for line in VARIANTS.read_text(encoding="utf-8").splitlines()]
    queries = {(row["group"], row["variant"]): row["context"][-1] for row in rows}
    assert len(rows) == 160
    assert len({row["group"] for row in rows}) == 8
    assert len(set(queries.values())) == len(queries) == 40
    originals = {tuple(row["context"]) for row in rows if row["variant"] == "original"}
    assert originals <= {example.context for example in ds.read(sample)}


def test_the_sample_tells_who_varies_and_who_does_not(four):
    scores = {system: four.score("diversity-2", system) for system in four.systems}
    assert min(scores, key=scores.get) == "generic"
    assert scores["parrot"] < scores["attentive"]
    beside = {system: four.table().cell(system, "diversity-2").beside for system in four.systems}
    # The rambler says much, but much the same to variants of one query; the attentive one does not.
    kept = {system: beside[system]["unrelated"] - scores[system] for system in four.systems}
    assert kept["rambler"] > 5 * kept["attentive"]
