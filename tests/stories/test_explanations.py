"""Which turn a reply contradicts, shown from a saved run."""

import json

import dialoscope as ds


def reply(text, *context, name="1", system="s"):
    return ds.Example(name, system, text, context)


def test_a_saved_run_shows_which_turn_is_contradicted(tmp_path, cli):
    path = tmp_path / "replies.jsonl"
    rows = [
        {"id": "1", "system": "a", "context": ["I do not ski", "oh?"], "response": "I ski"},
        {"id": "2", "system": "a", "context": ["I ski", "oh?"], "response": "I \u001b[31mski"},
        {"id": "3", "system": "a", "context": ["oh?"], "response": "I have said nothing before"},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    run = tmp_path / "run"
    assert cli("score", path, "-m", "self-consistency:nli=fake", "-o", run)[0] == 0
    code, out, err = cli("show", run, "--explain", "self-consistency:nli=fake")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[:3] == ["1, a: 0.500", "  turn 1 (0.500): I do not ski", "  reply: I ski"]
    assert "\u001b" not in out
    code, out, _ = cli("show", run, "--explain", "self-consistency:nli=fake", "--json")
    assert [(one["id"], one["turn"], one["strength"]) for one in json.loads(out)] == [
        ("1", 1, 0.5),
        ("2", 1, 0),
    ]


def test_without_the_data_or_with_other_data_only_places_are_shown(tmp_path, cli):
    path, run = tmp_path / "replies.jsonl", tmp_path / "run"
    row = {"id": "1", "system": "a", "context": ["I do not ski", "oh?"], "response": "I ski"}
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    cli("score", path, "-m", "self-consistency:nli=fake", "-o", run)
    for change in (lambda: path.write_text(json.dumps({**row, "response": "I fly"}) + "\n"), path.unlink):
        change()
        code, out, err = cli("show", run, "--explain", "self-consistency:nli=fake")
        assert code == 0
        assert out == "1, a: 0.500; most against it: turn 1 of its context (0.500)\n"
        assert "The data is not where it was, or has changed, so that no texts can be shown." in err


def test_what_was_scored_from_memory_has_no_texts_to_show(tmp_path, cli):
    many = [reply("I ski", "I do not ski", "oh?", name=str(i)) for i in range(12)]
    ds.evaluate(many, "self-consistency:nli=fake").save(tmp_path / "run")
    _, out, err = cli("show", tmp_path / "run", "--explain", "self-consistency:nli=fake")
    assert out.endswith("… and 2 more; all of them: --json\n")
    assert len(out.splitlines()) == 11
    assert "no texts can be shown" in err


def test_explanations_are_text_or_json(tmp_path, cli):
    ds.evaluate([reply("I ski", "I sit", "oh?")], "self-consistency:nli=fake").save(tmp_path / "run")
    code, _, err = cli("show", tmp_path / "run", "--explain", "self-consistency:nli=fake", "--csv")
    assert code == 2
    assert "--explain has no --csv; leave that out, or choose --json." in err
