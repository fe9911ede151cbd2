"""Opens the one library of all ports, and describes tensors to it."""

import os
from pathlib import Path

from cffi import FFI

_DESCRIPTOR = """
typedef struct { uint64_t ptr; int32_t ndim; int64_t shape[5]; int64_t strides[5]; int32_t dtype; } TensorDesc;
"""
_CODES = {"float32": 0, "float16": 1, "bfloat16": 2, "int32": 3, "int64": 4}
_OPENED = {}


def bind_kernel_function_cffi(kernel, cdef):
    if kernel not in _OPENED:
        ffi = FFI()
        ffi.cdef(_DESCRIPTOR + cdef)
        release = Path(os.environ["CUTILE_RS_KERNELS_DIR"], "target", "release")
        _OPENED[kernel] = ffi, ffi.dlopen(str(release / "libcutile_kernels.so"))
    return _OPENED[kernel]


def make_tensor_desc(ffi, tensor):
    description = ffi.new("TensorDesc *")
    description.ptr, description.ndim = tensor.data_ptr(), tensor.dim()
    for axis in range(tensor.dim()):
        description.shape[axis], description.strides[axis] = int(tensor.shape[axis]), int(tensor.stride(axis))
    description.dtype = _CODES[str(tensor.dtype).removeprefix("torch.")]
    return description


def next_power_of_2(number):
    return 1 << (number - 1).bit_length()


def check_rc(code, function):
    if code:
        raise RuntimeError(f"{function} failed (rc={code})")
