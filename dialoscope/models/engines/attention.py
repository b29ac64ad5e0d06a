"""Attention over a pack: each token attends to earlier tokens in its own node and in the nodes above."""

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from torch.nn.functional import scaled_dot_product_attention

from dialoscope.models.engines.device import gpu_kernels
from dialoscope.models.engines.packing import Pack, TokenRange

LONGEST_MASKED = 1024
"""Maximum length of a tree with a mask; longer trees are computed node by node, which is faster."""


class _Block(NamedTuple):
    """Tokens computed together and the keys that they attend to; causal if there is no mask."""

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
        """Return the attended values, (tokens, heads, dims); keys and values may have fewer heads."""
        if kernels := gpu_kernels(self._device):
            attended: torch.Tensor = kernels.attend(query, key, value, self._tree_ends, scale)
            return attended
        out = torch.empty_like(query)
        for block in self._blocks:
            out[block.tokens] = scaled_dot_product_attention(
                query[block.tokens].transpose(0, 1)[None],
                key[block.keys].transpose(0, 1)[None],
                value[block.keys].transpose(0, 1)[None],
                attn_mask=block.mask,
                is_causal=block.mask is None,
                scale=scale,
                enable_gqa=query.shape[1] != key.shape[1],
            )[0].transpose(0, 1)
        return out

    @cached_property
    def _tree_ends(self) -> torch.Tensor:
        """For each token, the end of the tokens that attend to it, and the begin of its tree, (2, tokens)."""
        begins = np.repeat(
            [tree.begin for tree in self.pack.trees], [tree.end - tree.begin for tree in self.pack.trees]
        )
        both = np.stack([self.pack.ends, begins]).astype(np.int32)
        return torch.from_numpy(both).to(self._device, non_blocking=True)

    @cached_property
    def _blocks(self) -> list[_Block]:
        return [block for tree in self.pack.trees for block in self._blocks_of_tree(tree)]

    def _blocks_of_tree(self, tree: TokenRange) -> Iterator[_Block]:
        whole = slice(tree.begin, tree.end)
        ends = self.pack.ends[whole]
        if (ends == tree.end).all():  # a single line
            yield _Block(whole, whole, None)
        elif len(ends) <= LONGEST_MASKED:
            positions = np.arange(tree.begin, tree.end)
            yield _Block(whole, whole, self._mask(np.tril(positions[:, None] < ends)))
        else:
            for node in self.pack.nodes:
                if tree.begin <= node.begin < tree.end:
                    yield self._block_of_node(node)

    def _block_of_node(self, node: TokenRange) -> _Block:
        line = self.pack.line(node)
        length = node.end - node.begin
        mask = self._mask(np.tri(length, len(line), len(line) - length, bool))
        return _Block(slice(*node), torch.from_numpy(line).to(self._device), mask)

    def _mask(self, allowed: np.ndarray) -> torch.Tensor:
        """Return an additive mask of floats, so that layers need not convert booleans."""
        return torch.where(torch.from_numpy(allowed), 0.0, -torch.inf).to(self._device, self._dtype)
