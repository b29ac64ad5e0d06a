"""Response fluency (Pang et al., 2020, https://aclanthology.org/2020.acl-main.333)."""

from collections.abc import Hashable
from dataclasses import dataclass
from types import MappingProxyType

from dialoscope.backends import LanguageModel
from dialoscope.backends.language_model import TransformerLanguageModel
from dialoscope.metrics.base import Metric
from dialoscope.metrics.likelihoods import DEFAULT, ScaledLikelihood
from dialoscope.metrics.reading import alone, reading, totals
from dialoscope.tally import Sums
from dialoscope.text import Batch


@dataclass(frozen=True)
class _ReadAlone(Metric[Sums]):
    """A metric of what a language model thinks of a reply by itself."""

    at_once = True

    lm: LanguageModel = DEFAULT
    """The language model: an asset, a folder, a name on the hub, or a server's address#model."""

    @property
    def statistics(self) -> Hashable:
        """The sum over tokens and their number, whatever is made of them."""
        return "alone", self.lm

    def announce(self, batch: Batch) -> None:
        """The reply by itself."""
        reading(batch, self.lm).add(alone(batch))

    def measure(self, batch: Batch) -> Sums:
        """Undefined for a reply without tokens."""
        return totals(reading(batch, self.lm).answers(alone(batch)))


@dataclass(frozen=True)
class Fluency(ScaledLikelihood, _ReadAlone):
    """How likely a language model finds a reply by itself, whatever it replies to."""

    name = "fluency"
    version = 1
    paper = "https://aclanthology.org/2020.acl-main.333"
    variants = MappingProxyType(
        {"pang-code": MappingProxyType({"lm": TransformerLanguageModel(start="none")})}
    )
