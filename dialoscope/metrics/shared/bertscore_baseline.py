"""The BERTScore of unrelated texts for each layer."""

import math
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import ClassVar, NamedTuple

from dialoscope.core.errors import BackendError
from dialoscope.core.safe_text import printable
from dialoscope.models.content import content_hash, unreadable

_COLUMNS = ["LAYER", "P", "R", "F"]


class LayerBaseline(NamedTuple):
    """The scores of unrelated texts."""

    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class Baseline:
    """A file of baselines: a line `LAYER,P,R,F`, then one with these numbers for each layer."""

    name: ClassVar[str] = "baseline"
    version: ClassVar[int] = 1

    file: str

    @property
    def fingerprint(self) -> str:
        """A hash of the file."""
        return content_hash([Path(self.file)])

    def level(self, layer: int) -> LayerBaseline:
        """The baseline of a layer; 0: the embeddings."""
        levels = _levels(self.file, self.fingerprint)
        if layer not in levels:
            has = f"{len(levels)} layers, from {min(levels)} to {max(levels)}" if levels else "none"
            raise BackendError(f"{printable(self.file)} has no line for layer {layer}; it has {has}.")
        return levels[layer]


@lru_cache(maxsize=4)
def _levels(file: str, fingerprint: str) -> dict[int, LayerBaseline]:
    """The content of the file; `fingerprint` is its hash."""
    try:
        header, *lines = Path(file).read_text(encoding="utf-8-sig").splitlines() or [""]
    except OSError as error:
        raise unreadable(error) from error
    except UnicodeDecodeError as error:
        raise BackendError(f"{printable(file)} is no text, so no file of baselines.") from error
    separator = "\t" if "\t" in header else ","
    if [name.strip() for name in header.split(separator)] != _COLUMNS:
        raise BackendError(f"{printable(file)} is no file of baselines: its first line is not LAYER,P,R,F.")
    rows = [_row(file, number, line.split(separator)) for number, line in enumerate(lines, 2) if line.strip()]
    return dict(rows)


def _row(file: str, line_number: int, cells: list[str]) -> tuple[int, LayerBaseline]:
    try:
        layer, *numbers = cells
        level = LayerBaseline(*map(float, numbers))
        if not all(-math.inf < number < 1 for number in level):
            raise ValueError
        return int(layer), level
    except (ValueError, TypeError) as error:
        raise BackendError(
            f"{printable(file)}, line {line_number}: no baselines of a layer. There must be the layer's "
            "number and three numbers below 1, for precision, recall and F."
        ) from error
