"""Real replies made worse on purpose, so that a metric can show whether it notices."""

from dialoscope.perturbation.kinds import PERTURBATIONS
from dialoscope.perturbation.plan import RATIOS, REAL, Plan
from dialoscope.perturbation.real import RealReplies, RealReply
from dialoscope.perturbation.source import Perturbed

__all__ = ["PERTURBATIONS", "RATIOS", "REAL", "Perturbed", "Plan", "RealReplies", "RealReply"]
