"""RUBER at the command line, and a second run on the scale of the first."""

import json

import dialoscope as ds

WORDS = ("tea", "milk", "water", "juice", "wine", "beer", "soup", "rain", "snow")


def written(path, count):
    rows = (
        {
            "id": str(number),
            "system": path.stem,
            "context": ["will you have tea or milk"],
            "response": f"{WORDS[number % 9]} or {WORDS[number % 4]}",
            "references": [f"{WORDS[number % 5]} and {WORDS[number % 2]}"],
        }
        for number in range(count)
    )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_a_second_run_can_have_the_scale_of_the_first(tmp_path, cli):
    first, second = written(tmp_path / "a.jsonl", 30), written(tmp_path / "b.jsonl", 5)
    code, out, _ = cli("score", first, "-m", "ruber:model=fake,encoder=fake", "-o", tmp_path / "run")
    (fitted,) = ds.Result.load(tmp_path / "run").metrics
    assert code == 0
    assert f"unreferenced low {fitted.unreferenced_low:.3f}" in out
    assert f"referenced high {fitted.referenced_high:.3f}" in out
    assert cli("verify", tmp_path / "run")[0] == 0
    code, out, err = cli("score", second, "--scales-from", tmp_path / "run", "--json")
    assert (code, err) == (0, "")
    assert [row["signature"] for row in json.loads(out)] == [fitted.signature]
    by_name = ds.evaluate(ds.read(second), str(fitted))
    like = ds.evaluate(ds.read(second), scales_from=tmp_path / "run")
    assert by_name.values(fitted).tolist() == like.values(fitted).tolist()
