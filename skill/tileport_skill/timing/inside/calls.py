"""How each operator is called on a row of `rows.toml`. READ FIRST of the calls; attention_calls.py holds the rest.

Every function takes a `Maker` and the row's arguments. The call it returns goes through TileGym's dispatcher, so that
the same call runs on whichever backend is set.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import tilegym
import torch
from tilegym.backend import set_backend as set_backend

from tileport_skill.timing.inside import attention_calls
from tileport_skill.timing.inside.inputs import Call, Maker

Outputs = tuple[torch.Tensor, ...]


def call_of(operator: str, arguments: Mapping[str, Any], seed: int) -> Call:
    """The call of one row. Raises `KeyError` for an operator without a function here."""
    return _CALLS[operator](Maker(seed), **arguments)


def outputs_of(call: Call, returned: object) -> Outputs:
    """All tensors a call returned or wrote."""
    parts = returned if isinstance(returned, (tuple, list)) else (returned,)
    return (*[part for part in parts if isinstance(part, torch.Tensor)], *call.written)


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


def _dropout(make: Maker, elements: int, p: float, dtype: str) -> Call:
    x = make.uniform((elements,), dtype)
    return Call(run=lambda: tilegym.ops.dropout(x, 1234, p, True, False), inputs=(x,))


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


def _matmul(make: Maker, m: int, n: int, k: int, dtype: str, persistent: bool | None = None) -> Call:
    """Without `persistent` the choice of kernel is left open."""
    a, b = make.normal((m, k), dtype), make.normal((k, n), dtype)
    options = {} if persistent is None else {"static_persistent": persistent}
    return Call(run=lambda: tilegym.ops.matmul(a, b, use_tma=True, **options), inputs=(a, b))


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


def _moe(make: Maker, tokens: int, hidden: int, inner: int, experts: int, top: int, dtype: str) -> Call:
    x = make.normal((tokens, hidden), dtype, 0.5)
    up = make.normal((experts, 2 * inner, hidden), dtype, 0.1)
    down = make.normal((experts, hidden, inner), dtype, 0.1)
    weights = torch.softmax(make.normal((tokens, top), "float32"), -1).to(getattr(torch, dtype))
    ids = make.integers(experts, (tokens, top), "int64")
    from tilegym.ops.moe_interface import fused_moe

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
    from tilegym.ops.moe_interface import moe_align_block_size

    return Call(run=lambda: moe_align_block_size(ids, block, experts), inputs=(ids,))


def _relu(make: Maker, elements: int, dtype: str) -> Call:
    x = make.normal((elements // 4096, 4096), dtype)
    return Call(run=lambda: tilegym.ops.activation.relu(x), inputs=(x,))


def _rms_norm(make: Maker, m: int, n: int, dtype: str, **options: str) -> Call:
    """Without a `mode` the choice of kernel is left open."""
    x, weight = make.normal((m, n), dtype), make.normal((n,), dtype)
    return Call(run=lambda: tilegym.ops.rms_norm(x, (n,), weight, 1e-5, **options), inputs=(x, weight))


def _silu_and_mul(make: Maker, shape: tuple[int, ...], dtype: str) -> Call:
    x = make.normal(shape, dtype)
    return Call(run=lambda: tilegym.ops.silu_and_mul(x), inputs=(x,))


def _softmax(make: Maker, m: int, n: int, dtype: str, **options: bool) -> Call:
    x = make.normal((m, n), dtype)
    return Call(run=lambda: tilegym.ops.softmax(x, **options), inputs=(x,))


def _swiglu(make: Maker, shape: tuple[int, ...], dtype: str) -> Call:
    a, b = (make.normal(shape, dtype) for _ in range(2))
    return Call(run=lambda: tilegym.ops.get_swiglu()(a, b), inputs=(a, b))


def _transpose(make: Maker, m: int, n: int, dtype: str) -> Call:
    x = make.normal((m, n), dtype)
    return Call(run=lambda: tilegym.ops.transpose(x), inputs=(x,))


_CALLS: Mapping[str, Callable[..., Call]] = {
    "attention": attention_calls.attention,
    "attention_sink": attention_calls.attention_sink,
    "attention_sink_decode": attention_calls.attention_sink_decode,
    "attention_variant": attention_calls.attention_variant,
    "attention_varlen": attention_calls.attention_varlen,
    "bmm": _bmm,
    "chunk_gated_delta_rule": lambda make, **row: attention_calls.gated_delta_rule(
        make, operator="chunk_gated_delta_rule", **row
    ),
    "dropout": _dropout,
    "flash_decode": attention_calls.flash_decode,
    "fp8_quantization_matmul": _fp8_quantization_matmul,
    "fused_linear_cross_entropy": _fused_linear_cross_entropy,
    "geglu": _geglu,
    "gelu": _gelu,
    "gemma_attention": attention_calls.gemma_attention,
    "gemma_attention_decode": lambda make, **row: attention_calls.gemma_attention(make, decode=True, **row),
    "group_gemm": _group_gemm,
    "layer_norm": _layer_norm,
    "layer_norm_legacy": _layer_norm_legacy,
    "linear_gluact_linear": _linear_gluact_linear,
    "mamba2": attention_calls.mamba2,
    "matmul": _matmul,
    "mhc": _mhc,
    "mla": attention_calls.mla,
    "mla_decoding": attention_calls.mla_decoding,
    "mla_decoding_split_kv": lambda make, **row: attention_calls.mla_decoding(make, split=True, **row),
    "moe": _moe,
    "moe_actgrad_bwd": _moe_actgrad_bwd,
    "moe_align_block": _moe_align_block,
    "recurrent_gated_delta_rule": lambda make, **row: attention_calls.gated_delta_rule(
        make, operator="recurrent_gated_delta_rule", **row
    ),
    "relu": _relu,
    "rms_norm": _rms_norm,
    "rope": attention_calls.rope,
    "silu_and_mul": _silu_and_mul,
    "softmax": _softmax,
    "sparse_mla": attention_calls.sparse_mla,
    "splitk_reduce": attention_calls.splitk_reduce,
    "swa_attention": attention_calls.swa_attention,
    "swiglu": _swiglu,
    "transpose": _transpose,
}
