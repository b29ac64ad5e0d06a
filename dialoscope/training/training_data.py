"""The data of trainings: names of files, and the dialogues in them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dialoscope.core.errors import TrainingError
from dialoscope.core.progress import print_notice
from dialoscope.training.dialogue_split import Split, split
from dialoscope.training.nli_pairs import PairSplit


def file_names(files: Sequence[str | Path] | str | Path) -> list[str]:
    """Files and assets as texts, whether one or several are given."""
    if isinstance(files, str | Path):
        if not str(files):
            raise TrainingError("There is no training data: name at least one file.")
        return [str(files)]
    return [str(file) for file in files]


def split_files(
    data: Sequence[str | Path] | str | Path,
    validation: str | Path | float,
    tests: Sequence[str | Path],
    avoid: Sequence[str | Path],
) -> Split:
    """The dialogues of files and assets, split into training, validation and test data."""
    chosen = validation if isinstance(validation, float | int) else str(validation)
    return split(file_names(data), chosen, file_names(tests), file_names(avoid))


def describe_data(names: Sequence[str], data: Split | PairSplit, unit: str, licence: str) -> dict[str, Any]:
    """The description of the data for a card; the numbers of dialogues or pairs are printed too."""
    print_notice(
        f"{len(data.train):,} {unit} for training, {len(data.validation):,} for validation; "
        f"{data.removed:,} were left out because they are also in held-out data."
    )
    return {
        "files": [Path(name).name for name in names],
        "sha256": data.hash,
        "training": len(data.train),
        "validation": len(data.validation),
        "removed": data.removed,
        "licence": licence,
    }


def announce_figures(label: str, figures: Mapping[str, float]) -> None:
    """Announce the figures of a model, such as those before the training."""
    print_notice(f"{label}: " + "; ".join(f"{name} {value:.4g}" for name, value in figures.items()) + ".")
