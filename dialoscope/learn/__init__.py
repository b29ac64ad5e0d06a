"""Training: a recipe and data become a checkpoint, which is a model like any other."""

from dialoscope.learn.checkpoint import Checkpoint
from dialoscope.learn.recipe import LmRecipe, NliRecipe
from dialoscope.learn.run import train_lm, train_nli

__all__ = ["Checkpoint", "LmRecipe", "NliRecipe", "train_lm", "train_nli"]
