"""Count in how many utterances of the assets chitchat and movie-dialogues each word stands.

    python scripts/count_words.py dialoscope/models/registry/trained/talk-words

Words that stand in fewer than three are left out: specificity takes a word that is not there for one that
stands in a single text. The table has the same bytes every time; the registry of assets pins their hash.
"""

from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path

from dialoscope.metrics.shared.word_counts import TABLE, TABLE_TOKENIZER, count_texts_with
from dialoscope.models.dialogue_assets import read_dialogues
from dialoscope.text.tokenizer import Tokenizer
from dialoscope.training.dialogue_split import whole_dialogues

CORPORA = ("chitchat", "movie-dialogues")
FEWEST = 3


def main(folder: Path) -> None:
    """Write the table, the commonest words first."""
    found = count_texts_with(utterances(), Tokenizer(TABLE_TOKENIZER))
    kept = sorted(((-count, word) for word, count in found.items() if count >= FEWEST))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / TABLE).write_text("".join(f"{word}\t{-count}\n" for count, word in kept), encoding="utf-8")


def utterances() -> Iterator[str]:
    """Every turn of every dialogue."""
    for corpus in CORPORA:
        for turns in whole_dialogues(read_dialogues(corpus)):
            yield from turns


if __name__ == "__main__":
    parser = ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    main(parser.parse_args().folder)
