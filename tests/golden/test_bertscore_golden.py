"""Our BERTScore against bert-score 0.3.13, on the same weights and on text written for the purpose."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import dialoscope as ds
from dialoscope.metrics.shared.matching import Couple, TokenMatches, compute_matches, scores
from dialoscope.models.encoder import TransformerEncoder
from dialoscope.models.fakes import FakeEncoder
from dialoscope.models.protocols import TokenVectors
from dialoscope.text.batch import Batch

HERE = Path(__file__).parent
GOLDEN = json.loads((HERE / "bertscore.json").read_text(encoding="utf-8"))
PARTS = ("precision", "recall", "f1")
NEAR = 1e-5


@pytest.fixture(scope="module")
def replies() -> Batch:
    texts = [*json.loads((HERE / "texts.json").read_text(encoding="utf-8")), *GOLDEN["texts"]]
    return Batch([ds.Example(one["id"], "s", one["response"], (), tuple(one["references"])) for one in texts])


def metric(layer, idf, baseline, **more) -> ds.Bertscore:
    return ds.Bertscore(
        encoder=TransformerEncoder(layer=layer, device="cpu"),
        idf=str(HERE / "bertscore_corpus.txt") if idf == "corpus" else idf,
        baseline=str(HERE / "bertscore_baseline.csv") if baseline else "",
        **more,
    )


@pytest.mark.usefixtures("minilm")
@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: str(case["settings"]))
def test_bertscore_gives_the_numbers_of_bert_score(case, replies, monkeypatch):
    monkeypatch.setenv("DIALOSCOPE_SCORES", "off")
    tally = metric(**case["settings"]).measure(replies)
    for column, part in enumerate(PARTS):
        one = metric(**case["settings"], part=part)
        found = dict(zip([example.id for example in replies], one.score_each(tally), strict=True))
        assert found == pytest.approx(
            {name: expected[column] for name, expected in case["replies"].items()}, abs=NEAR, rel=0
        )
        assert one.score(tally) == pytest.approx(case["system"][column], abs=NEAR)


def test_the_cases_differ_so_that_each_setting_is_seen():
    means = [tuple(case["system"]) for case in GOLDEN["cases"]]
    assert len(set(means)) == len(means)


@dataclass(frozen=True)
class Given(FakeEncoder):
    """Says what it was given for a reply and a reference."""

    pair: int

    def encode_tokens(self, texts):
        given = GOLDEN["vectors"][self.pair]
        places = [("reply", "reference").index(text) for text in texts]
        return [
            TokenVectors(np.array(given["ids"][place]), np.array(given["vectors"][place], np.float32))
            for place in places
        ]


@pytest.mark.parametrize("number", range(len(GOLDEN["vectors"])))
def test_matching_gives_the_numbers_of_bert_scores_own(number):
    given = GOLDEN["vectors"][number]
    matches = TokenMatches.of(
        [one for _, one in compute_matches(Given(number), [Couple("reply", "reference")], [0])]
    )
    weights = np.array([given["weights"][str(one)] for one in matches.ids.tolist()])
    found = scores(matches, np.array([1, 2]), weights)
    assert np.ravel(found) == pytest.approx(given["scores"], abs=1e-6)
