"""Attention over a pack: each token sees those before it in its own node and in the nodes above."""

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from torch.nn.functional import scaled_dot_product_attention

from dialoscope.backends.packing import Node, Pack, seen

LONGEST_MASKED = 1024
"""A longer tree is computed node by node, since its mask would cost more than it saves."""


class _Masked(NamedTuple):
    """A whole tree at once."""

    begin: int
    end: int
    mask: torch.Tensor | None  # None: a single line, in which every token sees all before it


class _Alone(NamedTuple):
    """A node at once."""

    begin: int
    end: int
    keys: torch.Tensor
    mask: torch.Tensor


class TreeAttention:
    """The attention of one pack, for any number of layers."""

    def __init__(self, pack: Pack, device: torch.device, dtype: torch.dtype) -> None:
        self.pack, self._device, self._dtype = pack, device, dtype

    def __call__(
        self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, scale: float
    ) -> torch.Tensor:
        """From (tokens, heads, dims) each, where keys and values may have fewer heads, to the same."""
        if self._device.type == "cuda" and self._dtype in (torch.float16, torch.bfloat16):
            return self._flash(query, key, value, scale)
        out = torch.empty_like(query)
        for part in self._parts:
            keys = slice(part.begin, part.end) if isinstance(part, _Masked) else part.keys
            out[part.begin : part.end] = scaled_dot_product_attention(
                query[part.begin : part.end].transpose(0, 1)[None],
                key[keys].transpose(0, 1)[None],
                value[keys].transpose(0, 1)[None],
                attn_mask=part.mask,
                is_causal=part.mask is None,
                scale=scale,
                enable_gqa=query.shape[1] != key.shape[1],
            )[0].transpose(0, 1)
        return out

    def _flash(
        self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, scale: float
    ) -> torch.Tensor:
        """Every node is a sequence of its own, with the keys of all that it sees."""
        spans = self._spans
        found = torch.ops.aten._flash_attention_forward(
            query,
            key[spans.keys],
            value[spans.keys],
            spans.of_queries,
            spans.of_keys,
            spans.most_queries,
            spans.most_keys,
            0.0,
            True,
            False,
            scale=scale,
        )
        out: torch.Tensor = found[0]
        return out

    @cached_property
    def _parts(self) -> list[_Masked | _Alone]:
        parts: list[_Masked | _Alone] = []
        for tree in self.pack.trees:
            nodes = [self.pack.nodes[place] for place in tree]
            begin, end = nodes[0].begin, nodes[-1].end
            if len(nodes) == 1:
                parts.append(_Masked(begin, end, None))
            elif end - begin <= LONGEST_MASKED:
                parts.append(_Masked(begin, end, self._tree_mask(tree, nodes)))
            else:
                parts.extend(self._alone(node) for node in nodes)
        return parts

    def _tree_mask(self, tree: range, nodes: Sequence[Node]) -> torch.Tensor:
        sees = np.eye(len(nodes), dtype=bool)
        for place, node in enumerate(nodes):
            sees[place, [above - tree.start for above in node.above]] = True
        owner = np.repeat(np.arange(len(nodes)), [node.end - node.begin for node in nodes])
        return self._mask(np.tril(sees[owner[:, None], owner]))

    def _alone(self, node: Node) -> _Alone:
        keys = seen(self.pack, node)
        length = node.end - node.begin
        allowed = np.tril(np.ones((length, len(keys)), bool), len(keys) - length)
        return _Alone(node.begin, node.end, torch.from_numpy(keys).to(self._device), self._mask(allowed))

    def _mask(self, allowed: np.ndarray) -> torch.Tensor:
        """To be added to the logits, ready made, so that no layer has to turn truths into numbers."""
        return torch.where(torch.from_numpy(allowed), 0.0, -torch.inf).to(self._device, self._dtype)

    @cached_property
    def _spans(self) -> "_Spans":
        nodes = self.pack.nodes
        keys = [seen(self.pack, node) for node in nodes]
        queries = np.array([node.end - node.begin for node in nodes])
        seen_keys = np.array([len(some) for some in keys])
        return _Spans(
            torch.from_numpy(np.concatenate(keys)).to(self._device, non_blocking=True),
            _starts(queries).to(self._device, non_blocking=True),
            _starts(seen_keys).to(self._device, non_blocking=True),
            int(queries.max()),
            int(seen_keys.max()),
        )


class _Spans(NamedTuple):
    keys: torch.Tensor
    of_queries: torch.Tensor
    of_keys: torch.Tensor
    most_queries: int
    most_keys: int


def _starts(lengths: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))
