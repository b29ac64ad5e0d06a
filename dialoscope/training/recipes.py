"""The settings of trainings. A setting is a field of its recipe, with its default, range and help.

The command line generates its options from these fields, and cards list their values. This module loads
nothing else, so that `--help` is fast.
"""
# ruff: noqa: RUF009 - `setting` returns a field

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple, Self, get_args

from dialoscope.core.errors import TrainingError
from dialoscope.models.head_kinds import Objective, Representation

Method = Literal["lora", "full"]

GROUPS = MODEL, DATA, NEGATIVES, DESCENT, RUN = ("Model", "Data", "Negatives", "Optimisation", "Run")
"""The headings of settings in `--help`, in their order."""


class Setting(NamedTuple):
    """The help, range and choices of a field of a recipe."""

    help: str
    group: str
    least: float = -math.inf
    most: float = math.inf
    choices: tuple[str, ...] = ()
    metavar: str | None = None
    saved_as: str | None = None
    """The name of the setting in checkpoints, if it differs from the field's."""


def setting(default: Any, text: str, group: str, *, compare: bool = True, **more: Any) -> Any:  # noqa: ANN401
    """A field of a recipe, with whatever else `Setting` has; the outcome depends on it if it is compared."""
    return field(default=default, compare=compare, metadata={"setting": Setting(text, group, **more)})


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """The settings of a training, which are checked."""

    name: ClassVar[str]
    version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        for name, item in settings_of(type(self)).items():
            value = getattr(self, name)
            if item.choices and value not in item.choices:
                raise TrainingError(f"{name} is '{value}'; it must be one of: {', '.join(item.choices)}.")
            if isinstance(value, int | float) and not item.least <= value <= item.most:
                valid = f"{item.least} or more"
                if item.most < math.inf:
                    valid = f"between {item.least} and {item.most}"
                raise TrainingError(f"{name} is {value}; it must be {valid}.")

    def settings(self) -> dict[str, Any]:
        """All that the outcome depends on besides the data, by the names that checkpoints use."""
        table = settings_of(type(self))
        values = {
            table[item.name].saved_as or item.name: getattr(self, item.name)
            for item in dataclasses.fields(self)
            if item.compare
        }
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    def check_licences(self, data: Sequence[str] = ()) -> None:
        """Refuse models and data that `DIALOSCOPE_LICENCE` does not allow; announce those of others."""
        from dialoscope.models.locations import asset_names
        from dialoscope.models.registry import licences

        models = [getattr(self, name, "") for name in ("model", "teacher", "embedding")]
        names = [*models, *(name.partition(":")[0] for name in data)]
        licences.allow(
            f"train {self.name}", [asset for name in names if name for asset in asset_names(name)], None
        )

    def identity(self, model: str, data: Mapping[str, Any]) -> dict[str, Any]:
        """What distinguishes a training from all others: its settings, the model it starts from, the data."""
        return {
            "recipe": self.name,
            "version": self.version,
            "settings": self.settings(),
            "model": model,
            "data": data,
        }

    def replace(self, **settings: Any) -> Self:  # noqa: ANN401 - settings of any type
        """The same recipe with other settings; those that are None stay as they are."""
        chosen = {name: value for name, value in settings.items() if value is not None}
        return dataclasses.replace(self, **chosen)


def settings_of(recipe: type[Recipe]) -> dict[str, Setting]:
    """Each setting by its field's name; a field that only changes a default keeps the rest of its base's."""
    return {
        name: item.metadata["setting"]
        for base in reversed(recipe.__mro__)
        for name, item in vars(base).get("__dataclass_fields__", {}).items()
        if "setting" in item.metadata
    }


@dataclass(frozen=True, kw_only=True)
class EpochRecipe(Recipe):
    """The settings of a training that passes over its data several times."""

    epochs: int = setting(4, "Maximum number of passes over the training data.", DESCENT, least=1)
    learning_rate: float = setting(1e-3, "Highest learning rate.", DESCENT, least=1e-12, most=1)
    batch: int = setting(8192, "Number of tokens or pairs in a batch.", DESCENT, least=1)
    dropout: float = setting(0.0, "Dropout rate.", DESCENT, least=0, most=0.99)
    patience: int = setting(
        1, "Number of epochs without improvement on validation before the training stops.", DESCENT, least=1
    )
    seed: int = setting(0, "Seed of all random choices.", RUN, least=0, most=2**32 - 1)
    minutes: float = setting(
        0.0,
        "Minutes after which it stops with the best weights so far; 0: never.",
        RUN,
        compare=False,
        least=0,
    )
    device: str = setting(
        "auto", "cpu, cuda, ...; auto is the first GPU if there is one.", RUN, compare=False
    )


@dataclass(frozen=True, kw_only=True)
class TransformerRecipe(EpochRecipe):
    """The settings of a training that changes a transformer, by an adapter or as a whole.

    The learning rate rises over the first twentieth of the steps, and falls to zero at the end.
    """

    model: str = setting(MISSING, "Model to start from: an asset, a folder, a name on the hub.", MODEL)
    method: Method = setting(
        "lora",
        "A small adapter beside frozen weights (lora), or all weights.",
        MODEL,
        choices=get_args(Method),
    )
    rank: int = setting(8, "Rank of the adapter's matrices.", MODEL, least=1)
    batch: int = setting(8192, "Number of tokens in a batch.", DESCENT, least=1)
    dropout: float = setting(0.0, "Dropout rate of the adapter's input.", DESCENT, least=0, most=0.99)


@dataclass(frozen=True, kw_only=True)
class NegativeSampling(Recipe):
    """How wrong replies are sampled as negatives, beside the replies that people gave."""

    turns: int = setting(
        4, "Maximum number of turns before the reply; sampled anew in each epoch.", DATA, least=1
    )
    negatives: tuple[str, ...] = setting(
        ("random", "random", "near", "dialogue", "spliced", "shuffled", "repeated"),
        "Kinds of wrong replies: random, dialogue, near, shuffled, repeated, spliced, generic; a kind named "
        "twice is sampled twice as often.",
        NEGATIVES,
        metavar="KIND,...",
    )
    negatives_per_pair: int = setting(
        2, "Number of negatives per positive pair.", NEGATIVES, least=1, saved_as="each"
    )
    pairs: int = setting(
        40000, "Maximum number of positive pairs in an epoch, sampled anew in each.", DATA, least=1
    )
    restyle: float = setting(
        0.3,
        "Share of texts rewritten in the style of other corpora: spaced punctuation or none, lower case.",
        DATA,
        least=0,
        most=1,
    )


@dataclass(frozen=True, kw_only=True)
class LmRecipe(NegativeSampling, TransformerRecipe):
    """A language model fine-tuned on dialogues, each turn on a line of its own."""

    name: ClassVar[str] = "lm"

    model: str = "smollm2"
    max_tokens: int = setting(
        384, "Maximum number of tokens of a dialogue; longer ones are cut.", DATA, least=2
    )
    begin: float = setting(
        0.25,
        "Probability that a text restarts between two turns, as metrics show replies without context.",
        DATA,
        least=0,
        most=1,
    )
    contrast: float = setting(
        0.0,
        "Weight of the contrastive loss beside that of the tokens; 0: no negatives are used.",
        DESCENT,
        least=0,
    )
    pairs: int = 12000


@dataclass(frozen=True, kw_only=True)
class PairRecipe(TransformerRecipe):
    """A classifier of two texts that are read together."""

    model: str = "mpnet"
    rank: int = 20
    epochs: int = 3
    learning_rate: float = 5e-4
    batch: int = setting(128, "Number of pairs in a batch.", DESCENT, least=1)
    dropout: float = 0.05
    max_tokens: int = setting(
        160, "Maximum number of tokens of both texts; the first is cut at its beginning.", DATA, least=2
    )


@dataclass(frozen=True, kw_only=True)
class NliRecipe(PairRecipe):
    """A classifier of whether one sentence entails another, contradicts it, or neither."""

    name: ClassVar[str] = "nli"

    made: int = setting(12000, "Maximum number of pairs generated from dialogues.", DATA, least=0)
    teacher: str = setting(
        "",
        "Classifier whose probabilities on pairs from dialogues are the targets (an asset, a folder, a name "
        "on the hub); without one, rules generate and label the pairs.",
        DATA,
    )
    swapped: float = setting(
        0.0,
        "Share of pairs with both sides swapped, sampled anew in each epoch; only whether they contradict "
        "each other is trained on.",
        DATA,
        least=0,
        most=1,
    )


@dataclass(frozen=True, kw_only=True)
class CrossRecipe(NegativeSampling, PairRecipe):
    """An encoder that reads a context and a reply together, and classifies whether they belong together."""

    name: ClassVar[str] = "ruber"

    representation: Literal["cross"] = setting(
        "cross",
        "Both texts are read at once, by an encoder that is itself trained.",
        MODEL,
        choices=("cross",),
    )


@dataclass(frozen=True, kw_only=True)
class RuberRecipe(EpochRecipe):
    """A small network (a head) over fixed vectors, which classifies whether a reply belongs to a query.

    The unreferenced scorer of Ghazarian et al. (2019, https://aclanthology.org/W19-2310). Sizes, learning
    rate and batches are theirs, and so are the choices of embedding, representation and objective.
    """

    name: ClassVar[str] = "ruber"

    embedding: str = setting(
        "minilm", "Encoder or word vectors: an asset, a folder, a file, a name on the hub.", MODEL
    )
    representation: Representation = setting(
        "max",
        "Vector of a text: of recurrent layers, or the maximum or mean of its words' vectors; cross: an "
        "encoder reads both texts at once, and is itself trained.",
        MODEL,
        choices=get_args(Representation),
    )
    objective: Objective = setting(
        "cross-entropy",
        "Loss: a margin between right and wrong replies, or cross-entropy of the two classes.",
        MODEL,
        choices=get_args(Objective),
    )
    epochs: int = 200
    learning_rate: float = 1e-4
    decay: float = setting(
        0.5, "Factor of the learning rate when validation does not improve.", DESCENT, least=1e-12, most=1
    )
    slow_after: int = setting(
        5, "Number of epochs without improvement before the learning rate decays.", DESCENT, least=1
    )
    patience: int = 20
    batch: int = setting(128, "Number of pairs of a right and a wrong reply in a batch.", DESCENT, least=1)
    dropout: float = setting(0.0, "Dropout rate of the last hidden layer.", DESCENT, least=0, most=0.99)
    turns: int = setting(1, "Number of turns before the reply that are its query.", DATA, least=1)
    negatives: tuple[str, ...] = setting(
        ("random",),
        "Kinds of wrong replies: random, dialogue, near, shuffled, repeated, spliced, generic; a kind named "
        "twice is sampled twice as often.",
        NEGATIVES,
        metavar="KIND,...",
    )
    negatives_per_pair: int = setting(
        1, "Number of negatives per positive pair.", NEGATIVES, least=1, saved_as="each"
    )
    negative_pool: int = setting(
        8,
        "Number of negatives per positive pair from which each epoch samples; fewer are faster to encode.",
        NEGATIVES,
        least=1,
        saved_as="ready",
    )
    pairs: int = setting(
        22000, "Maximum number of positive pairs; validation has a tenth as many.", DATA, least=1
    )
    part: str = setting(
        "2/2", "Part of the dialogues that is used: 2/2 is the second half, 1/1 all.", DATA, metavar="N/COUNT"
    )
    margin: float = setting(0.5, "Margin of the ranking loss.", DESCENT, least=1e-12, most=1)
    units: int = setting(128, "Number of units of a recurrent layer, in each direction.", MODEL, least=1)
    layers: int = setting(2, "Number of recurrent layers.", MODEL, least=1)
    perceptron: tuple[int, ...] = setting(
        (256, 512, 128), "Widths of the perceptron's hidden layers.", MODEL, metavar="WIDTH,..."
    )
    seeds: int = setting(
        1, "Number of trainings, from the seed on; the best on validation is kept.", RUN, least=1
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        number, _, count = self.part.partition("/")
        if not (number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
            raise TrainingError(f"part is '{self.part}'; write 2/2 for the second of two parts, 1/1 for all.")
        if not self.perceptron or min(self.perceptron) < 1:
            raise TrainingError("perceptron must name the width of at least one layer, each 1 or more.")


REPRESENTATIONS = (*get_args(Representation), CrossRecipe.representation)
"""The representations that `train ruber` offers."""


def ruber_recipe(**settings: Any) -> RuberRecipe | CrossRecipe:  # noqa: ANN401 - settings of any type
    """The recipe of a representation with these settings; those that are None keep their defaults."""
    chosen = settings.get("representation")
    if chosen not in (None, *REPRESENTATIONS):
        raise TrainingError(f"representation is '{chosen}'; it must be one of: {', '.join(REPRESENTATIONS)}.")
    recipe = CrossRecipe() if chosen == CrossRecipe.representation else RuberRecipe()
    table = settings_of(type(recipe))
    for name, value in settings.items():
        if value is not None and name not in table:
            raise TrainingError(
                f"{name} is no setting of the representation {recipe.representation}, which has: "
                f"{', '.join(sorted(table))}."
            )
    return recipe.replace(**{name: value for name, value in settings.items() if name in table})


@dataclass(frozen=True, kw_only=True)
class AdemRecipe(Recipe):
    """A bilinear form over vectors of context, reference and reply, fitted to ratings.

    Lowe et al. (2017, https://aclanthology.org/P17-1103).
    """

    name: ClassVar[str] = "adem"

    model: str = setting("minilm", "Encoder of the texts: an asset, a folder, a name on the hub.", MODEL)
    dims: int = setting(50, "Number of principal components of the vectors that are kept.", MODEL, least=1)
    turns: int = setting(4, "Maximum number of turns of a context, the last ones.", DATA, least=1)
    l2: float = setting(
        3.0, "Weight of the squared distance of both matrices from the identity; 0: none.", DESCENT, least=0
    )
    steps: int = setting(100, "Maximum number of steps of the descent.", DESCENT, least=1)
    patience: int = setting(
        5, "Number of steps without improvement before the descent stops.", DESCENT, least=1
    )
    folds: int = setting(
        5, "Number of parts that contexts are split into; each is held out in turn.", DATA, least=3
    )
    seeds: int = setting(3, "Number of random splits, from the seed on.", RUN, least=1)
    seed: int = setting(0, "Seed of the splits.", RUN, least=0, most=2**32 - 1)
    device: str = setting(
        "auto", "cpu, cuda, ...; auto is the first GPU if there is one.", RUN, compare=False
    )


@dataclass(frozen=True, kw_only=True)
class Weighting(Recipe):
    """How the weights of a composite are fitted to ratings."""

    evenness: float = setting(1.0, "Strength of the penalty on unequal weights; 0: none.", DESCENT, least=0)
    knots: int = setting(65, "Maximum number of knots of a part's scale.", MODEL, least=2)
