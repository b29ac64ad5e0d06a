"""The sentence that names the best system."""

import pytest

import dialoscope as ds


@pytest.fixture(scope="module")
def run(sample):
    return ds.evaluate(ds.read(sample), ["rouge-l", "repetition-1", "words"])


def last_notes(run, *metrics):
    return [line for line in ds.compare(run, metrics=list(metrics)).notes() if line.startswith("Best on ")]


def test_one_metric_has_the_size_of_the_lead(run):
    (line,) = last_notes(run, "rouge-l")
    assert line == (
        "Best on rouge-l: attentive, 0.381 [0.344, 0.419] ahead of parrot and significantly better than "
        "every other system (Holm-corrected p ≤ .001)."
    )


def test_rivals_are_named_where_the_best_is_not_sure(run):
    (line,) = last_notes(run, "rated:fluency")
    assert line.startswith(
        "Best on rated:fluency: generic, 0.053 [-0.035, 0.143] ahead of attentive and not "
    )
    assert "not significantly better than attentive (" in line


def test_a_lead_is_positive_where_less_is_better(run):
    (line,) = last_notes(run, "repetition-1")
    assert line.startswith("Best on repetition-1: generic, 0.036 [0.02")


def test_metrics_with_the_same_verdict_share_a_sentence(run):
    lines = last_notes(run, "rouge-l", "rated:coherence", "words")
    assert lines == [
        "Best on rouge-l, rated:coherence: attentive, significantly better than every other system."
    ]


def test_a_metric_without_a_better_end_and_a_single_pair_have_no_best(run):
    assert last_notes(run, "words") == []
    notes = ds.compare(run, "generic", "parrot", metrics=["rouge-l"]).notes()
    assert not [line for line in notes if line.startswith("Best on ")]
