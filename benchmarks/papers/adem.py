"""ADEM on rated corpora that it was not trained on: each is predicted by a model trained on all others.

    DIALOSCOPE_CORPORA=FOLDER python benchmarks/papers/adem.py [--quick] [ENCODER ...]

Prints a Markdown table and, on the last line, the mean correlations; the default encoders are minilm and
mpnet. Training replies to a context that is also in the predicted corpus are left out. With --quick, the
default is minilm on a few contexts of each corpus.
"""

from statistics import mean, median

import numpy as np

from benchmarks._shared import benchmark_parser, corpora_folder, quick_corpora
from dialoscope.models.bilinear import encode_replies, resolve_encoder
from dialoscope.training.bilinear_fit import RatedVectors, calibrate, cross_validate, fit_form, initial_form
from dialoscope.training.rated_replies import RatedReplies, read_rated_replies
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
HEADINGS = ("encoder", "corpus", "n", "trained on", "steps", "before: Pearson", "Spearman",
            "after: Pearson", "Spearman", "far")  # fmt: skip
"""`before` is the model that training starts from; `far` is the share of replies unlike the training data."""
QUICK_CONTEXTS, QUICK_DIMS = 8, 5


def main() -> None:
    parser = benchmark_parser(__doc__)
    parser.add_argument("encoders", nargs="*", metavar="ENCODER", help="minilm and mpnet by default")
    options = parser.parse_args()
    encoders = options.encoders or (["minilm"] if options.quick else ["minilm", "mpnet"])
    root = (quick_corpora(QUICK_CONTEXTS) if options.quick else corpora_folder()) / "rated"
    rated = {name: read_rated_replies([root / file], [aspect]) for name, (file, aspect) in CORPORA.items()}
    print(f"| {' | '.join(HEADINGS)} |\n{'|---' * len(HEADINGS)}|")
    summaries = []
    for encoder in encoders:
        recipe = AdemRecipe(model=encoder, seeds=1, dims=QUICK_DIMS if options.quick else AdemRecipe.dims)
        figures = [predict_corpus(name, rated, recipe) for name in rated]
        means = [f"{mean(column):.3f}" for column in zip(*figures, strict=True)]
        print(f"| {encoder} | mean | | | | {' | '.join(means)} | |", flush=True)
        summaries.append(f"{encoder} {means[3]} ({means[1]} before training)")
    print(f"\nmean Spearman over {len(rated)} corpora: {', '.join(summaries)}; no bar")


def predict_corpus(tested: str, rated: dict[str, RatedReplies], recipe: AdemRecipe) -> list[float]:
    """Predict one corpus with a model trained on all others, print a row, and return the correlations."""
    test = training_data(rated[tested], recipe)
    training, contexts = join_others(tested, rated, recipe)
    split = cross_validate(training, contexts, recipe, 0)
    steps = round(median(stop.steps for stop in split.stops))
    start = initial_form(training, recipe.dims)
    model = calibrate(fit_form(start, training, recipe, steps), [split], training.ratings)
    figures = [
        value for form in (start, model) for value in correlations(form.ratings(test.sides), test.ratings)
    ]
    far = float((model.strangeness(test.sides) > 1).mean())
    cells = (recipe.model, tested, len(test.ratings), len(training.ratings), steps)
    numbers = [f"{value:.3f}" for value in (*figures, far)]
    print(f"| {' | '.join(map(str, (*cells, *numbers)))} |", flush=True)
    return figures


def join_others(
    tested: str, rated: dict[str, RatedReplies], recipe: AdemRecipe
) -> tuple[RatedVectors, list[str]]:
    """Return all other corpora as one, without the contexts of the tested one, and each context."""
    others = [replies for name, replies in rated.items() if name != tested]
    data = [training_data(replies, recipe) for replies in others]
    sides = zip(*(each.sides for each in data), strict=True)
    joined = RatedVectors(
        type(data[0].sides)(*(np.concatenate(side) for side in sides)),
        np.concatenate([each.ratings for each in data]),
    )
    held_out = set(rated[tested].contexts)
    contexts = [context for replies in others for context in replies.contexts]
    usable = np.array([context not in held_out for context in contexts])
    return joined.take(usable), [context for context in contexts if context not in held_out]


def training_data(rated: RatedReplies, recipe: AdemRecipe) -> RatedVectors:
    """Return the vectors of rated replies, which come from the score cache the second time."""
    return RatedVectors(
        encode_replies(resolve_encoder(recipe.model), rated.replies, recipe.turns), rated.ratings
    )


if __name__ == "__main__":
    main()
