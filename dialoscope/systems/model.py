"""A local model as a system, causal or seq2seq: a folder, an asset, or a name on the hub."""

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
"""Types of bidirectional models, unless their configuration says that they are decoders."""
_WRITES = re.compile("CausalLM|LMHead|ConditionalGeneration|Model$")
"""The names of classes that generate text; `...Model` has no head, but may share its embeddings."""

Form = Literal["auto", "names", "lines"]
Generate = Callable[[Sequence[str], Generation], list[list[str]]]


@dataclass(frozen=True)
class ModelSystem(System):
    """A model that generates replies: the likeliest, or with a temperature a random sample."""

    name: ClassVar[str] = "model"
    at_once: ClassVar[int] = 16
    most_workers: ClassVar[int | None] = 1
    packages: ClassVar[tuple[str, ...]] = ("numpy", "torch", "transformers", "tokenizers")

    model: str
    """A folder, an asset, or a name on the hub."""
    revision: str = "main"
    """The revision of a model on the hub."""
    dtype: Dtype = "float32"
    """The precision of its computations."""
    form: Form = "auto"
    """The form of a context: a line for each turn, with or without names (A:, B:) before them; `auto` is with
    names for a causal model, and without for a seq2seq model."""
    max_tokens: int = 40
    """Maximum number of tokens of a reply, which also ends with the line."""
    temperature: float = 0.0
    """The sampling temperature; 0: the likeliest token each time."""
    top_k: int = 0
    """Number of the likeliest tokens to sample from; 0: all."""
    top_p: float = 1.0
    """Total probability of the likeliest tokens to sample from."""
    beams: int = 1
    """Number of beams of the beam search."""
    device: str = field(default="auto", compare=False)

    def __post_init__(self) -> None:
        if not self.model:
            raise BackendError("A model needs a name: a folder, an asset, or a name on the hub.")
        for name, value, choices in (("dtype", self.dtype, Dtype), ("form", self.form, Form)):
            if value not in get_args(choices):
                raise BackendError(f"{name} is '{value}'; it must be one of: {', '.join(get_args(choices))}.")
        if self.temperature < 0:
            raise BackendError("temperature must be 0 (the likeliest reply) or more.")
        _ = self.generation(0)

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
        """The model, or the one that it was trained from."""
        return asset_names(self.model)

    @property
    def is_random(self) -> bool:
        """Whether replies depend on the seed."""
        return self.temperature > 0

    def check_samples(self, samples: int) -> None:
        """Refuse several samples without a temperature, which would all be the same."""
        super().check_samples(samples)
        if samples > 1 and not self.is_random:
            raise BackendError(
                f"{samples} replies of {self.model} would all be the same; set a temperature: "
                f"{self.model},temperature=0.7."
            )

    def generation(self, seed: int) -> Generation:
        """The settings of the generation of replies."""
        return Generation(
            max_tokens=self.max_tokens,
            beams=self.beams,
            sample=self.is_random,
            temperature=self.temperature or 1.0,
            top_k=self.top_k,
            top_p=self.top_p,
            seed=seed,
        )

    @contextmanager
    def opened(self) -> Iterator["_ModelSession"]:
        """The model, loaded when it is first used."""
        files = find_model(self.model, self.revision)
        if files.config.get("is_encoder_decoder"):
            writer = _seq2seq(self, files, self.device, self.fingerprint)
            yield _ModelSession(self, writer.write, self.form == "names")
        else:
            _refuse_encoder(self.model, files.config)
            causal = TransformerLanguageModel(self.model, self.revision, self.dtype, device=self.device)
            yield _ModelSession(self, causal.generate, self.form != "lines")


class _ModelSession:
    """A session that generates replies."""

    def __init__(self, system: ModelSystem, write: Generate, has_names: bool) -> None:
        self._system, self._write, self._has_names = system, write, has_names

    def answers(self, questions: Sequence[Question]) -> Iterator[str | NoAnswer]:
        """Answer the questions of each seed together."""
        answers: dict[int, str | NoAnswer] = {}
        for seed in dict.fromkeys(question.seed for question in questions):
            indices = [index for index, question in enumerate(questions) if question.seed == seed]
            prompts = [prompt(questions[index].context, has_names=self._has_names) for index in indices]
            answers.update(zip(indices, self._generate(prompts, seed), strict=True))
        return (answers[index] for index in range(len(questions)))

    def _generate(self, prompts: list[str], seed: int) -> list[str | NoAnswer]:
        texts = self._write(prompts, self._system.generation(seed))
        return [as_reply(text.strip()) for (text, *_) in texts]


def prompt(context: Sequence[str], *, has_names: bool) -> str:
    """The prompt of a context; each turn is one line, since a reply ends with its line."""
    turns = [" ".join(turn.split()) for turn in context]
    if not has_names:
        return "".join(f"{turn}\n" for turn in turns)
    names = ("B", "A")
    lines = [f"{names[(len(turns) - index) % 2]}: {turn}\n" for index, turn in enumerate(turns)]
    return "".join([*lines, "B:"])


def _refuse_encoder(name: str, config: Mapping[str, Any]) -> None:
    """Refuse an encoder or a classifier, which cannot generate text."""
    architectures = config.get("architectures")
    classes = [str(name) for name in architectures] if isinstance(architectures, list) else []
    is_encoder = config.get("model_type") in _ENCODERS and not config.get("is_decoder")
    if is_encoder or (classes and not any(map(_WRITES.search, classes))):
        what = f" but {printable(', '.join(classes))}" if classes else ""
        raise BackendError(
            f"{printable(name)} is no causal or seq2seq model{what}, and cannot generate a reply. Name "
            "one that can, such as smollm2."
        )


@lru_cache(maxsize=1)
def _seq2seq(system: ModelSystem, files: Model, device: str, fingerprint: str) -> "Seq2seqWriter":
    """A seq2seq model; a changed folder is loaded again."""
    try:
        engine = import_module("dialoscope.models.engines.seq2seq")
    except ImportError as missing:
        raise MissingExtra(f"The model {system.model}", missing.name or "torch", "neural") from missing
    writer: Seq2seqWriter = engine.Seq2seqWriter(files, device, system.dtype)
    return writer
