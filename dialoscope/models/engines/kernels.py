"""Fused operations of a decoder on a GPU, in Triton."""

import torch
import triton
import triton.language as tl

ROWS, COLUMNS = 64, 64


def attend(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, ends: torch.Tensor, scale: float
) -> torch.Tensor:
    """Compute attention in which token q attends to token k if k <= q < ends[k].

    Args:
        query: (tokens, heads, dims); keys and values may have fewer heads.
        key: See query.
        value: See query.
        ends: (2, tokens): the end of the tokens that attend to each token, and the begin of its tree.
        scale: Factor of the products of query and key.
    """
    tokens, heads, dims = query.shape
    out = torch.empty(tokens, heads, dims, device=query.device, dtype=query.dtype)
    grid = (triton.cdiv(tokens, ROWS), heads)
    _attend[grid](
        query, key, value, out, ends, tokens, scale * 1.4426950408889634,
        query.stride(0), query.stride(1), key.stride(0), key.stride(1), value.stride(0), value.stride(1),
        out.stride(0), out.stride(1),
        heads // key.shape[1], dims, triton.next_power_of_2(max(dims, 16)), ROWS, COLUMNS,
        num_warps=4, num_stages=2,
    )  # fmt: skip
    return out


@triton.jit
def _attend(
    Q, K, V, OUT, ENDS, tokens, scale,
    q_token, q_head, k_token, k_head, v_token, v_head, o_token, o_head,
    GROUP: tl.constexpr, DIMS: tl.constexpr, WIDE: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Compute one block of rows of one head, over the keys since the begin of the first row's tree."""
    first = tl.program_id(0) * ROWS
    head = tl.program_id(1)
    rows = first + tl.arange(0, ROWS)
    dims = tl.arange(0, WIDE)
    real = (rows < tokens)[:, None] & (dims < DIMS)[None, :]
    q = tl.load(Q + rows.to(tl.int64)[:, None] * q_token + head * q_head + dims[None, :], real, 0.0)
    most = tl.full([ROWS], -float("inf"), tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    sums = tl.zeros([ROWS, WIDE], tl.float32)
    last = tl.minimum(first + ROWS, tokens)
    for begin in range(tl.load(ENDS + tokens + first), last, COLUMNS):
        columns = begin + tl.arange(0, COLUMNS)
        there = columns < last
        valid = there[:, None] & (dims < DIMS)[None, :]
        offsets = columns.to(tl.int64)[:, None]
        k = tl.load(K + offsets * k_token + (head // GROUP) * k_head + dims[None, :], valid, 0.0)
        v = tl.load(V + offsets * v_token + (head // GROUP) * v_head + dims[None, :], valid, 0.0)
        end = tl.load(ENDS + columns, there, 0)
        sees = (columns[None, :] <= rows[:, None]) & (rows[:, None] < end[None, :])
        logits = tl.where(sees, tl.dot(q, tl.trans(k), input_precision="ieee") * scale, -float("inf"))
        more = tl.maximum(most, tl.max(logits, 1))
        base = tl.where(more == -float("inf"), 0.0, more)
        weights = tl.exp2(logits - base[:, None])
        fade = tl.exp2(most - base)
        total = total * fade + tl.sum(weights, 1)
        sums = sums * fade[:, None] + tl.dot(weights.to(v.dtype), v, input_precision="ieee")
        most = more
    pointers = OUT + rows.to(tl.int64)[:, None] * o_token + head * o_head + dims[None, :]
    tl.store(pointers, (sums / total[:, None]).to(OUT.dtype.element_ty), real)


def rotate(heads: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> None:
    """Apply rotary position embeddings in place, with cosines and sines (tokens, dims / 2) in float32."""
    tokens, count, dims = heads.shape
    _rotate[(tokens,)](
        heads, cosine, sine, heads.stride(0), heads.stride(1), count, dims // 2,
        triton.next_power_of_2(count), triton.next_power_of_2(dims // 2), num_warps=2,
    )  # fmt: skip


@triton.jit
def _rotate(
    X, COSINE, SINE, by_token, by_head, count, half, COUNT: tl.constexpr, HALF: tl.constexpr
):  # fmt: skip
    token = tl.program_id(0).to(tl.int64)
    head = tl.arange(0, COUNT)[:, None]
    dim = tl.arange(0, HALF)[None, :]
    real = (head < count) & (dim < half)
    pointers = X + token * by_token + head * by_head + dim
    cosine = tl.load(COSINE + token * half + dim, dim < half, 0.0)
    sine = tl.load(SINE + token * half + dim, dim < half, 0.0)
    first = tl.load(pointers, real, 0.0).to(tl.float32)
    second = tl.load(pointers + half, real, 0.0).to(tl.float32)
    tl.store(pointers, (first * cosine - second * sine).to(X.dtype.element_ty), real)
    tl.store(pointers + half, (second * cosine + first * sine).to(X.dtype.element_ty), real)


def apply_gate(gate_up: torch.Tensor) -> torch.Tensor:
    """Return SiLU of the first half times the second half: (tokens, 2 × dims) to (tokens, dims)."""
    tokens, both = gate_up.shape
    out = torch.empty(tokens, both // 2, device=gate_up.device, dtype=gate_up.dtype)
    _apply_gate[(tokens, triton.cdiv(both // 2, 1024))](gate_up, out, both // 2, 1024, num_warps=4)
    return out


@triton.jit
def _apply_gate(BOTH, OUT, dims, BLOCK: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    dim = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    real = dim < dims
    gate = tl.load(BOTH + token * 2 * dims + dim, real, 0.0).to(tl.float32)
    up = tl.load(BOTH + token * 2 * dims + dims + dim, real, 0.0).to(tl.float32)
    tl.store(OUT + token * dims + dim, (gate * tl.sigmoid(gate) * up).to(OUT.dtype.element_ty), real)


def log_probability(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Return the log-probability of the target of each row in float32, without a copy of the logits."""
    rows, vocabulary = logits.shape
    out = torch.empty(rows, device=logits.device, dtype=torch.float32)
    _log_probability[(rows,)](logits, targets, out, logits.stride(0), vocabulary, 4096, num_warps=8)
    return out


@triton.jit
def _log_probability(LOGITS, TARGETS, OUT, by_row, vocabulary, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    most = -float("inf")
    total = 0.0
    for begin in range(0, vocabulary, BLOCK):
        columns = begin + tl.arange(0, BLOCK)
        block = tl.load(LOGITS + row * by_row + columns, columns < vocabulary, -float("inf")).to(tl.float32)
        more = tl.maximum(most, tl.max(block, 0))
        total = total * tl.exp(most - more) + tl.sum(tl.exp(block - more), 0)
        most = more
    target = tl.load(LOGITS + row * by_row + tl.load(TARGETS + row)).to(tl.float32)
    tl.store(OUT + row, target - most - tl.log(total))
