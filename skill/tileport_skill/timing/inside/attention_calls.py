"""How the operators of attention and of its relatives are called: sequences, heads, caches."""

from __future__ import annotations

import math
from typing import Any

import tilegym
import torch

from tileport_skill.timing.inside.inputs import Call, Maker


def attention(
    make: Maker,
    batch: int,
    heads: int,
    kv_heads: int,
    length: int,
    head_dim: int,
    dtype: str,
    causal: bool,
    strided: bool = False,
) -> Call:
    """`strided`: heads lie inside of positions in memory, as a projection leaves them."""

    def made(count: int) -> torch.Tensor:
        if strided:
            return make.normal((batch, length, count, head_dim), dtype).transpose(1, 2)
        return make.normal((batch, count, length, head_dim), dtype)

    q, k, v = made(heads), made(kv_heads), made(kv_heads)
    scaling = 1 / math.sqrt(head_dim)
    return Call(run=lambda: tilegym.ops.fmha(q, k, v, scaling=scaling, is_causal=causal), inputs=(q, k, v))


def attention_sink(
    make: Maker,
    batch: int,
    queries: int,
    keys: int,
    kv_heads: int,
    groups: int,
    head_dim: int,
    dtype: str,
    window: int,
    operator: str = "attention_sink",
    start: int = 0,
) -> Call:
    q = make.normal((batch, queries, kv_heads, groups, head_dim), dtype)
    k, v = (make.normal((batch, keys, kv_heads, head_dim), dtype) for _ in range(2))
    sinks = make.normal((kv_heads * groups,), dtype)
    start_q = torch.full((1,), start, device="cuda", dtype=torch.int32)
    function = getattr(tilegym.ops, operator)
    scale = head_dim**-0.5
    return Call(
        run=lambda: function(q, k, v, sinks, scale, window or None, start_q),
        inputs=(q, k, v, sinks, start_q),
    )


def attention_sink_decode(make: Maker, keys: int, **arguments: Any) -> Call:
    return attention_sink(make, queries=1, keys=keys, operator="attention_sink_decode", start=keys - 1, **arguments)


def attention_variant(make: Maker, batch: int, heads: int, length: int, head_dim: int, dtype: str, layout: str) -> Call:
    sizes = {"b": batch, "n": heads, "s": length, "d": head_dim}
    q, k, v = (make.normal(tuple(sizes[letter] for letter in layout), dtype) for _ in range(3))
    return Call(run=lambda: tilegym.ops.fmha_variant(q, k, v, is_causal=True, layout=layout), inputs=(q, k, v))


def attention_varlen(make: Maker, batch: int, heads: int, length: int, head_dim: int, dtype: str, ragged: bool) -> Call:
    q, k, v = (make.normal((batch, heads, length, head_dim), dtype) for _ in range(3))
    kept = [length - (length // (2 * batch)) * index if ragged else length for index in range(batch)]
    lengths = torch.tensor(kept, device="cuda", dtype=torch.int32)
    return Call(
        run=lambda: tilegym.ops.fmha_varlen(q, k, v, is_causal=True, q_lens=lengths, kv_lens=lengths),
        inputs=(q, k, v, lengths),
    )


def gated_delta_rule(
    make: Maker, batch: int, length: int, heads: int, head_dim: int, dtype: str, operator: str
) -> Call:
    q, k, v = (make.normal((batch, length, heads, head_dim), dtype, 0.1) for _ in range(3))
    g = -make.uniform((batch, length, heads), dtype)
    beta = make.uniform((batch, length, heads), dtype)
    function = getattr(tilegym.ops, operator)
    return Call(run=lambda: function(q, k, v, g, beta), inputs=(q, k, v, g, beta))


def flash_decode(make: Maker, batch: int, heads: int, group: int, length: int, head_dim: int, dtype: str) -> Call:
    q = make.normal((batch, heads, 1, head_dim), dtype)
    k, v = (make.normal((batch, heads // group, length, head_dim), dtype) for _ in range(2))
    scale = 1 / math.sqrt(head_dim)
    return Call(run=lambda: tilegym.ops.fmha_decode(q, k, v, scale), inputs=(q, k, v))


def gemma_attention(
    make: Maker,
    batch: int,
    heads: int,
    kv_heads: int,
    length: int,
    head_dim: int,
    window: int,
    soft_cap: float,
    dtype: str,
    decode: bool = False,
) -> Call:
    q = make.normal((batch, heads, 1 if decode else length, head_dim), dtype)
    k, v = (make.normal((batch, kv_heads, length, head_dim), dtype) for _ in range(2))
    options = {"scaling": 1 / math.sqrt(head_dim), "window_size": window, "soft_cap": soft_cap}
    if decode:
        return Call(run=lambda: tilegym.ops.gemma_attention_decode(q, k, v, **options), inputs=(q, k, v))
    return Call(run=lambda: tilegym.ops.gemma_attention(q, k, v, is_causal=True, **options), inputs=(q, k, v))


def mamba2(make: Maker, batch: int, length: int, heads: int, head_dim: int, state: int, dtype: str) -> Call:
    x = make.normal((batch, length, heads, head_dim), dtype)
    a = -make.uniform((heads,), "float32")
    b, c = (make.normal((batch, length, 1, state), dtype) for _ in range(2))
    d = make.normal((heads,), "float32")
    dt = make.uniform((batch, length, heads), "float32")
    before = torch.zeros((batch, heads, head_dim, state), device="cuda", dtype=torch.float32)
    inputs = (x, a, b, c, d, dt, before)
    return Call(run=lambda: tilegym.ops.mamba2_chunk_forward(*inputs), inputs=inputs)


def mla(make: Maker, batch: int, heads: int, length: int, head_dim: int, pe_dim: int, dtype: str) -> Call:
    q, k, v = (make.normal((batch, heads, length, head_dim), dtype, 0.3) for _ in range(3))
    q_pe = make.normal((batch, heads, length, pe_dim), dtype, 0.3)
    k_pe = make.normal((batch, 1, length, pe_dim), dtype, 0.3)
    scaling = 1 / math.sqrt(head_dim + pe_dim)
    return Call(run=lambda: tilegym.ops.mla(q, k, v, q_pe, k_pe, True, scaling), inputs=(q, k, v, q_pe, k_pe))


def mla_decoding(make: Maker, batch: int, heads: int, length: int, dtype: str, split: bool = False) -> Call:
    q, q_pe = make.normal((batch, heads, 512), dtype, 0.3), make.normal((batch, heads, 64), dtype, 0.3)
    kv, k_pe = make.normal((batch, length, 512), dtype, 0.3), make.normal((batch, length, 64), dtype, 0.3)
    function = tilegym.ops.mla_decoding_split_kv if split else tilegym.ops.mla_decoding
    scale = 1 / math.sqrt(576)
    return Call(run=lambda: function(q, q_pe, kv, k_pe, scale), inputs=(q, q_pe, kv, k_pe))


def rope(
    make: Maker, batch: int, length: int, heads: int, kv_heads: int, head_dim: int, partial: float, dtype: str
) -> Call:
    q = make.normal((batch, length, heads, head_dim), dtype).transpose(1, 2)
    k = make.normal((batch, length, kv_heads, head_dim), dtype).transpose(1, 2)
    width = int(head_dim * partial)
    frequencies = 10000.0 ** (-torch.arange(0, width, 2, device="cuda", dtype=torch.float32) / width)
    angles = (torch.arange(length, device="cuda", dtype=torch.float32)[:, None] * frequencies).repeat(1, 2)[None]
    cos, sin = (f(angles).to(q.dtype).repeat(batch, 1, 1) for f in (torch.cos, torch.sin))
    return Call(
        run=lambda: tilegym.ops.apply_rope_base(q, k, cos, sin, partial_rotary_factor=partial),
        inputs=(q, k, cos, sin),
        in_place=True,
    )


def sparse_mla(make: Maker, heads: int, queries: int, keys: int, chosen: int, dtype: str) -> Call:
    q, q_pe = make.normal((1, heads, queries, 128), dtype, 0.3), make.normal((1, heads, queries, 64), dtype, 0.3)
    k, v = (make.normal((1, 1, keys, 128), dtype, 0.3) for _ in range(2))
    k_pe = make.normal((1, 1, keys, 64), dtype, 0.3)
    order = make.uniform((1, queries, 1, keys), "float32").argsort(-1)[..., :chosen].to(torch.int32).contiguous()
    order[..., 0] = 0  # each query may attend to at least one key
    return Call(run=lambda: tilegym.ops.sparse_mla(q, k, v, order, q_pe, k_pe), inputs=(q, k, v, order, q_pe, k_pe))


def splitk_reduce(make: Maker, heads: int, splits: int, keys: int, head_dim: int, dtype: str) -> Call:
    parts = make.normal((1, heads, splits, head_dim), dtype)
    lse = make.normal((1, heads, splits), "float32", 2.0) + 5.0
    out = torch.empty((1, heads, head_dim), device="cuda", dtype=parts.dtype)
    return Call(run=lambda: tilegym.ops.splitk_reduce(parts, lse, out, keys), inputs=(parts, lse), written=(out,))


def swa_attention(make: Maker, heads: int, length: int, head_dim: int, window: int, dtype: str) -> Call:
    q, k, v = (make.normal((1, heads, length, head_dim), dtype, 0.3) for _ in range(3))
    return Call(run=lambda: tilegym.ops.swa_attention(q, k, v, window, True), inputs=(q, k, v))
