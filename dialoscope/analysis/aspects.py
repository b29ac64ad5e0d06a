"""The names of the aspects of a reply in rated corpora."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

NAMES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "overall": ("overall", "overall quality", "quality"),
        "coherence": (
            "coherence",
            "coherent",
            "maintains context",
            "appropriateness",
            "relevance",
            "relevant",
        ),
        "fluency": (
            "fluency",
            "fluent",
            "naturalness",
            "natural",
            "grammar",
            "understandability",
            "understandable",
        ),
        "engagement": (
            "engagement",
            "engaging",
            "engagingness",
            "interestingness",
            "interesting",
            "content",
        ),
        "consistency": ("consistency", "self-consistency", "self_consistency", "consistent"),
    }
)
"""In lower case; of several that a corpus has ratings of, the first is used for the aspect."""


def standing(rated: Iterable[str], aspect: str) -> str | None:
    """The rated aspect that is this one, or a proxy for it; None where there is none.

    Where replies were not rated overall, coherence is the proxy, which overall ratings mostly depend on.
    An aspect that is not listed here has no other name.
    """
    by_name = {name.strip().lower(): name for name in rated}
    wanted = NAMES.get(aspect, (aspect.strip().lower(),))
    if aspect == "overall":
        wanted += NAMES["coherence"]
    return next((by_name[name] for name in wanted if name in by_name), None)
