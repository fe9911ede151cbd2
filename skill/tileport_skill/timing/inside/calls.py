"""How each operator is called on a row of `rows.toml`: inputs from a seed, and the call that is timed.

Every function takes a `Maker` and the row's arguments. The call it returns goes through TileGym's dispatcher, so that
the same call runs on whichever backend is set.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import tilegym
import torch

Outputs = tuple[torch.Tensor, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of an operator, ready to be repeated."""

    run: Callable[[], object]
    inputs: tuple[torch.Tensor, ...]
    """What it reads; unchanged by a call unless `in_place`."""
    written: tuple[torch.Tensor, ...] = ()
    """What it writes besides what it returns."""
    in_place: bool = False


class Maker:
    """Fresh inputs from one seed, all on the GPU."""

    def __init__(self, seed: int) -> None:
        self._generator = torch.Generator(device="cuda").manual_seed(seed)

    def normal(self, shape: tuple[int, ...], dtype: str, deviation: float = 1.0) -> torch.Tensor:
        found = torch.empty(shape, device="cuda", dtype=getattr(torch, dtype))
        return found.normal_(0.0, deviation, generator=self._generator)

    def uniform(self, shape: tuple[int, ...], dtype: str) -> torch.Tensor:
        found = torch.empty(shape, device="cuda", dtype=getattr(torch, dtype))
        return found.uniform_(0.0, 1.0, generator=self._generator)

    def integers(self, high: int, shape: tuple[int, ...], dtype: str = "int32") -> torch.Tensor:
        return torch.randint(high, shape, generator=self._generator, device="cuda", dtype=getattr(torch, dtype))


def call_of(operator: str, arguments: Mapping[str, Any], seed: int) -> Call:
    """The call of one row. Raises `KeyError` for an operator without a function here."""
    return _CALLS[operator](Maker(seed), **arguments)


def outputs_of(call: Call, returned: object) -> Outputs:
    """All tensors a call returned or wrote."""
    parts = returned if isinstance(returned, (tuple, list)) else (returned,)
    return (*[part for part in parts if isinstance(part, torch.Tensor)], *call.written)


def _attention(
    make: Maker, batch: int, heads: int, kv_heads: int, length: int, head_dim: int, dtype: str, causal: bool
) -> Call:
    q = make.normal((batch, heads, length, head_dim), dtype)
    k, v = (make.normal((batch, kv_heads, length, head_dim), dtype) for _ in range(2))
    scaling = 1 / math.sqrt(head_dim)
    return Call(run=lambda: tilegym.ops.fmha(q, k, v, scaling=scaling, is_causal=causal), inputs=(q, k, v))


def _attention_sink(
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


def _attention_sink_decode(make: Maker, keys: int, **arguments: Any) -> Call:
    return _attention_sink(make, queries=1, keys=keys, operator="attention_sink_decode", start=keys - 1, **arguments)


def _attention_variant(
    make: Maker, batch: int, heads: int, length: int, head_dim: int, dtype: str, layout: str
) -> Call:
    sizes = {"b": batch, "n": heads, "s": length, "d": head_dim}
    q, k, v = (make.normal(tuple(sizes[letter] for letter in layout), dtype) for _ in range(3))
    return Call(run=lambda: tilegym.ops.fmha_variant(q, k, v, is_causal=True, layout=layout), inputs=(q, k, v))


def _attention_varlen(
    make: Maker, batch: int, heads: int, length: int, head_dim: int, dtype: str, ragged: bool
) -> Call:
    q, k, v = (make.normal((batch, heads, length, head_dim), dtype) for _ in range(3))
    kept = [length - (length // (2 * batch)) * index if ragged else length for index in range(batch)]
    lengths = torch.tensor(kept, device="cuda", dtype=torch.int32)
    return Call(
        run=lambda: tilegym.ops.fmha_varlen(q, k, v, is_causal=True, q_lens=lengths, kv_lens=lengths),
        inputs=(q, k, v, lengths),
    )


def _bmm(
    make: Maker,
    batch: int,
    size: int,
    dtype: str,
    transpose_a: bool = False,
    transpose_b: bool = False,
    persistent: bool = True,
) -> Call:
    a, b = (make.uniform((batch, size, size), dtype) for _ in range(2))
    return Call(
        run=lambda: tilegym.ops.bmm(
            a, b, transpose_a=transpose_a, transpose_b=transpose_b, static_persistent=persistent
        ),
        inputs=(a, b),
    )


def _gated_delta_rule(
    make: Maker, batch: int, length: int, heads: int, head_dim: int, dtype: str, operator: str
) -> Call:
    q, k, v = (make.normal((batch, length, heads, head_dim), dtype, 0.1) for _ in range(3))
    g = -make.uniform((batch, length, heads), dtype)
    beta = make.uniform((batch, length, heads), dtype)
    function = getattr(tilegym.ops, operator)
    return Call(run=lambda: function(q, k, v, g, beta), inputs=(q, k, v, g, beta))


def _dropout(make: Maker, elements: int, p: float, dtype: str) -> Call:
    x = make.uniform((elements,), dtype)
    return Call(run=lambda: tilegym.ops.dropout(x, 1234, p, True, False), inputs=(x,))


def _flash_decode(make: Maker, batch: int, heads: int, group: int, length: int, head_dim: int, dtype: str) -> Call:
    q = make.normal((batch, heads, 1, head_dim), dtype)
    k, v = (make.normal((batch, heads // group, length, head_dim), dtype) for _ in range(2))
    scale = 1 / math.sqrt(head_dim)
    return Call(run=lambda: tilegym.ops.fmha_decode(q, k, v, scale), inputs=(q, k, v))


def _fp8_quantization_matmul(make: Maker, m: int, n: int, k: int) -> Call:
    a, b = (make.normal(shape, "float16", 0.3).to(torch.float8_e4m3fn) for shape in ((m, k), (n, k)))
    a_scale = make.uniform((m, k // 128), "float32")
    b_scale = make.uniform((n // 128, k // 128), "float32")
    return Call(
        run=lambda: tilegym.ops.w8a8_block_fp8_matmul(a, b, a_scale, b_scale, [128, 128], output_dtype=torch.float16),
        inputs=(a, b, a_scale, b_scale),
    )


def _fused_linear_cross_entropy(make: Maker, tokens: int, hidden: int, vocabulary: int, dtype: str) -> Call:
    x = make.normal((tokens, hidden), dtype, hidden**-0.5)
    weight = make.normal((vocabulary, hidden), dtype, hidden**-0.5)
    target = make.integers(vocabulary, (tokens,), "int64")
    return Call(run=lambda: tilegym.ops.fused_linear_cross_entropy(x, weight, target), inputs=(x, weight, target))


def _geglu(make: Maker, shape: tuple[int, ...], dtype: str, approximate: str) -> Call:
    x = make.normal(shape, dtype)
    return Call(run=lambda: tilegym.ops.activation.geglu(x, -1, approximate), inputs=(x,))


def _gelu(make: Maker, elements: int, dtype: str, approximate: str) -> Call:
    x = make.normal((elements // 4096, 4096), dtype)
    return Call(run=lambda: tilegym.ops.activation.gelu(x, approximate), inputs=(x,))


def _gemma_attention(
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


def _group_gemm(make: Maker, groups: int, m: int, n: int, k: int, transpose_b: bool, dtype: str) -> Call:
    left = [make.normal((m, k), dtype, 0.3) for _ in range(groups)]
    right = [make.normal((n, k) if transpose_b else (k, n), dtype, 0.3) for _ in range(groups)]
    return Call(
        run=lambda: tilegym.ops.group_gemm(left, right, transpose_b=transpose_b),
        inputs=(*left, *right),
    )


def _layer_norm(make: Maker, shape: tuple[int, ...], dim: int, dtype: str) -> Call:
    x = make.normal(shape, dtype)
    weight, bias = (make.normal((shape[dim],), dtype) for _ in range(2))
    return Call(
        run=lambda: tilegym.ops.layer_norm(x, dim, dim + 1, weight, bias, 1e-5),
        inputs=(x, weight, bias),
    )


def _layer_norm_legacy(make: Maker, m: int, n: int, dtype: str, persistent: bool) -> Call:
    x = make.normal((m, n), dtype)
    weight, bias = (make.normal((n,), dtype) for _ in range(2))
    function = tilegym.ops.persistent_layer_norm if persistent else tilegym.ops.layer_norm_legacy
    return Call(run=lambda: function(x, (n,), weight, bias, 1e-5), inputs=(x, weight, bias))


def _linear_gluact_linear(make: Maker, tokens: int, hidden: int, inner: int, act_type: str, dtype: str) -> Call:
    x = make.normal((tokens, hidden), dtype)
    gate, up = (make.normal((inner, hidden), dtype, hidden**-0.5) for _ in range(2))
    down = make.normal((hidden, inner), dtype, inner**-0.5)
    return Call(
        run=lambda: tilegym.ops.linear_gluact_linear(
            input=x, weight_act=gate, weight_noact=up, weight2=down, act_type=act_type
        ),
        inputs=(x, gate, up, down),
    )


def _mamba2(make: Maker, batch: int, length: int, heads: int, head_dim: int, state: int, dtype: str) -> Call:
    x = make.normal((batch, length, heads, head_dim), dtype)
    a = -make.uniform((heads,), "float32")
    b, c = (make.normal((batch, length, 1, state), dtype) for _ in range(2))
    d = make.normal((heads,), "float32")
    dt = make.uniform((batch, length, heads), "float32")
    before = torch.zeros((batch, heads, head_dim, state), device="cuda", dtype=torch.float32)
    inputs = (x, a, b, c, d, dt, before)
    return Call(run=lambda: tilegym.ops.mamba2_chunk_forward(*inputs), inputs=inputs)


def _matmul(make: Maker, m: int, n: int, k: int, dtype: str, persistent: bool) -> Call:
    a, b = make.normal((m, k), dtype), make.normal((k, n), dtype)
    return Call(
        run=lambda: tilegym.ops.matmul(a, b, static_persistent=persistent, use_tma=True),
        inputs=(a, b),
    )


def _mhc(make: Maker, part: str, n: int, batch: int, channels: int) -> Call:
    width = n * n + 2 * n
    if part == "sinkhorn":
        y = make.uniform((batch, width), "float32")
        return Call(run=lambda: tilegym.ops.mhc_sinkhorn(y, n), inputs=(y,), in_place=True)
    x = make.normal((batch, n * channels), "bfloat16")
    if part == "apply_residual":
        out, y = make.normal((batch, channels), "bfloat16"), make.uniform((batch, width), "float32")
        return Call(run=lambda: tilegym.ops.mhc_apply_residual(x, out, y, n), inputs=(x, out, y))
    w = make.normal((n * channels, width), "bfloat16", (n * channels) ** -0.5)
    bias = make.normal((width,), "float32")
    return Call(run=lambda: tilegym.ops.mhc_gemm_rms_scale(x, w, n, 0.1, 0.1, 0.1, bias), inputs=(x, w, bias))


def _mla(make: Maker, batch: int, heads: int, length: int, head_dim: int, pe_dim: int, dtype: str) -> Call:
    q, k, v = (make.normal((batch, heads, length, head_dim), dtype, 0.3) for _ in range(3))
    q_pe = make.normal((batch, heads, length, pe_dim), dtype, 0.3)
    k_pe = make.normal((batch, 1, length, pe_dim), dtype, 0.3)
    scaling = 1 / math.sqrt(head_dim + pe_dim)
    return Call(run=lambda: tilegym.ops.mla(q, k, v, q_pe, k_pe, True, scaling), inputs=(q, k, v, q_pe, k_pe))


def _mla_decoding(make: Maker, batch: int, heads: int, length: int, dtype: str, split: bool = False) -> Call:
    q, q_pe = make.normal((batch, heads, 512), dtype, 0.3), make.normal((batch, heads, 64), dtype, 0.3)
    kv, k_pe = make.normal((batch, length, 512), dtype, 0.3), make.normal((batch, length, 64), dtype, 0.3)
    function = tilegym.ops.mla_decoding_split_kv if split else tilegym.ops.mla_decoding
    scale = 1 / math.sqrt(576)
    return Call(run=lambda: function(q, q_pe, kv, k_pe, scale), inputs=(q, q_pe, kv, k_pe))


def _moe(make: Maker, tokens: int, hidden: int, inner: int, experts: int, top: int, dtype: str) -> Call:
    x = make.normal((tokens, hidden), dtype, 0.5)
    up = make.normal((experts, 2 * inner, hidden), dtype, 0.1)
    down = make.normal((experts, hidden, inner), dtype, 0.1)
    weights = torch.softmax(make.normal((tokens, top), "float32"), -1).to(getattr(torch, dtype))
    ids = make.integers(experts, (tokens, top), "int64")
    from tilegym.ops import fused_moe

    return Call(run=lambda: fused_moe(x, up, down, weights, ids), inputs=(x, up, down, weights, ids))


def _moe_actgrad_bwd(make: Maker, tokens: int, experts: int, hidden: int, inner: int, dtype: str) -> Call:
    gradient, h = make.normal((tokens, hidden), dtype), make.normal((tokens, 2 * inner), dtype)
    down = make.normal((experts, inner, hidden), dtype, 0.1)
    scores = make.uniform((tokens,), "float32")
    offsets = torch.arange(0, tokens + 1, tokens // experts, device="cuda", dtype=torch.int32)
    order = torch.arange(tokens, device="cuda", dtype=torch.int32)
    dh, activated = torch.empty_like(h), torch.empty((tokens, inner), device="cuda", dtype=h.dtype)
    ds = torch.zeros((tokens,), device="cuda", dtype=torch.float32)
    return Call(
        run=lambda: tilegym.ops.moe_actgrad_bwd(
            gradient, h, down, dh, ds, None, None, activated, scores, offsets, order, order, "swiglu", tokens // experts
        ),
        inputs=(gradient, h, down, scores, offsets, order),
        written=(dh, activated),
    )


def _moe_align_block(make: Maker, tokens: int, experts: int, top: int, block: int) -> Call:
    ids = make.integers(experts, (tokens, top))
    from tilegym.ops import moe_align_block_size

    return Call(run=lambda: moe_align_block_size(ids, block, experts), inputs=(ids,))


def _relu(make: Maker, elements: int, dtype: str) -> Call:
    x = make.normal((elements // 4096, 4096), dtype)
    return Call(run=lambda: tilegym.ops.activation.relu(x), inputs=(x,))


def _rms_norm(make: Maker, m: int, n: int, dtype: str, mode: str) -> Call:
    x, weight = make.normal((m, n), dtype), make.normal((n,), dtype)
    return Call(run=lambda: tilegym.ops.rms_norm(x, (n,), weight, 1e-5, mode=mode), inputs=(x, weight))


def _rope(
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


def _silu_and_mul(make: Maker, shape: tuple[int, ...], dtype: str) -> Call:
    x = make.normal(shape, dtype)
    return Call(run=lambda: tilegym.ops.silu_and_mul(x), inputs=(x,))


def _softmax(make: Maker, m: int, n: int, dtype: str, **options: bool) -> Call:
    x = make.normal((m, n), dtype)
    return Call(run=lambda: tilegym.ops.softmax(x, **options), inputs=(x,))


def _sparse_mla(make: Maker, heads: int, queries: int, keys: int, chosen: int, dtype: str) -> Call:
    q, q_pe = make.normal((1, heads, queries, 128), dtype, 0.3), make.normal((1, heads, queries, 64), dtype, 0.3)
    k, v = (make.normal((1, 1, keys, 128), dtype, 0.3) for _ in range(2))
    k_pe = make.normal((1, 1, keys, 64), dtype, 0.3)
    order = make.uniform((1, queries, 1, keys), "float32").argsort(-1)[..., :chosen].to(torch.int32).contiguous()
    order[..., 0] = 0  # each query may attend to at least one key
    return Call(run=lambda: tilegym.ops.sparse_mla(q, k, v, order, q_pe, k_pe), inputs=(q, k, v, order, q_pe, k_pe))


def _splitk_reduce(make: Maker, heads: int, splits: int, keys: int, head_dim: int, dtype: str) -> Call:
    parts = make.normal((1, heads, splits, head_dim), dtype)
    lse = make.normal((1, heads, splits), "float32", 2.0) + 5.0
    out = torch.empty((1, heads, head_dim), device="cuda", dtype=parts.dtype)
    return Call(run=lambda: tilegym.ops.splitk_reduce(parts, lse, out, keys), inputs=(parts, lse), written=(out,))


def _swa_attention(make: Maker, heads: int, length: int, head_dim: int, window: int, dtype: str) -> Call:
    q, k, v = (make.normal((1, heads, length, head_dim), dtype, 0.3) for _ in range(3))
    return Call(run=lambda: tilegym.ops.swa_attention(q, k, v, window, True), inputs=(q, k, v))


def _swiglu(make: Maker, shape: tuple[int, ...], dtype: str) -> Call:
    a, b = (make.normal(shape, dtype) for _ in range(2))
    return Call(run=lambda: tilegym.ops.get_swiglu()(a, b), inputs=(a, b))


def _transpose(make: Maker, m: int, n: int, dtype: str) -> Call:
    x = make.normal((m, n), dtype)
    return Call(run=lambda: tilegym.ops.transpose(x), inputs=(x,))


_CALLS: Mapping[str, Callable[..., Call]] = {
    "attention": _attention,
    "attention_sink": _attention_sink,
    "attention_sink_decode": _attention_sink_decode,
    "attention_variant": _attention_variant,
    "attention_varlen": _attention_varlen,
    "bmm": _bmm,
    "chunk_gated_delta_rule": lambda make, **row: _gated_delta_rule(make, operator="chunk_gated_delta_rule", **row),
    "dropout": _dropout,
    "flash_decode": _flash_decode,
    "fp8_quantization_matmul": _fp8_quantization_matmul,
    "fused_linear_cross_entropy": _fused_linear_cross_entropy,
    "geglu": _geglu,
    "gelu": _gelu,
    "gemma_attention": _gemma_attention,
    "gemma_attention_decode": lambda make, **row: _gemma_attention(make, decode=True, **row),
    "group_gemm": _group_gemm,
    "layer_norm": _layer_norm,
    "layer_norm_legacy": _layer_norm_legacy,
    "linear_gluact_linear": _linear_gluact_linear,
    "mamba2": _mamba2,
    "matmul": _matmul,
    "mhc": _mhc,
    "mla": _mla,
    "mla_decoding": _mla_decoding,
    "mla_decoding_split_kv": lambda make, **row: _mla_decoding(make, split=True, **row),
    "moe": _moe,
    "moe_actgrad_bwd": _moe_actgrad_bwd,
    "moe_align_block": _moe_align_block,
    "recurrent_gated_delta_rule": lambda make, **row: _gated_delta_rule(
        make, operator="recurrent_gated_delta_rule", **row
    ),
    "relu": _relu,
    "rms_norm": _rms_norm,
    "rope": _rope,
    "silu_and_mul": _silu_and_mul,
    "softmax": _softmax,
    "sparse_mla": _sparse_mla,
    "splitk_reduce": _splitk_reduce,
    "swa_attention": _swa_attention,
    "swiglu": _swiglu,
    "transpose": _transpose,
}
