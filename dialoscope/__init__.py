"""Dialoscope: how good an open-domain dialogue system is, and how far that number can be trusted."""

from importlib import import_module

TYPE_CHECKING = False  # typing itself takes a while to import
if TYPE_CHECKING:
    from typing import Any

    from dialoscope.auditing import Audit, audit
    from dialoscope.augmentation import Augmented, augment
    from dialoscope.backends.wordnet import WordNet
    from dialoscope.checkup import doctor
    from dialoscope.data import Replies, lint, read
    from dialoscope.data.contexts import Contexts, read_contexts
    from dialoscope.data.rating_files import read_ratings
    from dialoscope.data.score_files import read_scores
    from dialoscope.errors import (
        AssetError,
        BackendError,
        DataError,
        DialoscopeError,
        MetricError,
        MissingExtra,
        RunError,
        TrainingError,
    )
    from dialoscope.learn import Checkpoint, LmRecipe, NliRecipe, train_lm, train_nli
    from dialoscope.learn.adem import train_adem
    from dialoscope.learn.composite import CompositeRecipe
    from dialoscope.learn.recipe import AdemRecipe, CrossRecipe, RuberRecipe
    from dialoscope.learn.ruber import train_ruber
    from dialoscope.meta.agreement.agree import agree
    from dialoscope.meta.agreement.agreement import Agreement
    from dialoscope.meta.comparison.compare import compare
    from dialoscope.meta.comparison.comparisons import Comparisons
    from dialoscope.meta.correlation.contests import Contests
    from dialoscope.meta.correlation.correlate import correlate
    from dialoscope.meta.correlation.correlations import Correlations
    from dialoscope.meta.raters.raters import raters
    from dialoscope.meta.raters.report import Raters
    from dialoscope.meta.trust.known import Trust
    from dialoscope.meta.trust.trust import trust
    from dialoscope.metrics import Bounds, MeanMetric, Metric, PoolMetric, SumMetric, metric, suite
    from dialoscope.metrics.adem import Adem
    from dialoscope.metrics.average import Average
    from dialoscope.metrics.bertscore import Bertscore
    from dialoscope.metrics.bleu import Bleu
    from dialoscope.metrics.coherence import Coherence
    from dialoscope.metrics.composite import Composite
    from dialoscope.metrics.copying import Copying
    from dialoscope.metrics.distinct import Distinct
    from dialoscope.metrics.diversity import Diversity
    from dialoscope.metrics.entropy import Entropy
    from dialoscope.metrics.extrema import Extrema
    from dialoscope.metrics.fbd import Fbd
    from dialoscope.metrics.fluency import Fluency
    from dialoscope.metrics.greedy import Greedy
    from dialoscope.metrics.meteor import Meteor
    from dialoscope.metrics.normality import Normality
    from dialoscope.metrics.perplexity import Perplexity
    from dialoscope.metrics.pmi import Pmi
    from dialoscope.metrics.prd import Prd
    from dialoscope.metrics.relatedness import Relatedness
    from dialoscope.metrics.repetition import Repetition
    from dialoscope.metrics.rouge import Rouge
    from dialoscope.metrics.ruber import Ruber
    from dialoscope.metrics.ruber_referenced import RuberReferenced
    from dialoscope.metrics.ruber_unreferenced import RuberUnreferenced
    from dialoscope.metrics.self_bleu import SelfBleu
    from dialoscope.metrics.self_consistency import SelfConsistency
    from dialoscope.metrics.specificity import Specificity
    from dialoscope.metrics.words import Words
    from dialoscope.records import Dialogue, Example, Rating, Score, Turn
    from dialoscope.results import Result
    from dialoscope.scoring import evaluate, verify
    from dialoscope.scoring.composite import train_composite
    from dialoscope.systems import Responses, System, respond, system
    from dialoscope.systems.command import CommandSystem
    from dialoscope.systems.function import FunctionSystem
    from dialoscope.systems.http import HttpSystem
    from dialoscope.systems.model import ModelSystem
    from dialoscope.systems.recorded import RecordedSystem
    from dialoscope.systems.retrieval import RetrievalSystem

__version__ = "0.1.0"

# Where each public name lives. It is imported when it is first asked for, so that `import dialoscope`
# costs nothing and brings in nothing.
_HOMES = {
    "Adem": "metrics.adem",
    "AdemRecipe": "learn.recipe",
    "AssetError": "errors",
    "Agreement": "meta.agreement.agreement",
    "Audit": "auditing",
    "Augmented": "augmentation",
    "Average": "metrics.average",
    "BackendError": "errors",
    "Bertscore": "metrics.bertscore",
    "Bleu": "metrics.bleu",
    "Bounds": "metrics",
    "Checkpoint": "learn",
    "Coherence": "metrics.coherence",
    "CommandSystem": "systems.command",
    "Comparisons": "meta.comparison.comparisons",
    "Composite": "metrics.composite",
    "CompositeRecipe": "learn.composite",
    "Contests": "meta.correlation.contests",
    "Contexts": "data.contexts",
    "Copying": "metrics.copying",
    "Correlations": "meta.correlation.correlations",
    "CrossRecipe": "learn.recipe",
    "DataError": "errors",
    "Dialogue": "records",
    "DialoscopeError": "errors",
    "Distinct": "metrics.distinct",
    "Diversity": "metrics.diversity",
    "Entropy": "metrics.entropy",
    "Example": "records",
    "Extrema": "metrics.extrema",
    "Fbd": "metrics.fbd",
    "Fluency": "metrics.fluency",
    "FunctionSystem": "systems.function",
    "Greedy": "metrics.greedy",
    "HttpSystem": "systems.http",
    "LmRecipe": "learn",
    "MeanMetric": "metrics",
    "Meteor": "metrics.meteor",
    "Metric": "metrics",
    "MetricError": "errors",
    "MissingExtra": "errors",
    "ModelSystem": "systems.model",
    "NliRecipe": "learn",
    "Normality": "metrics.normality",
    "Perplexity": "metrics.perplexity",
    "Pmi": "metrics.pmi",
    "PoolMetric": "metrics",
    "Prd": "metrics.prd",
    "Raters": "meta.raters.report",
    "Rating": "records",
    "RecordedSystem": "systems.recorded",
    "Relatedness": "metrics.relatedness",
    "Repetition": "metrics.repetition",
    "Replies": "data",
    "Responses": "systems",
    "Result": "results",
    "RetrievalSystem": "systems.retrieval",
    "Rouge": "metrics.rouge",
    "Ruber": "metrics.ruber",
    "RuberRecipe": "learn.recipe",
    "RuberReferenced": "metrics.ruber_referenced",
    "RuberUnreferenced": "metrics.ruber_unreferenced",
    "RunError": "errors",
    "Score": "records",
    "SelfBleu": "metrics.self_bleu",
    "SelfConsistency": "metrics.self_consistency",
    "Specificity": "metrics.specificity",
    "SumMetric": "metrics",
    "System": "systems",
    "TrainingError": "errors",
    "Trust": "meta.trust.known",
    "Turn": "records",
    "WordNet": "backends.wordnet",
    "Words": "metrics.words",
    "agree": "meta.agreement.agree",
    "audit": "auditing",
    "augment": "augmentation",
    "compare": "meta.comparison.compare",
    "correlate": "meta.correlation.correlate",
    "doctor": "checkup",
    "evaluate": "scoring",
    "lint": "data",
    "metric": "metrics",
    "raters": "meta.raters.raters",
    "read": "data",
    "read_contexts": "data.contexts",
    "read_ratings": "data.rating_files",
    "read_scores": "data.score_files",
    "respond": "systems",
    "suite": "metrics",
    "system": "systems",
    "train_adem": "learn.adem",
    "train_composite": "scoring.composite",
    "train_lm": "learn",
    "train_nli": "learn",
    "train_ruber": "learn.ruber",
    "trust": "meta.trust.trust",
    "verify": "scoring",
}

__all__ = [
    "Adem",
    "AdemRecipe",
    "Agreement",
    "AssetError",
    "Audit",
    "Augmented",
    "Average",
    "BackendError",
    "Bertscore",
    "Bleu",
    "Bounds",
    "Checkpoint",
    "Coherence",
    "CommandSystem",
    "Comparisons",
    "Composite",
    "CompositeRecipe",
    "Contests",
    "Contexts",
    "Copying",
    "Correlations",
    "CrossRecipe",
    "DataError",
    "Dialogue",
    "DialoscopeError",
    "Distinct",
    "Diversity",
    "Entropy",
    "Example",
    "Extrema",
    "Fbd",
    "Fluency",
    "FunctionSystem",
    "Greedy",
    "HttpSystem",
    "LmRecipe",
    "MeanMetric",
    "Meteor",
    "Metric",
    "MetricError",
    "MissingExtra",
    "ModelSystem",
    "NliRecipe",
    "Normality",
    "Perplexity",
    "Pmi",
    "PoolMetric",
    "Prd",
    "Raters",
    "Rating",
    "RecordedSystem",
    "Relatedness",
    "Repetition",
    "Replies",
    "Responses",
    "Result",
    "RetrievalSystem",
    "Rouge",
    "Ruber",
    "RuberRecipe",
    "RuberReferenced",
    "RuberUnreferenced",
    "RunError",
    "Score",
    "SelfBleu",
    "SelfConsistency",
    "Specificity",
    "SumMetric",
    "System",
    "TrainingError",
    "Trust",
    "Turn",
    "WordNet",
    "Words",
    "__version__",
    "agree",
    "audit",
    "augment",
    "compare",
    "correlate",
    "doctor",
    "evaluate",
    "lint",
    "metric",
    "raters",
    "read",
    "read_contexts",
    "read_ratings",
    "read_scores",
    "respond",
    "suite",
    "system",
    "train_adem",
    "train_composite",
    "train_lm",
    "train_nli",
    "train_ruber",
    "trust",
    "verify",
]


def __getattr__(name: str) -> "Any":  # noqa: ANN401 - whatever the name stands for
    if name not in _HOMES:
        raise AttributeError(f"module 'dialoscope' has no attribute '{name}'")
    found = getattr(import_module(f"dialoscope.{_HOMES[name]}"), name)
    globals()[name] = found  # the next time it is an ordinary name
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
