"""Paraphrase queries, so that a system can be asked several variants of each."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import fields, replace

from dialoscope.augmentation.augmented import AugmentationCounts, Augmented, make_rows
from dialoscope.augmentation.draft import Drafts, Method
from dialoscope.augmentation.generator import Generator
from dialoscope.augmentation.queries import Queryable, read_queries
from dialoscope.augmentation.selection import Selection, select
from dialoscope.augmentation.substitution import Substitution
from dialoscope.core.errors import DialoscopeError
from dialoscope.core.records import is_blank
from dialoscope.core.safe_text import printable
from dialoscope.core.signature import signature
from dialoscope.models.asset_kinds import collect_asset_names
from dialoscope.models.encoder import TransformerEncoder
from dialoscope.models.language_model import TransformerLanguageModel
from dialoscope.models.named_models import resolve_model
from dialoscope.models.protocols import Encoder, LanguageModel
from dialoscope.models.registry import licences

ASKS = ("instead", "again")


def augment(
    data: Queryable,
    method: str | Method = "wordnet",
    k: int = 4,
    *,
    ask: str = "instead",
    min_similarity: float | None = None,
    encoder: Encoder | str = "minilm",
    lm: LanguageModel | str | None = None,
    sample: bool = False,
    seed: int = 0,
    system: str | None = None,
    full: bool = False,
    licence: str | None = None,
) -> Augmented:
    """Make k paraphrases of each query; a query is the last turn of a context.

    Args:
        data: A file, what `read` returned, examples, or contexts as lists of turns.
        method: `wordnet` replaces words by synonyms; `generator` continues the turns before the query with a
            language model. Or an object that does either with other settings.
        k: Number of variants of each query, besides itself.
        ask: `instead`: a variant replaces the query, as diversity needs it. `again`: it follows the system's
            reply to the query, as self-consistency needs it.
        min_similarity: Minimum cosine similarity of a variant and the query, by the encoder; 0.7 for
            `wordnet` and no minimum for `generator` by default.
        encoder: A model, or its name.
        lm: The generator's model, or its name.
        sample: Whether a generator samples at random instead of by beam search; servers have no beam search.
        seed: Seed of random choices.
        system: The system that is asked again, where the data have replies of several.
        full: Whether queries with fewer than k variants are left out, so that all groups are of one size.
        licence: `permissive` refuses models and data under other licences, `any` allows all without a notice;
            `DIALOSCOPE_LICENCE` by default.
    """
    paraphraser = _make_method(method, lm, sample)
    minimum = paraphraser.default_min_similarity if min_similarity is None else min_similarity
    _check(k, ask, minimum, system)
    model = resolve_model(Encoder, encoder, TransformerEncoder()) if isinstance(encoder, str) else encoder
    parts = [getattr(paraphraser, field.name) for field in fields(paraphraser)]
    licences.allow(paraphraser.name, collect_asset_names([model, *parts]), licence)
    read = read_queries(data, ask, system)
    queries = [query for query in read.queries if not is_blank(query.text)]
    drafts = paraphraser.drafts(queries, model, k, seed)
    selection = select([query.text for query in queries], drafts, k, model, minimum)
    fewest = k if full else 1
    counts = _count(len(read.queries), drafts, selection, k, fewest)
    pairs = zip(queries, selection.variants, strict=True)
    made_by = f"{signature(paraphraser)}|nearest:{minimum}|encoder:[{signature(model)}]"
    return Augmented(
        rows=tuple(
            row for query, variants in pairs if len(variants) >= fewest for row in make_rows(query, variants)
        ),
        counts=replace(counts, skipped=read.skipped, systems=read.systems),
        signature=f"{made_by}|ask:{ask}|seed:{seed}",
    )


def _make_method(method: str | Method, lm: LanguageModel | str | None, sample: bool) -> Method:
    if method == "generator":
        model = lm or "smollm2"
        default = TransformerLanguageModel()
        return Generator(
            resolve_model(LanguageModel, model, default) if isinstance(model, str) else model, sample
        )
    if lm is not None or sample:
        raise DialoscopeError(
            "A language model and sampling are settings of the generator: method='generator'."
        )
    if method == "wordnet":
        return Substitution()
    if isinstance(method, str):
        raise DialoscopeError(f"There is no method '{printable(method)}'; choose one of: wordnet, generator.")
    return method


def _check(k: int, ask: str, min_similarity: float, system: str | None) -> None:
    if k < 1:
        raise DialoscopeError(f"k is {k}; ask for 1 variant or more.")
    if ask not in ASKS:
        raise DialoscopeError(f"ask is '{printable(ask)}'; it must be one of: {', '.join(ASKS)}.")
    if not -1 <= min_similarity <= 1:
        raise DialoscopeError(f"min_similarity is {min_similarity}; a cosine is between -1 and 1.")
    if system is not None and ask != "again":
        raise DialoscopeError(
            "A system can be named only to ask it again (ask='again'); variants are the same for all systems."
        )


def _count(
    queries: int, drafts: Sequence[Drafts], selection: Selection, wanted: int, fewest: int
) -> AugmentationCounts:
    variants = [len(own) for own in selection.variants]
    missing = Counter(what for own in drafts for what in own.missing)
    blank = queries - len(variants)
    return AugmentationCounts(
        queries=queries,
        wanted=wanted,
        variants=sum(count for count in variants if count >= fewest),
        partial=sum(0 < count < wanted for count in variants),
        without=variants.count(0) + blank,
        blank=blank,
        rejected=selection.rejected,
        missing=dict(sorted(missing.items())),
        fewest=fewest,
    )
