"""ADEM on rated corpora that it did not learn from: each is foretold by a model trained on all others.

    DIALOSCOPE_CORPORA=FOLDER python benchmarks/papers/adem.py [ENCODER ...]

Prints a Markdown table; the default encoders are minilm and mpnet. Replies of a training corpus to a context
that also stands in the corpus to be foretold are left out.
"""

from argparse import ArgumentParser
from statistics import mean, median

import numpy as np

from benchmarks._shared import corpora_folder
from dialoscope.models.bilinear import encoder_of, sides_of
from dialoscope.training.bilinear_fit import RatedVectors, calibrate, cross_validate, fit_form, initial_form
from dialoscope.training.rated_replies import RatedReplies, read_rated
from dialoscope.training.rating_correlation import correlations
from dialoscope.training.recipes import AdemRecipe

CORPORA = {
    "zhao_dailydialog": ("zhao2020/zhao_dailydialog.jsonl", "overall"),
    "zhao_personachat": ("zhao2020/zhao_personachat.jsonl", "overall"),
    "usr_personachat": ("usr_personachat/data.jsonl", "overall"),
    "grade_convai2": ("grade/grade_convai2.jsonl", "coherence"),
    "grade_dailydialog": ("grade/grade_dailydialog.jsonl", "coherence"),
    "grade_empathetic": ("grade/grade_empathetic.jsonl", "coherence"),
}
BEFORE_AFTER = ("before: Pearson", "Spearman", "after: Pearson", "Spearman")


def main() -> None:
    parser = ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("encoders", nargs="*", default=["minilm", "mpnet"], metavar="ENCODER")
    chosen = parser.parse_args()
    root = corpora_folder() / "rated"
    rated = {name: read_rated([root / file], [aspect]) for name, (file, aspect) in CORPORA.items()}
    heads = ("encoder", "corpus", "n", "learned from", "steps", *BEFORE_AFTER, "far")
    print(f"| {' | '.join(heads)} |\n{'|---' * len(heads)}|")
    for encoder in chosen.encoders:
        figures = [row(encoder, name, rated) for name in rated]
        means = [mean(one[place] for one in figures) for place in range(4)]
        print(f"| {encoder} | mean | | | | {' | '.join(f'{one:.3f}' for one in means)} | |", flush=True)


def row(encoder: str, tested: str, rated: dict[str, RatedReplies]) -> list[float]:
    """Foretell one corpus from all others, and print how well it went."""
    recipe = AdemRecipe(model=encoder, seeds=1)
    lessons = {name: lesson_of(one, recipe) for name, one in rated.items()}
    apart = set(rated[tested].contexts)
    contexts = [one for name in rated if name != tested for one in rated[name].contexts]
    sides = [lessons[name] for name in rated if name != tested]
    known = RatedVectors(
        type(sides[0].sides)(
            *(np.concatenate(each) for each in zip(*(one.sides for one in sides), strict=True))
        ),
        np.concatenate([one.ratings for one in sides]),
    ).take(np.array([one not in apart for one in contexts]))
    found = cross_validate(known, [one for one in contexts if one not in apart], recipe, 0)
    steps = round(median(stop.steps for stop in found.stops))
    start = initial_form(known, recipe.dims)
    form = calibrate(fit_form(start, known, recipe, steps), [found], known.ratings)
    test = lessons[tested]
    figures = [
        value for one in (start, form) for value in correlations(one.ratings(test.sides), test.ratings)
    ]
    far = float((form.strangeness(test.sides) > 1).mean())
    cells = (encoder, tested, len(test.ratings), len(known.ratings), steps)
    numbers = [f"{one:.3f}" for one in (*figures, far)]
    print(f"| {' | '.join(map(str, (*cells, *numbers)))} |", flush=True)
    return figures


def lesson_of(rated: RatedReplies, recipe: AdemRecipe) -> RatedVectors:
    """The vectors of rated replies, which are remembered."""
    return RatedVectors(sides_of(encoder_of(recipe.model), rated.replies, recipe.turns), rated.ratings)


if __name__ == "__main__":
    main()
