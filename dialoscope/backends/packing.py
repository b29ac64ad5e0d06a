"""Laying out many texts as few trees of tokens, so that what texts begin with is computed once.

Texts with the same prefix hang below one copy of it, and a prefix that continues another hangs below that
one: the replies of several systems to one context, and the turns of one dialogue. A pack is a row of whole
trees without padding; each token sees those before it in its own node and in the nodes above.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from dialoscope.tally import Ints

WORTH_SHARING = 8
"""A prefix of fewer tokens is copied: sharing it would only tie unrelated texts together."""


class Piece(NamedTuple):
    """Tokens to be scored, given those before them, which are not empty."""

    before: tuple[int, ...]
    tokens: tuple[int, ...]


class Node(NamedTuple):
    """A run of tokens in a pack."""

    begin: int
    end: int
    above: tuple[int, ...]
    """The nodes that it continues, from the root down, by their place in the pack."""


@dataclass
class Pack:
    """Whole trees, one after the other, and where in them tokens are scored."""

    ids: Ints
    positions: Ints
    nodes: list[Node]
    trees: list[range]
    """The nodes of each tree."""
    sources: Ints
    """Where the model has read all that stands before a scored token."""
    targets: Ints
    """The scored tokens, those of one piece together."""
    pieces: list[int]
    """Which pieces these are of, in their order."""
    lengths: Ints
    """How many tokens each of them has."""

    def __len__(self) -> int:
        return len(self.ids)


def cut(prefix: Sequence[int], tokens: Sequence[int], start: Sequence[int], window: int) -> list[Piece]:
    """The pieces of a text that fit the model's window.

    A prefix that is too long loses its oldest tokens. Tokens beyond half a window are scored given the half
    window before them.
    """
    before = (*start, *prefix)
    if not before:  # nothing says how likely a first token is
        before, tokens = tuple(tokens[:1]), tokens[1:]
    if len(before) + len(tokens) <= window:
        return [Piece(before, tuple(tokens))] if tokens else []
    half = window // 2
    kept = max(window - len(tokens), half) - len(start)
    first = (*start, *before[len(start) :][-kept:])
    pieces = [Piece(first, tuple(tokens[: window - len(first)]))]
    done = len(pieces[0].tokens)
    whole = (*before, *tokens)
    while done < len(tokens):
        place = len(before) + done
        pieces.append(Piece(tuple(whole[place - half : place]), tuple(tokens[done : done + half])))
        done += half
    return pieces


def packed(pieces: Sequence[Piece], budget: int) -> Iterator[Pack]:
    """All pieces in packs of about so many tokens, the longest trees first."""
    trees = sorted(_trees(pieces, budget), key=lambda tree: -tree.size)
    waiting: list[_Tree] = []
    size = 0
    for tree in trees:
        if waiting and size + tree.size > budget:
            yield _laid_out(waiting, pieces)
            waiting, size = [], 0
        waiting.append(tree)
        size += tree.size
    if waiting:
        yield _laid_out(waiting, pieces)


@dataclass
class _Tree:
    """Prefixes that continue one another, and the pieces below each."""

    prefixes: list[tuple[int, ...]] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    pieces: list[tuple[int, int]] = field(default_factory=list)
    """A piece and the prefix it stands below."""
    size: int = 0


def _trees(pieces: Sequence[Piece], budget: int) -> Iterator[_Tree]:
    """Trees of at most about `budget` tokens; a larger one is cut, and its parts repeat what they share."""
    by_prefix: dict[tuple[int, ...], list[int]] = {}
    for place, piece in enumerate(pieces):
        by_prefix.setdefault(piece.before, []).append(place)
    tree, line = _Tree(), list[int]()  # the line from the root down to the last prefix
    for prefix in sorted(by_prefix):
        while line and not _continues(prefix, tree.prefixes[line[-1]]):
            line.pop()
        if not line and tree.prefixes:
            yield tree
            tree = _Tree()
        _grow(tree, line, prefix)
        for place in by_prefix[prefix]:
            if tree.pieces and tree.size + len(pieces[place].tokens) > budget:
                yield tree
                tree, line = _Tree(), []
                _grow(tree, line, prefix)
            tree.pieces.append((place, line[-1]))
            tree.size += len(pieces[place].tokens) - 1
    if tree.prefixes:
        yield tree


def _continues(prefix: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return len(other) >= WORTH_SHARING and prefix[: len(other)] == other


def _grow(tree: _Tree, line: list[int], prefix: tuple[int, ...]) -> None:
    """Put a prefix below the last of the line."""
    parent = line[-1] if line else -1
    tree.prefixes.append(prefix)
    tree.parents.append(parent)
    tree.size += len(prefix) - (len(tree.prefixes[parent]) if line else 0)
    line.append(len(tree.prefixes) - 1)


def _laid_out(trees: Sequence[_Tree], pieces: Sequence[Piece]) -> Pack:
    layout = _Layout(pieces)
    for tree in trees:
        layout.add(tree)
    return layout.pack()


@dataclass
class _Layout:
    """A pack in the making."""

    pieces: Sequence[Piece]
    ids: list[int] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    trees: list[range] = field(default_factory=list)
    sources: list[int] = field(default_factory=list)
    targets: list[int] = field(default_factory=list)
    placed: list[int] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)

    def add(self, tree: _Tree) -> None:
        """Prefixes with what is new in each, then the pieces."""
        first = len(self.nodes)
        of_prefix: list[int] = []
        for prefix, parent in zip(tree.prefixes, tree.parents, strict=True):
            known = len(tree.prefixes[parent]) if parent >= 0 else 0
            above = (*self.nodes[of_prefix[parent]].above, of_prefix[parent]) if parent >= 0 else ()
            of_prefix.append(self._node(prefix[known:], known, above))
        for place, prefix_place in tree.pieces:
            self._score(place, of_prefix[prefix_place], len(tree.prefixes[prefix_place]))
        self.trees.append(range(first, len(self.nodes)))

    def _node(self, tokens: Sequence[int], position: int, above: tuple[int, ...]) -> int:
        begin = len(self.ids)
        self.ids.extend(tokens)
        self.positions.extend(range(position, position + len(tokens)))
        self.nodes.append(Node(begin, len(self.ids), above))
        return len(self.nodes) - 1

    def _score(self, place: int, below: int, position: int) -> None:
        """A piece: its first token is told by the end of its prefix, its last one is only asked for."""
        tokens = self.pieces[place].tokens
        self.sources.append(self.nodes[below].end - 1)
        if len(tokens) > 1:
            node = self._node(tokens[:-1], position, (*self.nodes[below].above, below))
            self.sources.extend(range(self.nodes[node].begin, self.nodes[node].end))
        self.targets.extend(tokens)
        self.placed.append(place)
        self.lengths.append(len(tokens))

    def pack(self) -> Pack:
        """What was added."""
        ids, positions, sources, targets, lengths = (
            np.array(numbers, np.int64)
            for numbers in (self.ids, self.positions, self.sources, self.targets, self.lengths)
        )
        return Pack(ids, positions, self.nodes, self.trees, sources, targets, self.placed, lengths)


def seen(pack: Pack, node: Node) -> Ints:
    """The tokens above a node and its own: what its last token sees."""
    spans = [*(pack.nodes[above] for above in node.above), node]
    return np.concatenate([np.arange(span.begin, span.end) for span in spans])
