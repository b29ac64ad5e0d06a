"""Packing of texts into trees of tokens, so that common prefixes are computed once.

Texts with the same prefix are children of one copy of it, and a prefix that continues another is a child of
that one: replies of several systems to one context, or the turns of one dialogue. A pack is a sequence of
whole trees without padding; a token attends to earlier tokens in its own node and in the nodes above.

The collator of transformers (DataCollatorWithFlattening) packs texts too, but computes a shared prefix once
for each of them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from dialoscope.core.arrays import Ints

WORTH_SHARING = 8
"""Minimum number of tokens of a shared prefix; shorter ones are copied."""


WIDE, NARROW = 512, 128
"""Maximum number of tokens of a tree with a shared prefix, and of one with a short prefix."""


class Piece(NamedTuple):
    """Tokens to score, given the tokens before them, of which there is at least one."""

    before: tuple[int, ...]
    tokens: tuple[int, ...]


class TokenRange(NamedTuple):
    """A range of tokens in a pack."""

    begin: int
    end: int


@dataclass
class Pack:
    """Whole trees in sequence, and the positions of scored tokens.

    The descendants of a node follow it directly, so that a token is visible up to the end of the descendants
    of its node: token q attends to token k if k <= q < ends[k].
    """

    ids: Ints
    positions: Ints
    ends: Ints
    trees: list[TokenRange]
    nodes: list[TokenRange]
    sources: Ints
    """Positions of the tokens directly before the scored tokens."""
    targets: Ints
    """The scored tokens, piece after piece."""
    pieces: list[int]
    """Indices of the pieces, in the order of their tokens."""
    lengths: Ints
    """Number of scored tokens of each piece."""

    def __len__(self) -> int:
        return len(self.ids)

    def line(self, node: TokenRange) -> Ints:
        """Return the positions that the last token of a node attends to."""
        above = np.flatnonzero(self.ends[: node.begin] > node.begin)
        return np.concatenate([above, np.arange(node.begin, node.end)])


def cut(prefix: Sequence[int], tokens: Sequence[int], start: Sequence[int], window: int) -> list[Piece]:
    """Return pieces of a text that fit the window of the model.

    A prefix that is too long loses its oldest tokens. Tokens beyond half a window are scored given the half
    window before them.
    """
    before = (*start, *prefix)
    if not before:  # the first token of a text has no probability
        before, tokens = tuple(tokens[:1]), tokens[1:]
    if not tokens:
        return []
    if len(before) + len(tokens) <= window:
        return [Piece(before, tuple(tokens))]
    half = window // 2
    room = max(window - len(tokens), half) - len(start)
    first = (*start, *before[len(start) :][-room:])
    pieces = [Piece(first, tuple(tokens[: window - len(first)]))]
    done = len(pieces[0].tokens)
    whole = (*before, *tokens)
    while done < len(tokens):
        end = len(before) + done
        pieces.append(Piece(tuple(whole[end - half : end]), tuple(tokens[done : done + half])))
        done += half
    return pieces


def make_packs(pieces: Sequence[Piece], budget: int) -> Iterator[Pack]:
    """Yield packs of about `budget` tokens, largest trees first."""
    trees = sorted(_trees(pieces, budget), key=lambda tree: -tree.size)
    waiting: list[_Tree] = []
    size = 0
    for tree in trees:
        if waiting and size + tree.size > budget:
            yield _lay_out(waiting, pieces)
            waiting, size = [], 0
        waiting.append(tree)
        size += tree.size
    if waiting:
        yield _lay_out(waiting, pieces)


@dataclass
class _Tree:
    """A tree of prefixes that continue one another, with their pieces."""

    prefixes: list[tuple[int, ...]] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    pieces: list[tuple[int, int]] = field(default_factory=list)
    """Pairs of a piece and its prefix."""
    size: int = 0


def _trees(pieces: Sequence[Piece], budget: int) -> Iterator[_Tree]:
    """Yield trees of limited size; larger ones are split, and each part repeats the shared prefixes."""
    by_prefix: dict[tuple[int, ...], list[int]] = {}
    for index, piece in enumerate(pieces):
        by_prefix.setdefault(piece.before, []).append(index)
    tree, line = _Tree(), list[int]()  # the line from the root down to the last prefix
    for prefix in sorted(by_prefix):
        while line and not _continues(prefix, tree.prefixes[line[-1]]):
            line.pop()
        if not line and tree.pieces:
            yield tree
            tree = _Tree()
        below = False  # whether the line ends with this prefix already
        for index in by_prefix[prefix]:
            more = len(pieces[index].tokens) - 1 + (0 if below else _count_new_tokens(tree, line, prefix))
            if tree.pieces and tree.size + more > min(budget, _max_tree_size(prefix)):
                yield tree
                tree, line, below = _Tree(), [], False
            if not below:
                _grow(tree, line, prefix)
                below = True
            tree.pieces.append((index, line[-1]))
            tree.size += len(pieces[index].tokens) - 1
    if tree.pieces:
        yield tree


def _max_tree_size(prefix: tuple[int, ...]) -> int:
    """Return the maximum size of a tree, beyond which repeating its root is cheaper than attention."""
    return max(WIDE, 4 * len(prefix)) if len(prefix) >= WORTH_SHARING else NARROW


def _continues(prefix: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return len(other) >= WORTH_SHARING and prefix[: len(other)] == other


def _count_new_tokens(tree: _Tree, line: list[int], prefix: tuple[int, ...]) -> int:
    """Return the number of tokens of a prefix that follow the last prefix in the line."""
    return len(prefix) - (len(tree.prefixes[line[-1]]) if line else 0)


def _grow(tree: _Tree, line: list[int], prefix: tuple[int, ...]) -> None:
    """Add a prefix as a child of the last prefix in the line."""
    tree.size += _count_new_tokens(tree, line, prefix)
    tree.prefixes.append(prefix)
    tree.parents.append(line[-1] if line else -1)
    line.append(len(tree.prefixes) - 1)


def _lay_out(trees: Sequence[_Tree], pieces: Sequence[Piece]) -> Pack:
    layout = _Layout(pieces)
    for tree in trees:
        layout.add(tree)
    return layout.pack()


@dataclass
class _Layout:
    """A pack under construction."""

    pieces: Sequence[Piece]
    ids: list[int] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    """End of the descendants of each node."""
    trees: list[TokenRange] = field(default_factory=list)
    nodes: list[TokenRange] = field(default_factory=list)
    sources: list[int] = field(default_factory=list)
    targets: list[int] = field(default_factory=list)
    placed: list[int] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)

    def add(self, tree: _Tree) -> None:
        """Add the new tokens of each prefix, its pieces, and then the prefixes that continue it."""
        begin, line = len(self.ids), list[tuple[int, int]]()  # prefixes that may go on, and their nodes
        below: dict[int, list[int]] = {}
        for piece, above in tree.pieces:
            below.setdefault(above, []).append(piece)
        for index, (prefix, parent) in enumerate(zip(tree.prefixes, tree.parents, strict=True)):
            while line and line[-1][0] != parent:
                self.ends[line.pop()[1]] = len(self.ids)
            shared_length = len(tree.prefixes[parent]) if parent >= 0 else 0
            line.append((index, self._node(prefix[shared_length:], shared_length)))
            last = len(self.ids) - 1
            for piece in below.get(index, ()):
                self._score(piece, last, len(prefix))
        for _, node in line:
            self.ends[node] = len(self.ids)
        self.trees.append(TokenRange(begin, len(self.ids)))

    def _node(self, tokens: Sequence[int], position: int) -> int:
        begin = len(self.ids)
        self.ids.extend(tokens)
        self.positions.extend(range(position, position + len(tokens)))
        self.nodes.append(TokenRange(begin, len(self.ids)))
        self.ends.append(len(self.ids))
        return len(self.nodes) - 1

    def _score(self, index: int, last: int, position: int) -> None:
        """Add a piece; its first token is predicted by its prefix, and its last token is only a target."""
        tokens = self.pieces[index].tokens
        self.sources.append(last)
        self.sources.extend(range(len(self.ids), len(self.ids) + len(tokens) - 1))
        if len(tokens) > 1:
            self._node(tokens[:-1], position)
        self.targets.extend(tokens)
        self.placed.append(index)
        self.lengths.append(len(tokens))

    def pack(self) -> Pack:
        """Return the pack."""
        ids, positions, sources, targets, lengths = (
            np.array(numbers, np.int64)
            for numbers in (self.ids, self.positions, self.sources, self.targets, self.lengths)
        )
        ends = np.repeat(self.ends, [node.end - node.begin for node in self.nodes])
        return Pack(ids, positions, ends, self.trees, self.nodes, sources, targets, self.placed, lengths)
