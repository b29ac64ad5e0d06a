"""Average, Extrema and Greedy on vectors made by hand, where every number can be worked out on paper."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import dialoscope as ds
from dialoscope.metrics import metrics
from dialoscope.metrics.shared import word_vectors
from dialoscope.models import vectors as vector_tables
from dialoscope.models.fakes import FakeWordVectors
from dialoscope.models.vectors import StaticVectors
from dialoscope.text.batch import Batch

VECTORS = {
    "tea": [1, 0, 0],
    "milk": [0, 1, 0],
    "cocoa": [3, 4, 0],
    "cold": [-1, 0, 0],
    "deep": [-2, 1, 2],
    "high": [2, 3, 1],
    "nil": [0, 0, 0],
}
MEAN = np.mean(list(VECTORS.values()), axis=0)
NAMES = ["average", "extrema", "greedy"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("vectors") / "words.txt"
    path.write_text("".join(f"{word} {' '.join(map(str, row))}\n" for word, row in VECTORS.items()))
    return str(path)


def example(reply, *references, name="1"):
    return ds.Example(name, "s", reply, (), references)


def value(metric, reply, *references):
    (found,) = metric.score_each(metric.measure(Batch([example(reply, *references)])))
    return float(found)


def cosine(one, other):
    return float(np.dot(one, other) / (np.linalg.norm(one) * np.linalg.norm(other)))


@pytest.fixture(params=[ds.Average, ds.Extrema, ds.Greedy], ids=NAMES)
def kind(request):
    return request.param


def test_average_is_the_cosine_of_the_mean_vectors(model):
    average = ds.Average(vectors=model)
    assert value(average, "tea milk", "cocoa") == pytest.approx(7 / (5 * math.sqrt(2)))
    assert value(average, "tea tea milk", "milk") == pytest.approx(1 / math.sqrt(5))
    assert value(average, "tea", "cold") == -1


def test_extrema_takes_the_value_farthest_from_zero_in_each_dimension(model):
    assert value(ds.Extrema(vectors=model), "tea deep high", "cocoa") == pytest.approx(
        cosine([-2, 3, 2], [3, 4, 0])  # of -2 and 2 the lower, as in nlg-eval
    )
    assert value(ds.Extrema(vectors=model), "cold cocoa", "high") == pytest.approx(
        cosine([3, 4, 0], [2, 3, 1])
    )


def test_extrema_can_take_the_largest_value(model):
    largest = ds.Extrema(vectors=model, extreme="max")
    assert value(largest, "cold deep", "cocoa") == pytest.approx(cosine([-1, 1, 2], [3, 4, 0]))


def test_nlg_eval_takes_zero_where_it_is_the_lowest_value(model):
    odd, plain = ds.Extrema(vectors=model, extreme="nlg-eval"), ds.Extrema(vectors=model)
    assert value(odd, "cocoa high", "high") == pytest.approx(cosine([3, 4, 0], [2, 3, 1]))
    assert value(plain, "cocoa high", "high") == pytest.approx(cosine([3, 4, 1], [2, 3, 1]))
    assert math.isnan(value(odd, "tea milk", "high"))  # nothing is left of it


def test_greedy_finds_each_word_its_nearest_and_takes_the_mean_of_both_ways(model):
    settings = {"vectors": model}
    there, back = (0.6 + 0.6 + 0.8) / 3, 0.8
    assert value(ds.Greedy(**settings), "tea tea milk", "cocoa") == pytest.approx((there + back) / 2)
    assert value(ds.Greedy(**settings, direction="reply"), "tea tea milk", "cocoa") == pytest.approx(there)
    assert value(ds.Greedy(**settings, direction="reference"), "tea tea milk", "cocoa") == pytest.approx(back)


def test_the_same_words_have_one(kind, model):
    assert value(kind(vectors=model), "tea and deep cocoa", "tea and deep cocoa") == pytest.approx(
        1, abs=1e-15
    )


def test_no_number_passes_the_bounds(kind, model):
    texts = [" ".join(words) for words in np.random.default_rng(1).choice(list(VECTORS), (200, 5))]
    batch = Batch([example(text, text) for text in texts])
    found = kind(vectors=model).measure(batch).values
    assert np.nanmax(found) <= 1
    assert np.nanmin(found) >= -1


def test_an_unknown_word_is_left_out(kind, model):
    metric = kind(vectors=model)
    assert value(metric, "tea sofa milk", "cocoa lamp") == value(metric, "tea milk", "cocoa")


def test_an_unknown_word_of_zeros_cannot_be_seen_in_the_average(model):
    zero, skip = ds.Average(vectors=model, unknown="zero"), ds.Average(vectors=model)
    assert value(zero, "tea sofa milk", "cocoa lamp") == value(skip, "tea sofa milk", "cocoa lamp")


def test_an_unknown_word_of_zeros_is_an_extreme_where_all_others_are_farther(model):
    largest = ds.Extrema(vectors=model, extreme="max", unknown="zero")
    assert value(largest, "cold deep sofa", "cocoa") == pytest.approx(cosine([0, 1, 2], [3, 4, 0]))
    assert value(largest, "cold deep", "cocoa") == pytest.approx(cosine([-1, 1, 2], [3, 4, 0]))
    farthest = ds.Extrema(vectors=model, unknown="zero")
    assert value(farthest, "cold deep sofa", "cocoa") == value(farthest, "cold deep", "cocoa")


def test_an_unknown_word_of_zeros_makes_a_text_longer_and_is_nobody_s_nearest(model):
    zero = ds.Greedy(vectors=model, unknown="zero")
    assert value(zero, "tea sofa", "cold") == pytest.approx((-1 / 2 - 1) / 2)
    assert value(zero, "tea sofa", "cold lamp") == pytest.approx(-1 / 2)


def test_an_unknown_word_can_stand_for_the_mean_of_all_vectors(model):
    settings = {"vectors": model, "unknown": "mean"}
    both = np.array([[1, 0, 0], MEAN])
    assert value(ds.Average(**settings), "tea sofa", "milk") == pytest.approx(
        cosine(both.sum(axis=0), [0, 1, 0])
    )
    farthest = np.where(both.max(axis=0) > -both.min(axis=0), both.max(axis=0), both.min(axis=0))
    assert value(ds.Extrema(**settings), "tea sofa", "milk") == pytest.approx(cosine(farthest, [0, 1, 0]))
    near = cosine(MEAN, [0, 1, 0])
    assert value(ds.Greedy(**settings), "tea sofa", "milk") == pytest.approx((near / 2 + near) / 2)


@pytest.mark.parametrize(
    "texts", [("", "tea"), ("tea", ""), ("  \n", "tea"), ("sofa", "tea"), ("tea", "sofa")]
)
@pytest.mark.parametrize("unknown", ["skip", "zero"])
def test_without_a_known_word_on_either_side_it_is_undefined(kind, model, texts, unknown):
    found = value(kind(vectors=model, unknown=unknown), *texts)
    if kind is ds.Greedy and unknown == "zero" and "sofa" in texts:
        assert found == 0  # each word is there, and near to none
    else:
        assert math.isnan(found)


@pytest.mark.parametrize("direction", ["both", "reply", "reference"])
def test_greedy_is_undefined_in_every_direction_where_one_side_has_nothing(model, direction):
    greedy = ds.Greedy(vectors=model, direction=direction)
    assert math.isnan(value(greedy, "tea", "sofa"))
    assert math.isnan(value(greedy, "sofa", "tea"))


def test_with_the_mean_no_word_is_unknown_but_an_empty_text_stays_undefined(kind, model):
    metric = kind(vectors=model, unknown="mean")
    assert value(metric, "sofa", "lamp") == pytest.approx(1)
    assert math.isnan(value(metric, "", "lamp"))
    assert math.isnan(value(metric, "sofa", " "))


def test_a_vector_of_zeros_has_no_direction(model):
    assert math.isnan(value(ds.Average(vectors=model), "nil", "tea"))
    assert math.isnan(value(ds.Average(vectors=model), "tea cold", "tea"))
    assert math.isnan(value(ds.Extrema(vectors=model), "tea", "nil nil"))
    assert value(ds.Greedy(vectors=model), "nil", "tea") == 0


def test_the_best_reference_counts_and_one_that_cannot_be_compared_does_not(kind, model):
    metric = kind(vectors=model)
    alone = [value(metric, "tea milk", text) for text in ("cold", "cocoa", "milk")]
    assert value(metric, "tea milk", "cold", "cocoa", "milk") == max(alone)
    assert value(metric, "tea milk", "sofa", "cold", "") == alone[0]


def test_only_the_first_reference_counts_where_asked_for(kind, model):
    first = kind(vectors=model, reference="first")
    assert value(first, "tea milk", "cold", "cocoa") == value(first, "tea milk", "cold")
    assert math.isnan(value(first, "tea milk", "sofa", "cocoa"))


def test_a_reply_without_references_is_undefined(kind, model):
    replies = [example("tea", "tea", name="1"), example("tea", name="2")]
    found = ds.evaluate(replies, kind(vectors=model), missing="undefined")
    (metric,) = found.metrics
    assert np.isnan(found.values(metric)).tolist() == [False, True]
    with pytest.raises(ds.MetricError, match=r"needs references, but 1 of 2 replies"):
        ds.evaluate(replies, kind(vectors=model))


def plainly(metric, reply, references):
    """The same in as few words as possible, one pair at a time."""
    found = []
    for reference in references[:1] if metric.reference == "first" else references:
        sides = [np.array([VECTORS[word] for word in text.split()], float) for text in (reply, reference)]
        if isinstance(metric, ds.Average):
            found.append(cosine(*(side.mean(axis=0) for side in sides)))
        elif isinstance(metric, ds.Extrema):
            found.append(
                cosine(*([max(column, key=lambda x: (abs(x), -x)) for column in side.T] for side in sides))
            )
        else:
            table = np.array([[cosine(one, other) for other in sides[1]] for one in sides[0]])
            found.append((table.max(axis=1).mean() + table.max(axis=0).mean()) / 2)
    return max(found)


@pytest.fixture
def many():
    chance = np.random.default_rng(3)
    words = [word for word in VECTORS if word not in ("nil", "cold")]

    def text():
        return " ".join(chance.choice(words, chance.choice([1, 2, 3, 5, 9, 30])))

    return [
        example(text(), *(text() for _ in range(1 + number % 3)), name=str(number)) for number in range(90)
    ]


def test_it_is_what_the_definition_says(kind, model, many):
    metric = kind(vectors=model)
    found = metric.measure(Batch(many)).values
    expected = [plainly(metric, one.response, one.references) for one in many]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_how_much_is_worked_on_at_once_does_not_show(kind, model, many, monkeypatch):
    metric = kind(vectors=model)
    whole = metric.measure(Batch(many)).values
    monkeypatch.setattr(word_vectors, "_CELLS", 40)
    monkeypatch.setattr(word_vectors, "_WORDS", 4)
    monkeypatch.setattr(word_vectors, "_PAIRS", 7)
    np.testing.assert_allclose(metric.measure(Batch(many)).values, whole, rtol=1e-12)


def test_neither_batches_nor_order_nor_duplicates_show_to_the_last_bit(kind, glove, sample):
    replies = list(ds.read(sample))[:60]
    for metric in (kind(), kind(**kind.variants["nlg-eval"]), kind(**kind.variants["fbd"])):
        whole = metric.measure(Batch(replies)).values
        alone = np.concatenate([metric.measure(Batch([reply])).values for reply in replies])
        np.testing.assert_array_equal(whole, alone)
        twice = metric.measure(Batch([*reversed(replies), *replies])).values
        np.testing.assert_array_equal(twice, [*whole[::-1], *whole])
        assert not np.isnan(whole).all()


@dataclass(frozen=True)
class Recorder(FakeWordVectors):
    """Keeps what it was asked."""

    asked: ClassVar[list[list[str]]] = []

    def vectors(self, words):
        self.asked.append(list(words))
        return super().vectors(words)


def test_three_metrics_look_each_word_up_once():
    Recorder.asked.clear()
    replies = [example("tea or milk", "milk or tea", "tea"), example("tea", "lemon milk", name="2")]
    chosen = [kind(vectors=Recorder()) for kind in (ds.Average, ds.Extrema, ds.Greedy)]
    ds.evaluate(replies, [*chosen, ds.Greedy(vectors=Recorder(), unknown="mean")])
    (words,) = Recorder.asked
    assert sorted(words) == ["lemon", "milk", "or", "tea"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("settings", "vectors"),
    [
        ("", StaticVectors()),
        (":vectors=fake", FakeWordVectors()),
        (":vectors=some/folder/glove.txt", StaticVectors("some/folder/glove.txt")),
        (":vectors=word2vec-300d,vectors.case=as-is", StaticVectors("word2vec-300d", case="as-is")),
        (":vectors.case=lower", StaticVectors(case="lower")),
        (":variant=nlg-eval", StaticVectors(case="as-is")),
        (":variant=nlg-eval,vectors=a/x.txt", StaticVectors("a/x.txt", case="as-is")),
        (":variant=fbd", StaticVectors(case="as-is")),
        (":variant=fbd,vectors=fake", FakeWordVectors()),
    ],
)
def test_a_text_names_the_vectors_and_is_written_back(name, settings, vectors):
    (found,) = metrics(name + settings)
    assert found.vectors == vectors
    assert str(found) == name + settings
    assert metrics(str(found)) == [found]


def test_several_values_are_several_metrics():
    assert [one.unknown for one in metrics("greedy:vectors=a/b,unknown=skip/zero")] == ["skip", "zero"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("average:unknown=guess", "average has no unknown 'guess'. Choose one of: skip, zero, mean."),
        ("average:reference=last", "average has no reference 'last'. Choose one of: best, first."),
        ("extrema:extreme=min", "extrema has no extreme 'min'. Choose one of: magnitude, max, nlg-eval."),
        ("greedy:direction=up", "greedy has no direction 'up'. Choose one of: both, reply, reference."),
        ("greedy:tokenizer=13b", "There is no tokenizer '13b'."),
        ("extrema:vectors.case=upper", "case must be one of as-is, lower, either, not 'upper'"),
        ("average:vectors.size=3", "average: vectors has no setting 'size'. It has: case."),
        ("average:extreme=max", "average has no setting 'extreme'."),
    ],
)
def test_a_wrong_setting_is_explained(text, complaint):
    with pytest.raises(ds.DialoscopeError) as error:
        metrics(text)
    assert complaint in str(error.value)


def test_a_thing_that_is_no_word_vectors_is_refused(kind):
    with pytest.raises(ds.MetricError, match=f"{kind.name}: vectors must be a WordVectors, not '3'"):
        kind(vectors=3)


def test_vectors_that_are_not_there_are_an_error(kind):
    with pytest.raises(ds.BackendError, match="There is no file or folder 'nowhere'"):
        ds.evaluate([example("tea", "milk")], kind(vectors="nowhere"))


def test_a_run_says_which_vectors_made_it_and_is_verified(tmp_path, sample, model):
    result = ds.evaluate(ds.read(sample), [f"{name}:vectors={model}" for name in NAMES])
    (signed,) = result.provenance.models
    assert signed == f"static-vectors|model:{model}|case:either|v:1"
    assert result.provenance.models[signed] == StaticVectors(model).fingerprint
    result.save(tmp_path / "run")
    assert ds.verify(tmp_path / "run").holds


def test_bounds_are_those_of_a_cosine(kind):
    assert kind().bounds == ds.Bounds(-1, 1)


def test_the_mean_of_all_vectors_is_read_a_little_at_a_time(model, monkeypatch):
    monkeypatch.setattr(vector_tables, "_ROWS", 2)
    vector_tables._load_table.cache_clear()
    np.testing.assert_allclose(StaticVectors(model).mean, MEAN, rtol=1e-6)
    vector_tables._load_table.cache_clear()


@pytest.mark.parametrize("direction", ["both", "reply", "reference"])
def test_words_of_long_texts_are_compared_as_those_of_short_ones(model, monkeypatch, direction):
    rng = np.random.default_rng(5)
    words = np.array([*VECTORS, "unknown"])
    batch = Batch(
        [
            example(
                " ".join(rng.choice(words, rng.integers(1, 30))),
                " ".join(rng.choice(words, rng.integers(1, 30))),
            )
            for _ in range(50)
        ]
    )
    greedy = ds.Greedy(vectors=model, direction=direction)
    expected = greedy.grade(batch)
    monkeypatch.setattr(word_vectors, "_CELLS", 1)  # every pair is long
    assert greedy.grade(Batch(list(batch))).tolist() == pytest.approx(
        expected.tolist(), abs=1e-12, nan_ok=True
    )


def test_too_many_different_words_are_undefined_and_reported(model, monkeypatch):
    monkeypatch.setattr(word_vectors, "MOST_COSINES", 4)
    monkeypatch.setattr("dialoscope.metrics.greedy.MOST_COSINES", 4)
    batch = Batch(
        [
            example("tea milk tea milk tea", "cocoa cold cocoa cold", name="repetitive"),
            example("tea milk cocoa", "tea", "tea milk cocoa", name="one reference is too long"),
            example("tea milk cocoa", "tea unknown", name="unknown words are not compared"),
            example("unknown", "tea", name="undefined for another reason"),
        ]
    )
    greedy = ds.Greedy(vectors=model)
    assert np.isnan(greedy.grade(batch)).tolist() == [False, True, False, True]
    assert batch.undefined == {
        "greedy, which compares at most 4 pairs of different words of a reply and a reference": {1}
    }
