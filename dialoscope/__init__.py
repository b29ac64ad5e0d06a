"""Dialoscope: how good an open-domain dialogue system is, and how far that number can be trusted."""

from importlib import import_module

TYPE_CHECKING = False  # typing itself takes a while to import
if TYPE_CHECKING:
    from typing import Any

    from dialoscope.analysis.agreement.agree import agree
    from dialoscope.analysis.agreement.agreement_report import Agreement
    from dialoscope.analysis.audit.audit import audit
    from dialoscope.analysis.audit.audit_report import Audit
    from dialoscope.analysis.comparison.compare import compare
    from dialoscope.analysis.comparison.comparison_report import Comparisons
    from dialoscope.analysis.correlation.correlate import correlate
    from dialoscope.analysis.correlation.correlation_report import Correlations
    from dialoscope.analysis.correlation.metric_pairs import Contests
    from dialoscope.analysis.raters.rater_report import Raters
    from dialoscope.analysis.raters.raters import raters
    from dialoscope.analysis.trust.known import Trust
    from dialoscope.analysis.trust.trust import trust
    from dialoscope.augmentation.augment import augment
    from dialoscope.augmentation.augmented import Augmented
    from dialoscope.core.errors import (
        AssetError,
        BackendError,
        DataError,
        DialoscopeError,
        MetricError,
        MissingExtra,
        RunError,
        TrainingError,
    )
    from dialoscope.core.records import Dialogue, Example, Rating, Score, Turn
    from dialoscope.data.contexts import Contexts, read_contexts
    from dialoscope.data.lint import lint
    from dialoscope.data.rating_files import read_ratings
    from dialoscope.data.replies import Replies, read
    from dialoscope.data.score_files import read_scores
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
    from dialoscope.models.checkpoints import Checkpoint
    from dialoscope.models.doctor import doctor
    from dialoscope.models.wordnet import WordNet
    from dialoscope.runs.evaluate import evaluate
    from dialoscope.runs.result import Result
    from dialoscope.runs.verification import verify
    from dialoscope.systems.command import CommandSystem
    from dialoscope.systems.function import FunctionSystem
    from dialoscope.systems.http import HttpSystem
    from dialoscope.systems.model import ModelSystem
    from dialoscope.systems.named_systems import system
    from dialoscope.systems.protocol import System
    from dialoscope.systems.recorded import RecordedSystem
    from dialoscope.systems.respond import Responses, respond
    from dialoscope.systems.retrieval import RetrievalSystem
    from dialoscope.training.composite_fit import CompositeRecipe
    from dialoscope.training.recipes import AdemRecipe, CrossRecipe, LmRecipe, NliRecipe, RuberRecipe
    from dialoscope.training.train_adem import train_adem
    from dialoscope.training.train_composite import train_composite
    from dialoscope.training.train_lm import train_lm
    from dialoscope.training.train_nli import train_nli
    from dialoscope.training.train_ruber import train_ruber

__version__ = "0.1.0"

# Where each public name lives. It is imported when it is first asked for, so that `import dialoscope`
# costs nothing and brings in nothing.
_HOMES = {
    "Adem": "metrics.adem",
    "AdemRecipe": "training.recipes",
    "AssetError": "core.errors",
    "Agreement": "analysis.agreement.agreement_report",
    "Audit": "analysis.audit.audit_report",
    "Augmented": "augmentation.augmented",
    "Average": "metrics.average",
    "BackendError": "core.errors",
    "Bertscore": "metrics.bertscore",
    "Bleu": "metrics.bleu",
    "Bounds": "metrics",
    "Checkpoint": "models.checkpoints",
    "Coherence": "metrics.coherence",
    "CommandSystem": "systems.command",
    "Comparisons": "analysis.comparison.comparison_report",
    "Composite": "metrics.composite",
    "CompositeRecipe": "training.composite_fit",
    "Contests": "analysis.correlation.metric_pairs",
    "Contexts": "data.contexts",
    "Copying": "metrics.copying",
    "Correlations": "analysis.correlation.correlation_report",
    "CrossRecipe": "training.recipes",
    "DataError": "core.errors",
    "Dialogue": "core.records",
    "DialoscopeError": "core.errors",
    "Distinct": "metrics.distinct",
    "Diversity": "metrics.diversity",
    "Entropy": "metrics.entropy",
    "Example": "core.records",
    "Extrema": "metrics.extrema",
    "Fbd": "metrics.fbd",
    "Fluency": "metrics.fluency",
    "FunctionSystem": "systems.function",
    "Greedy": "metrics.greedy",
    "HttpSystem": "systems.http",
    "LmRecipe": "training.recipes",
    "MeanMetric": "metrics",
    "Meteor": "metrics.meteor",
    "Metric": "metrics",
    "MetricError": "core.errors",
    "MissingExtra": "core.errors",
    "ModelSystem": "systems.model",
    "NliRecipe": "training.recipes",
    "Normality": "metrics.normality",
    "Perplexity": "metrics.perplexity",
    "Pmi": "metrics.pmi",
    "PoolMetric": "metrics",
    "Prd": "metrics.prd",
    "Raters": "analysis.raters.rater_report",
    "Rating": "core.records",
    "RecordedSystem": "systems.recorded",
    "Relatedness": "metrics.relatedness",
    "Repetition": "metrics.repetition",
    "Replies": "data.replies",
    "Responses": "systems.respond",
    "Result": "runs.result",
    "RetrievalSystem": "systems.retrieval",
    "Rouge": "metrics.rouge",
    "Ruber": "metrics.ruber",
    "RuberRecipe": "training.recipes",
    "RuberReferenced": "metrics.ruber_referenced",
    "RuberUnreferenced": "metrics.ruber_unreferenced",
    "RunError": "core.errors",
    "Score": "core.records",
    "SelfBleu": "metrics.self_bleu",
    "SelfConsistency": "metrics.self_consistency",
    "Specificity": "metrics.specificity",
    "SumMetric": "metrics",
    "System": "systems.protocol",
    "TrainingError": "core.errors",
    "Trust": "analysis.trust.known",
    "Turn": "core.records",
    "WordNet": "models.wordnet",
    "Words": "metrics.words",
    "agree": "analysis.agreement.agree",
    "audit": "analysis.audit.audit",
    "augment": "augmentation.augment",
    "compare": "analysis.comparison.compare",
    "correlate": "analysis.correlation.correlate",
    "doctor": "models.doctor",
    "evaluate": "runs.evaluate",
    "lint": "data.lint",
    "metric": "metrics",
    "raters": "analysis.raters.raters",
    "read": "data.replies",
    "read_contexts": "data.contexts",
    "read_ratings": "data.rating_files",
    "read_scores": "data.score_files",
    "respond": "systems.respond",
    "suite": "metrics",
    "system": "systems.named_systems",
    "train_adem": "training.train_adem",
    "train_composite": "training.train_composite",
    "train_lm": "training.train_lm",
    "train_nli": "training.train_nli",
    "train_ruber": "training.train_ruber",
    "trust": "analysis.trust.trust",
    "verify": "runs.verification",
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
