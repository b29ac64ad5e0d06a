"""What is to be answered, out of every kind of row."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dialoscope as ds
from dialoscope.core.errors import DataError
from dialoscope.data.contexts import ContextRow


def test_a_context_is_read_with_all_else_but_what_another_system_said(rows):
    path = rows(
        [
            {
                "id": 7,
                "context": ["Hi", {"speaker": "x", "text": "Yo"}][:1],
                "response": "passed over",
                "system": "another",
                "ratings": {"fun": 3},
                "ratings.fun": 3,
                "error": "it died",
                "references": "one",
                "variant": "verbs",
                "changes": [["a", "b"]],
                "group": "g",
            },
            {"context": "just text"},
        ]
    )
    assert ds.read_contexts(path).rows == (
        ContextRow("7", ("Hi",), "g", {"references": ["one"], "variant": "verbs", "changes": [["a", "b"]]}),
        ContextRow("2", ("just text",)),
    )


def test_several_systems_replies_to_a_context_are_one_context(sample):
    found = ds.read_contexts(sample)
    assert (len(found.rows), found.repeated) == (44, 132)
    assert found.rows[0].others.keys() == {"references"}


def test_a_chat_of_a_system_prompt_and_a_user_is_a_context_of_somebody_who_has_not_spoken(rows):
    turns = [{"role": "system", "content": "be kind"}, {"role": "user", "content": "hi"}]
    assert ds.read_contexts(rows([{"id": "d", "turns": turns}])).rows == (
        ContextRow("d#3", ("be kind", "hi"), "", {"speakers": ["system", "user", ""]}),
    )


def test_other_names_and_separators(rows):
    path = rows([{"key": "k", "history": "Hi | Yo", "gold": "a | b", "output": "no"}])
    found = ds.read_contexts(
        path,
        columns={"id": "key", "context": "history", "references": "gold", "response": "output"},
        separator=" | ",
    )
    assert found.rows == (ContextRow("k", ("Hi", "Yo"), "", {"references": ["a", "b"]}),)


def test_a_group_of_queries_is_a_context_each(rows):
    path = rows([{"id": "g1", "queries": ["Hi?", "Hello?"], "responses": ["a", "b"], "method": "wordnet"}])
    assert ds.read_contexts(path).rows == (
        ContextRow("g1#1", ("Hi?",), "g1", {"method": "wordnet"}),
        ContextRow("g1#2", ("Hello?",), "g1", {"method": "wordnet"}),
    )


def test_a_dialogue_is_a_context_for_each_turn_of_the_system(rows):
    turns = [{"role": role, "content": text} for role, text in zip("auau", "1234", strict=True)]
    named = {"a": "assistant", "u": "user"}
    turns = [{**turn, "role": named[turn["role"]]} for turn in turns]
    turns[2]["references"] = ["drei"]
    both = ["assistant", "user", "assistant", "user", "assistant"]
    path = rows([{"id": "d", "turns": turns, "topic": "sums"}, {"id": "p", "turns": ["A", "B", "C"]}])
    assert ds.read_contexts(path).rows == (
        ContextRow("d#3", ("1", "2"), "", {"speakers": both[:3], "topic": "sums", "references": ["drei"]}),
        ContextRow("d#5", ("1", "2", "3", "4"), "", {"speakers": both, "topic": "sums"}),
        ContextRow("p#2", ("A",)),
    )
    assert [row.id for row in ds.read_contexts(path, speaker="*").rows] == [
        *("d#2", "d#3", "d#4"),
        *("p#2", "p#3"),
    ]


def test_tables_carry_their_columns_along(tmp_path):
    path = tmp_path / "contexts.csv"
    path.write_text('context,mood,ratings.fun\n"[""Hi"", ""Yo""]",gay,3\n', encoding="utf-8")
    assert ds.read_contexts(path).rows == (ContextRow("1", ("Hi", "Yo"), "", {"mood": "gay"}),)
    path = tmp_path / "contexts.parquet"
    pq.write_table(pa.table({"context": [["Hi"]], "mood": ["gay"], "score": [0.5]}), path)
    assert ds.read_contexts(path).rows == (ContextRow("1", ("Hi",), "", {"mood": "gay", "score": 0.5}),)


def test_problems_are_told_with_their_lines(rows):
    path = rows(
        [{"context": []}, {"text": "x"}, {"id": "a", "context": ["1"]}, {"id": "a", "context": ["2"]}]
    )
    with path.open("a") as file:
        file.write("{broken\n")
    with pytest.raises(DataError) as refused:
        ds.read_contexts(path)
    told = str(refused.value).splitlines()
    assert told[0] == "4 problems in the contexts:"
    assert told[1].endswith("contexts.jsonl:1: `context` is empty; there is nothing to answer")
    assert told[2].endswith(
        "contexts.jsonl:2: no column `context` among text; say which holds what is to be answered: "
        "--map context=COLUMN"
    )
    assert told[3].endswith("contexts.jsonl:4: a second context with id 'a'; give each context its own id")
    assert "not valid JSON" in told[4]
    assert told[5].endswith("leave these rows out with --on-error skip (on_error='skip').")
    found = ds.read_contexts(path, on_error="skip")
    assert ([row.id for row in found.rows], found.skipped) == (["a"], 4)


def test_where_nothing_is_left_nothing_is_skipped(rows):
    with pytest.raises(DataError, match=r"1 problem in the contexts:\n.*there is nothing to answer$"):
        ds.read_contexts(rows([{"context": ""}]), on_error="skip")
    with pytest.raises(DataError, match="There is not one context to answer"):
        ds.Contexts.of([])


@pytest.mark.parametrize(("name", "text"), [("a.jsonl", ""), ("a.csv", ""), ("b.jsonl", "\n\n")])
def test_an_empty_file_should_hold_contexts(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=f"{name} is empty; it should hold one context a row"):
        ds.read_contexts(tmp_path / name)


def test_contexts_can_be_in_memory(rows):
    example = ds.Example("e", "bot", "reply", ("Hi",), ("ref",), "g")
    found = ds.Contexts.of([example, "one turn", ["two", "turns"]])
    assert found.rows == (
        ContextRow("e", ("Hi",), "g", {"references": ["ref"]}),
        ContextRow("2", ("one turn",)),
        ContextRow("3", ("two", "turns")),
    )
    assert found.source is None
    assert ds.Contexts.of(found) is found
    path = rows([{"context": ["Hi"]}])
    assert ds.Contexts.of(str(path)) == ds.Contexts.of(path) == ds.read_contexts(path)
    with pytest.raises(DataError, match=r"contexts:1: 7 is no context; give a list of turns, a text, or an"):
        ds.Contexts.of([7])
    with pytest.raises(DataError, match="contexts:1: the context is empty"):
        ds.Contexts.of([[]])


def test_what_another_system_said_does_not_come_along_under_a_name_that_was_mapped_away(rows):
    path = rows([{"context": "Hi", "reply": "new", "response": "old", "references": ["a"], "note": 1}])
    (row,) = ds.read_contexts(path, columns={"response": "reply"}).rows
    assert row.others == {"references": ["a"], "note": 1}
