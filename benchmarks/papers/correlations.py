"""The correlations that Yeh et al. (2021) publish for BLEU-4, ROUGE-L and RUBER, by `dialoscope correlate`.

    DIALOSCOPE_CORPORA=FOLDER python benchmarks/papers/correlations.py [-o TABLE.md] [--quick]

Each corpus is scored and correlated through the command line. RUBER's scores are the stored ones of its
evaluators, read with --scores. docs/papers/correlations.md has the results. With --quick, one corpus is read.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks._shared import benchmark_parser, corpora_folder, skip_without_corpora
from benchmarks.papers.tables import print_sections
from dialoscope.analysis.coefficients import format_coefficient
from dialoscope.core.render.markdown import markdown_table
from dialoscope.core.render.sections import Grid

TOLERANCE = 0.001
"""One unit of the last published digit."""
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
    def is_equal(self) -> bool:
        """Whether the two are equal but for the last digit."""
        return abs(self.published - self.ours) <= TOLERANCE


def main() -> None:
    """Print the table, and the number of values that are equal on the last line."""
    parser = benchmark_parser(__doc__)
    parser.add_argument("-o", metavar="FILE", help="file to which the table is written too")
    options = parser.parse_args()
    if options.quick:
        skip_without_corpora()
    values = list(compare(corpora_folder(), list(CORPORA)[: 1 if options.quick else None]))
    print_sections([make_table(values)], options.o)
    equal = sum(value.is_equal for value in values)
    worst = max(abs(value.published - value.ours) for value in values)
    print(f"\nlargest difference: {worst:.4f}")
    print(f"published correlations met to {TOLERANCE:g}: {equal} of {len(values)} (bar: all of them)")
    sys.exit(equal < len(values))


def compare(folder: Path, corpora: Sequence[str]) -> Iterator[Value]:
    """Yield all published numbers of these metrics on these corpora beside ours."""
    published = json.loads((folder / "gold/dialevalmetrics_published_correlations.json").read_text())
    for corpus in corpora:
        ours = correlate(folder, corpus)
        for row in published:
            if row["dataset"] == corpus and row["metric"] in METRICS:
                level = LEVELS[row["level"]]
                for name in COEFFICIENTS:
                    value = ours[METRICS[row["metric"]], level, name]
                    yield Value(corpus, row["metric"], level, name, row[name], value)


def correlate(folder: Path, corpus: str) -> dict[tuple[str, str, str], float]:
    """Return our correlations by metric, level and coefficient."""
    file, aspect = CORPORA[corpus]
    scored = [word for metric in list(METRICS.values())[:2] for word in ("-m", metric)]
    with tempfile.TemporaryDirectory() as temporary:
        run = f"{temporary}/run"
        # Replies that are the reference themselves have no other reference; the evaluators left them out.
        run_command("score", folder / "rated" / file, *scored, "--missing", "undefined", "-o", run)
        kinds = [word for name in COEFFICIENTS for word in ("--coefficient", name)]
        out = run_command(
            *("correlate", run, "--aspect", aspect, "--scores", folder / "gold/ruber_scores.jsonl"),
            *("--system-value", "mean", "--min-points", 2, "--group", "overall", *kinds),
            *("--draws", 100, "--permutations", 100, "--json"),
        )
    return {(row["metric"], row["level"], row["coefficient"]): row["value"] for row in json.loads(out)}


def run_command(*words: object) -> str:
    """Return the output of our command."""
    line = [sys.executable, "-m", "dialoscope", *map(str, words)]
    done = subprocess.run(line, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout


def make_table(values: list[Value]) -> str:
    """Return published and own values, a row for each corpus and metric."""
    head = ["corpus", "metric", *(f"{level}, {name}" for level in LEVELS.values() for name in COEFFICIENTS)]
    rows: dict[tuple[str, str], list[str]] = {}
    for value in values:
        cell = f"{format_coefficient(value.published, 3)} / {format_coefficient(value.ours, 3)}"
        cell += "" if value.is_equal else " **missed**"
        rows.setdefault((value.corpus, value.metric), []).append(cell)
    return markdown_table(Grid(head, [[*key, *cells] for key, cells in rows.items()]))


if __name__ == "__main__":
    main()
