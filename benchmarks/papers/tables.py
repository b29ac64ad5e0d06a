"""Tables and figures that the programs for several papers print, and correlations of metrics with ratings."""

import math
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from scipy.stats import pearsonr, spearmanr

import dialoscope as ds
from benchmarks._shared import corpora_folder
from benchmarks.papers.published import Agreement

MIN_POINTS = 3
"""The number of points below which a correlation is undefined."""


def rated_path(file: str) -> Path:
    """Return the path of a file of rated replies."""
    return corpora_folder() / "rated" / file


def log(text: str) -> None:
    """Print progress on standard error."""
    print(text, file=sys.stderr, flush=True)


def print_sections(sections: Iterable[str], path: str | Path | None) -> None:
    """Print the tables and write them to a file if one is named."""
    text = "\n\n".join(sections)
    print(text)
    if path:
        Path(path).write_text(text + "\n", encoding="utf-8")


def titled(title: str, table: str) -> str:
    """Return a table below its title, which is logged."""
    log(title)
    return f"### {title}\n\n{table}"


def markdown(head: Sequence[str], body: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown whose columns, but the first, are aligned to the right."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def number(value: float) -> str:
    """Return three digits without the zero before the point, or – for an undefined value."""
    if math.isnan(value):
        return "–"
    text = f"{abs(value):.3f}"
    text = text.removeprefix("0") if text.startswith("0") else text[:4]
    return f"−{text}" if value < 0 and text != ".000" else text


def interval(samples: np.ndarray) -> str:
    """Return the 95 % percentile interval of bootstrap samples."""
    low, high = np.nanquantile(samples, (0.025, 0.975))
    return f"[{number(low)}, {number(high)}]"


def ok_or_short(reached: bool) -> str:
    """Return how a bar was answered."""
    return "ok" if reached else "short"


def mean_ratings(result: ds.Result, aspect: str) -> np.ndarray:
    """Return the mean rating of each reply."""
    return result.ratings.means(aspect, len(result.replies))


def agreement(ratings: np.ndarray, scores: np.ndarray) -> Agreement:
    """Return both correlations, undefined for few points and for constant ratings or scores."""
    if len(ratings) < MIN_POINTS or np.isnan(scores).any() or not (np.ptp(ratings) and np.ptp(scores)):
        return Agreement(math.nan, math.nan)
    return Agreement(float(spearmanr(ratings, scores)[0]), float(pearsonr(ratings, scores)[0]))
