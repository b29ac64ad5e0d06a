"""Replies that were recorded."""

import pytest

import dialoscope as ds
from dialoscope.core.errors import BackendError
from dialoscope.systems.protocol import NoAnswer, Question

NONE = NoAnswer("no reply to this is recorded")


@pytest.fixture
def said(rows):
    def ask(recorded, *questions, **settings):
        path = rows(recorded, "replies.jsonl")
        with ds.RecordedSystem(path, **settings).opened() as session:
            return list(session.answers(questions))

    return ask


def test_a_reply_is_found_by_its_id_or_its_context(said):
    recorded = [
        {"id": "a", "context": ["Hi"], "response": "by id and context"},
        {"id": "b", "response": "by id"},
        {"id": "c", "context": ["Yo"], "response": "by context"},
    ]
    assert said(
        recorded,
        Question("a", ("Hi",)),
        Question("b", ("whatever",)),
        Question("z", ("Yo",)),
        Question("c", ("something else",)),
        Question("z", ("Hi", "Yo")),
    ) == ["by id and context", "by id", "by context", NONE, NONE]


def test_samples_are_told_apart_by_number_or_by_order(said):
    recorded = [
        {"id": "a#1", "context": ["Hi"], "response": "one"},
        {"id": "a#2", "context": ["Hi"], "response": "two"},
        {"id": "p", "context": ["Yo"], "response": "first"},
        {"id": "q", "context": ["Yo"], "response": "second"},
    ]
    assert said(
        recorded,
        Question("a", ("Hi",), 1),
        Question("a", ("Hi",), 0),
        Question("z", ("Yo",), 0),
        Question("z", ("Yo",), 1),
        Question("z", ("Yo",), 2),
    ) == ["two", "one", "first", "second", NoAnswer("no more than 2 to this are recorded")]


def test_of_several_systems_one_must_be_chosen(said):
    recorded = [{"id": "a", "system": name, "response": f"by {name}"} for name in ("bot", "parrot")]
    assert said(recorded, Question("a", ("Hi",)), system="parrot") == ["by parrot"]
    with pytest.raises(BackendError, match=r"has the replies of 2 systems; choose one, .*: bot, parrot"):
        said(recorded, Question("a", ("Hi",)))
    with pytest.raises(BackendError, match="has no replies of 'cat', but of: bot, parrot"):
        said(recorded, Question("a", ("Hi",)), system="cat")


def test_rows_without_a_reply_are_passed_over_and_told(said, capsys):
    recorded = [{"id": "a", "response": "x"}, {"id": "b", "context": ["Hi"], "error": "it died"}]
    assert said(recorded, Question("a", ("Hi",)), Question("b", ("Hi",))) == ["x", NONE]
    assert "replies.jsonl: 1 rows have no reply, such as: " in capsys.readouterr().err


def test_what_respond_wrote_can_be_played_again(rows, tmp_path):
    contexts = rows([{"id": "a", "context": ["Hi"]}, {"id": "b", "context": ["Yo"]}])
    first = ds.respond(contexts, lambda context, seed: f"{context} {seed}", tmp_path / "out.jsonl", samples=2)
    again = ds.respond(contexts, f"file:{tmp_path}/out.jsonl", samples=2, name=first.name)
    assert again.rows == first.rows


def test_a_file_that_is_none_is_refused(tmp_path):
    with pytest.raises(BackendError, match=r"There is no file .*none\.jsonl"):
        _ = ds.RecordedSystem(f"{tmp_path}/none.jsonl").fingerprint


def test_the_label_is_the_systems_or_the_files_name():
    assert ds.RecordedSystem("a/replies.jsonl.gz").label == "replies"
    assert ds.RecordedSystem("replies.jsonl", system="bot").label == "bot"
    assert str(ds.RecordedSystem("replies.jsonl")) == "replies.jsonl"
