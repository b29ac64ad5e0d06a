"""The points of texts: few in memory, many in a file, a corpus in parts."""

import math
import pickle
import tempfile
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

import dialoscope as ds
from dialoscope.metrics.shared import points
from dialoscope.metrics.shared.frechet import Moments
from dialoscope.metrics.shared.points import Crowd, Points, PointTable, VectorFile, items_of, points_of, whole
from dialoscope.models.corpus import FileCorpus, References
from dialoscope.models.fakes import FakeCorpus, FakeEncoder
from dialoscope.models.protocols import Pair
from dialoscope.text.batch import Batch


@dataclass(frozen=True)
class Blank(FakeEncoder):
    """Knows nothing of a reply that is empty."""

    name: ClassVar[str] = "blank"

    def encode(self, texts):
        found = super().encode(texts)
        found[[not text.second for text in texts]] = math.nan
        return found


def examples(count=12):
    words = (
        "tea",
        "milk",
        "sugar",
        "coffee",
        "water",
        "juice",
        "lemon",
        "honey",
        "bread",
        "butter",
        "jam",
        "salt",
    )
    return [
        ds.Example(
            str(i),
            "s",
            f"i like {words[i % 12]} and {words[i * 5 % 12]}",
            (f"what about {words[i * 7 % 12]} {i}?",),
            (f"i hate {words[i * 3 % 12]}", f"{words[i * 11 % 12]} please"),
        )
        for i in range(count)
    ]


@pytest.fixture
def on_disk(monkeypatch):
    """Vectors of more than a hundred bytes are many."""
    monkeypatch.setattr(points, "HELD", 100)
    monkeypatch.setattr(points, "CHUNK", 5)


def vectors(table: PointTable) -> np.ndarray:
    return np.concatenate(list(table.chunks(np.arange(len(table.keys)))))


def test_a_reply_a_reference_and_a_bare_context_have_a_point_each():
    found = points_of(Batch(examples(1)), FakeEncoder(), 0)
    said, context = "i like tea and tea", "what about tea 0?"
    assert found.counts.tolist() == [2]
    assert found.generated.points == pytest.approx(FakeEncoder().encode([Pair(context, said)]))
    assert found.silent.points == pytest.approx(FakeEncoder().encode([Pair(context, "")]))
    assert found.people.count == 2


def test_equal_pairs_share_a_point_but_count_each():
    one = examples(1)[0]
    found = points_of(Batch([one, replace(one, id="2")]), FakeEncoder(), 0)
    assert len(found.table.keys) == 4
    assert found.generated.count == 2
    assert found.people.count == 4


def test_the_last_turns_alone_are_read_if_so_many_are_asked_for():
    long = [replace(one, context=("hello there", *one.context)) for one in examples()]
    short, cut = points_of(Batch(examples()), FakeEncoder(), 0), points_of(Batch(long), FakeEncoder(), 1)
    assert np.array_equal(short.generated.points, cut.generated.points)
    assert not np.array_equal(
        short.generated.points, points_of(Batch(long), FakeEncoder(), 0).generated.points
    )


def test_where_points_lie_does_not_show(on_disk, monkeypatch):
    filed = points_of(Batch(examples()), FakeEncoder(), 0)
    monkeypatch.setattr(points, "HELD", 2**20)
    held = points_of(Batch(examples()), FakeEncoder(), 0)
    assert isinstance(filed.table.held, VectorFile)
    assert isinstance(held.table.held, np.ndarray)
    assert np.array_equal(vectors(filed.table), vectors(held.table))
    some = np.array([7, 2, 2, 11])
    for name in ("generated", "people", "silent"):
        one, other = getattr(filed.take(some), name), getattr(held.take(some), name)
        assert np.array_equal(one.points, other.points)
        assert one.halves[0].mean == pytest.approx(other.halves[0].mean)


@pytest.mark.parametrize("many", [2**20, 100])
def test_a_table_is_what_it_was_when_it_comes_back(tmp_path, monkeypatch, many):
    monkeypatch.setattr(points, "HELD", many)
    table = points_of(Batch(examples()), FakeEncoder(), 0).table
    table.save(tmp_path / "t.npy")
    back = PointTable.load(tmp_path / "t.npy")
    assert isinstance(back.held, VectorFile) == (many == 100)
    assert np.array_equal(back.keys, table.keys)
    assert np.array_equal(vectors(back), vectors(table))


def test_many_points_are_a_sample_and_moments(monkeypatch):
    monkeypatch.setattr(points, "SAMPLE", 10)
    cloud = points_of(Batch(examples()), FakeEncoder(), 0).people
    assert cloud.count == 24
    assert not cloud.held
    assert len(cloud.points) == 10
    assert whole(cloud).count == 24


def test_the_sample_is_the_same_in_any_order(monkeypatch):
    monkeypatch.setattr(points, "SAMPLE", 5)
    straight = points_of(Batch(examples()), FakeEncoder(), 0)
    turned = points_of(Batch(examples()[::-1]), FakeEncoder(), 0)
    assert np.array_equal(straight.generated.points, turned.generated.points)


def test_a_text_without_a_vector_has_no_point():
    known = examples(4)
    batch = Batch([replace(known[0], response=""), *known[1:3], replace(known[3], references=("", "yes"))])
    found = points_of(batch, Blank(), 0)
    assert found.generated.count == 3
    assert found.counts.tolist() == [2, 2, 2, 1]
    assert found.silent.count == 0


def test_halves_keep_what_belongs_together_together():
    found = points_of(Batch(examples()), FakeEncoder(), 0).people
    even = whole(found).count - found.halves[1].count
    assert even == int((found.items & 1 == 0).sum())


def test_points_of_parts_are_joined_without_doubles():
    parts = [points_of(Batch(some), FakeEncoder(), 0) for some in (examples()[:5], examples()[3:])]
    whole_run = Points.joined(parts)
    assert len(whole_run) == 14
    assert np.array_equal(whole_run.table.keys, points_of(Batch(examples()), FakeEncoder(), 0).table.keys)


def test_nothing_joined_to_nothing_is_nothing():
    empty = points_of(Batch([]), FakeEncoder(), 0)
    assert len(Points.joined([])) == len(Points.joined([empty, empty])) == 0


def test_a_corpus_is_read_in_parts_and_kept_as_moments_and_a_sample(monkeypatch):
    whole_corpus = Crowd.of(FakeCorpus(), FakeEncoder(), 0)
    monkeypatch.setattr(points, "CHUNK", 2)
    monkeypatch.setattr(points, "SAMPLE", 3)
    in_parts = Crowd.of(FakeCorpus(), FakeEncoder(), 0)
    assert whole_corpus.count == in_parts.count == 21
    assert whole_corpus.held
    assert not in_parts.held
    assert np.array_equal(in_parts.points, whole_corpus.points[:3])
    assert in_parts.halves[0].mean == pytest.approx(whole_corpus.halves[0].mean)


def test_a_crowd_is_what_it_was_when_it_comes_back(tmp_path):
    crowd = Crowd.of(FakeCorpus(), FakeEncoder(), 0)
    crowd.save(tmp_path / "c.npz")
    back = Crowd.load(tmp_path / "c.npz")
    assert np.array_equal(back.points, crowd.points)
    assert np.array_equal(back.items, crowd.items)
    assert whole(back).trace == whole(crowd).trace


def test_a_corpus_without_a_reply_to_anything_is_refused(tmp_path):
    (tmp_path / "h.jsonl").write_text('{"id": "1", "response": "hi"}\n')
    with pytest.raises(ds.BackendError, match=r"h\.jsonl has not one reply with a context before it"):
        Crowd.of(FileCorpus(tmp_path / "h.jsonl"), FakeEncoder(), 0)


def test_a_corpus_is_every_turn_after_the_first_and_references_before_responses(tmp_path):
    file = tmp_path / "h.jsonl"
    file.write_text(
        '{"id": "d", "turns": ["hi", "hello", "how are you?"]}\n'
        '{"id": "r", "context": ["tea?"], "response": "model says", "references": ["yes", "no"]}\n'
    )
    found = [(one.context, one.response) for one in FileCorpus(file).examples()]
    assert found == [
        (("hi",), "hello"),
        (("hi", "hello"), "how are you?"),
        (("tea?",), "yes"),
        (("tea?",), "no"),
    ]


def test_a_corpus_is_known_by_what_it_holds(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.jsonl").write_text('{"id": "1", "context": ["x"], "response": "hi"}\n')
    one, other = (FileCorpus(tmp_path / f"{name}.jsonl") for name in "ab")
    assert one.fingerprint == other.fingerprint
    assert str(one) == str(tmp_path / "a.jsonl")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.jsonl").write_text("x")
    assert FileCorpus(tmp_path / "folder").fingerprint != one.fingerprint
    assert list(References().examples()) == []


def test_turns_of_one_dialogue_belong_together():
    said = ("hi", "hello", "tea?")
    turns = [ds.Example(str(i), "s", "x", said[: i + 1]) for i in range(3)]
    assert len(set(items_of(turns))) == 1
    assert items_of([ds.Example("9", "s", "x", ("hey",))])[0] != items_of(turns)[0]


def test_no_dialogue_is_in_both_halves_of_a_corpus():
    crowd = Crowd.of(FakeCorpus(), FakeEncoder(), 0)
    assert sorted(half.count for half in crowd.halves) == sorted(
        int((crowd.items & 1 == half).sum()) for half in (0, 1)
    )


def test_moments_of_no_points_change_nothing():
    some = Moments.of(np.eye(3))
    assert (some + Moments(0, np.zeros(0), np.zeros((0, 0)))) is some


def test_vectors_in_a_file_are_not_sent_elsewhere(on_disk):
    with pytest.raises(TypeError, match="Vectors in a file cannot be sent elsewhere"):
        pickle.dumps(points_of(Batch(examples()), FakeEncoder(), 0))


def test_a_full_disk_is_told_with_what_to_do(on_disk, monkeypatch):
    class Full:
        def __enter__(self):
            raise OSError(28, "No space left on device")

        def __exit__(self, *_):
            return False

    monkeypatch.setattr(tempfile, "TemporaryFile", Full)
    with pytest.raises(ds.BackendError, match=r"No space left on device\. Set TMPDIR to a folder"):
        points_of(Batch(examples()), FakeEncoder(), 0)


def test_what_was_asked_of_the_same_replies_is_made_once():
    found, asked = points_of(Batch(examples()), FakeEncoder(), 0), []
    for rows in ([1, 2], [1, 2], [2, 1]):
        found.take(np.array(rows)).once("how often", lambda: asked.append(1))
    assert len(asked) == 2
