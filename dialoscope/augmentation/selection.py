"""Which drafts become variants: those that differ from the query and from each other, and are near enough."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from dialoscope.augmentation.draft import Change, Draft, Drafts
from dialoscope.augmentation.similarity import nearness
from dialoscope.models.protocols import Encoder, Pair


class Variant(NamedTuple):
    """A text that stands for a query."""

    text: str
    how: str
    similarity: float
    """The cosine of its vector and the query's."""
    changes: tuple[Change, ...] = ()


class Selected(NamedTuple):
    """The variants of all queries."""

    variants: list[list[Variant]]
    """Those of each query, in the order of the drafts."""
    far: int
    """Drafts that were turned down because they were too far from the query."""


class _Tried(NamedTuple):
    """A draft, and its place in the order."""

    place: int
    draft: Draft


def selected(
    texts: Sequence[str], drafts: Sequence[Drafts], count: int, encoder: Encoder, nearest: float
) -> Selected:
    """`count` variants of each text where there are so many; the drafts of all texts are judged together."""
    searches = [_Search(text, some, count, {_plain(text)}) for text, some in zip(texts, drafts, strict=True)]
    while wave := [(search, tried) for search in searches for tried in search.next()]:
        pairs = [Pair(search.text, tried.draft.text) for search, tried in wave]
        for (search, tried), similarity in zip(wave, nearness(encoder, pairs), strict=True):
            search.judge(tried, float(similarity), nearest)
    return Selected([search.variants() for search in searches], sum(search.far for search in searches))


@dataclass
class _Search:
    """For the variants of one text."""

    text: str
    drafts: Drafts
    count: int
    seen: set[str]
    """What needs no second look, as far as case, spaces and signs go not."""
    found: dict[int, Variant] = field(default_factory=dict)
    again: list[_Tried] = field(default_factory=list)
    """Drafts that come nearer to the query than they first were."""
    place: int = 0
    far: int = 0

    def next(self) -> list[_Tried]:
        """As many drafts as variants are wanting."""
        tried, self.again = self.again, []
        while len(self.found) + len(tried) < self.count:
            draft = next(self.drafts.those, None)
            if draft is None:
                break
            self.place += 1
            if self._is_new(draft):
                tried.append(_Tried(self.place, draft))
        return tried

    def judge(self, tried: _Tried, similarity: float, nearest: float) -> None:
        """Take a draft that is near enough, or what of it may be."""
        place, draft = tried
        if similarity >= nearest:  # an undefined one is not
            self.found[place] = Variant(draft.text, draft.variant, similarity, draft.changes)
            return
        self.far += 1
        less = draft.nearer()
        if less is not None and self._is_new(less):
            self.again.append(_Tried(place, less))

    def variants(self) -> list[Variant]:
        """Those found, in order; of several made alike, the later ones are numbered."""
        made: dict[str, int] = {}
        named = []
        for _, variant in sorted(self.found.items()):
            number = made[variant.how] = made.get(variant.how, 0) + 1
            named.append(variant if number == 1 else variant._replace(how=f"{variant.how} {number}"))
        return named

    def _is_new(self, draft: Draft) -> bool:
        plain = _plain(draft.text)
        is_new = bool(plain) and plain not in self.seen
        self.seen.add(plain)
        return is_new


def _plain(text: str) -> str:
    """What of a text makes it another: its letters and digits, and whatever is neither sign nor space."""
    return "".join(character for character in text.casefold() if character.isalnum())
