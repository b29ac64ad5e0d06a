"""What is done to the replies, and to how many of them."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

from dialoscope.core.errors import DialoscopeError
from dialoscope.data.perturb.perturbations import PERTURBATIONS
from dialoscope.data.perturb.real_replies import AGAINST

RATIOS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
REAL = "real"
"""The system whose replies are those of people, nothing perturbed."""


@dataclass(frozen=True)
class Plan:
    """Perturbations, the shares of replies to perturb, and the seed of what is left to chance."""

    perturbations: Sequence[str] = tuple(PERTURBATIONS)
    ratios: Sequence[float] = RATIOS
    seed: int = 0
    against: str | None = None
    """What a reply is compared with: `others` or `itself`; None for `others` where every reply has some."""

    def __post_init__(self) -> None:
        named = (self.perturbations,) if isinstance(self.perturbations, str) else self.perturbations
        object.__setattr__(self, "perturbations", tuple(dict.fromkeys(named)))
        object.__setattr__(self, "ratios", _numbers(self.ratios))
        _check(self)

    def arguments(self) -> dict[str, Any]:
        """What makes the same plan again, in words that JSON has."""
        return {**asdict(self), "perturbations": list(self.perturbations), "ratios": list(self.ratios)}

    def system(self, perturbation: str, ratio: float) -> str:
        """What replies perturbed so are called in a run: `noise 0.2`."""
        return f"{perturbation} {written(ratio)}" if ratio else REAL


def written(ratio: float) -> str:
    """A ratio as people write it."""
    return repr(ratio).removesuffix(".0")


def _numbers(ratios: Iterable[Any]) -> tuple[float, ...]:
    try:
        return tuple(float(ratio) for ratio in ratios)
    except (TypeError, ValueError):
        raise DialoscopeError(f"{ratios!r} are no ratios; {_SUCH_AS}") from None


def _check(plan: Plan) -> None:
    for name in plan.perturbations:
        if name not in PERTURBATIONS:
            raise DialoscopeError(
                f"There is no perturbation '{name}'. Choose from: {', '.join(PERTURBATIONS)}."
            )
    if not plan.perturbations:
        raise DialoscopeError(f"Name at least one perturbation: {', '.join(PERTURBATIONS)}.")
    rising = all(low < high for low, high in pairwise(plan.ratios))
    if len(plan.ratios) < 2 or not rising or not all(0 <= ratio <= 1 for ratio in plan.ratios):
        told = ", ".join(map(written, plan.ratios)) or "none"
        raise DialoscopeError(f"The ratios are {told}; {_SUCH_AS}")
    if plan.against not in (None, *AGAINST):
        raise DialoscopeError(f"against is '{plan.against}'; it must be one of: {', '.join(AGAINST)}.")
    if plan.seed < 0:
        raise DialoscopeError(f"The seed is {plan.seed}; it must be 0 or above.")


_SUCH_AS = "give two or more that rise and lie between 0 and 1, such as 0, 0.5, 1."
