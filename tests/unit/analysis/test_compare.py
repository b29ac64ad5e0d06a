"""Comparing systems of a run."""

import csv
import io
import json
import math

import numpy as np
import pytest
import scipy.stats

import dialoscope as ds
from dialoscope.analysis.comparison.contrast import detectable
from dialoscope.runs.differences import Difference, LeaveOuts
from dialoscope.runs.resampling import PairedSums, Resamples, halve_pairs, halves_p

METRICS = ["bleu-2", "rouge-l", "distinct-2", "repetition-1", "words"]


@pytest.fixture(scope="module")
def result(sample):
    return ds.evaluate(ds.read(sample), METRICS)


@pytest.fixture(scope="module")
def pair(result):
    return ds.compare(result, "generic", "parrot")


def test_a_row_for_each_metric_and_each_rated_aspect(pair, result):
    assert [one.metric for one in pair.contrasts] == [
        *METRICS,
        "rated:coherence",
        "rated:engagement",
        "rated:fluency",
    ]
    for one in pair.contrasts[:5]:
        assert one.a_value == result.score(one.metric, "generic")
        assert one.b_value == result.score(one.metric, "parrot")
        assert one.difference == one.b_value - one.a_value
        assert one.low < one.difference < one.high
        assert (one.contexts, one.a_only, one.b_only) == (44, 0, 0)
    coherence = pair.contrast("rated:coherence", "generic", "parrot")
    rows = result.rows("parrot")
    assert coherence.b_value == pytest.approx(result.ratings.means("coherence", 176)[rows].mean())


def test_verdicts_go_by_the_corrected_p_and_by_which_end_is_better(pair):
    verdicts = {one.metric: one.verdict for one in pair.contrasts}
    assert verdicts["rouge-l"] == "better"
    assert verdicts["repetition-1"] == "worse"
    assert verdicts["words"] == "differs"
    assert verdicts["rated:coherence"] == "unsure"
    assert all(one.p <= one.p_holm for one in pair.contrasts)
    assert all(one.sure == (one.p_holm < 0.05) for one in pair.contrasts)
    assert pair.contrast("rated:fluency", "generic", "parrot").p == pair.contrasts[-1].p
    with pytest.raises(
        ds.DialoscopeError, match="There is no bleu-2 of parrot and generic here; there is: bleu-2 of"
    ):
        pair.contrast("bleu-2", "parrot", "generic")


def test_holm_counts_everything_that_was_asked(result):
    few = ds.compare(result, "generic", "parrot", metrics=["rouge-l"])
    many = ds.compare(result, "generic", "parrot")
    assert [one.metric for one in few.contrasts] == ["rouge-l"]
    assert few.contrasts[0].p_holm == few.contrasts[0].p
    assert (
        many.contrast("rouge-l", "generic", "parrot").p_holm > many.contrast("rouge-l", "generic", "parrot").p
    )


def test_swapping_the_systems_turns_every_sign(result, pair):
    other = ds.compare(result, "parrot", "generic")
    turned = {"better": "worse", "worse": "better"}
    for ours, theirs in zip(pair.contrasts, other.contrasts, strict=True):
        assert theirs.difference == -ours.difference
        assert (theirs.low, theirs.high) == pytest.approx((-ours.high, -ours.low), rel=1e-9)
        assert (theirs.p, theirs.p_holm, theirs.detectable) == pytest.approx(
            (ours.p, ours.p_holm, ours.detectable)
        )
        assert theirs.effect == pytest.approx(-ours.effect, rel=1e-9, nan_ok=True)
        assert (theirs.higher, theirs.equal) == pytest.approx((ours.lower, ours.equal), nan_ok=True)
        assert theirs.verdict == turned.get(ours.verdict, ours.verdict)


def test_a_system_does_not_differ_from_itself(result):
    found = ds.compare(result, "parrot", other=result)
    assert {(one.a, one.b) for one in found.contrasts} == {("1:parrot", "2:parrot")}
    for one in found.contrasts:
        assert (one.difference, one.p, one.verdict) == (0, 1, "same")
        assert all(map(math.isnan, (one.low, one.high, one.detectable)))
    gated = ds.compare(result, "parrot", other=result, gates=["bleu-2>=0", "repetition-1<=0%"], strict=True)
    assert gated.passed


def test_the_order_of_rows_does_not_show(sample, result, pair):
    """Of the rows of the file, and of what is compared."""
    rows = list(ds.read(sample))
    mixed = [rows[place] for place in np.random.default_rng(0).permutation(len(rows))]
    again = ds.compare(ds.evaluate(mixed, METRICS[::-1]), "generic", "parrot", metrics=METRICS)
    plain = ds.compare(result, "generic", "parrot", metrics=METRICS)
    ours, theirs = (
        {row["metric"]: row for row in json.loads(one.json())["comparisons"]} for one in (plain, again)
    )
    assert ours == theirs
    assert ds.compare(result, "generic", "parrot").json() == pair.json()
    assert ds.compare(result, "generic", "parrot", seed=1).json() != pair.json()


def test_every_pair_and_the_order_of_all(result):
    found = ds.compare(result)
    assert len(found.contrasts) == 6 * 8
    orders = {one.metric: [(place.system, place.letters) for place in one.places] for one in found.orderings}
    assert orders["rouge-l"] == [("attentive", "a"), ("parrot", "b"), ("rambler", "b"), ("generic", "c")]
    assert orders["repetition-1"][0] == ("generic", "a")
    assert "Systems that share a letter are not surely different." in found.notes()
    assert not ds.compare(result, "generic", "parrot").orderings


def test_all_against_one(result):
    found = ds.compare(result, baseline="generic", metrics=["bleu-2"])
    assert [(one.a, one.b) for one in found.contrasts] == [
        ("generic", "attentive"),
        ("generic", "parrot"),
        ("generic", "rambler"),
    ]
    some = ds.compare(result, "rambler", baseline="generic", metrics=["bleu-2"])
    assert [(one.a, one.b) for one in some.contrasts] == [("generic", "rambler")]
    assert not found.orderings


def test_many_tests_can_still_be_sure(result):
    """Of 10,000 halves p can be so small that its correction for 48 tests leaves something."""
    found = ds.compare(result)
    assert min(one.p_holm for one in found.contrasts if one.metric == "rouge-l") < 0.01


def test_what_else_is_asked_does_not_show(result):
    every = ds.compare(result, "generic", "parrot")
    for one in every.contrasts:
        alone = ds.compare(result, "generic", "parrot", metrics=[one.metric]).contrasts[0]
        assert (alone.difference, alone.low, alone.high, alone.p) == (
            one.difference,
            one.low,
            one.high,
            one.p,
        )


def test_the_seed_shifts_a_p_by_little(result):
    """By no more than the standard error that so many halves have, times four."""
    found = [
        ds.compare(result, "generic", "parrot", metrics=["rated:coherence"], seed=seed).contrasts[0].p
        for seed in range(12)
    ]
    p = float(np.mean(found))
    assert np.ptp(found) < 4 * math.sqrt(2 * p / 10_000)
    assert 0.05 < p < 0.3


def test_p_and_interval_agree(result):
    for one in ds.compare(result).contrasts:
        if not math.isnan(one.low) and one.metric != "distinct-2":
            assert (one.p < 0.05) == (one.low > 0 or one.high < 0)


def test_contexts_that_one_alone_answered_are_left_out_and_counted():
    examples = [ds.Example(str(place), "a", "w " * (place + 1)) for place in range(12)]
    examples += [ds.Example(str(place), "b", "w " * (place + 2)) for place in range(2, 15)]
    found = ds.compare(ds.evaluate(examples, ["words", "distinct-1"]), "a", "b")
    one = found.contrast("words", "a", "b")
    assert (one.contexts, one.a_only, one.b_only) == (10, 2, 3)
    assert (one.a_value, one.b_value) == (7.5, 8.5)
    assert (
        "a and b: 10 contexts that both answered; left out: 2 that only a answered, 3 that only b answered."
        in found.notes()
    )


def test_what_is_not_known_is_told_with_the_reason():
    examples = [ds.Example(str(place), "a", "so it is", (), ("so it was",)) for place in range(4)]
    examples += [ds.Example(str(place), "b", "never mind") for place in range(4)]
    found = ds.compare(ds.evaluate(examples, ["rouge-1", "words"], missing="undefined"), "a", "b")
    one = found.contrast("rouge-1", "a", "b")
    assert (one.verdict, one.why) == ("–", "undefined for b")
    assert all(map(math.isnan, (one.difference, one.low, one.high, one.p, one.p_holm, one.effect, one.equal)))
    assert "rouge-1: undefined for b." in found.notes()
    few = "On 4 contexts no paired test can be sure of anything: with 95% confidence it takes 6."
    assert few in found.notes()
    rows = {row["metric"]: row for row in json.loads(found.json())["comparisons"]}
    assert rows["rouge-1"]["difference"] is None
    assert next(csv.DictReader(io.StringIO(found.csv())))["difference"] == ""


def test_a_metric_that_some_draws_lack_has_no_interval_and_says_so():
    examples = [ds.Example(str(place), name, "so it is") for name in "ab" for place in range(5)]
    examples[0] = ds.Example("0", "a", "so it is", (), ("so it was",))
    examples[5] = ds.Example("0", "b", "so it is", (), ("so it was",))
    found = ds.compare(ds.evaluate(examples, ["rouge-1"], missing="undefined"), "a", "b")
    assert found.contrasts[0].why == "undefined on some part of the contexts"
    assert found.contrasts[0].difference == 0


def test_contexts_without_a_value_of_both_are_counted():
    examples = [
        ds.Example(str(place), name, "so it is " * (place % 3 + 1)) for name in "ab" for place in range(9)
    ]
    ratings = [
        ds.Rating(one.id, one.system, "charm", "r", float(len(one.response)))
        for one in examples
        if (one.id, one.system) not in (("3", "a"), ("4", "b"))
    ]
    found = ds.compare(ds.evaluate(ds.Replies.of(examples, ratings), ["words"]), "a", "b")
    assert [(one.metric, one.contexts, one.defined) for one in found.contrasts] == [
        ("words", 9, 9),
        ("rated:charm", 9, 7),
    ]
    assert "rated:charm lacks a value of A or B in 2 contexts." in found.notes()


def test_chance_is_on_record(result):
    found = ds.compare(result, "generic", "parrot", draws=200, seed=5)
    kept = json.loads(found.json())
    assert (kept["draws"], kept["seed"]) == (200, 5)
    assert any(
        note.startswith("Intervals and tests are from 200 random") for note in found.notes(details=True)
    )


def test_too_many_tests_are_told(result):
    found = ds.compare(result, draws=100)
    assert any(
        "48 tests are so many that after the correction none can be sure" in one for one in found.notes()
    )
    assert not any("so many that" in one for one in ds.compare(result).notes())


def test_systems_that_say_unequally_much_are_told_apart_where_that_matters(result):
    told = [one for one in ds.compare(result, "generic", "parrot").notes() if "the number of words" in one]
    assert told == ["distinct-2 depends on the number of words: generic 179, parrot 534."]
    assert not any(
        "of words:" in one for one in ds.compare(result, "generic", "parrot", metrics="words").notes()
    )


def test_what_depends_on_how_much_there_is_is_compared_at_equal_numbers():
    rng = np.random.default_rng(0)
    examples = [
        said(place, name, " ".join(f"w{one}" for one in rng.integers(40, size=6)), more)
        for name, many in (("a", 1), ("b", 3), ("c", 2))
        for place in range(20)
        for more in range(many)
    ]
    result = ds.evaluate(examples, ["distinct-1", "words"])
    found = ds.compare(result)
    assert [one.chosen for one in found.contrasts] == [True] * 3 + [False] * 3
    assert all(one.verdict == "unsure" for one in found.contrasts[:3])
    told = (
        "distinct-1: at equal numbers of replies to each context, in which the systems differ; means over 20"
    )
    assert any(one.startswith(told) for one in found.notes())
    values = {place.system: place.value for place in found.orderings[0].places}
    assert values["a"] == pytest.approx(result.score("distinct-1", "a"))
    assert values["b"] > 1.5 * result.score("distinct-1", "b"), "of a third of its replies"


@pytest.mark.parametrize(
    ("systems", "settings", "message"),
    [
        (("generic",), {}, "There is nothing to compare generic with; name another system of the run"),
        (("generic", "generic"), {}, "System 'generic' is named twice"),
        (("generic", "bot"), {}, "There is no system 'bot' in this run; it has: attentive, generic"),
        ((), {"baseline": "bot"}, "There is no system 'bot' in this run"),
        (("generic",), {"baseline": "generic"}, "There is nothing to compare generic with"),
        (("generic", "examples"), {}, "say --with examples"),
        (("generic", "x" * 5000), {}, "There is no system 'xxx"),
        (("generic", ""), {}, "There is no system '' in this run; it has: attentive, generic"),
        (("generic", "parrot"), {"strict": True}, "need a gate; name what must hold with --gate"),
        ((), {"metrics": ["bleu-7"]}, "This run has no bleu-7; it has: bleu-2"),
        ((), {"metrics": ["blue"]}, "There is no metric 'blue'"),
        ((), {"metrics": ["rated:beauty"]}, "Nobody rated 'beauty'"),
        (("generic", "parrot"), {"gates": ["perplexity<=1"]}, "This run has no perplexity"),
        (("generic", "parrot"), {"gates": ["rated:beauty>=0"]}, "Nobody rated 'beauty'"),
        (("generic", "parrot"), {"gates": ["repetition-1>=-0.1"]}, "Write 'repetition-1<=0.1'"),
        ((), {"gates": ["bleu-2>=-1"]}, "A gate needs to know the old system"),
        ((), {"confidence": 0.3}, "confidence must be at least 0.5"),
        ((), {"confidence": 1.0}, "confidence must be at least 0.5 and below 1"),
        ((), {"draws": 0}, "draws at least 1"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_words(result, systems, settings, message, monkeypatch):
    from tests.conftest import ROOT

    monkeypatch.chdir(ROOT)
    with pytest.raises(ds.DialoscopeError, match=message):
        ds.compare(result, *systems, **settings)


def test_the_same_ids_do_not_help_where_contexts_tell():
    """Rows without ids are numbered, and two files about other things have the same numbers."""
    old, new = (
        ds.evaluate(
            [ds.Example(str(place), "bot", "so", (f"{when} {place}",)) for place in range(4)], ["words"]
        )
        for when in ("then", "now")
    )
    told = r"the same ids, such as '0', but .* the contexts tell, and these differ"
    with pytest.raises(ds.DialoscopeError, match=told):
        ds.compare(old, other=new)


def test_a_system_called_as_a_namesake_would_be_is_none():
    old, new = (
        ds.evaluate([ds.Example(str(place), name, "so") for place in range(4) for name in names], ["words"])
        for names in (["bot", "a"], ["2:t", "b"])
    )
    with pytest.raises(ds.DialoscopeError, match="No system has the same name in both runs"):
        ds.compare(old, other=new)


def test_progress_is_told_of_each_pair(result):
    told = []
    ds.compare(result, "generic", "parrot", "rambler", metrics=["words"], draws=100, progress=told.append)
    assert told == [1, 1, 1]


def test_one_of_anything_is_not_many():
    result = ds.evaluate([ds.Example("1", name, "so it is") for name in "ab"], ["words"])
    assert "1 context, all answered by every system." in ds.compare(result).notes()
    result = ds.evaluate(
        [ds.Example(str(place), name, "so") for place in range(9) for name in "ab"], ["words"]
    )
    assert "corrected for the 1 test made here" in ds.compare(result).text()


def test_systems_without_a_context_in_common_are_refused():
    examples = [
        ds.Example(f"{name}{place}", name, "hello " * (place + 1)) for name in "ab" for place in range(4)
    ]
    with pytest.raises(
        ds.DialoscopeError, match=r"a and b have not answered one context in common: .*such as 'a0' and 'b0'"
    ):
        ds.compare(ds.evaluate(examples, ["words"]), "a", "b")


def test_gates_look_at_every_pair_that_has_an_old_system(result):
    found = ds.compare(result, baseline="parrot", gates=["bleu-2>=-2", "rated:coherence>=0"])
    assert [(one.gate, one.b, one.verdict) for one in found.verdicts] == [
        ("bleu-2>=-2", "attentive", "passed"),
        ("bleu-2>=-2", "generic", "failed"),
        ("bleu-2>=-2", "rambler", "undecided"),
        ("rated:coherence>=0", "attentive", "passed"),
        ("rated:coherence>=0", "generic", "undecided"),
        ("rated:coherence>=0", "rambler", "failed"),
    ]
    assert not found.passed
    assert found.outcome() == [
        "Gates (95% confidence, one-sided): 2 passed, 2 undecided, 2 failed.",
        "Undecided gates stop nothing without --strict.",
        "The release is stopped.",
    ]
    kept = json.loads(found.json())
    assert kept["passed"] is False
    assert kept["gates"][1]["verdict"] == "failed"
    assert kept["gates"][1]["ok"] is False
    assert json.loads(ds.compare(result, metrics=["words"]).json())["passed"] is None


def test_a_gate_is_about_what_is_compared_even_if_not_named(result):
    found = ds.compare(result, "generic", "parrot", metrics=["words"], gates=["bleu-2>=-1"])
    assert [one.metric for one in found.contrasts] == ["bleu-2", "words"]


def test_the_smallest_difference_that_can_be_detected_is_found_four_times_in_five():
    """Forty differences of standard deviation 1 around what is said to be detectable."""
    rng = np.random.default_rng(0)
    found, said = 0, []

    def mean(sums):
        return sums[:, 0] / sums[:, 1]

    for _ in range(400):
        apart = rng.normal(0, 1, 40)
        first, second = (np.stack([side, np.ones(40)], axis=1) for side in (np.zeros(40), apart + 0.4543))
        pair = PairedSums(first, second, mean)  # .4543 as scipy's noncentral t has it for n = 40
        left_out = LeaveOuts(*pair.left_out())
        said.append(detectable(Difference(0.0, apart.mean() + 0.4543, None, left_out, None), 0.95))
        ((ours, theirs),) = halve_pairs([pair], Resamples(400, 1))
        found += halves_p(theirs - ours) < 0.05
    assert np.mean(said) == pytest.approx(0.4543, rel=0.03)  # more, for the error is not known
    assert found / 400 == pytest.approx(0.8, abs=0.06)


def test_forms_keep_hostile_names_harmless(result):
    hostile = "evil|bot\x1b[2J\n<b>[x](y)"
    examples = [
        ds.Example(str(place), name, "w " * (place + 1)) for name in ("a", hostile, "c") for place in range(8)
    ]
    found = ds.compare(ds.evaluate(examples, ["words"]), baseline="a", gates=["words>=-1"])
    every = ds.compare(ds.evaluate(examples, ["words"]))
    for one in (found, every):
        assert "\x1b" not in one.text() + one.markdown()
        assert "<b>" not in one.markdown()
        assert one.markdown().count("[x](y)") == one.markdown().count("\\[x](y)") > 0
    assert json.loads(found.json())["comparisons"][0]["b"] == hostile
    assert str(found) == found.printed() == found.text()
    assert found._repr_markdown_() == found.printed("markdown")
    assert repr(found) == "<Comparisons: 2 pairs, 2 tests>"


def test_signatures_say_how_numbers_are_made(pair):
    assert any(line.startswith("bleu-2: bleu|order:2") for line in pair.printed(signatures=True).splitlines())
    assert "- rated:fluency: the mean of what raters gave a reply" in pair.printed(
        "markdown", signatures=True
    )
    assert pair.printed("csv", signatures=True) == pair.csv()


def test_bars_point_right_where_the_second_system_is_better(pair, result):
    bars = {bar.label: bar for bar in pair.bars()}
    assert bars["rouge-l"].value > 0
    assert bars["repetition-1"].value < 0
    assert bars["repetition-1"].low < bars["repetition-1"].value < bars["repetition-1"].high
    assert "words (right: higher)" in bars
    effect = pair.contrast("rouge-l", "generic", "parrot").effect
    assert bars["rouge-l"].value == pytest.approx(effect, rel=0.1)
    assert {bar.group for bar in ds.compare(result, metrics=["words"], baseline="generic").bars()} == {
        "generic → attentive",
        "generic → parrot",
        "generic → rambler",
    }


def test_ratings_may_come_from_elsewhere(result):
    said = [
        ds.Rating(one, system, "charm", "r", 3.0 + (system == "parrot") + place % 2)
        for system in ("generic", "parrot")
        for place, one in enumerate(dict.fromkeys(result.replies.ids))
    ]
    found = ds.compare(result, "generic", "parrot", metrics=["rated:charm"], ratings=said)
    assert [(one.metric, one.difference) for one in found.contrasts] == [("rated:charm", 1.0)]
    with pytest.raises(ds.DialoscopeError, match="are for one run; leave out --with"):
        ds.compare(result, other=result, ratings=said)


@pytest.mark.corpora
def test_rated_systems_of_usr_against_scipy(corpora):
    """Means over raters paired by context, read from the file without anything of ours."""
    path = corpora / "rated/usr_personachat/data.jsonl"
    overall: dict[str, dict[str, float]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        key = json.dumps(row["context"])
        overall.setdefault(row["system"], {})[key] = float(np.mean(row["ratings"]["Overall"]))
    old, new = "KV-MemNN", "Seq2Seq"
    keys = [key for key in overall[old] if key in overall[new]]
    first, second = ([overall[name][key] for key in keys] for name in (old, new))
    result = ds.evaluate(ds.read(path), ["words"])
    one = ds.compare(result, old, new, draws=5000).contrast("rated:Overall", old, new)
    test = scipy.stats.ttest_rel(second, first)
    assert one.contexts == len(keys)
    assert one.difference == pytest.approx(np.mean(second) - np.mean(first), abs=1e-9)
    assert one.effect == pytest.approx(test.statistic / math.sqrt(len(keys)), rel=1e-9)
    assert one.p == pytest.approx(test.pvalue, abs=0.02)
    assert (one.low, one.high) == pytest.approx(tuple(test.confidence_interval()), abs=0.03)


def test_a_single_metric_or_gate_needs_no_list(result):
    systems = result.systems[:2]
    one = ds.compare(result, *systems, metrics="bleu-2", gates="bleu-2>=-1", draws=100)
    same = ds.compare(result, *systems, metrics=["bleu-2"], gates=["bleu-2>=-1"], draws=100)
    assert one.json() == same.json()


def said(context, system, text, number=0):
    return ds.Example(f"{context}-{number}-{system}", system, text, (f"c {context}",))


def test_ratings_of_few_contexts_are_no_surer_than_so_few_can_be():
    """Forty contexts of which five are rated, all in favour of one system."""
    examples = [said(context, system, "well") for context in range(40) for system in "ab"]
    ratings = [
        ds.Rating(f"{context}-0-{system}", system, "wit", "ann", 2.0 + (system == "b") + context / 10)
        for context in range(5)
        for system in "ab"
    ]
    result = ds.evaluate(ds.Replies.of(examples, ratings), ["words"])
    found = ds.compare(result, "a", "b", metrics=["rated:wit"], gates=["rated:wit>=-0.1"])
    (one,) = found.contrasts
    assert one.defined == 5
    assert one.p > 0.05
    assert math.isnan(one.low)
    assert found.verdicts[0].why == "5 contexts are too few; a gate needs 20"


def test_rounding_is_no_difference():
    """The same words, once and five times: shares that differ in their last bit."""
    text = ["w " * (3 + context % 5) + "y z" for context in range(30)]
    examples = [
        *(said(context, "a", text[context], number) for context in range(30) for number in range(5)),
        *(said(context, "b", text[context]) for context in range(30)),
    ]
    result = ds.evaluate(examples, ["repetition-1"])
    found = ds.compare(result, "a", "b", gates=["repetition-1<=0"])
    (one,) = found.contrasts
    assert (one.difference, one.p, one.verdict) == (0, 1, "same")
    assert found.verdicts[0].verdict == "passed"
    assert result.significance("repetition-1", "a", "b") == 1


def test_systems_with_unequal_numbers_may_change_places():
    rng = np.random.default_rng(0)
    examples = [
        said(context, system, " ".join(rng.choice(list("defghijklmnop"), 3 + 3 * many)), number)
        for system, many in (("a", 1), ("b", 3))
        for context in range(30)
        for number in range(many)
    ]
    result = ds.evaluate(examples, ["distinct-1", "entropy-1"])
    there, back = ds.compare(result, "a", "b"), ds.compare(result, "b", "a")
    for one, other in zip(there.contrasts, back.contrasts, strict=True):
        assert (one.difference, one.p) == (-other.difference, other.p)
        assert np.array_equal([one.low, one.high], [-other.high, -other.low], equal_nan=True)
    assert any("depend on the number of words: a " in note for note in there.notes())


def test_a_difference_that_never_varies_says_why_it_has_no_interval():
    examples = [
        said(context, system, "w " * (2 + (system == "b") + context % 3))
        for context in range(12)
        for system in "ab"
    ]
    found = ds.compare(ds.evaluate(examples, ["words"]), "a", "b")
    assert found.contrasts[0].p < 0.001
    assert "words: no interval, for it is the same in all contexts." in found.notes()


def test_pooled_metrics_have_no_interval_where_no_test_can_be_sure():
    examples = [
        said(context, system, "w x " * (system == "a") + f"y{context} z")
        for context in range(5)
        for system in "ab"
    ]
    (one,) = ds.compare(ds.evaluate(examples, ["distinct-1"]), "a", "b").contrasts
    assert math.isnan(one.low)
    assert one.p >= 2 / 2**5


def test_no_difference_is_larger_than_can_be():
    examples = [
        said(context, system, "w w w w" if system == "a" else f"p{context % 5} q{context} r s t{context % 3}")
        for context in range(8)
        for system in "ab"
    ]
    (one,) = ds.compare(ds.evaluate(examples, ["self-bleu-2"]), "a", "b").contrasts
    assert -100 <= one.low <= one.high <= 100


def test_too_few_halves_for_a_confidence_are_refused(result):
    with pytest.raises(ds.DialoscopeError, match=r"100 random halves are too few .* ask for 2000 or more"):
        ds.compare(result, confidence=0.999, draws=100)
    ds.compare(result, "generic", "parrot", metrics=["words"], confidence=0.999, draws=2000)
