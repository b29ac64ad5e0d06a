"""A second run on the scale of the first, at the command line."""

import json

import dialoscope as ds


def written(path, *texts):
    rows = (
        {"id": f"{number}", "system": "bot", "context": ["what is it"], "response": text}
        for number, text in enumerate(texts)
    )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_a_run_is_scored_like_another(tmp_path, cli):
    first = written(tmp_path / "a.jsonl", *(f"tea number {number}" for number in range(30)))
    second = written(tmp_path / "b.jsonl", *(f"no {number}" for number in range(5)))
    monday = tmp_path / "monday"
    code, out, _ = cli("score", first, "-m", "coherence:lm=fake", "-m", "words", "-o", monday)
    assert code == 0
    fitted, _ = ds.Result.load(monday).metrics
    assert f"coherence:lm=fake: floor {fitted.floor:.3f}." in out
    assert "coherence:lm=fake has a scale fitted to this system alone" in out
    assert cli("show", monday)[1] == out
    code, out, err = cli("score", second, "--scales-from", monday, "--json")
    assert (code, err) == (0, "")
    rows = json.loads(out)
    assert [row["metric"] for row in rows] == ["coherence:lm=fake", "words"]
    assert rows[0]["signature"] == fitted.signature
    assert cli("verify", monday)[0] == 0


def test_a_run_that_is_not_there_is_not_scored_like(tmp_path, cli):
    data = written(tmp_path / "a.jsonl", "tea")
    code, _, err = cli("score", data, "--scales-from", tmp_path / "nowhere")
    assert (code, err) == (2, f"Error: There is no run at {tmp_path / 'nowhere'}.\n")
