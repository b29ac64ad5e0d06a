"""BERTScore from the metric's text to a run: what is matched, weighed, rescaled, and computed only once."""

import dataclasses
import json
import math
import random
from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer

import dialoscope as ds
from dialoscope.metrics import metrics
from dialoscope.metrics.shared import matching
from dialoscope.metrics.shared.bertscore_baseline import Baseline, _levels
from dialoscope.metrics.shared.frequencies import Sentences
from dialoscope.metrics.shared.matching import Couple, TokenMatches, compute_matches, scores
from dialoscope.models.cache import cache_status
from dialoscope.models.encoder import TransformerEncoder
from dialoscope.models.fakes import FakeEncoder
from dialoscope.models.protocols import TokenVectors
from dialoscope.text.batch import Batch
from tests.arithmetic import cosine_error
from tests.contract import test_metrics as laws
from tests.unit.models.conftest import no_scores, one_thread, own_scores  # noqa: F401 - fixtures
from tests.unit.models.tiny import SENTENCES
from tests.unit.models.tiny_encoders import LIMIT, save_encoder

REPLIES = [
    ("yes please, a cup of tea", ("a cup of coffee please", "tea would be fine")),
    ("the train is late again", ("it is always late", "the train was late yesterday", "no")),
    ("no", ("no thanks",)),
    ("tea tea tea", ("tea",)),
]
BASELINE = "LAYER,P,R,F\n0,0.1,0.2,0.15\n1,0.3,0.4,0.35\n2,0.5,-0.25,0.5\n"


def example(reply, references, name="1", system="s"):
    return ds.Example(name, system, reply, (), tuple(references))


def examples(pairs=REPLIES, system="s"):
    return [example(*pair, name=str(place), system=system) for place, pair in enumerate(pairs)]


def measured(metric, replies):
    return metric.measure(Batch(replies)).rows


@dataclass(frozen=True)
class Recorder(FakeEncoder):
    """Keeps what it was asked."""

    asked: ClassVar[list[list[str]]] = []

    def encode_tokens(self, texts):
        self.asked.append(list(texts))
        return super().encode_tokens(texts)


@pytest.fixture
def recorder():
    Recorder.asked.clear()
    return Recorder()


@pytest.fixture
def baseline(tmp_path):
    path = tmp_path / "baseline.tsv"
    path.write_text(BASELINE, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def encoders(tmp_path_factory):
    """The folder of a small encoder by its architecture, which is made when it is first asked for."""
    made = {}

    def folder(name):
        if name not in made:
            made[name] = str(save_encoder(name, tmp_path_factory.mktemp("encoders") / name))
        return made[name]

    return folder


# What it is


def plain(reply, reference, weights):
    """The definition, token by token, from two lists of (id, vector)."""

    def cosine(one, other):
        lengths = np.linalg.norm(one) * np.linalg.norm(other)
        return float(one @ other / lengths) if lengths else 0.0

    def mean(tokens, others):
        best = [max(cosine(vector, other) for _, other in others) for _, vector in tokens]
        weighed = [weights(number) for number, _ in tokens]
        return sum(w * b for w, b in zip(weighed, best, strict=True)) / sum(weighed)

    precision, recall = mean(reply, reference), mean(reference, reply)
    return [precision, recall, 2 * precision * recall / (precision + recall)]


def tokens_of(encoder, text):
    (found,) = encoder.encode_tokens([text])
    return list(zip(found.ids.tolist(), found.vectors.astype(float), strict=True))


def best_of(reply, references, encoder, weights=lambda number: 1.0):
    every = [plain(tokens_of(encoder, reply), tokens_of(encoder, one), weights) for one in references]
    return np.max(every, axis=0)


def test_it_is_the_mean_of_the_best_cosines_and_the_best_over_references():
    found = measured(ds.Bertscore(encoder="fake"), examples())
    expected = [best_of(reply, references, FakeEncoder()) for reply, references in REPLIES]
    assert found == pytest.approx(np.array(expected), abs=1e-6)


def test_each_part_is_at_its_best_with_another_reference():
    short, long = "tea", "tea and coffee and cake and something else"
    reply = example("tea and coffee", (short, long))
    both = measured(ds.Bertscore(encoder="fake"), [reply])[0]
    alone = [
        measured(ds.Bertscore(encoder="fake"), [example("tea and coffee", (one,))])[0]
        for one in (short, long)
    ]
    assert both.tolist() == np.maximum(*alone).tolist()
    assert alone[0][0] < alone[1][0]
    assert alone[0][1] > alone[1][1]


def test_the_parts_are_columns_of_one_measurement(recorder):
    chosen = metrics("bertscore:part=precision/recall/f1")
    assert len({one.statistics for one in chosen}) == 1
    chosen = [dataclasses.replace(one, encoder=recorder) for one in chosen]
    result = ds.evaluate(examples(), chosen)
    rows = measured(ds.Bertscore(encoder="fake"), examples())
    for one, column in zip(chosen, rows.T, strict=True):
        assert result.values(one).tolist() == column.tolist()
        assert result.score(one, "s") == pytest.approx(column.mean())
    texts = Counter(text for asked in recorder.asked for text in asked)
    assert set(texts.values()) == {1}


def test_all_weights_and_baselines_of_a_run_share_one_encoding(recorder, tmp_path):
    corpus = tmp_path / "human.txt"
    corpus.write_text("tea\n", encoding="utf-8")
    ds.evaluate(examples(), [ds.Bertscore(encoder=recorder, idf=idf) for idf in ("none", "references")])
    texts = Counter(text for asked in recorder.asked for text in asked)
    assert set(texts.values()) == {1}
    assert len(texts) == len({t for reply, references in REPLIES for t in (reply, *references)}) + 1


def test_without_references_it_is_undefined_and_no_model_is_asked(recorder):
    assert np.isnan(measured(ds.Bertscore(encoder=recorder), [example("yes", ())])).all()
    assert recorder.asked == []
    rows = measured(ds.Bertscore(encoder=recorder), [example("yes", ()), *examples()])
    assert rows[1:].tolist() == measured(ds.Bertscore(encoder="fake"), examples()).tolist()
    assert np.isnan(rows[0]).all()


@pytest.mark.parametrize("empty", ["", "  ", "\t\n\u3000"])
@pytest.mark.parametrize("idf", ["none", "references"])
def test_an_empty_text_on_either_side_scores_nothing(empty, idf, encoders):
    replies = [
        example("good morning", (empty,), "1"),
        example(empty, ("good morning",), "2"),
        example(empty, (empty,), "3"),
        example("hello there, how are you today?", ("hello", empty), "4"),
    ]
    for encoder in (FakeEncoder(), TransformerEncoder(encoders("bert"))):
        rows = measured(ds.Bertscore(encoder=encoder, idf=idf), replies)
        assert (rows[:3] == 0).all()
        assert (rows[3] > 0).all()


@dataclass(frozen=True)
class Arrows(FakeEncoder):
    """Each word is a direction in degrees."""

    def encode_tokens(self, texts):
        angles = [np.array([float(word) for word in text.split()]) for text in texts]
        return [
            TokenVectors(
                some.astype(np.int64) % 1000,
                np.stack([np.cos(np.radians(some)), np.sin(np.radians(some))], axis=1).astype(np.float32),
            )
            for some in angles
        ]


def test_f_is_0_where_precision_and_recall_lie_on_different_sides_of_it():
    (row,) = measured(ds.Bertscore(encoder=Arrows()), [example("0", ("100 180 60",))])
    assert row[0] == pytest.approx(0.5)
    assert row[1] < 0
    assert row[2] == 0
    (row,) = measured(ds.Bertscore(encoder=Arrows()), [example("0", ("180",))])
    assert row.tolist() == pytest.approx([-1, -1, -1])


def test_the_same_text_scores_1_and_never_more():
    rows = measured(
        ds.Bertscore(encoder=Arrows()), [example(f"{angle} 7", (f"{angle} 7",)) for angle in range(90)]
    )
    assert rows.max() <= 1
    assert rows.min() == pytest.approx(1)


# Encoders of many kinds, beside what transformers says


class Oracle:
    """A model and a tokenizer of transformers, one text at a time, nothing padded."""

    def __init__(self, folder, layer):
        self._model = AutoModel.from_pretrained(folder).eval()
        self._tokenizer = AutoTokenizer.from_pretrained(folder)
        self._layer = layer

    def encode_tokens(self, texts):
        read = [
            self._tokenizer(text, truncation=True, max_length=LIMIT, return_tensors="pt") for text in texts
        ]
        with torch.no_grad():
            found = [self._model(**one, output_hidden_states=True) for one in read]
        return [
            TokenVectors(one["input_ids"][0].numpy(), made.hidden_states[self._layer][0].numpy())
            for one, made in zip(read, found, strict=True)
        ]

    @property
    def special(self):
        return {self._tokenizer.cls_token_id, self._tokenizer.sep_token_id}


@pytest.mark.usefixtures("one_thread", "no_scores")
@pytest.mark.parametrize("name", ["bert", "roberta", "electra", "distilbert", "albert", "mpnet", "xlnet"])
def test_every_kind_of_encoder_gives_what_its_vectors_say(name, encoders):
    pairs = [(SENTENCES[place], (SENTENCES[place - 1], SENTENCES[place - 2])) for place in range(6)]
    pairs.append((" ".join(SENTENCES * 3), (SENTENCES[0],)))
    oracle = Oracle(encoders(name), layer=2)
    for space in (True, False):
        metric = ds.Bertscore(encoder=TransformerEncoder(encoders(name), layer=2), leading_space=space)
        before = " " if space else ""
        expected = [
            best_of(
                before + reply,
                [before + one for one in references],
                oracle,
                lambda number: float(number not in oracle.special),
            )
            for reply, references in pairs
        ]
        assert measured(metric, examples(pairs)) == pytest.approx(np.array(expected), abs=2e-5)


@pytest.mark.usefixtures("one_thread", "no_scores")
@pytest.mark.parametrize(("name", "shows"), [("bert", False), ("xlnet", False), ("roberta", True)])
def test_a_space_before_a_text_shows_where_words_are_byte_pairs(name, shows, encoders):
    replies = examples([(SENTENCES[0], (f"and {SENTENCES[0]}",))])
    encoder = TransformerEncoder(encoders(name))
    with_space, without = (
        measured(ds.Bertscore(encoder=encoder, leading_space=one), replies) for one in (True, False)
    )
    assert (with_space.tolist() != without.tolist()) == shows


# Nothing but the texts shows


@pytest.mark.usefixtures("no_scores")
def test_permuting_the_input_permutes_the_output(minilm):
    rng = random.Random(3)  # noqa: S311 - not for secrets
    words = " ".join(SENTENCES).split()
    pairs = [
        (
            " ".join(rng.choices(words, k=rng.randint(0, 40))),
            [" ".join(rng.choices(words, k=rng.randint(1, 60)))],
        )
        for _ in range(150)
    ]
    order = rng.sample(range(150), 150)
    metric = ds.Bertscore(encoder=TransformerEncoder(device="cpu"))
    straight, shuffled = (
        measured(metric, examples(some)) for some in (pairs, [pairs[place] for place in order])
    )
    alone = np.concatenate([measured(metric, examples([pairs[place]])) for place in range(0, 150, 15)])
    error = math.sqrt(2) * cosine_error(minilm, 256)  # both are off; more tokens than any of these texts has
    assert straight[order] == pytest.approx(shuffled, abs=error)
    assert straight[::15] == pytest.approx(alone, abs=error)
    assert len(np.unique(straight[:, 2].round(4))) > 100


def many(count=60):
    """Replies with references that come again, and one reference that all of them have."""
    rng = random.Random(1)  # noqa: S311
    words = ["tea", "coffee", "cake", "rain", "train", "late", "again", "never", "please", "thanks"]
    texts = [" ".join(rng.choices(words, k=rng.randint(1, 9))) for _ in range(count)]
    return examples([(text, (rng.choice(texts), rng.choice(texts), "tea please")) for text in texts])


@pytest.mark.parametrize("size", [1, 50, 1000, 10**9])
@pytest.mark.parametrize("together", [1, 7, 256])
def test_what_is_in_memory_at_once_does_not_show(size, together, recorder, monkeypatch):
    expected = measured(ds.Bertscore(encoder="fake"), many())
    monkeypatch.setattr(matching, "AT_ONCE", size)
    monkeypatch.setattr(matching, "_TOGETHER", together)
    assert measured(ds.Bertscore(encoder=recorder), many()).tolist() == expected.tolist()


def asked_times(recorder):
    return Counter(text for asked in recorder.asked for text in asked)


def test_a_text_that_comes_again_is_encoded_once_while_there_is_room(recorder, monkeypatch):
    texts = [f"{number} tea and some more words for length" for number in range(200)]
    replies = examples(
        [(text, (f"reference {number}", texts[number - 1])) for number, text in enumerate(texts)]
    )
    monkeypatch.setattr(matching, "AT_ONCE", 2000)
    measured(ds.Bertscore(encoder=recorder), replies)
    assert len(recorder.asked) > 5
    assert set(asked_times(recorder).values()) == {1}
    assert max(sum(map(len, asked)) for asked in recorder.asked) < 2500


def test_texts_that_come_again_wait_in_bounded_room(recorder, monkeypatch):
    replies = examples([(f"reply {number}", (f"first {number}",)) for number in range(300)])
    again = examples([(f"reply {number}", (f"second {number}",)) for number in range(300)])
    replies += [dataclasses.replace(one, id=f"again {one.id}") for one in again]
    monkeypatch.setattr(matching, "AT_ONCE", 1000)
    rows = measured(ds.Bertscore(encoder=recorder), replies)
    assert rows.tolist() == measured(ds.Bertscore(encoder="fake"), replies).tolist()
    times = asked_times(recorder)
    assert {times[" first 0"], times[" second 299"]} == {1}
    assert 1 in {times[f" reply {number}"] for number in range(50)}  # some waited
    assert max(times.values()) == 2  # the others did not


def test_a_reference_that_everybody_has_is_matched_some_replies_at_a_time(recorder, monkeypatch):
    monkeypatch.setattr(matching, "AT_ONCE", 5000)
    replies = examples([(f"reply {number}", ("tea",)) for number in range(2000)])
    measured(ds.Bertscore(encoder=recorder), replies)
    assert max(map(len, recorder.asked)) <= 600
    assert set(asked_times(recorder).values()) == {1}


# IDF


def idf_of(documents):
    """From the definition, with words for tokens."""
    seen = Counter(word for text in documents for word in set(text.lower().split()))
    return lambda word: math.log((len(documents) + 1) / (seen[word] + 1))


def by_words(documents):
    weight = idf_of(documents)
    known = {
        tokens_of(FakeEncoder(), word)[0][0]: weight(word)
        for pair in REPLIES
        for text in (pair[0], *pair[1])
        for word in text.split()
    }
    return known.__getitem__


def test_rare_tokens_weigh_more_by_the_references_of_the_system():
    references = [one for _, some in REPLIES for one in some]
    expected = [best_of(reply, some, FakeEncoder(), by_words(references)) for reply, some in REPLIES]
    found = measured(ds.Bertscore(encoder="fake", idf="references"), examples())
    assert found == pytest.approx(np.array(expected), abs=1e-6)
    assert not np.allclose(found, measured(ds.Bertscore(encoder="fake"), examples()), atol=1e-3)


def test_references_count_as_often_as_replies_have_them():
    once = examples([*REPLIES[:2], ("a cup", REPLIES[0][1])])
    references = [one for example in once for one in example.references]
    expected = best_of(REPLIES[1][0], REPLIES[1][1], FakeEncoder(), by_words(references))
    assert measured(ds.Bertscore(encoder="fake", idf="references"), once)[1] == pytest.approx(
        expected, abs=1e-6
    )


def test_other_systems_and_the_order_do_not_show_in_the_weights():
    metric = ds.Bertscore(encoder="fake", idf="references")
    other = examples([("coffee", ("coffee tea no please",)), ("late", ("is the a",))], system="other")
    mixed = [other[0], *examples()[::-1], other[1]]
    alone = measured(metric, examples())
    assert measured(metric, mixed)[1:-1][::-1].tolist() == alone.tolist()
    assert measured(metric, mixed)[[0, -1]].tolist() == measured(metric, other).tolist()


def test_the_laws_that_suit_weights_of_the_whole_system_hold(tmp_path):
    metric = ds.Bertscore(encoder="fake", idf="references")
    for law in (
        laws.test_order_does_not_show,
        laws.test_scores_are_numbers_within_bounds_or_undefined_for_any_text,
        laws.test_nothing_at_all_is_undefined_not_zero,
        laws.test_an_empty_reply_is_a_number_or_undefined,
        laws.test_it_is_a_value,
        laws.test_its_signature_names_every_setting_and_the_version,
        laws.test_it_says_what_it_is,
    ):
        law(metric=metric)


def test_all_laws_hold_with_the_weights_of_a_file(tmp_path):
    path = tmp_path / "human.txt"
    path.write_text("tea the\nyes no tea\nthe old piano\n", encoding="utf-8")
    metric = ds.Bertscore(encoder="fake", idf=path)
    for law in (
        laws.test_batching_does_not_show,
        laws.test_order_does_not_show,
        laws.test_scores_are_numbers_within_bounds_or_undefined_for_any_text,
        laws.test_the_reply_that_is_its_reference_beats_one_that_is_not,
        partial(
            laws.test_a_reply_that_lacks_what_is_needed_is_undefined_and_spoils_no_other, need="references"
        ),
        laws.test_it_is_a_value,
    ):
        law(metric=metric)


def test_where_all_tokens_weigh_nothing_it_is_undefined():
    lone = [example("tea please", ("tea",))]  # the one reference: its token is in every reference
    precision, recall, f1 = measured(ds.Bertscore(encoder="fake", idf="references"), lone)[0]
    assert precision < 1
    assert math.isnan(recall)
    assert math.isnan(f1)
    two = [example("tea please", ("tea", "coffee tea")), example("tea", ("tea cake",), "2")]
    rows = measured(ds.Bertscore(encoder="fake", idf="references"), two)
    assert not np.isnan(rows[0]).any()  # the other reference has a token that weighs
    assert math.isnan(rows[1][0])


@pytest.mark.parametrize("form", ["txt", "jsonl", "references", "dialogues"])
def test_a_file_of_texts_can_have_many_forms(form, tmp_path):
    documents = ["tea please", "no thanks", "the train", "no thanks"]
    path = tmp_path / f"human.{'txt' if form == 'txt' else 'jsonl'}"
    rows = {
        "txt": ["\ufefftea please", "no thanks", "", "the train", "  ", "no thanks"],
        "jsonl": [json.dumps({"id": str(n), "response": text}) for n, text in enumerate(documents)],
        "references": [
            json.dumps({"id": "1", "response": "not this", "references": documents[:3]}),
            json.dumps({"id": "2", "response": "nor this", "references": documents[3:]}),
        ],
        "dialogues": [
            json.dumps({"id": "1", "turns": documents[:3]}),
            json.dumps({"id": "2", "turns": documents[3:]}),
        ],
    }
    path.write_text("".join(f"{row}\n" for row in rows[form]), encoding="utf-8")
    assert list(Sentences(str(path)).texts()) == documents
    found = measured(ds.Bertscore(encoder="fake", idf=str(path)), examples())
    expected = [best_of(reply, some, FakeEncoder(), by_words(documents)) for reply, some in REPLIES]
    assert found == pytest.approx(np.array(expected), abs=1e-6)


@pytest.mark.usefixtures("own_scores", "one_thread")
def test_the_tokens_of_a_file_are_counted_once(tmp_path, encoders, monkeypatch):
    path = tmp_path / "human.txt"
    path.write_text("hello there\ni am fine\n", encoding="utf-8")
    metric = ds.Bertscore(encoder=TransformerEncoder(encoders("bert")), idf=str(path))
    replies = examples([(SENTENCES[0], (SENTENCES[1],)), (SENTENCES[2], (SENTENCES[3],))])
    first = measured(metric, replies)
    honest = TransformerEncoder.encode_tokens
    monkeypatch.setattr(TransformerEncoder, "encode_tokens", never_asked)
    assert measured(metric, replies).tolist() == first.tolist()
    path.write_text("hello there\ni am fine\nhow are you\n", encoding="utf-8")
    with pytest.raises(AssertionError):
        measured(metric, replies)
    monkeypatch.setattr(TransformerEncoder, "encode_tokens", honest)
    assert measured(metric, replies).tolist() != first.tolist()


def never_asked(self, texts):
    raise AssertionError("what is known was asked for again")


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        (
            "absent.txt",
            None,
            r"idf must be none, references, or a file of texts\. .*absent\.txt cannot be read",
        ),
        ("refrences", None, r"idf must be none, references, or a file of texts\. .*refrences cannot be read"),
        ("blank.txt", b"\n \n", r"blank\.txt holds no text, so that no token can be weighed by it\."),
        ("latin.txt", b"caf\xe9", r"latin\.txt is not UTF-8, from byte 3 on\."),
        ("no.jsonl", b"{}\n", r"no column `response`"),
    ],
)
def test_a_file_of_texts_that_is_none_is_told_before_a_model_is_asked(
    name, content, complaint, tmp_path, recorder
):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(ds.DialoscopeError, match=complaint):
        ds.evaluate(examples(), ds.Bertscore(encoder=recorder, idf=str(tmp_path / name)))
    assert recorder.asked == []


def test_a_file_that_goes_away_while_it_is_read_is_told(tmp_path):
    with pytest.raises(ds.DataError, match=r"gone\.txt cannot be read: No such file or directory\."):
        list(Sentences(str(tmp_path / "gone.txt")).texts())


# Baselines


@dataclass(frozen=True)
class Layered(FakeEncoder):
    layer: int = 0


def test_a_baseline_becomes_0_in_each_part_by_its_own_number(baseline):
    for layer, level in ((0, [0.1, 0.2, 0.15]), (2, [0.5, -0.25, 0.5])):
        metric = ds.Bertscore(encoder=Layered(layer), baseline=baseline)
        raw = measured(ds.Bertscore(encoder=Layered(layer)), [*examples(), example("", ("no",), "9")])
        rescaled = measured(metric, [*examples(), example("", ("no",), "9")])
        assert rescaled == pytest.approx((raw - level) / (1 - np.array(level)))
        assert rescaled[-1] == pytest.approx(-np.array(level) / (1 - np.array(level)))
    assert metric.bounds == ds.Bounds(-math.inf, 1)
    assert ds.Bertscore().bounds == ds.Bounds(-1, 1)


def test_a_baseline_may_be_separated_by_tabs(tmp_path):
    path = tmp_path / "baseline.tsv"
    path.write_text(BASELINE.replace(",", "\t") + "\n", encoding="utf-8")
    assert Baseline(str(path)).level(1) == (0.3, 0.4, 0.35)


def test_a_changed_baseline_is_read_anew(baseline):
    assert Baseline(str(baseline)).level(0) == (0.1, 0.2, 0.15)
    baseline.write_text("LAYER,P,R,F\n0,0.6,0.6,0.65\n", encoding="utf-8")
    assert Baseline(str(baseline)).level(0) == (0.6, 0.6, 0.65)


@pytest.mark.parametrize(
    ("content", "layer", "complaint"),
    [
        (None, 0, r"baseline\.tsv cannot be read: No such file or directory\."),
        (b"", 0, r"baseline\.tsv is no file of baselines: its first line is not LAYER,P,R,F\."),
        (b"layer,p,r,f\n0,1,1,1\n", 0, r"its first line is not LAYER,P,R,F\."),
        (b"LAYER,P,R,F\n", 0, r"baseline\.tsv has no line for layer 0; it has none\."),
        (BASELINE.encode(), 6, r"has no line for layer 6; it has 3 layers, from 0 to 2\."),
        (
            b"LAYER,P,R,F\n0,.1,.1,.1\n1,.1,.1\n",
            0,
            r"line 3: no baselines of a layer\. There must be the layer's",
        ),
        (b"LAYER,P,R,F\n0,.1,.1,high\n", 0, r"line 2: no baselines of a layer\."),
        (b"LAYER,P,R,F\n0,.1,.1,1\n", 0, r"three numbers below 1, for precision, recall and F\."),
        (b"LAYER,P,R,F\n0,.1,.1,nan\n", 0, r"line 2: no baselines of a layer\."),
        (b"LAYER,P,R,F\nx,.1,.1,.1\n", 0, r"line 2: no baselines of a layer\."),
        (b"\xff\xfe", 0, r"baseline\.tsv is no text, so no file of baselines\."),
    ],
)
def test_a_wrong_baseline_is_told_before_a_model_is_asked(content, layer, complaint, tmp_path):
    path = tmp_path / "baseline.tsv"
    if content is not None:
        path.write_bytes(content)

    @dataclass(frozen=True)
    class NeverAsked(Layered):
        encode_tokens = never_asked

    with pytest.raises(ds.BackendError, match=complaint):
        ds.evaluate(examples(), ds.Bertscore(encoder=NeverAsked(layer), baseline=str(path)))


def test_a_baseline_that_the_system_refuses_is_told(tmp_path):
    with pytest.raises(ds.BackendError, match=r"cannot be read: Is a directory\."):
        Baseline(str(tmp_path)).level(0)
    with pytest.raises(ds.BackendError, match=r"gone cannot be read: No such file or directory\."):
        _levels(str(tmp_path / "gone"), "its hash when it was still there")


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ("baseline=x.tsv", "a baseline is that of one layer. Say which is used, counted from 0"),
        ("encoder=fake,baseline=x.tsv", "a baseline is that of one layer"),
        ("part=f", "bertscore has no part 'f'. Choose one of: f1, precision, recall."),
        ("leading_space=maybe", "leading_space must be yes or no, not 'maybe'"),
        ("encoder.depth=3", "encoder has no setting 'depth'"),
    ],
)
def test_a_wrong_setting_is_explained(settings, complaint):
    with pytest.raises(ds.MetricError, match=complaint):
        metrics(f"bertscore:{settings}")


def test_weights_must_come_from_somewhere():
    with pytest.raises(ds.MetricError, match="idf is empty; it must be none, references, or a file of texts"):
        ds.Bertscore(idf="")


@pytest.mark.parametrize(
    "text",
    [
        "bertscore",
        "bertscore:encoder=fake,part=recall",
        "bertscore:encoder=roberta-large,encoder.layer=17",
        "bertscore:encoder=org/model,encoder.layer=9,idf=data/human.jsonl,baseline=data/en/model.tsv",
        "bertscore:idf=references,leading_space=false",
    ],
)
def test_a_text_names_it_and_is_its_name(text):
    (found,) = metrics(text)
    assert str(found) == text
    assert metrics(str(found)) == [found]


# The run, and what is remembered


def test_a_run_knows_the_files_that_its_numbers_depend_on(tmp_path, baseline, sample, monkeypatch):
    monkeypatch.setattr(FakeEncoder, "layer", 1, raising=False)
    corpus = tmp_path / "human.txt"
    corpus.write_text("tea\n", encoding="utf-8")
    name = f"bertscore:encoder=fake,idf={corpus},baseline={baseline}"
    result = ds.evaluate(ds.read(sample), name)
    assert set(result.provenance.models) == {
        "fake-encoder|v:1",
        f"sentences|file:{corpus}|v:1",
        f"baseline|file:{baseline}|v:1",
    }
    result.save(tmp_path / "run")
    assert ds.verify(tmp_path / "run").holds
    corpus.write_text("coffee\n", encoding="utf-8")
    assert "the model sentences" in " ".join(ds.verify(tmp_path / "run").differences)
    baseline.unlink()
    loaded = ds.Result.load(tmp_path / "run")  # a run needs none of them to be shown
    assert loaded.score(name, "generic") == result.score(name, "generic")


def test_a_plain_run_knows_the_encoder_alone(sample):
    for idf in ("none", "references"):
        result = ds.evaluate(ds.read(sample), ds.Bertscore(encoder="fake", idf=idf))
        assert set(result.provenance.models) == {"fake-encoder|v:1"}


@pytest.mark.usefixtures("own_scores", "one_thread")
def test_what_was_matched_is_not_computed_again_whatever_the_weights(encoders, baseline, monkeypatch):
    encoder = TransformerEncoder(encoders("bert"), layer=1)
    replies = examples(
        [(SENTENCES[place], (SENTENCES[place - 1], SENTENCES[place - 2])) for place in range(6)]
    )
    metric = ds.Bertscore(encoder=encoder)
    first = measured(metric, replies)
    assert cache_status().entries == 13
    monkeypatch.setattr(TransformerEncoder, "encode_tokens", never_asked)
    assert measured(metric, replies).tolist() == first.tolist()
    weighed = measured(dataclasses.replace(metric, idf="references"), replies)
    rescaled = measured(dataclasses.replace(metric, baseline=str(baseline)), replies)
    assert weighed.tolist() != first.tolist() != rescaled.tolist()
    for other in (dataclasses.replace(encoder, layer=2), TransformerEncoder(encoders("roberta"), layer=1)):
        with pytest.raises(AssertionError):
            measured(ds.Bertscore(encoder=other), replies)
    monkeypatch.setattr(matching, "VERSION", 2)
    with pytest.raises(AssertionError):
        measured(metric, replies)


@pytest.mark.usefixtures("own_scores")
def test_an_encoder_of_an_unknown_kind_is_not_remembered():
    measured(ds.Bertscore(encoder="fake"), examples())
    assert cache_status().entries == 0


def test_matches_can_be_taken_in_any_order():
    couples = [Couple("tea", "coffee please"), Couple("", "no"), Couple("a b c", "c")]
    found = dict(compute_matches(FakeEncoder(), couples, range(3)))
    whole = TokenMatches.of([found[place] for place in range(3)])
    turned = whole.take(np.array([2, 0, 1, 2]))
    expected = TokenMatches.of([found[place] for place in (2, 0, 1, 2)])
    assert turned.tokens.tolist() == expected.tokens.tolist()
    assert turned.lengths.tolist() == [4, 3, 1, 4]
    every = np.stack(scores(whole, np.array([], int), np.ones(8)), axis=1)
    again = np.stack(scores(turned, np.array([], int), np.ones(12)), axis=1)
    assert again.tolist() == every[[2, 0, 1, 2]].tolist()


def test_nothing_to_match_needs_no_encoder():
    assert len(TokenMatches.of([]).lengths) == 0
    assert list(compute_matches(FakeEncoder(), [], [])) == []
