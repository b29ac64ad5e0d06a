"""Pairs of utterances of one speaker, and a larger model's probabilities on them as training targets.

Labelled collections of entailment are about captions and articles; there is none of dialogues. But a large
classifier trained on them generalises to utterances, and a small one can be trained on its probabilities.
"""

from collections.abc import Sequence

import numpy as np

from dialoscope.core.errors import TrainingError
from dialoscope.models.classifier import TransformerClassifier
from dialoscope.models.engines import import_engine
from dialoscope.models.language_model import Dtype
from dialoscope.models.protocols import Classifier, Pair
from dialoscope.training.contradictions import LABELS, LabelledPair, generate_pairs
from dialoscope.training.dialogue_split import Turns
from dialoscope.training.negatives import count_different_replies, list_exchanges, sample_wrong_replies
from dialoscope.training.styles import STYLES, remove_spaces

_TURNS = 4
"""The maximum distance in turns of an utterance that a reply is paired with."""
_WRONG_KINDS = ("random", "near", "dialogue", "spliced")
"""The kinds of wrong replies; contradictions are more frequent among them."""
_BY_RULES = 0.25
"""The share of pairs that rules generate, which the teacher labels anew."""
_DIGITS = 4
"""Digits of a probability; further ones differ between machines."""


def load_teacher(name: str, device: str) -> Classifier:
    """The teacher; in half precision on a GPU, where it is much faster."""
    chosen = import_engine("device", "Training").choose_device(device)
    dtype: Dtype = "bfloat16" if chosen.type == "cuda" else "float32"
    teacher = TransformerClassifier(name, dtype=dtype, device=device)
    if missing := [label for label in LABELS if label not in teacher.labels]:
        raise TrainingError(
            f"{name} is no classifier of entailment and contradiction: of the classes {', '.join(LABELS)} it "
            f"lacks {', '.join(missing)}; it has: {', '.join(teacher.labels)}."
        )
    return teacher


def label_pairs(pairs: Sequence[Pair], teacher: Classifier) -> list[LabelledPair]:
    """Each pair with its likeliest class and the probabilities of all; pairs without any are left out."""
    columns = [teacher.labels.index(label) for label in LABELS]
    scores = teacher.classify(pairs)[:, columns]
    with np.errstate(invalid="ignore", divide="ignore"):
        odds = (scores / scores.sum(axis=1, keepdims=True)).round(_DIGITS)
    return [
        LabelledPair(*pair, LABELS[int(row.argmax())], tuple(row.tolist()))
        for pair, row in zip(pairs, odds, strict=True)
        if np.isfinite(row).all()
    ]


def sample_utterances(dialogues: Sequence[Turns], limit: int, seed: int = 0) -> list[Pair]:
    """At most so many pairs of an utterance and another one, of the same speaker, wrong, or made by rules.

    Half of those that are not made by rules are later utterances of the same speaker; beside each is a wrong
    one.
    """
    rng = np.random.default_rng([seed, limit])
    tidy = [tuple(map(remove_spaces, turns)) for turns in dialogues]
    later = [item for item in list_exchanges(tidy, _TURNS) if len(item.context) > 1 and item.context[-2]]
    indices = np.sort(rng.permutation(len(later))[: int(limit * (1 - _BY_RULES)) // 2]).tolist()
    exchanges = [later[index] for index in indices]
    wrong = (
        sample_wrong_replies(exchanges, _WRONG_KINDS, 1, (seed,))
        if count_different_replies(exchanges) > 1
        else []
    )
    pairs = [
        Pair(pair.premise, pair.hypothesis)
        for pair in generate_pairs(dialogues, int(limit * _BY_RULES), seed)
    ]
    for exchange, (other,) in zip(exchanges, wrong, strict=bool(wrong)):
        own = [turn for turn in exchange.context[-2::-2] if turn]
        earlier = own[int(rng.integers(len(own)))]
        style = STYLES[int(rng.integers(len(STYLES)))]
        pairs += [Pair(style(earlier), style(exchange.reply)), Pair(style(earlier), style(other))]
    different = list(dict.fromkeys(pairs))
    return [different[index] for index in rng.permutation(len(different)).tolist()]
