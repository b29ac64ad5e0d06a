"""How a model is trained: settings, all of which stand in the checkpoint's card."""

import dataclasses
import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self, get_args

from dialoscope.errors import TrainingError

Method = Literal["lora", "full"]


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What every training has; the defaults are those of the shipped checkpoints."""

    name: ClassVar[str]
    version: ClassVar[int] = 1

    model: str
    """What is trained on top of: an asset, a folder, or a name on the hub."""
    method: Method = "lora"
    """A small adapter beside frozen weights, or all weights."""
    rank: int = 8
    """Of the adapter's matrices."""
    epochs: int = 4
    learning_rate: float = 1e-3
    """At its highest; it rises over the first twentieth, and falls to nothing at the end."""
    batch: int = 8192
    """How much is learned from at once: tokens of dialogues, or pairs of sentences."""
    dropout: float = 0.0
    """Of what the adapter reads."""
    patience: int = 1
    """How many epochs may pass without improvement before it stops early."""
    seed: int = 0
    minutes: float = field(default=0.0, compare=False)
    """After so long it stops with the best so far; 0: never."""
    device: str = field(default="auto", compare=False)

    def __post_init__(self) -> None:
        if self.method not in get_args(Method):
            raise TrainingError(
                f"method is '{self.method}'; it must be one of: {', '.join(get_args(Method))}."
            )
        for one in dataclasses.fields(self):
            value = getattr(self, one.name)
            least, most = _RANGES.get(one.name, (-math.inf, math.inf))
            if isinstance(value, int | float) and not least <= value <= most:
                known = f"{least} or more" if most == math.inf else f"between {least} and {most}"
                raise TrainingError(f"{one.name} is {value}; it must be {known}.")

    def settings(self) -> dict[str, Any]:
        """What the outcome depends on, besides the data."""
        return {one.name: getattr(self, one.name) for one in dataclasses.fields(self) if one.compare}

    def given(self, **chosen: Any) -> Self:  # noqa: ANN401 - settings of any type
        """The same with other settings; those that are None stay as they are."""
        return dataclasses.replace(
            self, **{name: value for name, value in chosen.items() if value is not None}
        )


_RANGES = {
    **dict.fromkeys(("rank", "epochs", "batch", "patience", "turns", "each", "pairs"), (1, math.inf)),
    "max_tokens": (2, math.inf),
    "made": (0, math.inf),
    "minutes": (0, math.inf),
    "learning_rate": (1e-12, 1),
    "seed": (0, 2**32 - 1),
    "dropout": (0, 0.99),
    **dict.fromkeys(("begin", "restyle"), (0, 1)),
}
"""The least and the most that a setting can be."""


@dataclass(frozen=True, kw_only=True)
class LmRecipe(Recipe):
    """A language model that learns how people talk: turns on lines of their own, one after the other."""

    name: ClassVar[str] = "lm"

    model: str = "smollm2"
    max_tokens: int = 384
    """Of a dialogue; what is longer is cut."""
    begin: float = 0.25
    """How often a text begins anew between two turns, so that replies are also met without what they reply
    to, and after a single turn, as metrics show them."""
    restyle: float = 0.3
    """The share of dialogues written as other corpora write: punctuation apart, or together, lower case."""


@dataclass(frozen=True, kw_only=True)
class NliRecipe(Recipe):
    """A classifier that learns whether one sentence follows from another, contradicts it, or neither."""

    name: ClassVar[str] = "nli"

    model: str = "mpnet"
    rank: int = 20
    epochs: int = 3
    learning_rate: float = 5e-4
    batch: int = 128
    dropout: float = 0.05
    max_tokens: int = 160
    """Of a pair; what is longer is cut."""
    made: int = 12000
    """The most pairs that are made from dialogues."""


@dataclass(frozen=True, kw_only=True)
class CrossRecipe(Recipe):
    """An encoder that reads what was said and a reply together, and learns whether they belong together."""

    name: ClassVar[str] = "ruber"

    representation: Literal["cross"] = "cross"
    """Both texts are read at once, by an encoder that is itself adapted."""
    model: str = "mpnet"
    rank: int = 20
    epochs: int = 3
    learning_rate: float = 5e-4
    batch: int = 128
    dropout: float = 0.05
    max_tokens: int = 160
    """Of both texts; of what is longer the beginning of the context is cut."""
    turns: int = 4
    """The most turns before the reply that it is shown; in each epoch chance says how many."""
    negatives: tuple[str, ...] = ("random", "near", "dialogue", "spliced", "shuffled", "repeated")
    """The kinds of wrong replies; one that is named twice is twice as frequent."""
    each: int = 2
    """How many wrong replies stand against each right one."""
    pairs: int = 60000
    """The most right replies that are learned from in an epoch: others in each."""
    restyle: float = 0.3
    """The share of pairs written as other corpora write: punctuation apart, or together, lower case."""
