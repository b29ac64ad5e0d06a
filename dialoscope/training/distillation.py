"""Pairs of what one speaker says, and a larger model's verdicts on them, to train a smaller one with.

Collections of entailments are about captions and articles; of dialogues there is no such thing. But a large
classifier that learned from them knows enough of language to judge utterances too, and what it says of very
many of them can be learned by a small one, with all of its doubts.
"""

from collections.abc import Sequence

import numpy as np

from dialoscope.core.errors import TrainingError
from dialoscope.models.classifier import TransformerClassifier
from dialoscope.models.engines import import_engine
from dialoscope.models.language_model import Dtype
from dialoscope.models.protocols import Classifier, Pair
from dialoscope.training.contradictions import LABELS, LabelledPair, made_pairs
from dialoscope.training.dialogue_split import Turns
from dialoscope.training.negatives import different_replies, exchanges, wrong_replies
from dialoscope.training.styles import STYLES, tidied

_TURNS = 4
"""How far back an utterance may lie that a reply is held against."""
_WRONG = ("random", "near", "dialogue", "spliced")
"""The kinds of replies that were not given, of which a speaker contradicts more."""
_MADE = 0.25
"""The share of pairs that rules make, of which the teacher may think otherwise."""
_DIGITS = 4
"""Of a verdict; further ones are chance."""


def teacher_of(name: str, device: str) -> Classifier:
    """The classifier that is learned from; half as precise on a GPU, where it is much faster that way."""
    found = import_engine("device", "Training").chosen_device(device)
    dtype: Dtype = "bfloat16" if found.type == "cuda" else "float32"
    teacher = TransformerClassifier(name, dtype=dtype, device=device)
    if missing := [label for label in LABELS if label not in teacher.labels]:
        raise TrainingError(
            f"{name} cannot teach what contradicts: of the classes {', '.join(LABELS)} it does not know "
            f"{', '.join(missing)}, but knows: {', '.join(teacher.labels)}."
        )
    return teacher


def judged(pairs: Sequence[Pair], teacher: Classifier) -> list[LabelledPair]:
    """Each with the likeliest class and how probable every class is; what cannot be judged is left out."""
    columns = [teacher.labels.index(label) for label in LABELS]
    found = teacher.classify(pairs)[:, columns]
    with np.errstate(invalid="ignore", divide="ignore"):
        odds = (found / found.sum(axis=1, keepdims=True)).round(_DIGITS)
    return [
        LabelledPair(*pair, LABELS[int(row.argmax())], tuple(row.tolist()))
        for pair, row in zip(pairs, odds, strict=True)
        if np.isfinite(row).all()
    ]


def utterances(dialogues: Sequence[Turns], most: int, seed: int = 0) -> list[Pair]:
    """So many pairs at most of what a speaker said and may have said later: really, instead, or by rules.

    Half of those that are not made by rules are what was really said, each beside something that was not.
    """
    chance = np.random.default_rng([seed, most])
    talks = [tuple(map(tidied, turns)) for turns in dialogues]
    later = [one for one in exchanges(talks, _TURNS) if len(one.context) > 1 and one.context[-2]]
    places = np.sort(chance.permutation(len(later))[: int(most * (1 - _MADE)) // 2]).tolist()
    drawn = [later[place] for place in places]
    wrong = wrong_replies(drawn, _WRONG, 1, (seed,)) if different_replies(drawn) > 1 else []
    found = [Pair(one.premise, one.hypothesis) for one in made_pairs(dialogues, int(most * _MADE), seed)]
    for one, (other,) in zip(drawn, wrong, strict=bool(wrong)):
        own = [turn for turn in one.context[-2::-2] if turn]
        said = own[int(chance.integers(len(own)))]
        style = STYLES[int(chance.integers(len(STYLES)))]
        found += [Pair(style(said), style(one.reply)), Pair(style(said), style(other))]
    every = list(dict.fromkeys(found))
    return [every[place] for place in chance.permutation(len(every)).tolist()]
