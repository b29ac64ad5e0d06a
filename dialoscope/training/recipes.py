"""How a model is trained: settings, all of which stand in the checkpoint's card."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar, Literal, Self, get_args

from dialoscope.core.errors import TrainingError
from dialoscope.models.heads import Objective, Representation
from dialoscope.models.locations import asset_names
from dialoscope.models.registry import licences

Method = Literal["lora", "full"]


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What every training has: settings that are checked, and told."""

    name: ClassVar[str]
    version: ClassVar[int] = 1
    choices: ClassVar[Mapping[str, tuple[str, ...]]] = MappingProxyType({})
    """What settings that are words can be."""

    def __post_init__(self) -> None:
        for name, choices in self.choices.items():
            if (value := getattr(self, name)) not in choices:
                raise TrainingError(f"{name} is '{value}'; it must be one of: {', '.join(choices)}.")
        for one in dataclasses.fields(self):
            value = getattr(self, one.name)
            least, most = _RANGES.get(one.name, (-math.inf, math.inf))
            if isinstance(value, int | float) and not least <= value <= most:
                known = f"{least} or more" if most == math.inf else f"between {least} and {most}"
                raise TrainingError(f"{one.name} is {value}; it must be {known}.")

    def settings(self) -> dict[str, Any]:
        """What the outcome depends on, besides the data."""
        told = {one.name: getattr(self, one.name) for one in dataclasses.fields(self) if one.compare}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in told.items()}

    def check_licences(self, data: Sequence[str] = ()) -> None:
        """Refuse models and data that `DIALOSCOPE_LICENCE` does not allow; announce those of others."""
        models = [getattr(self, name, "") for name in ("model", "teacher", "embedding")]
        named = [*models, *(name.partition(":")[0] for name in data)]
        used = [asset for name in named if name for asset in asset_names(name)]
        licences.allow(f"train {self.name}", used, None)

    def identity(self, model: str, data: Mapping[str, Any]) -> dict[str, Any]:
        """All that makes a training this one and no other: how, on top of which model, from which data."""
        return {
            "recipe": self.name,
            "version": self.version,
            "settings": self.settings(),
            "model": model,
            "data": data,
        }

    def given(self, **chosen: Any) -> Self:  # noqa: ANN401 - settings of any type
        """The same with other settings; those that are None stay as they are."""
        return dataclasses.replace(
            self, **{name: value for name, value in chosen.items() if value is not None}
        )


@dataclass(frozen=True, kw_only=True)
class Course(Settings):
    """What every training has that goes on in epochs."""

    epochs: int = 4
    """At most."""
    learning_rate: float = 1e-3
    """At its highest."""
    batch: int = 8192
    """How much is learned from at once."""
    dropout: float = 0.0
    patience: int = 1
    """How many epochs may pass without improvement before it stops early."""
    seed: int = 0
    minutes: float = field(default=0.0, compare=False)
    """After so long it stops with the best so far; 0: never."""
    device: str = field(default="auto", compare=False)


@dataclass(frozen=True, kw_only=True)
class Recipe(Course):
    """How a model itself is trained further; how the shipped checkpoints were, their cards say.

    The learning rate rises over the first twentieth, and falls to nothing at the end.
    """

    choices = MappingProxyType({"method": get_args(Method)})

    model: str
    """What is trained on top of: an asset, a folder, or a name on the hub."""
    method: Method = "lora"
    """A small adapter beside frozen weights, or all weights."""
    rank: int = 8
    """Of the adapter's matrices."""
    batch: int = 8192
    """How much is learned from at once: tokens of dialogues, or pairs of sentences."""
    dropout: float = 0.0
    """Of what the adapter reads."""


_WHOLE = (
    "rank", "epochs", "batch", "patience", "turns", "each", "pairs", "ready", "units", "layers",
    "slow_after", "seeds", "steps", "dims",
)  # fmt: skip
_RANGES = {
    **dict.fromkeys(_WHOLE, (1, math.inf)),
    **dict.fromkeys(("margin", "decay"), (1e-12, 1)),
    "max_tokens": (2, math.inf),
    "made": (0, math.inf),
    **dict.fromkeys(("l2", "contrast"), (0, math.inf)),
    "folds": (3, math.inf),
    "minutes": (0, math.inf),
    "learning_rate": (1e-12, 1),
    "seed": (0, 2**32 - 1),
    "dropout": (0, 0.99),
    **dict.fromkeys(("begin", "restyle", "swapped"), (0, 1)),
}
"""The least and the most that a setting can be."""


@dataclass(frozen=True, kw_only=True)
class Rivalry(Settings):
    """How replies that people gave are learned from beside wrong ones."""

    turns: int = 4
    """The most turns before the reply that it is shown; in each epoch chance says how many."""
    negatives: tuple[str, ...] = (
        "random",
        "random",
        "near",
        "dialogue",
        "spliced",
        "shuffled",
        "repeated",
    )
    """The kinds of wrong replies; one that is named twice is twice as frequent."""
    each: int = 2
    """How many wrong replies stand against each right one."""
    pairs: int = 40000
    """The most right replies that are learned from in an epoch: others in each."""
    restyle: float = 0.3
    """The share written as other corpora write: punctuation apart, or together, lower case."""


@dataclass(frozen=True, kw_only=True)
class LmRecipe(Rivalry, Recipe):
    """A language model that learns how people talk: turns on lines of their own, one after the other."""

    name: ClassVar[str] = "lm"

    model: str = "smollm2"
    max_tokens: int = 384
    """Of a dialogue; what is longer is cut."""
    begin: float = 0.25
    """How often a text begins anew between two turns, so that replies are also met without what they reply
    to, and after a single turn, as metrics show them."""
    contrast: float = 0.0
    """How much it counts that a reply which people gave is likelier than a wrong one, beside how likely all
    they said is; 0: not at all."""
    pairs: int = 12000


@dataclass(frozen=True, kw_only=True)
class PairRecipe(Recipe):
    """A classifier of two texts that are read together."""

    model: str = "mpnet"
    rank: int = 20
    epochs: int = 3
    learning_rate: float = 5e-4
    batch: int = 128
    dropout: float = 0.05
    max_tokens: int = 160
    """Of both texts; of what is longer the beginning of the first is cut."""


@dataclass(frozen=True, kw_only=True)
class NliRecipe(PairRecipe):
    """A classifier that learns whether one sentence follows from another, contradicts it, or neither."""

    name: ClassVar[str] = "nli"

    made: int = 12000
    """The most pairs that are made from dialogues."""
    teacher: str = ""
    """Whose verdicts on pairs from dialogues are learned, doubts and all: an asset, a folder, or a name on
    the hub; without one rules make pairs and say what they are."""
    swapped: float = 0.0
    """The share of pairs that are read with both sides swapped, others in each epoch; of these it is learned
    whether they contradict each other, which is so from either side, and nothing else."""


@dataclass(frozen=True, kw_only=True)
class CrossRecipe(Rivalry, PairRecipe):
    """An encoder that reads what was said and a reply together, and learns whether they belong together."""

    name: ClassVar[str] = "ruber"

    representation: Literal["cross"] = "cross"
    """Both texts are read at once, by an encoder that is itself adapted."""


@dataclass(frozen=True, kw_only=True)
class RuberRecipe(Course):
    """A small network over vectors that stay as they are, which learns whether a reply belongs.

    The unreferenced scorer of Ghazarian et al. (2019, https://aclanthology.org/W19-2310); the sizes and the
    pace are theirs, and so is the choice of the three points of variation.
    """

    name: ClassVar[str] = "ruber"
    choices = MappingProxyType({"representation": get_args(Representation), "objective": get_args(Objective)})

    embedding: str = "minilm"
    """Whose vectors: an encoder or word vectors, an asset, a folder, a file, a name on the hub."""
    representation: Representation = "max"
    """How those of a text become one: by recurrent layers, or by their highest or mean values."""
    objective: Objective = "cross-entropy"
    """The right reply shall be above a wrong one by a margin, or both shall be told apart as classes."""
    epochs: int = 200
    learning_rate: float = 1e-4
    decay: float = 0.5
    """What the learning rate is multiplied by when it goes no further."""
    slow_after: int = 5
    """How many epochs in a row without improvement make it so."""
    patience: int = 20
    batch: int = 128
    """Pairs of a right and a wrong reply learned from at once."""
    dropout: float = 0.0
    """Of the last hidden layer."""
    turns: int = 1
    """The turns before the reply that are its query."""
    negatives: tuple[str, ...] = ("random",)
    """The kinds of wrong replies; one that is named twice is twice as frequent."""
    each: int = 1
    """How many wrong replies stand against each right one in an epoch."""
    ready: int = 8
    """How many stand ready, of which each epoch takes others; the fewer, the less is read by the encoder."""
    pairs: int = 22000
    """The most right replies that are learned from; a tenth as many are judged by."""
    part: str = "2/2"
    """The part of the dialogues that is used: the rest is left to those who train systems."""
    margin: float = 0.5
    """Of the ranking."""
    units: int = 128
    """Of a recurrent layer, in each direction."""
    layers: int = 2
    """Recurrent ones."""
    perceptron: tuple[int, ...] = (256, 512, 128)
    """The widths of its hidden layers."""
    seeds: int = 1
    """How many trainings there are, from `seed` on; the best by validation is kept."""

    def __post_init__(self) -> None:
        super().__post_init__()
        number, _, count = self.part.partition("/")
        if not (number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
            raise TrainingError(f"part is '{self.part}'; write 2/2 for the second of two parts, 1/1 for all.")
        if not self.perceptron or min(self.perceptron) < 1:
            raise TrainingError("perceptron must name the width of at least one layer, each 1 or more.")


@dataclass(frozen=True, kw_only=True)
class AdemRecipe(Settings):
    """A bilinear form over vectors of context, reference and reply, which learns how people rate replies.

    Lowe et al. (2017, https://aclanthology.org/P17-1103).
    """

    name: ClassVar[str] = "adem"

    model: str = "minilm"
    """The encoder whose vectors are compared: an asset, a folder, or a name on the hub."""
    dims: int = 50
    """How many principal components are kept of them."""
    turns: int = 4
    """The last turns of a context that are read."""
    l2: float = 3.0
    """How strongly the matrices are held to where they begin, which is the identity; 0: not at all."""
    steps: int = 100
    """Of the descent, at most."""
    patience: int = 5
    """How many steps may pass without improvement before it stops early."""
    folds: int = 5
    """In so many parts the contexts are cut, of which each is kept apart in turn."""
    seeds: int = 3
    """How often they are cut, each time otherwise."""
    seed: int = 0
    device: str = field(default="auto", compare=False)
