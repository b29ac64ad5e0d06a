"""Measure how metrics go with people on the rated corpora, and put the figures into their place.

    DIALOSCOPE_CORPORA=FOLDER python scripts/measure_trust.py

Every metric of `METRICS` scores every corpus of `CORPORA`; dialoscope/analysis/trust/trust.json comes out:
figures and signatures, no text of any corpus. The composite's shipped weights were fitted to most of these
ratings, so each corpus is judged by weights fitted to the others. Afterwards: `python scripts/documents.py`.
"""

import sys
from argparse import ArgumentParser
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import dialoscope
from benchmarks._shared import corpora_folder
from dialoscope.analysis.trust.known import SHIPPED
from dialoscope.analysis.trust.trust import ScoredColumn, ScoredCorpus, estimate_trust
from dialoscope.core.arrays import Floats
from dialoscope.core.files import write_atomically
from dialoscope.training.composite_fit import CompositeRecipe, fit_weights, others_than
from dialoscope.training.train_composite import score_corpora

PANG = "Pang et al., 2020, https://aclanthology.org/2020.acl-main.333"
GRADE = "Huang et al., 2020, https://aclanthology.org/2020.emnlp-main.742"
USR = "Mehri and Eskenazi, 2020, https://aclanthology.org/2020.acl-main.64"
ZHAO = "Zhao, Lala and Kawahara, 2020, https://aclanthology.org/2020.acl-main.4"
CORPORA = {
    "pang2020/coherence": PANG,
    "pang2020/fluency": PANG,
    "pang2020/self_consistency": PANG,
    "grade/grade_convai2": GRADE,
    "grade/grade_dailydialog": GRADE,
    "grade/grade_empathetic": GRADE,
    "usr_personachat/data": USR,
    "zhao2020/zhao_dailydialog": ZHAO,
    "zhao2020/zhao_personachat": ZHAO,
}
"""Whom to cite. Those of the FBD paper are copies of these, and would count them twice."""
UNSEEN = "pang2020/self_consistency"
"""The composite has learned nothing from it."""
METRICS = (
    "bleu-1", "bleu-2", "bleu-3", "bleu-4", "bleu-4:variant=nlg-eval", "bleu-4:variant=nltk",
    "rouge-1", "rouge-2", "rouge-3", "rouge-4", "rouge-l", "rouge-w",
    "rouge-l:variant=nlg-eval", "rouge-l:variant=rouge-score", "meteor", "meteor:variant=nltk",
    "distinct-1", "distinct-2", "distinct-1:level=reply", "distinct-2:level=reply", "entropy-1", "entropy-2",
    "words", "repetition-1", "repetition-2", "copying-1", "copying-2", "specificity",
    "average", "extrema", "greedy", "bertscore", "bertscore:part=precision", "bertscore:part=recall",
    "relatedness", "relatedness:encoder=minilm",
    "coherence", "coherence:length=sum", "coherence:lm=smollm2-chat",
    "coherence:lm=smollm2-chat,length=sum", "coherence:variant=pang-code",
    "fluency", "fluency:length=sum", "fluency:lm=smollm2-chat", "fluency:lm=smollm2-chat,length=sum",
    "perplexity", "perplexity:lm=smollm2-chat",
    "pmi", "pmi:scale=normalised", "pmi:length=sum", "pmi:lm=smollm2-chat",
    "pmi:lm=smollm2-chat,scale=normalised", "pmi:lm=smollm2-chat,length=sum",
    "self-consistency", "self-consistency:over=last",
    "ruber-unreferenced", "ruber-referenced", "ruber",
    "composite", "composite:aspect=coherence", "composite:aspect=fluency", "composite:aspect=engagement",
)  # fmt: skip
LEFT_OUT = "on each by weights fitted to the others"


def main() -> None:
    """Score, measure, write."""
    ArgumentParser(description=__doc__.partition("\n")[0]).parse_args()
    root = corpora_folder() / "rated"
    outside = composites(root)
    corpora = [judged(root, name, outside) for name in CORPORA]
    now = {"date": datetime.now(UTC).date().isoformat(), "dialoscope": dialoscope.__version__}
    found = estimate_trust(corpora)
    whole = replace(found, made={**now, **found.made})
    write_atomically(SHIPPED, [whole.printed("json").encode() + b"\n"])
    print(whole)


def judged(root: Path, name: str, outside: Mapping[tuple[str, str], Floats]) -> ScoredCorpus:
    """A corpus, scored by all metrics; mostly from the score cache."""
    print(name, file=sys.stderr)
    result = dialoscope.evaluate(dialoscope.read(root / f"{name}.jsonl"), METRICS, missing="undefined")
    one = ScoredCorpus.of(result, name)
    rows = result.replies.rows_by_name()
    here = {metric: values[rows] for (corpus, metric), values in outside.items() if corpus == name}
    columns = tuple(_from_outside(column, here) for column in one.columns)
    return replace(one, columns=columns, source=CORPORA[name])


def _from_outside(column: ScoredColumn, here: Mapping[str, Floats]) -> ScoredColumn:
    if column.metric not in here:
        return column
    return column._replace(values=here[column.metric], how=LEFT_OUT)


def composites(root: Path) -> dict[tuple[str, str], Floats]:
    """By corpus and metric, the composite of each reply, by what is fitted to other replies alone."""
    recipe = CompositeRecipe()
    names = [name for name in CORPORA if name != UNSEEN]
    files = [str(root / f"{name}.jsonl") for name in names]
    scored = score_corpora(files, [part.metric for part in recipe.parts]).corpora
    found = {}
    for name, one in zip(names, scored, strict=True):
        for metric in filter(lambda text: text.startswith("composite"), METRICS):
            aspect = getattr(dialoscope.metric(metric), "aspect", "")
            combination = fit_weights(recipe, others_than(one, scored), (aspect,))
            found[name, metric] = combination.scores(one.values, aspect)
    return found


if __name__ == "__main__":
    main()
