"""Our log-probabilities, and the paper's scale for them, against transformers on the same weights."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.stats import pearsonr, spearmanr
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM

import dialoscope as ds
from dialoscope.models.language_model import TransformerLanguageModel
from tests.arithmetic import SPREAD, log_probability_error

HERE = Path(__file__).parent
GOLDEN = json.loads((HERE / "language_model.json").read_text(encoding="utf-8"))
IDS = list(GOLDEN["cases"]["alone"])
NAMES = {
    "in context": "coherence:scale=raw,lm=smollm2,length={}",
    "alone": "fluency:scale=raw,lm=smollm2,length={}",
    "coherence of the authors": "coherence:variant=pang-code,scale=raw,lm=smollm2,length={}",
    "fluency of the authors": "fluency:variant=pang-code,scale=raw,lm=smollm2,length={}",
}


def untrained(name):
    """The metric with the model that the golden values are of."""
    return f"{name},lm=smollm2" if ":" in name else f"{name}:lm=smollm2"


def examples():
    texts = {one["id"]: one for one in json.loads((HERE / "texts.json").read_text(encoding="utf-8"))}
    return [ds.Example(i, "s", texts[i]["response"], tuple(texts[i]["context"])) for i in IDS]


@pytest.fixture(scope="module")
def result(smollm2):
    metrics = [name.format("mean/sum") for name in NAMES.values()]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DIALOSCOPE_SCORES", "off")
        return ds.evaluate(
            examples(),
            [*metrics, *map(untrained, [*GOLDEN["normalised"], "perplexity", "pmi", "pmi:length=sum"])],
        )


LENGTH = 100
"""More tokens than any of these replies has with its context."""


@pytest.fixture(scope="module")
def error(smollm2):
    """By how much a log-probability may be off, and the mean of several."""
    return log_probability_error(smollm2, LENGTH)


def test_texts_are_as_short_and_logits_as_near_each_other_as_the_bound_says(smollm2):
    model = AutoModelForCausalLM.from_pretrained(smollm2, dtype=torch.float32).eval()
    words = Tokenizer.from_file(str(smollm2 / "tokenizer.json"))
    texts = ["".join(f"{turn}\n" for turn in (*example.context, example.response)) for example in examples()]
    numbers = [[1, *words.encode(text).ids] for text in texts]
    assert max(map(len, numbers)) < LENGTH
    with torch.no_grad():
        spreads = [model(input_ids=torch.tensor([ids])).logits.std(-1).max() for ids in numbers]
    assert 0.8 * SPREAD < max(spreads) < SPREAD


def totals(case):
    found = np.array([GOLDEN["cases"][case][i] for i in IDS], float)
    found[found[:, 1] == 0] = math.nan
    return found.T


@pytest.mark.parametrize("case", NAMES)
def test_log_probabilities_are_those_of_transformers(result, error, case):
    total, tokens = totals(case)
    mean, whole = (result.values(NAMES[case].format(length)) for length in ("mean", "sum"))
    assert mean == pytest.approx(total / tokens, abs=error, rel=0, nan_ok=True)
    assert whole / tokens == pytest.approx(total / tokens, abs=error, rel=0, nan_ok=True)


@pytest.mark.parametrize("name", GOLDEN["normalised"])
def test_the_scale_is_that_of_the_paper(result, error, name):
    """1 less the ratio of a number to the floor, each of which may be off."""
    expected = np.array(list(GOLDEN["normalised"][name].values()), float)
    found = result.values(untrained(name))
    total, tokens = totals(dict(zip(GOLDEN["normalised"], NAMES, strict=True))[name])
    sums = name == "coherence:variant=pang-code"
    floor = np.nanpercentile(total if sums else total / tokens, 5)
    off = error * tokens.max() if sums else error
    assert found == pytest.approx(expected, abs=2 * off / abs(floor), rel=0, nan_ok=True)


def test_perplexity_of_a_system_is_made_from_all_tokens(result, error):
    total, tokens = totals("in context")
    assert result.score(untrained("perplexity"), "s") == pytest.approx(
        math.exp(-total.sum() / tokens.sum()), rel=math.expm1(error)
    )
    expected = np.exp(-total / tokens)
    assert result.values(untrained("perplexity")) == pytest.approx(expected, rel=math.expm1(error))


def test_mutual_information_is_the_difference(result, error):
    (given, tokens), (bare, _) = totals("in context"), totals("alone")
    assert result.values(untrained("pmi")) == pytest.approx((given - bare) / tokens, abs=2 * error, rel=0)
    assert result.values(untrained("pmi:length=sum")) / tokens == pytest.approx(
        (given - bare) / tokens, abs=2 * error, rel=0
    )


@pytest.mark.usefixtures("smollm2")
def test_what_was_read_once_is_not_read_again(monkeypatch):
    monkeypatch.delenv("DIALOSCOPE_SCORES", raising=False)
    names = ["coherence", "fluency", "perplexity", "pmi"]
    first = ds.evaluate(examples()[:5], names)
    monkeypatch.setattr(TransformerLanguageModel, "_engine", None)
    assert ds.evaluate(examples()[:5], names) == first


def test_the_cases_differ_so_that_each_setting_is_seen():
    sums = [float(np.nansum(totals(case)[0])) for case in GOLDEN["cases"]]
    assert len(set(sums)) == len(NAMES)


@pytest.mark.corpora
@pytest.mark.usefixtures("smollm2")
@pytest.mark.parametrize(
    ("name", "pearson", "spearman"),
    [
        ("coherence", 0.514, 0.514),
        ("coherence:length=sum", 0.569, 0.635),
        ("coherence:variant=pang-code", 0.572, 0.640),
        ("pmi", 0.469, 0.498),
        ("pmi:scale=normalised", 0.594, 0.593),
        ("fluency:length=sum", 0.769, 0.773),
    ],
)
def test_people_agree_with_an_untrained_model_as_far_as_they_did(corpora, name, pearson, spearman):
    """On the 200 replies that Pang et al. had rated: what training is to be measured against."""
    aspect = "fluency" if name.startswith("fluency") else "coherence"
    name = untrained(name)
    result = ds.evaluate(ds.read(corpora / f"rated/pang2020/{aspect}.jsonl"), name)
    ratings = np.bincount(result.ratings.reply, result.ratings.value) / np.bincount(result.ratings.reply)
    values = result.values(name)
    assert pearsonr(values, ratings)[0] == pytest.approx(pearson, abs=0.002)
    assert spearmanr(values, ratings)[0] == pytest.approx(spearman, abs=0.002)
