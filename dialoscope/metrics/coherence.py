"""Context coherence (Pang et al., 2020, https://aclanthology.org/2020.acl-main.333)."""

from dataclasses import dataclass
from types import MappingProxyType

from dialoscope.metrics.shared.likelihoods import ReadInContext, ScaledLikelihood
from dialoscope.models.language_model import TransformerLanguageModel


@dataclass(frozen=True)
class Coherence(ScaledLikelihood, ReadInContext):
    """The log-probability of a reply after its context by a language model, on a scale from 0 to 1."""

    name = "coherence"
    version = 2
    paper = "https://aclanthology.org/2020.acl-main.333"
    variants = MappingProxyType(
        {
            "pang-code": MappingProxyType(
                {
                    "lm": TransformerLanguageModel(start="none"),
                    "turns": 1,
                    "join": "space",
                    "length": "sum",
                    "spaces": "keep",
                }
            )
        }
    )
