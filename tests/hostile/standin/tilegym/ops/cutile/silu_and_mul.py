"""A reference with the names that the hostile ports reach for."""

from types import SimpleNamespace

import torch

from tilegym.backend import register_impl

LAUNCHES = []
_SILU_OCCUPANCY_CONFIGS = tuple(SimpleNamespace(occupancy=occupancy) for occupancy in (None, 1, 2))


class _Kernel:
    def __init__(self, **hints):
        self._pyfunc, self._compiler_options = _compute, hints

    def replace_hints(self, **hints):
        return _Kernel(**hints)


def _compute(rows, output, tile_size, hidden):
    output.copy_(torch.nn.functional.silu(rows[:, :hidden]) * rows[:, hidden:])


def _launch(stream, grid, kernel, arguments):
    LAUNCHES.append(kernel)
    kernel._pyfunc(*[a.detach() if isinstance(a, torch.Tensor) else a for a in arguments])


ct = SimpleNamespace(launch=_launch)
_silu_and_mul_kernel_row_wise = _Kernel()


def _silu_autotune_settings(tile_size, dtype, device):
    return _SILU_OCCUPANCY_CONFIGS, {}


def _silu_and_mul_forward(rows, output, hidden):
    _silu_autotune_settings(hidden, rows.dtype, rows.device)
    ct.launch(None, (rows.shape[0],), _silu_and_mul_kernel_row_wise, (rows, output, hidden, hidden))


class _SiLUAndMulFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        hidden = input.shape[-1] // 2
        output = torch.empty((*input.shape[:-1], hidden), dtype=input.dtype, device=input.device)
        _silu_and_mul_forward(input.view(-1, 2 * hidden), output.view(-1, hidden), hidden)
        return output

    @staticmethod
    def backward(ctx, grad_output):
        LAUNCHES.append("backward")
        (input,) = ctx.saved_tensors
        hidden = grad_output.shape[-1]
        gate, value = input[..., :hidden], input[..., hidden:]
        sigmoid = torch.sigmoid(gate)
        grad_gate = grad_output * value * sigmoid * (1 + gate * (1 - sigmoid))
        return torch.cat([grad_gate, grad_output * gate * sigmoid], dim=-1)


@register_impl("silu_and_mul", backend="cutile")
def silu_and_mul(input, out=None):
    return _SiLUAndMulFunction.apply(input.contiguous())
