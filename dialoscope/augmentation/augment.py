"""Augmenting: the same queries in other words, so that a system can be asked them all."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import fields, replace

from dialoscope.augmentation.augmented import Augmented, Tally, rows_of
from dialoscope.augmentation.draft import Drafts, Method
from dialoscope.augmentation.generator import Generator
from dialoscope.augmentation.queries import Queryable, queries_of
from dialoscope.augmentation.selection import Selected, selected
from dialoscope.augmentation.substitution import Substitution
from dialoscope.core.errors import DialoscopeError
from dialoscope.core.safe_text import printable
from dialoscope.core.signature import signature
from dialoscope.models.asset_kinds import asset_names_of
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
    nearest: float | None = None,
    encoder: Encoder | str = "minilm",
    lm: LanguageModel | str | None = None,
    sample: bool = False,
    seed: int = 0,
    system: str | None = None,
    full: bool = False,
    licence: str | None = None,
) -> Augmented:
    """Say each query in k other ways; a query is the last turn of a context.

    Args:
        data: A file, what `read` returned, examples, or contexts as lists of turns.
        method: `wordnet` replaces words by synonyms; `generator` lets a language model continue what was said
            before the query. Or an object that does either with other settings.
        k: Variants of each query, besides itself.
        ask: `instead`: a variant stands in the place of the query, as diversity needs it. `again`: it follows
            the system's reply to the query, as self-consistency needs it.
        nearest: The least cosine of a variant and the query, by the encoder; each method has its own.
        encoder: A model, or its name.
        lm: The generator's model, or its name.
        sample: Whether a generator draws at random in place of its best beams; servers know no beams.
        seed: For what is left to chance.
        system: The system that is to be asked again, where data hold replies of several.
        full: Whether queries with fewer than k variants are left out, so that all groups are of one size.
        licence: `permissive` refuses models and data under other licences, `any` allows all without a word;
            `DIALOSCOPE_LICENCE` if nothing is given.
    """
    made_by = _method(method, lm, sample)
    near = made_by.usual_nearest if nearest is None else nearest
    _check(k, ask, near, system)
    by = resolve_model(Encoder, encoder, TransformerEncoder()) if isinstance(encoder, str) else encoder
    parts = [getattr(made_by, one.name) for one in fields(made_by)]
    licences.allow(made_by.name, asset_names_of([by, *parts]), licence)
    read = queries_of(data, ask, system)
    asked = [query for query in read.queries if query.text.strip()]
    drafts = made_by.drafts(asked, by, k, seed)
    chosen = selected([query.text for query in asked], drafts, k, by, near)
    fewest = k if full else 1
    tally = _tally(len(read.queries), drafts, chosen, k, fewest)
    made = zip(asked, chosen.variants, strict=True)
    return Augmented(
        rows=tuple(row for query, some in made if len(some) >= fewest for row in rows_of(query, some)),
        tally=replace(tally, skipped=read.skipped, systems=read.systems),
        signature=f"{signature(made_by)}|nearest:{near}|encoder:[{signature(by)}]|ask:{ask}|seed:{seed}",
    )


def _method(method: str | Method, lm: LanguageModel | str | None, sample: bool) -> Method:
    if method == "generator":
        model = lm or "smollm2"
        usual = TransformerLanguageModel()
        return Generator(
            resolve_model(LanguageModel, model, usual) if isinstance(model, str) else model, sample
        )
    if lm is not None or sample:
        raise DialoscopeError("A language model and sampling are for the generator: method='generator'.")
    if method == "wordnet":
        return Substitution()
    if isinstance(method, str):
        raise DialoscopeError(f"There is no method '{printable(method)}'; choose one of: wordnet, generator.")
    return method


def _check(k: int, ask: str, nearest: float, system: str | None) -> None:
    if k < 1:
        raise DialoscopeError(f"k is {k}; ask for 1 variant or more.")
    if ask not in ASKS:
        raise DialoscopeError(f"ask is '{printable(ask)}'; it must be one of: {', '.join(ASKS)}.")
    if not -1 <= nearest <= 1:
        raise DialoscopeError(f"nearest is {nearest}; a cosine is between -1 and 1.")
    if system is not None and ask != "again":
        raise DialoscopeError("A system is named to ask it again: ask='again'. Else all are asked the same.")


def _tally(queries: int, drafts: Sequence[Drafts], chosen: Selected, wanted: int, fewest: int) -> Tally:
    counts = [len(variants) for variants in chosen.variants]
    lacking = Counter(what for some in drafts for what in some.lacking)
    empty = queries - len(counts)
    return Tally(
        queries=queries,
        wanted=wanted,
        variants=sum(count for count in counts if count >= fewest),
        short=sum(0 < count < wanted for count in counts),
        without=counts.count(0) + empty,
        empty=empty,
        far=chosen.far,
        lacking=dict(sorted(lacking.items())),
        fewest=fewest,
    )
