"""From replies to a result."""

from dialoscope.scoring.run import evaluate
from dialoscope.scoring.verification import Verification, verify

__all__ = ["Verification", "evaluate", "verify"]
