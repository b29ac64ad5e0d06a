"""Small files that once took minutes or did not end: each is scored, or refused, by a real process in time.

The limits are generous, since what they guard against is work that grows with the square of the input.
"""

import gzip
import json
import subprocess
import sys

import pytest

SECONDS = 120

ALTERNATING = ("w v " * 50_000, "v w " * 50_000)
DIFFERENT = (
    " ".join(f"w{i}" for i in range(100_000)),
    " ".join(f"w{i * 7919 % 100_000}" for i in range(100_000)),
)
SAME = ("w " * 100_000, "w " * 99_999)


def dialoscope(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "dialoscope", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        **options,
    )


@pytest.fixture
def scored(tmp_path):
    """Scores a long reply and a short one, and returns the numbers by metric and what was warned of."""

    def score(texts, *metrics):
        reply, reference = texts
        rows = [
            {"id": "long", "response": reply, "references": ["short", reference], "context": [reference]},
            {"id": "short", "response": "hello there", "references": ["hello you"], "context": ["hello"]},
        ]
        data = tmp_path / "bot.jsonl"
        data.write_text("".join(json.dumps(row) + "\n" for row in rows))
        chosen = [argument for metric in metrics for argument in ("-m", metric)] or ["--suite", "lexical"]
        done = dialoscope("score", data, "--json", *chosen)
        assert done.returncode == 0, done.stderr
        return {cell["metric"]: cell for cell in json.loads(done.stdout)}, done.stderr

    return score


@pytest.mark.parametrize("texts", [ALTERNATING, DIFFERENT, SAME], ids=["alternating", "different", "same"])
def test_the_lexical_suite_ends_on_replies_of_100_000_words(scored, texts):
    cells, warnings = scored(texts)
    assert {name: cell["undefined"] for name, cell in cells.items() if cell["undefined"]} == {"rouge-w": 1}
    assert cells["rouge-l"]["value"] > 0
    assert cells["rouge-w"]["value"] == pytest.approx(0.5), "the number of the short reply alone"
    assert "1 reply has no rouge-w, which compares at most 100,000,000 pairs of words" in warnings
    assert "of a reply and a reference: 'long' of 'bot'." in warnings


def test_lins_script_has_a_bound_of_its_own(scored):
    cells, warnings = scored(("w v " * 2000, "v w " * 2000), "rouge-w", "rouge-w:weighting=rouge-1.5.5")
    assert [cell["undefined"] for cell in cells.values()] == [0, 1]
    assert "no rouge-w:weighting=rouge-1.5.5, which compares at most 10,000,000 pairs" in warnings


@pytest.mark.parametrize("workers", [1, 2])
def test_undefined_replies_are_counted_over_all_batches_and_the_first_are_named(tmp_path, workers):
    long = {"response": "w v " * 1600, "references": ["v w " * 1600]}
    rows = [
        {
            "id": str(row),
            "system": "\x1b[2J",
            **(long if row % 700 == 0 else {"response": "a", "references": ["a"]}),
        }
        for row in range(4900)
    ]
    data = tmp_path / "bot.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = dialoscope(
        "score", data, "-m", "rouge-w:weighting=rouge-1.5.5", "--workers", workers, "-o", tmp_path / "run"
    )
    assert done.returncode == 0, done.stderr
    (warning,) = [line for line in done.stderr.splitlines() if "have no rouge-w" in line]
    assert warning.startswith(
        "Warning: 7 replies have no rouge-w:weighting=rouge-1.5.5, which compares at most "
    )
    named = ", ".join(f"'{row}' of '\\x1b[2J'" for row in (0, 700, 1400, 2100, 2800))
    assert warning.endswith(f": {named} and 2 more.")
    assert warning in dialoscope("show", tmp_path / "run").stderr


@pytest.mark.usefixtures("wordnet")
@pytest.mark.parametrize("texts", [ALTERNATING, SAME], ids=["alternating", "same"])
def test_meteor_says_which_replies_are_too_alike_to_be_aligned(scored, texts):
    cells, warnings = scored(texts, "meteor", "meteor:variant=nltk")
    assert [cell["undefined"] for cell in cells.values()] == [1, 0]
    assert "1 reply has no meteor, which compares at most 500,000 pairs of like words" in warnings
    assert "of a reply and a reference (fewer for replies of more than 4,000 words): 'long' of" in warnings


@pytest.mark.usefixtures("wordnet")
def test_meteor_aligns_a_thousand_alternating_words(scored):
    cells, _ = scored(("w v " * 500, "v w " * 500), "meteor")
    assert cells["meteor"]["undefined"] == 0


@pytest.mark.usefixtures("glove")
@pytest.mark.parametrize("texts", [ALTERNATING, SAME], ids=["alternating", "same"])
def test_word_vectors_compare_equal_words_once(scored, texts):
    cells, _ = scored(texts, "average", "extrema", "greedy")
    assert [cell["undefined"] for cell in cells.values()] == [0, 0, 0]


def test_a_table_of_500_000_columns_is_read(tmp_path):
    """In a second or two; comparing each name with each other would take many times the limit."""
    path = tmp_path / "wide.csv"
    columns = [f"c{i}" for i in range(500_000)]
    path.write_text(f"response,{','.join(columns)}\nhello{',' * len(columns)}\n")
    done = dialoscope("score", path, "-m", "words")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["bot.jsonl.gz", "bot.csv.gz", "bot.tsv.gz"])
def test_blank_lines_without_end_are_refused(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(gzip.compress(b"\n" * 2**20) * 256)  # a gzip file may have several members
    done = dialoscope("score", path)
    assert done.returncode == 2
    assert f"{name}:1000001: 1,000,001 of the lines up to here are blank" in done.stderr


def test_a_dialogue_whose_contexts_would_fill_the_memory_is_refused(tmp_path):
    path = tmp_path / "bot.jsonl"
    path.write_text(json.dumps({"turns": ["x"] * 200_000}) + "\n")
    done = dialoscope("score", path, "-m", "words")
    assert done.returncode == 2
    assert "bot.jsonl:1: the dialogue has 200,000 turns" in done.stderr
