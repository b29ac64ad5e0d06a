"""The perturbations of an audit, and the shares of replies that they are applied to."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

from dialoscope.core.errors import DialoscopeError
from dialoscope.data.perturb.perturbations import PERTURBATIONS
from dialoscope.data.perturb.real_replies import AGAINST

RATIOS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
REAL = "real"
"""The system of the unperturbed replies by people."""


@dataclass(frozen=True)
class PerturbationPlan:
    """Perturbations, the ratios of replies to perturb, and the seed."""

    perturbations: Sequence[str] = tuple(PERTURBATIONS)
    ratios: Sequence[float] = RATIOS
    seed: int = 0
    against: str | None = None
    """The references of a reply: `others` or `itself`; None for `others` where every reply has some."""

    def __post_init__(self) -> None:
        names = (self.perturbations,) if isinstance(self.perturbations, str) else self.perturbations
        object.__setattr__(self, "perturbations", tuple(dict.fromkeys(names)))
        object.__setattr__(self, "ratios", _parse_ratios(self.ratios))
        _check(self)

    def arguments(self) -> dict[str, Any]:
        """Return the arguments that make the same plan again, as JSON can hold them."""
        return {**asdict(self), "perturbations": list(self.perturbations), "ratios": list(self.ratios)}

    def system(self, perturbation: str, ratio: float) -> str:
        """Return the name of the system with such replies in a run: `noise 0.2`."""
        return f"{perturbation} {format_ratio(ratio)}" if ratio else REAL


def format_ratio(ratio: float) -> str:
    """Return a ratio as text, integers without a decimal point."""
    return repr(ratio).removesuffix(".0")


def _parse_ratios(ratios: Iterable[Any]) -> tuple[float, ...]:
    try:
        return tuple(float(ratio) for ratio in ratios)
    except (TypeError, ValueError):
        raise DialoscopeError(f"{ratios!r} are no ratios; {_EXPECTED}") from None


def _check(plan: PerturbationPlan) -> None:
    for name in plan.perturbations:
        if name not in PERTURBATIONS:
            raise DialoscopeError(
                f"There is no perturbation '{name}'. Choose from: {', '.join(PERTURBATIONS)}."
            )
    if not plan.perturbations:
        raise DialoscopeError(f"Name at least one perturbation: {', '.join(PERTURBATIONS)}.")
    is_rising = all(low < high for low, high in pairwise(plan.ratios))
    if len(plan.ratios) < 2 or not is_rising or not all(0 <= ratio <= 1 for ratio in plan.ratios):
        ratios = ", ".join(map(format_ratio, plan.ratios)) or "none"
        raise DialoscopeError(f"The ratios are {ratios}; {_EXPECTED}")
    if plan.against not in (None, *AGAINST):
        raise DialoscopeError(f"against is '{plan.against}'; it must be one of: {', '.join(AGAINST)}.")
    if plan.seed < 0:
        raise DialoscopeError(f"The seed is {plan.seed}; it must be 0 or above.")


_EXPECTED = "give two or more in increasing order between 0 and 1, such as 0, 0.5, 1."
