"""Selection of the drafts that are similar enough to the query, and differ from it and from each other."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from dialoscope.augmentation.draft import Draft, Drafts, WordChange
from dialoscope.augmentation.similarity import cosine_similarities
from dialoscope.models.protocols import Encoder, Pair


class Variant(NamedTuple):
    """A variant of a query."""

    text: str
    label: str
    """A label of how the variant was made, such as `verbs`."""
    similarity: float
    """The cosine similarity with the query."""
    changes: tuple[WordChange, ...] = ()


class Selection(NamedTuple):
    """The variants of all queries."""

    variants: list[list[Variant]]
    """The variants of each query, in the order of the drafts."""
    rejected: int
    """The number of drafts that were too different from the query."""


class _Candidate(NamedTuple):
    """A draft, and its rank."""

    rank: int
    draft: Draft


def select(
    texts: Sequence[str], drafts: Sequence[Drafts], count: int, encoder: Encoder, min_similarity: float
) -> Selection:
    """Select at most `count` variants of each text; the drafts of all texts are encoded together."""
    searches = [
        _Search(text, own, count, {_normalise(text)}) for text, own in zip(texts, drafts, strict=True)
    ]
    while wave := [(search, candidate) for search in searches for candidate in search.next()]:
        pairs = [Pair(search.text, candidate.draft.text) for search, candidate in wave]
        for (search, candidate), similarity in zip(wave, cosine_similarities(encoder, pairs), strict=True):
            search.decide(candidate, float(similarity), min_similarity)
    return Selection([search.variants() for search in searches], sum(search.rejected for search in searches))


@dataclass
class _Search:
    """The search for the variants of one text."""

    text: str
    drafts: Drafts
    count: int
    seen: set[str]
    """The letters and digits of drafts that were tried already."""
    accepted: dict[int, Variant] = field(default_factory=dict)
    reduced: list[_Candidate] = field(default_factory=list)
    """Rejected drafts with fewer changes."""
    rank: int = 0
    rejected: int = 0

    def next(self) -> list[_Candidate]:
        """As many new drafts as variants are missing."""
        candidates, self.reduced = self.reduced, []
        while len(self.accepted) + len(candidates) < self.count:
            draft = next(self.drafts.candidates, None)
            if draft is None:
                break
            self.rank += 1
            if self._is_new(draft):
                candidates.append(_Candidate(self.rank, draft))
        return candidates

    def decide(self, candidate: _Candidate, similarity: float, min_similarity: float) -> None:
        """Accept a draft that is similar enough; else try it with fewer changes next."""
        rank, draft = candidate
        if similarity >= min_similarity:  # an undefined one is not
            self.accepted[rank] = Variant(draft.text, draft.variant, similarity, draft.changes)
            return
        self.rejected += 1
        reduced = draft.reduce()
        if reduced is not None and self._is_new(reduced):
            self.reduced.append(_Candidate(rank, reduced))

    def variants(self) -> list[Variant]:
        """The accepted variants in order; equal labels are numbered."""
        counts: dict[str, int] = {}
        variants = []
        for _, variant in sorted(self.accepted.items()):
            number = counts[variant.label] = counts.get(variant.label, 0) + 1
            label = variant.label if number == 1 else f"{variant.label} {number}"
            variants.append(variant._replace(label=label))
        return variants

    def _is_new(self, draft: Draft) -> bool:
        letters = _normalise(draft.text)
        is_new = bool(letters) and letters not in self.seen
        self.seen.add(letters)
        return is_new


def _normalise(text: str) -> str:
    """The letters and digits of a text in lower case, by which texts are compared."""
    return "".join(character for character in text.casefold() if character.isalnum())
