"""Response fluency (Pang et al., 2020, https://aclanthology.org/2020.acl-main.333)."""

from collections.abc import Hashable
from dataclasses import dataclass, field
from types import MappingProxyType

from dialoscope.core.tally import Sums
from dialoscope.metrics.shared.base import Metric
from dialoscope.metrics.shared.likelihoods import DEFAULT, ScaledLikelihood
from dialoscope.metrics.shared.reading import Spaces, alone, note_cut_texts, reading, totals
from dialoscope.models.language_model import TransformerLanguageModel
from dialoscope.models.protocols import LanguageModel
from dialoscope.text.batch import Batch


@dataclass(frozen=True)
class _ReadAlone(Metric[Sums]):
    """A metric of what a language model thinks of a reply by itself."""

    at_once = True

    lm: LanguageModel = DEFAULT
    """The language model: an asset, a folder, a name on the hub, or a server's address#model."""
    spaces: Spaces = field(default="strip", kw_only=True)
    """Whether spaces around a reply are left out, as a language model makes much of them, or kept."""

    @property
    def statistics(self) -> Hashable:
        """The key of the sums over tokens and their numbers, which serve all settings of the scale."""
        return "alone", self.lm, self.spaces

    def announce(self, batch: Batch) -> None:
        """Announce each reply by itself."""
        reading(batch, self.lm).add(alone(batch, self.spaces))

    def measure(self, batch: Batch) -> Sums:
        """The sums over tokens and their numbers; undefined for a blank reply."""
        return totals(reading(batch, self.lm).answers(alone(batch, self.spaces)))

    def warnings(self, batch: Batch) -> list[str]:
        """Warnings about replies that are longer than the model's window."""
        return note_cut_texts(batch, self.lm, alone(batch, self.spaces))


@dataclass(frozen=True)
class Fluency(ScaledLikelihood, _ReadAlone):
    """The log-probability of a reply without its context by a language model, on a scale from 0 to 1."""

    name = "fluency"
    version = 2
    paper = "https://aclanthology.org/2020.acl-main.333"
    variants = MappingProxyType(
        {"pang-code": MappingProxyType({"lm": TransformerLanguageModel(start="none"), "spaces": "keep"})}
    )
