"""Our numbers against other people's code, on text written for the purpose; see README.md."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import dialoscope as ds
from dialoscope.text.batch import Batch
from dialoscope.text.tokenizer import Tokenizer

HERE = Path(__file__).parent
TEXTS = {text["id"]: text for text in json.loads((HERE / "texts.json").read_text(encoding="utf-8"))}
PART = {"fmeasure": "f", "precision": "precision", "recall": "recall"}


def golden(name: str) -> dict:
    return json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))


def cases(name: str, wanted=lambda settings: True) -> list:
    return [
        pytest.param(case, id="-".join(str(value) for value in case["settings"].values()).replace(" ", "_"))
        for case in golden(name)["cases"]
        if wanted(case["settings"])
    ]


def batch_of(ids, first_reference_only: bool = False) -> Batch:
    return Batch(
        [
            ds.Example(
                one,
                "system",
                TEXTS[one]["response"],
                tuple(TEXTS[one]["context"]),
                tuple(TEXTS[one]["references"][: 1 if first_reference_only else None]),
            )
            for one in ids
        ]
    )


def check(metric, batch: Batch, expected: dict, absolute: float, relative: float = 1e-12) -> None:
    """Each reply's value; a case that says null is one the oracle itself cannot answer."""
    values = metric.score_each(metric.measure(batch))
    for example, value in zip(batch, values, strict=True):
        if expected[example.id] is not None:
            assert value == pytest.approx(expected[example.id], rel=relative, abs=absolute), example


@pytest.mark.parametrize(
    "case", cases("sacrebleu", lambda s: s["smooth_value"] is None)
)  # we offer the defaults
def test_bleu_gives_the_numbers_of_sacrebleu(case):
    settings = case["settings"]
    ids = golden("sacrebleu")["corpora"][settings["corpus"]]
    metric = ds.Bleu(
        order=settings["max_ngram_order"],
        tokenizer={"none": "split"}.get(settings["tokenize"], settings["tokenize"]),
        lowercase=settings["lowercase"],
        smoothing=settings["smooth_method"],
        effective_order="always" if settings["effective_order"] else "never",
    )
    batch = batch_of(ids, settings["references"] == "first")
    if case["system"] is not None:
        assert metric.score(metric.measure(batch)) == pytest.approx(case["system"], abs=1e-9, rel=0)
    if case["replies"]:
        check(metric, batch, case["replies"], absolute=1e-9)


def test_the_default_bleu_is_corpus_bleu_for_systems_and_sentence_bleu_for_replies():
    system, reply = ds.Bleu(effective_order="never"), ds.Bleu(effective_order="always")
    batch = batch_of(TEXTS)
    tally = ds.Bleu().measure(batch)
    assert ds.Bleu().score(tally) == system.score(tally)
    assert ds.Bleu().score_each(tally).tolist() == reply.score_each(tally).tolist()


@pytest.mark.parametrize("case", cases("rouge_score"))
@pytest.mark.parametrize("ours", ["variant", "default"])
def test_rouge_gives_the_numbers_of_rouge_score(case, ours):
    settings = case["settings"]
    tokenizer = "rouge-score" if ours == "variant" else "words"
    metric = ds.Rouge(
        order=settings["type"].removeprefix("rouge").lower(),
        part=PART[settings["measure"]],
        stem=settings["use_stemmer"],
        tokenizer=tokenizer,
    )
    ids = [one for one in case["replies"] if ours == "variant" or is_ascii(one)]
    assert len(ids) > 30
    check(metric, batch_of(ids, settings["references"] == "first"), case["replies"], absolute=1e-12)


def is_ascii(one: str) -> bool:
    return all(text.isascii() for text in (TEXTS[one]["response"], *TEXTS[one]["references"]))


@pytest.mark.parametrize(
    "case",
    cases(
        "rouge_w",
        # Which of several references ROUGE-1.5.5 takes is its own affair: ours is the best one.
        lambda s: s["units"] == "text" and (s["definition"] == "paper" or s["references"] == "first"),
    ),
)
def test_rouge_w_gives_the_numbers_of_both_definitions(case):
    settings = case["settings"]
    metric = ds.Rouge(
        order="w",
        part=PART[settings["measure"]],
        tokenizer="rouge-score",
        weight=settings["weight"],
        weighting=settings["definition"],
    )
    check(
        metric, batch_of(case["replies"], settings["references"] == "first"), case["replies"], absolute=1e-12
    )


@pytest.mark.parametrize(
    "example", golden("rouge_w")["examples"], ids=lambda e: e["definition"] + e["response"][:12]
)
def test_rouge_w_gives_the_published_values(example):
    if "\n" in example["reference"] + example["response"]:
        pytest.skip("texts of several lines are scored as one")
    batch = Batch([ds.Example("1", "system", example["response"], (), (example["reference"],))])
    for name, value in {**example["computed"], **example["published"]}.items():
        if name in PART:
            metric = ds.Rouge("w", PART[name], weight=example["weight"], weighting=example["definition"])
            assert metric.score(metric.measure(batch)) == pytest.approx(value, abs=example["tolerance"])


@pytest.mark.parametrize("case", cases("nltk_bleu"))
def test_the_nltk_variant_gives_the_numbers_of_nltk(case):
    settings = case["settings"]
    metric = ds.metric(f"bleu-{settings['order']}:variant=nltk")
    batch = batch_of(golden("nltk_bleu")["corpora"][settings["corpus"]])
    assert metric.score(metric.measure(batch)) == pytest.approx(case["system"], rel=1e-9, abs=0)
    check(metric, batch, case["replies"], absolute=0, relative=1e-9)


@pytest.mark.parametrize("case", cases("nlg_eval"))
def test_the_nlg_eval_variants_give_the_numbers_of_pycocoevalcap(case):
    settings = case["settings"]
    metric = ds.metric(f"{settings['metric']}:variant=nlg-eval")
    batch = batch_of(golden("nlg_eval")["corpora"][settings["corpus"]])
    assert metric.score(metric.measure(batch)) == pytest.approx(case["system"], rel=1e-9, abs=1e-30)
    check(metric, batch, case["replies"], absolute=1e-30, relative=1e-9)


@pytest.mark.parametrize(("name", "published"), golden("nlg_eval")["unit_test"]["published"].items())
def test_the_nlg_eval_variants_give_the_values_of_its_unit_tests(name, published):
    texts = golden("nlg_eval")["unit_test"]
    batch = Batch([ds.Example("1", "system", texts["response"], (), tuple(texts["references"]))])
    metric = ds.metric(f"{name}:variant=nlg-eval")
    assert metric.score(metric.measure(batch)) == pytest.approx(
        published["value"], abs=published["tolerance"]
    )


@pytest.mark.corpora
@pytest.mark.parametrize(("prefix", "name"), [("BLEU-4", "bleu-4"), ("ROUGE-L", "rouge-l")])
def test_the_nlg_eval_variants_give_the_stored_scores_of_the_rated_corpora(corpora, prefix, name):
    lines = (corpora / "gold/lexical_scores.jsonl").read_text(encoding="utf-8").splitlines()
    stored = [json.loads(line) for line in lines]
    stored = [row for row in stored if row["metric"].startswith(prefix)]
    files = [*(corpora / "rated/grade").glob("*.jsonl"), corpora / "rated/usr_personachat/data.jsonl"]
    examples = {example.id: example for example in ds.read(*files)}
    metric = ds.metric(f"{name}:variant=nlg-eval")
    values = metric.score_each(metric.measure(Batch([examples[row["id"]] for row in stored])))
    assert len(stored) == 1440
    assert values == pytest.approx([row["score"] for row in stored], rel=1e-9, abs=1e-30)


def test_self_bleu_is_the_mean_of_sacrebleu_against_all_other_replies():
    from sacrebleu.metrics import BLEU

    texts = [text["response"] for text in TEXTS.values()] * 2  # some replies come twice
    batch = Batch([ds.Example(str(place), "system", text) for place, text in enumerate(texts)])
    for order in (1, 2, 4):
        oracle = BLEU(effective_order=True, max_ngram_order=order)
        expected = [
            oracle.sentence_score(text, texts[:i] + texts[i + 1 :]).score for i, text in enumerate(texts)
        ]
        metric = ds.SelfBleu(order=order)
        assert metric.score(metric.measure(batch)) == pytest.approx(
            math.fsum(expected) / len(texts), rel=1e-12
        )


def test_distinct_and_entropy_are_what_counting_by_hand_gives():
    batch = Batch([ds.Example("1", "s", "a b a b"), ds.Example("2", "s", "a b c"), ds.Example("3", "s", "")])
    grams = ["ab", "ba", "ab", "ab", "bc"]
    shares = np.array([grams.count(gram) / 5 for gram in set(grams)])
    distinct, entropy = ds.Distinct(n=2), ds.Entropy(n=2)
    assert distinct.score(distinct.measure(batch)) == 3 / 5
    assert distinct.score_each(distinct.measure(batch)) == pytest.approx([2 / 3, 1, math.nan], nan_ok=True)
    assert ds.metric("distinct-2:variant=li-2016").score(distinct.measure(batch)) == 3 / 7
    assert ds.Distinct(n=2, level="reply").score(distinct.measure(batch)) == pytest.approx((2 / 3 + 1) / 2)
    assert entropy.score(entropy.measure(batch)) == pytest.approx(float(-(shares * np.log2(shares)).sum()))
    assert entropy.score_each(entropy.measure(batch)) == pytest.approx(
        [0.9182958340544896, 1, math.nan], nan_ok=True
    )


def test_repetition_and_copying_are_what_counting_by_hand_gives():
    context = ("the cat sat", "on the mat")
    batch = Batch(
        [
            ds.Example("1", "s", "the cat sat on the cat", context),
            ds.Example("2", "s", "mat the cat", context),
            ds.Example("3", "s", "yes", context),
        ]
    )
    assert ds.Repetition(n=1).grade(batch) == pytest.approx([2 / 6, 0, 0])
    assert ds.Repetition(n=2).grade(batch) == pytest.approx([1 / 5, 0, math.nan], nan_ok=True)
    # An n-gram does not reach over the end of a turn: "sat on" is not in the context.
    assert ds.Copying(n=2).grade(batch) == pytest.approx([4 / 5, 1 / 2, math.nan], nan_ok=True)
    assert ds.Copying(n=1).grade(batch) == pytest.approx([1, 1, 0])


@pytest.mark.parametrize("case", golden("treebank_tokens")["cases"], ids=lambda case: case["text"][:20])
def test_the_treebank_tokenizer_gives_the_words_of_nltk(case):
    assert Tokenizer("treebank")([case["text"]]) == [case["tokens"]]
    assert Tokenizer("treebank", lowercase=True)([case["text"]]) == [case["lower_tokens"]]
