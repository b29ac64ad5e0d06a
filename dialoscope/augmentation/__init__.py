"""Queries in other words: what a system is asked besides a query, to see how its replies vary."""

from dialoscope.augmentation.augmented import Augmented, Tally
from dialoscope.augmentation.generator import Generator
from dialoscope.augmentation.run import augment
from dialoscope.augmentation.substitution import Substitution

__all__ = ["Augmented", "Generator", "Substitution", "Tally", "augment"]
