"""The laws of perturbing, what a curve is said to be, and the audit as a function."""

import json
import math
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

import dialoscope as ds
from dialoscope.analysis.audit.curve import AuditCurve, Point
from dialoscope.analysis.coefficients import ranks
from dialoscope.core.random import seeded_random
from dialoscope.data.layout import Row
from dialoscope.data.perturb.perturbations import GENERIC, PERTURBATIONS, pair_replies
from dialoscope.data.perturb.perturbed import Perturbed
from dialoscope.data.perturb.pieces import split_reply
from dialoscope.data.perturb.plan import RATIOS, REAL, PerturbationPlan
from dialoscope.data.perturb.real_replies import select_real_replies
from dialoscope.data.problems import ReadLog
from dialoscope.metrics import Bounds, MeanMetric
from dialoscope.runs.provenance import Provenance
from tests.contract.test_metrics import EVERY

TEXTS = st.lists(
    st.sampled_from(["yes", "no", "tea", "the", "a-b", "é", "\x00", "\x1b[2J", "😀"]), max_size=9
).map(" ".join) | st.sampled_from(["", "你好世界", "好的 谢谢", "สวัสดี"])
RATIO = st.sampled_from([0.0, 0.1, 0.35, 0.5, 0.99, 1.0])
TEA = [
    "I would love a cup of tea now",
    "The train leaves at noon tomorrow",
    "My sister plays the old piano",
    "We saw two foxes in the garden",
    "No, it was closed on Sunday",
    "She said the soup needs salt",
    "Ask him about the blue car",
]


def examples(texts, *, references=(), system="people", context="What?", per_group=0):
    return [
        ds.Example(
            f"r{place:03}",
            system,
            "" if references else text,
            (f"{context} {place}",),
            (text, *references),
            f"q{place // per_group}" if per_group else "",
        )
        for place, text in enumerate(texts)
    ]


def perturbed(texts, **settings):
    return Perturbed.of(ds.Replies.of(examples(texts)), PerturbationPlan(**settings))


def real_texts(made):
    return [reply.text for reply in made.real.replies]


def rows(*given):
    return [Row(example) for example in given]


# ── laws of perturbing ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", PERTURBATIONS)
@given(texts=st.lists(TEXTS, min_size=2, max_size=12), low=RATIO, high=RATIO)
@settings(max_examples=30, deadline=None)
def test_what_is_perturbed_stays_perturbed_in_the_same_way(name, texts, low, high):
    low, high = sorted((low, high))
    made = perturbed(texts)
    few, many = made.select(name, low), made.select(name, high)
    assert many[: len(few)] == few
    for place in few:
        assert made.system_texts(name, low)[place] == made.system_texts(name, high)[place]
    for place in set(range(len(texts))) - set(many):
        assert made.system_texts(name, high)[place] == real_texts(made)[place]


@pytest.mark.parametrize("name", PERTURBATIONS)
@given(texts=st.lists(TEXTS, min_size=2, max_size=40), ratio=RATIO)
@settings(max_examples=30, deadline=None)
def test_as_many_are_perturbed_as_the_ratio_says(name, texts, ratio):
    chosen = perturbed(texts).select(name, ratio)
    wanted = round(ratio * len(texts))
    assert len(set(chosen)) == len(chosen)
    assert wanted - len(chosen) in ((0, 1, 2) if name == "swap" and ratio < 1 else (0,))


@given(texts=st.lists(TEXTS, min_size=2, max_size=12), seed=st.integers(0, 5), data=st.data())
@settings(max_examples=30, deadline=None)
def test_neither_the_order_of_the_data_nor_what_else_is_asked_for_shows(texts, seed, data):
    given = examples(texts)
    shuffled = data.draw(st.permutations(given))
    made = Perturbed.of(ds.Replies.of(given), PerturbationPlan(seed=seed))
    assert list(Perturbed.of(ds.Replies.of(shuffled), PerturbationPlan(seed=seed))) == list(made)
    for name in PERTURBATIONS:
        alone = Perturbed.of(ds.Replies.of(given), PerturbationPlan((name,), (0.3, 0.6), seed))
        assert alone.system_texts(name, 0.6) == made.system_texts(name, 0.6)


def test_the_seed_decides():
    texts = [text for _, text in zip(range(60), TEA * 9, strict=False)]
    one, same, other = (list(perturbed(texts, seed=seed)) for seed in (3, 3, 4))
    assert one == same
    assert one != other


def test_chance_is_the_same_in_every_version():
    """A run can be verified years later, so none of these may ever change."""
    assert perturbed(TEA[:3]).texts == {
        "noise": [
            "My I would love old a cup of I tea now",
            "train The train leaves sister at noon tomorrow",
            "leaves noon My sister piano plays the old piano",
        ],
        "swap": [TEA[2], TEA[0], TEA[1]],
        "shuffle": [
            "tea of would now cup love a I",
            "The leaves train tomorrow noon at",
            "the old My piano sister plays",
        ],
        "generic": ["Haha, that's funny.", "Okay, sounds good.", "Okay, sounds good."],
    }


@given(texts=st.lists(TEXTS, min_size=2, max_size=12), ratio=RATIO)
@settings(max_examples=30, deadline=None)
def test_nothing_is_perturbed_at_ratio_zero_and_nothing_but_replies_ever(texts, ratio):
    made = Perturbed.of(
        ds.Replies.of(examples(texts, references=("another",))), PerturbationPlan(ratios=(0, 0.5, 1))
    )
    by_system = {}
    for example in made:
        by_system.setdefault(example.system, []).append(example)
    assert next(iter(by_system)) == REAL
    assert set(by_system) == {REAL, *(f"{name} {ratio}" for name in PERTURBATIONS for ratio in ("0.5", "1"))}
    assert sorted(example.response for example in by_system[REAL]) == sorted(texts)
    for those in by_system.values():
        assert [(one.id, one.context, one.references) for one in those] == [
            (one.id, one.context, one.references) for one in by_system[REAL]
        ]


# ── the perturbations ───────────────────────────────────────────────────────────────────────────────────────


@given(texts=st.lists(TEXTS, min_size=2, max_size=15), ratio=RATIO)
@settings(max_examples=60, deadline=None)
def test_swap_says_the_same_things_in_other_places(texts, ratio):
    made = perturbed(texts)
    swapped = made.system_texts("swap", ratio)
    assert Counter(swapped) == Counter(texts)
    assert sorted(place for cycle in made.cycles for place in cycle) == list(range(len(texts)))
    assert {len(cycle) for cycle in made.cycles} <= {2, 3}
    same = sum(now == was for now, was in zip(made.texts["swap"], real_texts(made), strict=True))
    most = max(Counter(texts).values())
    # As many as must: of a text that more than half of the replies have, some meet themselves.
    assert same == max(0, 2 * most - len(texts))


def test_any_two_replies_may_change_places():
    found = {
        tuple(sorted(pair))
        for seed in range(60)
        for pair in pair_replies("abcd", seeded_random(seed, "order"))
    }
    assert found == {(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)}


@given(texts=st.lists(TEXTS, min_size=2, max_size=8), seed=st.integers(0, 3))
@settings(max_examples=60, deadline=None)
def test_noise_puts_in_words_of_the_data_and_takes_none_away(texts, seed):
    made = perturbed(texts, seed=seed)
    known = {word for text in texts for word in split_reply(text).words}
    for before, after in zip(real_texts(made), made.texts["noise"], strict=True):
        old, new = split_reply(before).words, split_reply(after).words
        if not known or (
            not old and not any(split_reply(text).words for text in texts if split_reply(text).joint == " ")
        ):
            assert after == before
            continue
        left = iter(new)
        assert all(word in left for word in old)
        assert set(new) <= known
        assert max(1, math.ceil(len(old) / 4)) <= len(new) - len(old) <= max(1, len(old) // 2)


@given(texts=st.lists(TEXTS, min_size=2, max_size=8), seed=st.integers(0, 3))
@settings(max_examples=60, deadline=None)
def test_shuffle_changes_the_order_wherever_there_is_another(texts, seed):
    made = perturbed(texts, seed=seed)
    for before, after in zip(real_texts(made), made.texts["shuffle"], strict=True):
        assert Counter(split_reply(after).words) == Counter(split_reply(before).words)
        assert (after != before) == (len(set(split_reply(before).words)) > 1)


def test_generic_replies_are_ours_and_never_the_reply_itself():
    made = perturbed([*GENERIC, *TEA])
    for before, after in zip(real_texts(made), made.texts["generic"], strict=True):
        assert after in GENERIC
        assert after != before


def test_words_stand_between_spaces_and_characters_where_there_are_none():
    assert split_reply(" I'm  here,\nnow ").words == ("I'm", "here,", "now")
    assert split_reply("你好 世界").words == ("你", "好", "世", "界")
    assert split_reply("สวัสดี").words == ("ส", "วั", "ส", "ดี")
    assert split_reply("我 like café au lait").words == ("我", "like", "café", "au", "lait")
    (shuffled,) = {text for text in perturbed(["你好", "ok"]).texts["shuffle"] if text != "ok"}
    assert shuffled == "好你"


# ── what people really said ─────────────────────────────────────────────────────────────────────────────────


def test_the_first_reference_is_real_and_the_others_are_what_it_is_compared_with():
    found = select_real_replies(rows(*examples(["b", "a"], references=("x", "y"))))
    assert [(reply.text, reply.references) for reply in found.replies] == [
        ("b", ("x", "y")),
        ("a", ("x", "y")),
    ]
    assert found.description == "the first reference of each context, compared with the other references"


@pytest.mark.parametrize("against", [None, "itself"])
def test_a_single_reference_is_compared_with_itself(against):
    given = [*examples(["b", "a"], references=("x",)), ds.Example("z", "people", "", ("Hm?",), ("c",))]
    found = select_real_replies(rows(*given[not against :]), against)
    assert all(reply.references == (reply.text,) for reply in found.replies)
    assert found.description == "the first reference of each context, compared with themselves unperturbed"


def test_without_references_the_responses_are_real():
    given = [ds.Example(str(i), "people", text, ("Hm?",)) for i, text in enumerate("ab")]
    found = select_real_replies(rows(*given))
    assert [(reply.text, reply.references) for reply in found.replies] == [("a", ("a",)), ("b", ("b",))]
    assert found.description == "the responses of the data, compared with themselves unperturbed"


def test_a_context_that_several_systems_answer_counts_once():
    given = [one for system in ("bot-a", "bot-b") for one in examples(["x", "y", "x"], system=system)]
    assert [reply.text for reply in select_real_replies(rows(*given)).replies] == ["x", "y", "x"]
    renamed = [
        ds.Example(f"{one.system}{one.id}", one.system, "", one.context, one.references) for one in given
    ]
    assert len(select_real_replies(rows(*renamed)).replies) == 3
    without_context = [ds.Example(one.id, one.system, "", (), one.references) for one in given]
    assert len(select_real_replies(rows(*without_context)).replies) == 3


def test_one_system_may_answer_the_same_twice():
    given = [ds.Example(str(i), "people", text, ("Hi!",)) for i, text in enumerate(["Hello.", "Hi.", "Hi."])]
    assert len(select_real_replies(rows(*given)).replies) == 3


def test_ids_are_told_apart_where_two_files_have_the_same():
    given = [ds.Example("1", name, name, (f"Hi {name}",)) for name in ("left", "right")]
    assert [reply.id for reply in select_real_replies(rows(*given)).replies] == ["left:1", "right:1"]
    turns = [Row(replace(one, dialogue="d")) for one in given]
    assert [reply.dialogue for reply in select_real_replies(turns).replies] == ["left:d", "right:d"]


# ── curves ──────────────────────────────────────────────────────────────────────────────────────────────────


def curve(*values, better=True, p=0.001, perturbed=9, tolerance=1e-9):
    ratios = np.linspace(0, 1, len(values)).tolist()
    points = tuple(
        Point(ratio, value, math.nan, math.nan, perturbed, 0)
        for ratio, value in zip(ratios, values, strict=True)
    )
    return AuditCurve("toy", "noise", points, better, tolerance, p, "toy|v:1")


@pytest.mark.parametrize(
    ("found", "shape", "worse", "verdict"),
    [
        (curve(9, 8, 7, 2), "falls", 3, "sees"),
        (curve(9, 8, 8, 2), "falls", 2, "sees"),
        (curve(9, 8, 8.5, 2), "uneven", 2, "uneven"),
        (curve(9, 8, 8.5, 9.5), "uneven", 1, "fooled"),
        (curve(1, 2, 3), "rises", 0, "fooled"),
        (curve(1, 2, 3, better=False), "rises", 2, "sees"),
        (curve(3, 2, 1, better=False), "falls", 0, "fooled"),
        (curve(3, 2, 1, better=None), "falls", None, "–"),
        (curve(3, 3, 3), "flat", 0, "blind"),
        (curve(3, 3 - 1e-10, 3 + 1e-10), "flat", 0, "blind"),
        (curve(300, 300.01, 300, tolerance=1e-4), "flat", 0, "blind"),
        (curve(9, 8, 7, p=0.05), "falls", 2, "unsure"),
        (curve(9, 8, 7, p=math.nan), "falls", 2, "sees"),
        (curve(9, math.nan, 7), "falls", 1, "sees"),
        (curve(9, 8, math.nan), "falls", 1, "undefined"),
        (curve(math.nan, math.nan), "undefined", 0, "undefined"),
        (curve(9, 8, 7, perturbed=0), "falls", 2, "untested"),
    ],
)
def test_a_curve_is_called_what_it_is(found, shape, worse, verdict):
    assert (found.shape, found.worse, found.verdict) == (shape, worse, verdict)


def test_change_is_relative_to_the_size_of_the_first_value():
    assert curve(4, 3).change == -0.25
    assert curve(-4, -5).change == -0.25
    assert math.isnan(curve(0, 3).change)
    assert math.isnan(curve(math.nan, 3).change)


@given(st.lists(st.integers(0, 4).map(float), min_size=2, max_size=8))
def test_spearman_is_that_of_scipy(values):
    found = curve(*values, better=False).spearman
    if len(set(values)) == 1:
        assert math.isnan(found)
        return
    assert found == pytest.approx(spearmanr(range(len(values)), values).statistic)
    assert curve(*values).spearman == pytest.approx(-found)
    assert math.isnan(curve(*values, better=None).spearman)
    assert ranks(np.array(values)).sum() == len(values) * (len(values) + 1) / 2


def test_spearman_leaves_out_what_is_undefined():
    assert curve(9, math.nan, 7, 8).spearman == pytest.approx(0.5)


# ── the audit ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", EVERY)
def test_every_metric_can_be_audited(name, request):
    if "meteor" in name:
        request.getfixturevalue("wordnet")
    one = ds.metric(name)
    said = ("Really, is it?", "I had no idea")
    real = examples(TEA, references=said, per_group=2 if "group" in one.needs else 0)
    found = ds.audit(real, name, ratios=(0, 0.5, 1))
    assert found.result.systems[0] == REAL
    for perturbation in PERTURBATIONS:
        drawn = found.curve(str(one), perturbation)
        assert [point.ratio for point in drawn.points] == [0, 0.5, 1]
        assert drawn.points[-1].perturbed == len(TEA)
        assert drawn.verdict in ("sees", "uneven", "unsure", "blind", "fooled", "undefined", "–")
        for point in drawn.points:
            system = f"{perturbation} {point.ratio:g}" if point.ratio else REAL
            assert point.value == pytest.approx(found.result.score(one, system), nan_ok=True)
    assert found.text()
    json.loads(found.json())


def test_reference_metrics_see_everything_where_the_real_reply_is_the_reference():
    found = ds.audit(examples(TEA * 3), ["bleu-2", "rouge-l"], against="itself")
    assert found.summary() == [
        f"{name}: sees noise, swap, shuffle, generic" for name in ("bleu-2", "rouge-l")
    ]
    assert found.curve("rouge-l", "swap").points[0].value == 1
    assert found.curve("rouge-l", "swap").spearman == pytest.approx(1)


def test_the_words_of_replies_do_not_tell_whose_they_are():
    """Exchanged replies are the same replies, so whatever looks at replies alone is exactly as before."""
    found = ds.audit(examples(TEA), ["distinct-2", "words", "self-bleu"])
    assert found.curve("distinct-2", "swap").shape == found.curve("words", "swap").shape == "flat"
    assert found.curve("self-bleu-4", "swap").verdict == "blind"
    assert "words: neither end is better, so nothing is expected (rises with noise, " in found.text()


@dataclass(frozen=True)
class Never(MeanMetric):
    """Undefined for every reply."""

    name = "never"
    version = 1
    paper = "https://example.org"
    higher_is_better = True

    @property
    def bounds(self):
        return Bounds(0, 1)

    def grade(self, batch):
        return [math.nan] * len(batch)


def test_a_metric_that_is_undefined_for_all_is_said_to_be():
    found = ds.audit(examples(TEA), Never())
    assert found.summary() == ["never: undefined"]
    assert {row["verdict"] for row in found.rows()} == {"undefined"}
    assert "–  " in found.text()


def test_a_perturbation_that_changes_nothing_tests_nothing():
    found = ds.audit(examples(["yes"] * 7), "words", perturbations=["shuffle", "swap"])
    assert found.summary() == ["words: untested by shuffle, swap"]
    assert found.result.provenance.warnings == (
        "shuffle cannot change 7 of 7 replies.",
        "swap cannot change 7 of 7 replies.",
    )


def test_all_is_scored_in_one_run_that_says_how_it_was_made():
    found = ds.audit(examples(TEA), "words", perturbations="noise", ratios=[0, 0.5, 1], seed=5)
    assert found.result.systems == (REAL, "noise 0.5", "noise 1")
    assert isinstance(found.result.provenance, Provenance)
    assert found.result.provenance.seed == 5
    assert found.result.provenance.source == {
        "perturbed": {"perturbations": ["noise"], "ratios": [0.0, 0.5, 1.0], "seed": 5, "against": None}
    }
    assert repr(found) == "<Audit: 1 metrics, 1 curves>"


def test_where_it_is_worked_does_not_show(sample):
    here = ds.audit(ds.read(sample), ["bleu-2", "distinct-1"])
    with ThreadPoolExecutor(2) as threads:
        assert ds.audit(ds.read(sample), ["bleu-2", "distinct-1"], on=threads).json() == here.json()


def test_warnings_are_about_the_real_replies_and_not_about_perturbed_ones(tmp_path):
    tokenised = [f"well , it is n't so bad , is it , number {place} ." for place in range(8)]
    path = tmp_path / "data.jsonl"
    path.write_text(
        "".join(json.dumps({"response": "", "references": [text], "turn": 3}) + "\n" for text in tokenised)
        + '{"response": "no reference"}\n{"broken'
    )
    found = ds.audit(ds.read(path, on_error="skip"))
    (left_out, malformed, looks, ignored, without) = found.result.provenance.warnings
    assert left_out == "No reply has context, so these were left out: copying-2."
    assert malformed.startswith("1 malformed row was left out: ")
    assert looks.startswith(
        "Replies look tokenised (spaces before punctuation, split contractions): 'real' (8 of 8)"
    )
    assert "ignored" in ignored
    assert without == "1 replies have no reference where others have; they were left out."
    assert found.result.provenance.skipped == 1


def test_few_contexts_are_judged_by_their_values_alone():
    found = ds.audit(examples(TEA[:5]), "bleu-1")
    assert found.curve("bleu-1", "generic").verdict == "sees"
    assert math.isnan(found.curve("bleu-1", "generic").p)
    assert found.result.provenance.warnings == (
        "There are too few contexts to tell a change from chance; verdicts go by the values alone.",
    )
    assert not math.isnan(ds.audit(examples(TEA[:6]), "bleu-1").curve("bleu-1", "generic").p)


@pytest.mark.parametrize(("last", "shown"), [(9.0, "-10 %"), (10.01, "0 %"), (9.99, "0 %"), (30.0, "+200 %")])
def test_changes_are_shown_in_per_cent(last, shown):
    found = ds.audit(examples(TEA), "words")
    row = ds.Audit(found.result, (curve(10, last),), found.about).grid().rows[0]
    assert row[-2] == shown


def test_what_is_rounding_is_judged_within_the_run():
    """A number may come out otherwise another day by more than two systems of one run differ by rounding."""
    found = ds.audit(examples(TEA), "coherence:lm=fake", perturbations="noise", ratios=(0, 1))
    assert found.curves[0].tolerance == 1e-6 < ds.metric("coherence:lm=fake").tolerance
    assert ds.audit(examples(TEA), "words").curves[0].tolerance == 1e-9


def test_hostile_names_are_escaped_where_they_are_shown():
    found = ds.audit(examples(TEA), "words")
    odd = AuditCurve("bad\x1b[2J|", "noise", found.curves[0].points, None, 0, math.nan, "x")
    shown = ds.Audit(found.result, (odd,), found.about)
    assert "\x1b" not in shown.text()
    assert "| bad\\x1b\\[2J\\| | noise |" in shown._repr_markdown_()
    assert str(shown) == shown.text()


def test_signatures_go_with_what_people_read_and_stand_in_what_programs_read():
    found = ds.audit(examples(TEA), "words", perturbations="swap")
    line = f"words: {ds.metric('words').signature}"
    assert found.printed(signatures=True) == found.text() + "\n" + line
    assert found.printed("markdown", signatures=True) == found.markdown() + "\n- " + line
    assert found.printed("csv", signatures=True) == found.csv()
    assert found.printed("json") == found.json()
    assert {row["signature"] for row in found.rows()} == {ds.metric("words").signature}


def test_a_saved_audit_is_an_ordinary_run(tmp_path):
    found = ds.audit(examples(TEA), "words")
    assert ds.Result.load(found.save(tmp_path / "run")) == found.result


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"perturbations": ["noise", "typos"]},
            "There is no perturbation 'typos'. Choose from: noise, swap, ",
        ),
        ({"perturbations": []}, "Name at least one perturbation: noise, swap, shuffle, generic."),
        (
            {"ratios": [0, 2]},
            "The ratios are 0, 2; give two or more in increasing order between 0 and 1, such as",
        ),
        ({"ratios": [-0.1, 1]}, "The ratios are -0.1, 1; give two or more"),
        ({"ratios": [0, 0.5, 0.5]}, "The ratios are 0, 0.5, 0.5; give two or more in increasing order"),
        ({"ratios": [0, math.nan]}, "The ratios are 0, nan; give two or more"),
        ({"ratios": [1]}, "The ratios are 1; give two or more"),
        ({"ratios": []}, "The ratios are none; give two or more"),
        ({"ratios": "0,x"}, "'0,x' are no ratios; give two or more"),
        ({"against": "me"}, "against is 'me'; it must be one of: others, itself."),
        ({"seed": -1}, "The seed is -1; it must be 0 or above."),
        ({"metrics": "blue"}, "There is no metric 'blue'. Did you mean 'bleu'?"),
        ({"metrics": ["words", 7]}, "7 is no metric"),
        (
            {"replies": []},
            "There is no real reply to perturb; at least two are needed, since replies are exchanged",
        ),
        ({"replies": examples(["hello"])}, "There is one real reply to perturb; at least two are needed"),
        (
            {"against": "others"},
            "7 of 7 replies have no other reference to be compared with (the first is 'r000'). "
            "Compare them with themselves: --against itself (against='itself').",
        ),
    ],
)
def test_what_cannot_be_audited_is_said(settings, message):
    with pytest.raises(ds.DialoscopeError) as refused:
        ds.audit(**{"replies": examples(TEA), **settings})
    assert message in str(refused.value)


@pytest.mark.parametrize(
    "settings", [{"metrics": ["diversity", "words"]}, {"metrics": ds.metric("diversity")}]
)
def test_what_is_lacking_is_counted_in_replies_and_not_in_their_copies(settings):
    replies = [ds.Example(f"{place}", "s", f"reply {place}", ("q",)) for place in range(3)]
    with pytest.raises(ds.DialoscopeError, match="diversity-2 needs group, but 3 of 3 replies have none"):
        ds.audit(replies, **settings)
    audit = ds.audit(replies, **settings, missing="undefined")
    assert "diversity-2" in {curve.metric for curve in audit.curves}
    bare = [ds.Example(one.id, one.system, one.response) for one in replies]
    with pytest.raises(ds.DialoscopeError, match="but 3 of 3 replies have no context"):
        ds.audit(bare, missing="stop")


def test_a_curve_that_is_not_there_is_said():
    with pytest.raises(ds.DialoscopeError, match="has no bleu-4 under noise; it has: words, swap\\."):
        ds.audit(examples(TEA), "words", perturbations="swap").curve("bleu-4", "noise")


def test_perturbed_replies_can_be_read_as_often_as_wanted():
    made = perturbed(TEA)
    log = ReadLog()
    assert [row.example for row in made.rows(log)] == list(made)
    assert log.rows == len(TEA) * (1 + len(PERTURBATIONS) * (len(RATIOS) - 1))
    assert made.size() == 0


def test_a_corpus_may_stand_for_people(tmp_path):
    corpus = tmp_path / "people.jsonl"
    corpus.write_text('{"id": "d", "turns": ["hi", "hello", "tea?", "yes please", "milk?", "no"]}\n')
    examples = [ds.Example(str(i), "s", f"yes {i}", (f"tea {i}?",)) for i in range(8)]
    found = ds.audit(examples, "prd:encoder=fake,runs=1", ratios=(0, 1), real=corpus)
    assert str(found.result.metrics[0]) == f"prd:encoder=fake,real={corpus},runs=1"
