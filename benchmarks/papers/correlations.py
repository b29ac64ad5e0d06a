"""The correlations that Yeh et al. (2021) publish for BLEU-4, ROUGE-L and RUBER, by `dialoscope correlate`.

    DIALOSCOPE_CORPORA=FOLDER python benchmarks/papers/correlations.py [-o TABLE.md]

Each corpus is scored and correlated through the command line. RUBER's scores are those that its evaluators
stored, given with --scores. docs/papers/correlations.md says what comes out.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks._shared import corpora_folder
from dialoscope.analysis.coefficients import format_coefficient
from dialoscope.core.render.markdown import markdown_table
from dialoscope.core.render.sections import Grid

NEAR = 0.001
"""The last digit that is printed."""
CORPORA = {
    "USR-Pearsonachat": ("usr_personachat/data.jsonl", "Overall"),
    "GRADE-ConvAI2": ("grade/grade_convai2.jsonl", "coherence"),
    "GRADE-DailyDialog": ("grade/grade_dailydialog.jsonl", "coherence"),
    "GRADE-EmpatheticDialogue": ("grade/grade_empathetic.jsonl", "coherence"),
}
"""By the published name (and its spelling), the file and the aspect."""
METRICS = {
    "BLEU-4": "bleu-4:variant=nlg-eval",
    "ROUGE-L": "rouge-l:variant=nlg-eval",
    "RUBER": "RUBER(DialEvalMetrics, trained on DailyDialog)",
}
LEVELS = {"Turn-Level": "reply", "System-Level": "system"}
COEFFICIENTS = ("pearson", "spearman")


class Value(NamedTuple):
    """A published number beside ours."""

    corpus: str
    metric: str
    level: str
    coefficient: str
    published: float
    ours: float

    @property
    def met(self) -> bool:
        """Whether the two are the same but for the last digit."""
        return abs(self.published - self.ours) <= NEAR


def main() -> None:
    """Print the table, and how many numbers are met on the last line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", metavar="FILE", help="write the table there, too")
    chosen = parser.parse_args()
    values = list(compared(corpora_folder()))
    text = table(values)
    print(text)
    if chosen.o:
        Path(chosen.o).write_text(text + "\n", encoding="utf-8")
    met = sum(value.met for value in values)
    worst = max(abs(value.published - value.ours) for value in values)
    print(f"\nlargest difference: {worst:.4f}")
    print(f"published correlations met to {NEAR:g}: {met} of {len(values)} (bar: all of them)")
    sys.exit(met < len(values))


def compared(folder: Path) -> Iterator[Value]:
    """All published numbers of these metrics on these corpora."""
    published = json.loads((folder / "gold/dialevalmetrics_published_correlations.json").read_text())
    for corpus in CORPORA:
        ours = correlated(folder, corpus)
        for row in published:
            if row["dataset"] == corpus and row["metric"] in METRICS:
                level = LEVELS[row["level"]]
                for name in COEFFICIENTS:
                    found = ours[METRICS[row["metric"]], level, name]
                    yield Value(corpus, row["metric"], level, name, row[name], found)


def correlated(folder: Path, corpus: str) -> dict[tuple[str, str, str], float]:
    """Our own, by metric, level and coefficient."""
    file, aspect = CORPORA[corpus]
    scored = [word for metric in list(METRICS.values())[:2] for word in ("-m", metric)]
    with tempfile.TemporaryDirectory() as place:
        run = f"{place}/run"
        # Replies that are the reference themselves have none to be compared with; they were left out.
        command("score", folder / "rated" / file, *scored, "--missing", "undefined", "-o", run)
        kinds = [word for name in COEFFICIENTS for word in ("--coefficient", name)]
        out = command(
            *("correlate", run, "--aspect", aspect, "--scores", folder / "gold/ruber_scores.jsonl"),
            *("--system-value", "mean", "--min-points", 2, "--group", "overall", *kinds),
            *("--draws", 100, "--permutations", 100, "--json"),
        )
    return {(row["metric"], row["level"], row["coefficient"]): row["value"] for row in json.loads(out)}


def command(*words: object) -> str:
    """What our command prints."""
    line = [sys.executable, "-m", "dialoscope", *map(str, words)]
    done = subprocess.run(line, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout


def table(values: list[Value]) -> str:
    """Published and ours, a row for each corpus and metric."""
    head = ["corpus", "metric", *(f"{level}, {name}" for level in LEVELS.values() for name in COEFFICIENTS)]
    rows: dict[tuple[str, str], list[str]] = {}
    for one in values:
        told = f"{format_coefficient(one.published, 3)} / {format_coefficient(one.ours, 3)}" + (
            "" if one.met else " **missed**"
        )
        rows.setdefault((one.corpus, one.metric), []).append(told)
    return markdown_table(Grid(head, [[*key, *cells] for key, cells in rows.items()]))


if __name__ == "__main__":
    main()
