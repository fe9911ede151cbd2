"""silu_and_mul on cuTile Rust: silu(input[..., :hidden]) * input[..., hidden:], and its gradient."""

from types import SimpleNamespace

import torch

from tilegym.autotune import is_autotune_disabled
from tilegym.backend import register_impl
from tilegym.backend.cutile_rs.autotuner import autotune_launch
from tilegym.backend.cutile_rs.utils import bind_kernel_function_cffi
from tilegym.backend.cutile_rs.utils import check_rc
from tilegym.backend.cutile_rs.utils import make_tensor_desc
from tilegym.backend.cutile_rs.utils import next_power_of_2

_CDEF = """
int32_t cutile_silu_and_mul(
    const TensorDesc* output, const TensorDesc* input,
    int32_t tile_size, int32_t num_cta_in_cga, int32_t occupancy,
    int32_t device_id, uint64_t raw_stream);
int32_t cutile_silu_and_mul_backward(
    const TensorDesc* grad_output, const TensorDesc* input, const TensorDesc* grad_a, const TensorDesc* grad_b,
    int32_t tile_size, int32_t num_cta_in_cga, int32_t occupancy,
    int32_t device_id, uint64_t raw_stream);
"""
_DTYPES = (torch.float32, torch.float16, torch.bfloat16)
_AUTO = -1
# The reference's tuning space. Its hint num_worker_warps has no word in cuTile Rust 0.2.0.
_OCCUPANCIES = (_AUTO, 1, 2, 4, 8, 12, 16)


def _configurations(tile_bytes: int, device: torch.device) -> list[SimpleNamespace]:
    """Rows of more than 8 KiB take two CTAs from Hopper on, as in the reference."""
    large = tile_bytes > 8192 and torch.cuda.get_device_capability(device)[0] >= 9
    return [SimpleNamespace(num_ctas=2 if large else 1, occupancy=occupancy) for occupancy in _OCCUPANCIES]


def _call(function: str, tensors: tuple[torch.Tensor, ...], tile_size: int, num_ctas: int, occupancy: int) -> None:
    ffi, library = bind_kernel_function_cffi("silu_and_mul", _CDEF)
    device = tensors[0].device
    code = getattr(library, function)(
        *[make_tensor_desc(ffi, tensor) for tensor in tensors],
        tile_size,
        num_ctas,
        occupancy,
        torch.cuda.current_device() if device.index is None else device.index,
        torch.cuda.current_stream(device).cuda_stream,
    )
    check_rc(code, function)


def _launch(function: str, tensors: tuple[torch.Tensor, ...], hidden: int) -> None:
    """One launch; with autotuning the fastest configuration of earlier calls with rows of this size and type."""
    tile_size = next_power_of_2(hidden)
    if is_autotune_disabled():
        _call(function, tensors, tile_size, _AUTO, _AUTO)
        return
    dtype, device = tensors[0].dtype, tensors[0].device

    def run(configuration: SimpleNamespace) -> torch.Tensor:
        _call(function, tensors, tile_size, configuration.num_ctas, configuration.occupancy)
        return tensors[-1]

    autotune_launch(
        kernel_fn=run,
        configs=_configurations(tile_size * dtype.itemsize, device),
        key=(function, hidden, dtype, str(device)),
        kernel_name=function,
    )


def _forward(input: torch.Tensor, out: torch.Tensor | None) -> torch.Tensor:
    hidden = input.shape[-1] // 2
    rows = input.view(-1, input.shape[-1])
    output = out
    if output is None:
        output = torch.empty((rows.shape[0], hidden), dtype=input.dtype, device=input.device)
    _launch("cutile_silu_and_mul", (output.view(-1, hidden), rows), hidden)
    return output.view(*input.shape[:-1], hidden)


class _SiluAndMul(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(input)
        return _forward(input, None)

    @staticmethod
    def backward(ctx, grad_output: torch.Tensor) -> torch.Tensor:
        (input,) = ctx.saved_tensors
        hidden = grad_output.shape[-1]
        grad_rows = grad_output.contiguous().view(-1, hidden)
        rows = input.contiguous().view(-1, input.shape[-1])
        grad_a, grad_b = torch.empty_like(grad_rows), torch.empty_like(grad_rows)
        _launch("cutile_silu_and_mul_backward", (grad_rows, rows, grad_a, grad_b), hidden)
        return torch.cat([grad_a.view(grad_output.shape), grad_b.view(grad_output.shape)], dim=-1)


@register_impl("silu_and_mul", backend="cutile-rs")
def silu_and_mul(input: torch.Tensor, out: torch.Tensor | None = None, **_unused: object) -> torch.Tensor:
    """The result has the shape (..., hidden) of an input (..., 2 * hidden); with `out` given it is written there."""
    if input.dtype not in _DTYPES:
        raise NotImplementedError(f"cutile-rs silu_and_mul: {input.dtype} is not supported")
    input = input.contiguous()
    if input.requires_grad:
        if out is not None:
            raise ValueError("out parameter not supported when requires_grad=True")
        return _SiluAndMul.apply(input)
    shape = (*input.shape[:-1], input.shape[-1] // 2)
    if out is None:
        return _forward(input, None)
    if tuple(out.shape) != shape:
        raise ValueError(f"Output tensor shape {tuple(out.shape)} does not match expected shape {shape}")
    if out.is_contiguous():
        return _forward(input, out)
    out.copy_(_forward(input, None))
    return out
