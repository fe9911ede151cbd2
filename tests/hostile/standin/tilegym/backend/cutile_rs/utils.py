"""The library, whose entries compute with torch and refuse what the port's `ffi.rs` refuses."""

from types import SimpleNamespace

import torch

LAUNCHES = []
"""Names of the entries called."""
_INVALID = -6


def _silu_and_mul(output, input, tile_size, num_ctas, occupancy, device, stream):
    hidden = output.shape[-1]
    if output.dim() != 2 or input.dim() != 2 or tile_size < hidden or hidden < 1 or output.shape[0] < 1:
        return _INVALID
    if input.shape[1] != 2 * hidden or output.dtype != input.dtype:
        return _INVALID
    LAUNCHES.append("silu_and_mul_row_wise")
    wide = input.detach()[: output.shape[0]].float()
    output.detach().copy_(torch.nn.functional.silu(wide[:, :hidden]) * wide[:, hidden:])
    return 0


def _silu_and_mul_backward(grad_output, input, grad_a, grad_b, tile_size, num_ctas, occupancy, device, stream):
    hidden = grad_output.shape[-1]
    if input.dim() != 2 or input.shape[0] < 1 or {t.shape for t in (grad_a, grad_b)} != {grad_output.shape}:
        return _INVALID
    LAUNCHES.append("silu_and_mul_backward_row_wise")
    wide, grad = input.detach().float(), grad_output.detach().float()
    gate, value = wide[:, :hidden].clone(), wide[:, hidden:].clone()
    sigmoid = torch.sigmoid(gate)
    grad_b.detach().copy_(grad * gate * sigmoid)
    grad_a.detach().copy_(grad * value * sigmoid * (1 + gate * (1 - sigmoid)))
    return 0


def bind_kernel_function_cffi(kernel, cdef):
    return None, SimpleNamespace(cutile_silu_and_mul=_silu_and_mul, cutile_silu_and_mul_backward=_silu_and_mul_backward)


def make_tensor_desc(ffi, tensor):
    return tensor


def next_power_of_2(number):
    return 1 << (number - 1).bit_length()


def check_rc(code, function):
    if code:
        raise RuntimeError(f"{function} failed (rc={code})")
