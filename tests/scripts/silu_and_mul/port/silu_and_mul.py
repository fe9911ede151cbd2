"""silu_and_mul on cuTile Rust: silu(input[..., :hidden]) * input[..., hidden:].

Forward only. An input that needs a gradient is refused rather than detached, so that no training step loses one
silently.
"""

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
"""
_DTYPES = (torch.float32, torch.float16, torch.bfloat16)
_AUTO = -1
# The reference's tuning space. Its hint num_worker_warps has no word in cuTile Rust 0.2.0.
_OCCUPANCIES = (_AUTO, 1, 2, 4, 8, 12, 16)


def _configurations(tile_bytes: int, device: torch.device) -> list[SimpleNamespace]:
    """Rows of more than 8 KiB take two CTAs from Hopper on, as in the reference."""
    large = tile_bytes > 8192 and torch.cuda.get_device_capability(device)[0] >= 9
    return [SimpleNamespace(num_ctas=2 if large else 1, occupancy=occupancy) for occupancy in _OCCUPANCIES]


def _launch(
    output: torch.Tensor, rows: torch.Tensor, tile_size: int, num_ctas: int, occupancy: int
) -> torch.Tensor:
    ffi, library = bind_kernel_function_cffi("silu_and_mul", _CDEF)
    device = output.device
    code = library.cutile_silu_and_mul(
        make_tensor_desc(ffi, output),
        make_tensor_desc(ffi, rows),
        tile_size,
        num_ctas,
        occupancy,
        torch.cuda.current_device() if device.index is None else device.index,
        torch.cuda.current_stream(device).cuda_stream,
    )
    check_rc(code, "cutile_silu_and_mul")
    return output


@register_impl("silu_and_mul", backend="cutile-rs")
def silu_and_mul(input: torch.Tensor, out: torch.Tensor | None = None, **_unused: object) -> torch.Tensor:
    """The result has the shape (..., hidden) of an input (..., 2 * hidden); with `out` given it is written there."""
    if input.requires_grad:
        raise NotImplementedError("cutile-rs silu_and_mul is forward only; detach the input to use it")
    if input.dtype not in _DTYPES:
        raise NotImplementedError(f"cutile-rs silu_and_mul: {input.dtype} is not supported")
    hidden = input.shape[-1] // 2
    shape = (*input.shape[:-1], hidden)
    if out is not None and tuple(out.shape) != shape:
        raise ValueError(f"Output tensor shape {tuple(out.shape)} does not match expected shape {shape}")
    input = input.contiguous()
    rows = input.view(-1, input.shape[-1])
    target = None if out is None or not out.is_contiguous() else out.view(-1, hidden)

    def run(configuration: SimpleNamespace) -> torch.Tensor:
        output = target
        if output is None:
            output = torch.empty((rows.shape[0], hidden), dtype=input.dtype, device=input.device)
        return _launch(output, rows, tile_size, configuration.num_ctas, configuration.occupancy)

    tile_size = next_power_of_2(hidden)
    if is_autotune_disabled():
        result = run(SimpleNamespace(num_ctas=_AUTO, occupancy=_AUTO))
    else:
        result = autotune_launch(
            kernel_fn=run,
            configs=_configurations(tile_size * input.dtype.itemsize, input.device),
            key=(hidden, input.dtype, str(input.device)),
            kernel_name="silu_and_mul",
        ).output
    if out is None:
        return result.view(shape)
    if target is None:
        out.copy_(result.view(shape))
    return out
