"""Systems of two runs."""

from dataclasses import replace

import numpy as np
import pytest

import dialoscope as ds
from dialoscope.runs.union import union

ASKED = [f"how is number {place}?" for place in range(12)]


def replies(system, extra, ids="{}", asked=ASKED):
    return [
        ds.Example(ids.format(place), system, "well " * (place % 4 + extra), (question,), ("well well",))
        for place, question in enumerate(asked)
    ]


def run(*systems, metrics=("words", "rouge-1", "distinct-1"), **settings):
    return ds.evaluate([one for each in systems for one in each], list(metrics), **settings)


def test_the_same_system_yesterday_and_today():
    old, new = run(replies("bot", 1)), run(replies("bot", 2))
    found = ds.compare(old, other=new)
    one = found.contrast("words", "1:bot", "2:bot")
    assert (one.difference, one.contexts, one.a_only, one.b_only) == (1, 12, 0, 0)
    again = ds.compare(run(replies("old", 1), replies("new", 2)), "old", "new")
    for ours, theirs in zip(found.contrasts, again.contrasts, strict=True):
        assert (ours.a_value, ours.b_value, ours.verdict) == (theirs.a_value, theirs.b_value, theirs.verdict)
        expected = (theirs.low, theirs.high, theirs.p)
        assert (ours.low, ours.high, ours.p) == pytest.approx(expected, abs=0.03, nan_ok=True)


def test_runs_may_be_named_by_their_folders(tmp_path):
    old, new = run(replies("bot", 1)), run(replies("bot", 2))
    folder = new.save(tmp_path / "new")
    assert ds.compare(old, other=folder).json() == ds.compare(old, other=new).json()


def test_one_system_in_each_run_needs_no_name():
    found = ds.compare(run(replies("old", 1)), other=run(replies("new", 2)), metrics=["words"])
    assert [(one.a, one.b, one.difference) for one in found.contrasts] == [("old", "new", 1)]


def test_each_with_its_namesake_and_others_by_name():
    old = run(replies("bot", 1), replies("cat", 2), replies("gone", 1))
    new = run(replies("bot", 3), replies("cat", 1), replies("come", 1))
    found = ds.compare(old, other=new, metrics=["words"])
    assert [(one.a, one.b, one.difference) for one in found.contrasts] == [
        ("1:bot", "2:bot", 2),
        ("1:cat", "2:cat", -1),
    ]
    named = ds.compare(old, "gone", "come", other=new, metrics=["words"])
    assert [(one.a, one.b) for one in named.contrasts] == [("gone", "come")]
    alike = ds.compare(old, "bot", other=new, metrics=["words"])
    assert [(one.a, one.b) for one in alike.contrasts] == [("1:bot", "2:bot")]
    based = ds.compare(old, baseline="1:bot", other=new, metrics=["words"])
    assert len(based.contrasts) == 5
    asked = [f"how is number {place}?" for place in range(24)]
    old = run(replies("bot", 1, asked=asked), replies("cat", 2, asked=asked))
    new = run(replies("bot", 3, asked=asked), replies("cat", 1, asked=asked))
    gated = ds.compare(old, other=new, gates=["rouge-1>=-1"], metrics=["words"])
    assert [(one.b, one.verdict) for one in gated.verdicts] == [("2:bot", "passed"), ("2:cat", "passed")]


def test_no_name_in_common_is_told():
    with pytest.raises(
        ds.DialoscopeError, match=r"No system has the same name .* the first has a, b, the second c"
    ):
        ds.compare(run(replies("a", 1), replies("b", 1)), other=run(replies("c", 1)))


def test_replies_are_matched_by_ids_where_systems_share_them():
    """Two systems with ids in common are items by id, a single one by context: the ids tell."""
    old, new = run(replies("bot", 1), replies("other", 1)), run(replies("bot", 2)[3:])
    for first, second in ((old, new), (new, old)):
        found = ds.compare(first, "1:bot", "2:bot", other=second, metrics=["words"])
        assert found.contrasts[0].contexts == 9
        assert abs(found.contrasts[0].difference) == 1


def test_replies_are_matched_by_contexts_where_ids_have_changed():
    old, new = run(replies("bot", 1)), run(replies("bot", 2, ids="row-{}"))
    assert ds.compare(old, other=new).contrasts[0].contexts == 12


def test_other_contexts_under_the_same_ids_are_not_the_same():
    asked = ["something else?", *ASKED[1:]]
    found = ds.compare(run(replies("bot", 1)), other=run(replies("bot", 2, asked=asked)))
    assert (found.contrasts[0].contexts, found.contrasts[0].a_only) == (11, 1)
    with pytest.raises(ds.DialoscopeError, match="have not answered one context in common"):
        ds.compare(run(replies("bot", 1)), other=run(replies("bot", 2, asked=[f"{one}!" for one in ASKED])))


def test_metrics_that_one_run_lacks_are_left_out_and_told():
    old, new = run(replies("bot", 1)), run(replies("bot", 2), metrics=["words", "entropy-1"])
    found = ds.compare(old, other=new)
    assert [one.metric for one in found.contrasts] == ["words"]
    assert found.notes()[:2] == [
        "Only the first run has distinct-1, rouge-1.",
        "Only the second run has entropy-1.",
    ]
    with pytest.raises(
        ds.DialoscopeError, match="In the second run: This run has no rouge-1; it has: words, entropy-1"
    ):
        ds.compare(old, other=new, metrics=["rouge-1"])
    with pytest.raises(ds.DialoscopeError, match="In the second run: This run has no rouge-1"):
        ds.compare(old, other=new, gates=["rouge-1>=0"])
    with pytest.raises(ds.RunError, match="no metric in common: the first has words, the second entropy-1"):
        ds.compare(
            run(replies("bot", 1), metrics=["words"]), other=run(replies("bot", 1), metrics=["entropy-1"])
        )


def varied(word):
    return [
        replace(one, response=f"{one.response} {word[:place]}") for place, one in enumerate(replies("bot", 1))
    ]


def test_numbers_on_different_scales_are_refused():
    metrics = ["coherence:lm=fake", "words"]
    old, new = run(varied("zebra"), metrics=metrics), run(varied("ox"), metrics=metrics)
    with pytest.raises(
        ds.RunError,
        match=r"coherence:lm=fake has a scale of its own in each run.*floor:.* and .*Score one .*scales-from",
    ):
        ds.compare(old, other=new)
    assert ds.compare(old, other=new, metrics=["words"]).contrasts[0].difference == 0
    like = run(varied("ox"), metrics=metrics, scales_from=old)
    assert [one.metric for one in ds.compare(old, other=like).contrasts] == metrics


def test_what_was_scored_with_another_model_is_refused():
    metrics = ["fluency:lm=fake,scale=raw", "words"]
    old, new = run(replies("bot", 1), metrics=metrics), run(replies("bot", 2), metrics=metrics)
    other = dict.fromkeys(new.provenance.models, "sha256:other")
    changed = replace(new, provenance=replace(new.provenance, models=other))
    with pytest.raises(
        ds.RunError,
        match=r"The model behind fluency:lm=fake.* is not the same in both runs: .* sha256:other in the sec",
    ):
        ds.compare(old, other=changed)
    assert ds.compare(old, other=changed, metrics=["words"]).contrasts[0].difference == 1


def test_ratings_of_both_runs_are_compared():
    def rated(extra, value):
        said = [ds.Rating(str(place), "bot", "overall", "r", value + place % 2) for place in range(12)]
        return ds.evaluate(ds.Replies.of(replies("bot", extra), said), ["words"])

    found = ds.compare(rated(1, 2.0), other=rated(1, 3.0), metrics=["rated:overall"])
    assert [(one.metric, one.difference) for one in found.contrasts] == [("rated:overall", 1.0)]


def test_joined_runs_keep_what_each_had():
    old, new = run(replies("bot", 1), replies("cat", 1)), run(replies("bot", 2), replies("dog", 1))
    both = union(old, new)
    assert both.systems == ("1:bot", "cat", "2:bot", "dog")
    assert both.score("distinct-1", "2:bot") == new.score("distinct-1", "bot")
    assert np.array_equal(
        both.values("rouge-1"), np.concatenate([old.values("rouge-1"), new.values("rouge-1")])
    )
    with pytest.raises(ds.RunError, match="Two systems would be called '1:bot'; rename one of them"):
        union(run(replies("bot", 1), replies("1:bot", 1)), new)


def test_rows_left_out_are_counted_together():
    old, new = run(replies("bot", 1)), run(replies("bot", 2))
    skipped = replace(old, provenance=replace(old.provenance, skipped=1, warnings=("Odd.",)))
    assert skipped.provenance.notices() == ["1 malformed row was left out.", "Odd."]
    assert union(skipped, skipped).provenance.notices() == ["2 malformed rows were left out."]
    assert union(new, new).provenance.notices() == []
