"""A model on this machine as a system: a folder, an asset, or a name on the hub; causal or seq2seq."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

from dialoscope.core.errors import BackendError, MissingExtra
from dialoscope.core.safe_text import printable
from dialoscope.models.language_model import Dtype, TransformerLanguageModel
from dialoscope.models.locations import Model, asset_names, find_model, fingerprint
from dialoscope.models.protocols import Generation
from dialoscope.systems.checked_text import as_reply
from dialoscope.systems.protocol import NoAnswer, Question, System

if TYPE_CHECKING:
    from dialoscope.models.engines.seq2seq import Seq2seqWriter

_ENCODERS = frozenset(
    {
        "albert",
        "bert",
        "camembert",
        "deberta",
        "deberta-v2",
        "distilbert",
        "electra",
        "modernbert",
        "mpnet",
        "roberta",
        "xlm-roberta",
    }
)
"""Kinds of models that read a text from both sides, unless they say that they are decoders."""
_WRITES = re.compile("CausalLM|LMHead|ConditionalGeneration|Model$")
"""In the names of classes that write; what ends so is a model without a head, which may share its own."""

Form = Literal["auto", "names", "lines"]
Written = Callable[[Sequence[str], Generation], list[list[str]]]


@dataclass(frozen=True)
class ModelSystem(System):
    """A model that writes on; the likeliest reply, or with a temperature a draw that the seed decides."""

    name: ClassVar[str] = "model"
    at_once: ClassVar[int] = 16
    most_workers: ClassVar[int | None] = 1
    packages: ClassVar[tuple[str, ...]] = ("numpy", "torch", "transformers", "tokenizers")

    model: str
    """A folder, an asset, or a name on the hub."""
    revision: str = "main"
    """Of a model on the hub."""
    dtype: Dtype = "float32"
    """How precisely it computes."""
    form: Form = "auto"
    """How it reads a context: a line for each turn, with or without names (A:, B:) before them; where nothing
    is said, with names for a causal model, and without for one that goes from sequence to sequence."""
    max_tokens: int = 40
    """The most tokens of a reply, which also ends with the line."""
    temperature: float = 0.0
    """How much chance there is; 0: none, the likeliest token each time."""
    top_k: int = 0
    """Sample among the so many likeliest tokens; 0: among all."""
    top_p: float = 1.0
    """Sample among the likeliest tokens that have this probability together."""
    beams: int = 1
    """How many texts are followed at once in search of the likeliest."""
    device: str = field(default="auto", compare=False)

    def __post_init__(self) -> None:
        if not self.model:
            raise BackendError("A model needs a name: a folder, an asset, or a name on the hub.")
        for name, value, known in (("dtype", self.dtype, Dtype), ("form", self.form, Form)):
            if value not in get_args(known):
                raise BackendError(f"{name} is '{value}'; it must be one of: {', '.join(get_args(known))}.")
        if self.temperature < 0:
            raise BackendError("temperature must be 0 (the likeliest reply) or more.")
        _ = self.how(0)

    def __str__(self) -> str:
        return self.model

    @property
    def label(self) -> str:
        """The last part of the model's name."""
        return self.model.rstrip("/").rpartition("/")[2] or self.model

    @property
    def fingerprint(self) -> str:
        """A hash of weights, configuration and tokenizer."""
        return fingerprint(self.model, self.revision)

    @property
    def asset_names(self) -> tuple[str, ...]:
        """The model, or what it was trained on top of."""
        return asset_names(self.model)

    @property
    def has_chance(self) -> bool:
        """Whether another seed gives another reply."""
        return self.temperature > 0

    def check_samples(self, samples: int) -> None:
        """The likeliest reply is one."""
        super().check_samples(samples)
        if samples > 1 and not self.has_chance:
            raise BackendError(
                f"{samples} replies of {self.model} would all be the same; set a temperature: "
                f"{self.model},temperature=0.7."
            )

    def how(self, seed: int) -> Generation:
        """How replies are generated."""
        return Generation(
            max_tokens=self.max_tokens,
            beams=self.beams,
            sample=self.has_chance,
            temperature=self.temperature or 1.0,
            top_k=self.top_k,
            top_p=self.top_p,
            seed=seed,
        )

    @contextmanager
    def opened(self) -> Iterator["_Writing"]:
        """The model, loaded when it is first asked."""
        found = find_model(self.model, self.revision)
        if found.config.get("is_encoder_decoder"):
            writer = _seq2seq(self, found, self.device, self.fingerprint)
            yield _Writing(self, writer.write, self.form == "names")
        else:
            _refuse_reader(self.model, found.config)
            causal = TransformerLanguageModel(self.model, self.revision, self.dtype, device=self.device)
            yield _Writing(self, causal.generate, self.form != "lines")


class _Writing:
    """The model at work."""

    def __init__(self, system: ModelSystem, write: Written, has_names: bool) -> None:
        self._system, self._write, self._has_names = system, write, has_names

    def answers(self, questions: Sequence[Question]) -> Iterator[str | NoAnswer]:
        """All of a seed together."""
        found: dict[int, str | NoAnswer] = {}
        for seed in dict.fromkeys(question.seed for question in questions):
            places = [place for place, question in enumerate(questions) if question.seed == seed]
            prompts = [prompt(questions[place].context, has_names=self._has_names) for place in places]
            found.update(zip(places, self._written(prompts, seed), strict=True))
        return (found[place] for place in range(len(questions)))

    def _written(self, prompts: list[str], seed: int) -> list[str | NoAnswer]:
        texts = self._write(prompts, self._system.how(seed))
        return [as_reply(text.strip()) for (text, *_) in texts]


def prompt(context: Sequence[str], *, has_names: bool) -> str:
    """A context as a text to be continued; a turn is one line, since a reply ends with its line."""
    turns = [" ".join(turn.split()) for turn in context]
    if not has_names:
        return "".join(f"{turn}\n" for turn in turns)
    names = ("B", "A")
    lines = [f"{names[(len(turns) - place) % 2]}: {turn}\n" for place, turn in enumerate(turns)]
    return "".join([*lines, "B:"])


def _refuse_reader(name: str, config: Mapping[str, Any]) -> None:
    """Say of an encoder or a classifier that it cannot reply."""
    named = config.get("architectures")
    classes = [str(one) for one in named] if isinstance(named, list) else []
    reads_on = config.get("model_type") in _ENCODERS and not config.get("is_decoder")
    if reads_on or (classes and not any(map(_WRITES.search, classes))):
        what = f" but {printable(', '.join(classes))}" if classes else ""
        raise BackendError(
            f"{printable(name)} is no causal or seq2seq model{what}, and cannot write a reply. Name one that "
            "can, such as smollm2."
        )


@lru_cache(maxsize=1)
def _seq2seq(system: ModelSystem, found: Model, device: str, fingerprint: str) -> "Seq2seqWriter":
    """Loaded once for each content of the folder."""
    try:
        side = import_module("dialoscope.models.engines.seq2seq")
    except ImportError as missing:
        raise MissingExtra(f"The model {system.model}", missing.name or "torch", "neural") from missing
    writer: Seq2seqWriter = side.Seq2seqWriter(found, device, system.dtype)
    return writer
