"""Attention over a pack: each token sees those before it in its own node and in the nodes above."""

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from torch.nn.functional import scaled_dot_product_attention

from dialoscope.models.engines.device import gpu_kernels
from dialoscope.models.engines.packing import Pack, TokenRange

LONGEST_MASKED = 1024
"""A longer tree is computed node by node, since its mask would cost more than it saves."""


class _Part(NamedTuple):
    """Tokens computed at once and the keys they see, those up to themselves where there is no mask."""

    tokens: slice
    keys: slice | torch.Tensor
    mask: torch.Tensor | None


class TreeAttention:
    """The attention of one pack, for any number of layers."""

    def __init__(self, pack: Pack, device: torch.device, dtype: torch.dtype) -> None:
        self.pack, self._device, self._dtype = pack, device, dtype

    def __call__(
        self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, scale: float
    ) -> torch.Tensor:
        """From (tokens, heads, dims) each, where keys and values may have fewer heads, to the same."""
        if kernels := gpu_kernels(self._device):
            attended: torch.Tensor = kernels.attend(query, key, value, self._tree_ends, scale)
            return attended
        out = torch.empty_like(query)
        for part in self._parts:
            out[part.tokens] = scaled_dot_product_attention(
                query[part.tokens].transpose(0, 1)[None],
                key[part.keys].transpose(0, 1)[None],
                value[part.keys].transpose(0, 1)[None],
                attn_mask=part.mask,
                is_causal=part.mask is None,
                scale=scale,
                enable_gqa=query.shape[1] != key.shape[1],
            )[0].transpose(0, 1)
        return out

    @cached_property
    def _tree_ends(self) -> torch.Tensor:
        """For each token where what sees it ends, and where its tree begins, (2, tokens)."""
        begins = np.repeat(
            [tree.begin for tree in self.pack.trees], [tree.end - tree.begin for tree in self.pack.trees]
        )
        both = np.stack([self.pack.ends, begins]).astype(np.int32)
        return torch.from_numpy(both).to(self._device, non_blocking=True)

    @cached_property
    def _parts(self) -> list[_Part]:
        return [part for tree in self.pack.trees for part in self._of_tree(tree)]

    def _of_tree(self, tree: TokenRange) -> Iterator[_Part]:
        whole = slice(tree.begin, tree.end)
        ends = self.pack.ends[whole]
        if (ends == tree.end).all():  # a single line
            yield _Part(whole, whole, None)
        elif len(ends) <= LONGEST_MASKED:
            places = np.arange(tree.begin, tree.end)
            yield _Part(whole, whole, self._mask(np.tril(places[:, None] < ends)))
        else:
            for node in self.pack.nodes:
                if tree.begin <= node.begin < tree.end:
                    yield self._of_node(node)

    def _of_node(self, node: TokenRange) -> _Part:
        line = self.pack.line(node)
        length = node.end - node.begin
        mask = self._mask(np.tri(length, len(line), len(line) - length, bool))
        return _Part(slice(*node), torch.from_numpy(line).to(self._device), mask)

    def _mask(self, allowed: np.ndarray) -> torch.Tensor:
        """To be added to the logits, ready made, so that no layer has to turn truths into numbers."""
        return torch.where(torch.from_numpy(allowed), 0.0, -torch.inf).to(self._device, self._dtype)
