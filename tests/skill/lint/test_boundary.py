"""The sides of the C boundary are read and held against each other: each way to differ is found, and only that."""

from __future__ import annotations

import pytest
from tests.skill.lint.test_rules import found

WRAPPER = '''
_CDEF = """
int32_t cutile_k(
    const TensorDesc* out, const TensorDesc* x, int32_t tile, int32_t rows, float scale, int32_t device_id,
    uint64_t raw_stream);
"""


def run(out, x, tile, rows, scale):
    ffi, lib = bind_kernel_function_cffi("k", _CDEF)
    described = make_tensor_desc(ffi, x)
    check_rc(lib.cutile_k(make_tensor_desc(ffi, out), described, int(tile), int(rows), float(scale), 0, 1), "k")
'''
DRAFTED = '''
_CDEF = """
int32_t cutile_k(const TensorDesc* x, int32_t tile, int32_t grid_x, int32_t grid_y, int32_t grid_z, int32_t device_id);
"""


def _launch(stream, grid, kernel, args):
    name, crossing = kernel.crossing(*args)
    code = getattr(library, name)(*[one for one in crossing], *(*grid, 1, 1)[:3], 0)


def _k(x, TILE):
    return "cutile_k", (x, TILE)
'''
LAUNCHER = """
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cutile_k(
    out: *const TensorDesc, x: *const TensorDesc, tile: i32, rows: i32, scale: f32, device_id: i32, raw_stream: u64,
) -> i32 {
    let (out, x) = crate::deref_descs!(out, x);
    let dtype = crate::resolve_dtype!(x);
    macro_rules! launch {
        ($E:ty) => {{
            let generics = vec![dtype.to_string(), tile.to_string(), rows.to_string()];
            let kernel = unsafe { copy(DevicePointer::<$E>::from_cu_deviceptr(out.ptr), x, scale) };
            match unsafe { kernel.generics(generics).async_on(&stream) } { Ok(_) => 0, Err(_) => -3 }
        }};
    }
    crate::dispatch_by_dtype!(dtype, launch, f32, f16)
}
"""
KERNEL = """
#[cutile::module]
pub mod m {
    #[cutile::entry()]
    pub unsafe fn copy<E: ElementType, const TILE: i32, const ROWS: i32>(out: *mut E, x: *mut E, scale: f32) {}
}
"""
PORT = {"wrapper": WRAPPER, "launcher": LAUNCHER, "kernel": KERNEL}


def test_a_port_whose_sides_agree_breaks_nothing() -> None:
    assert found(PORT) == []
    assert found({"wrapper": DRAFTED}) == []


@pytest.mark.parametrize(
    ("part", "old", "new", "says"),
    [
        ("wrapper", "int32_t rows, float scale", "float scale, int32_t rows", "parameter 4 of `cutile_k`"),
        ("wrapper", "int32_t tile,", "int64_t tile,", "is `tile: i64` in C and `tile: i32` in Rust"),
        ("wrapper", "const TensorDesc* x", "TensorDesc* x", "`x: *mutTensorDesc` in C"),
        ("wrapper", "uint64_t raw_stream", "int32_t raw_stream", "`raw_stream: i32` in C"),
        ("wrapper", "int32_t cutile_k(", "int64_t cutile_k(", "returns i64 in C and i32 in Rust"),
        ("wrapper", "int32_t device_id,\n", "", "has 6 parameters in C and 7 in Rust"),
        ("wrapper", "int32_t cutile_k(", "int32_t cutile_other(", "exported by no launcher"),
        ("wrapper", "lib.cutile_k(", "lib.cutile_other(", "is called and not declared"),
        ("wrapper", "int(tile), int(rows)", "int(rows), int(tile)", "gets `rows` where it is declared to take `tile`"),
        ("wrapper", "float(scale), 0, 1", "float(scale), 0", "takes 7 arguments and is called with 6"),
        ("wrapper", "described, int(tile)", "int(tile), described", "`x: *constTensorDesc` of `cutile_k` is called"),
        ("wrapper", "int(rows), float(scale)", "float(scale), int(rows)", "is called with a float"),
        ("wrapper", "int32_t tile, ", "int32_t tile ", "cannot be read"),
        ("launcher", "tile.to_string(), rows", "rows.to_string(), tile", "gets `rows` as its generic `TILE`"),
        ("launcher", ", rows.to_string()]", "]", "has 3 generics and is given 2"),
        ("launcher", "tile.to_string(), ", "dtype.to_string(), ", "gets an element type as its number `TILE`"),
        ("launcher", "(out.ptr), x, scale)", "(out.ptr), scale)", "takes 3 arguments and is given 2"),
        ("launcher", ", x, scale)", ", scale, x)", "gets `scale` where it takes `x`"),
        ("launcher", ".generics(generics)", "", "is launched without its generics"),
    ],
)
def test_where_two_sides_differ_it_is_said(part: str, old: str, new: str, says: str) -> None:
    text = PORT[part]  # type: ignore[literal-required]
    assert old in text
    changed = found({**PORT, part: text.replace(old, new, 1)})  # type: ignore[dict-item]
    assert {one.rule for one in changed} == {"boundary-agrees"}
    assert any(says in one.message for one in changed), [one.message for one in changed]


def test_a_drafted_launch_is_counted_too() -> None:
    (one,) = found({"wrapper": DRAFTED.replace('"cutile_k", (x, TILE)', '"cutile_k", (x, TILE, TILE)')})
    assert "takes 6 arguments and is called with 7" in one.message
    (one,) = found(
        {"wrapper": DRAFTED.replace("int32_t tile", "int32_t size").replace("int32_t grid_x", "int32_t tile")}
    )
    assert "gets `tile` where it is declared to take `size`" in one.message
