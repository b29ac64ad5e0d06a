"""`dialoscope train composite`, a score by it, and what each reply's number is owed to."""

import json

from dialoscope.metrics.shared.combination import load
from tests.unit.metrics.test_composite import rows

PARTS = ("--part", "pmi=pmi:lm=fake", "--part", "words=words", "--part", "repetition=-repetition-1")


def written(path, **settings):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows(20, **settings)), encoding="utf-8")
    return path


def test_weights_are_trained_used_and_explained(cli, tmp_path):
    one = written(tmp_path / "one.jsonl")
    two = written(tmp_path / "two.jsonl", seed=1, first="other")
    folder, run = tmp_path / "mine", tmp_path / "run"
    code, out, err = cli(
        "train", "composite", one, two, "-o", folder, *PARTS, "--evenness", "0.5", "--licence", "CC0"
    )
    found = load(folder)
    assert (code, out) == (0, f"{folder}: sha256 {found.hash}\n")
    assert "/one held out, overall: Spearman " in err
    assert json.loads((folder / "spec.json").read_text())["settings"]["evenness"] == 0.5
    assert [part.better for part in found.parts] == ["more", "more", "less"]
    metric = f"composite:model={folder}"
    code, out, _ = cli("score", one, "-m", metric, "-o", run)
    assert code == 0
    assert "words" in out
    assert f"{metric}: pmi " in out
    code, out, _ = cli("show", run, "--explain", metric)
    assert code == 0
    assert len(out.splitlines()) == 31
    assert "  words -0." in out.splitlines()[1] or "words -0." in out.splitlines()[1]
    assert "  reply: word" in out
    code, out, _ = cli("show", run, "--explain", metric, "--json")
    assert set(json.loads(out)[0]["parts"]) == {"pmi", "words", "repetition"}
    one.unlink()
    code, out, err = cli("show", run, "--explain", metric)
    assert "reply:" not in out
    assert "The data is not where it was" in err


def test_a_part_of_no_form_is_refused(cli, tmp_path):
    code, _, err = cli("train", "composite", tmp_path / "x.jsonl", "-o", tmp_path / "mine", "--part", "pmi")
    assert code == 2
    assert "'pmi' is no part; write it as NAME=METRIC." in err
