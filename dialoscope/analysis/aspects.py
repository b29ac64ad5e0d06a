"""What people who ask for ratings call the aspects of a reply."""

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
"""In lower case; of several that a corpus has ratings of, the first stands for the aspect."""


def standing(rated: Iterable[str], aspect: str) -> str | None:
    """Which of the rated aspects stands for this one; nothing where none does.

    Where nobody was asked for the reply as a whole, coherence stands for it, which is what people mostly
    judge by. An aspect that has no place here stands for itself.
    """
    known = {name.strip().lower(): name for name in rated}
    wanted = NAMES.get(aspect, (aspect.strip().lower(),))
    if aspect == "overall":
        wanted += NAMES["coherence"]
    return next((known[name] for name in wanted if name in known), None)
