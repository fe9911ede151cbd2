"""The text of `ffi.rs`: a C function for each entry, which launches it on the caller's stream and does not wait.

Nothing is promised of alignment: what cuTile Rust's generated launcher assumes of pointers, sizes and strides it
derives from each call's own arguments.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from tileport_skill.draft.crossing import (
    DESCRIPTOR_CODES,
    Argument,
    ArrayArgument,
    CFunction,
    FixedArgument,
    ScalarArgument,
    generic_from,
)
from tileport_skill.draft.naming import module_name
from tileport_skill.draft.printer import ARGUMENTS, WIDTH
from tileport_skill.emit.mapping import TENSOR_CORES

ELEMENT_IMPORTS = {
    "f16": "cutile::half::f16",
    "bf16": "cutile::half::bf16",
    "f8e5m2": "cuda_core::f8e5m2",
    "f8e4m3fn": "cuda_core::f8e4m3fn",
}
FITS = """\
/// Whether sizes and strides are ones that the kernels can be told of: of 32 bits, and no array empty.
fn fits(array: &TensorDesc, rank: usize) -> bool {
    let most = i64::from(i32::MAX);
    let sizes = array.shape.iter().take(rank);
    let strides = array.strides.iter().take(rank);
    array.ndim as usize == rank
        && sizes
            .zip(strides)
            .all(|(size, stride)| (1..=most).contains(size) && (0..=most).contains(stride))
}
"""
BORROWED = """\
/// The caller's array as a tensor, without owning it.
///
/// # Safety
/// `array` describes a live array of elements of type `E` on device `device_id`, and it `fits`.
unsafe fn borrowed<E: DType>(array: &TensorDesc, device_id: i32) -> ManuallyDrop<Tensor<E>> {
    let axes = 0..array.ndim as usize;
    let shape = axes.clone().map(|axis| array.shape[axis] as i32).collect();
    let strides = axes.map(|axis| array.strides[axis] as i32).collect();
    let (bytes, device) = (array.nbytes(), device_id as usize);
    ManuallyDrop::new(unsafe { Tensor::from_raw_parts(array.ptr, bytes, device, shape, strides) })
}
"""
TENSOR_CORE_TYPE = """\
/// What tensor cores read instead of an element type.
fn tensor_core_type(dtype: &str) -> &str {
    if dtype == "f32" { "tf32" } else { dtype }
}
"""
LAUNCH_ARGUMENTS = (
    *(f"grid_{axis}: i32" for axis in "xyz"),
    "num_cta_in_cga: i32",
    "occupancy: i32",
    "device_id: i32",
    "raw_stream: u64",
)


def print_launcher(operator: str, functions: Sequence[CFunction], *, shared: bool = False) -> str:
    """The whole file. `shared`: `ffi_util.rs` has what launchers of drafts share, by `tileport infra`."""
    parts = [f"// The C functions of {operator}, made by `tileport-skill draft`: one launch each.\n"]
    used = _shared_by(functions)
    parts.append("\n".join(_imports(operator, functions, used if shared else {})) + "\n")
    parts += () if shared else used.values()
    parts += ["\n".join(_function(function)) + "\n" for function in functions]
    return "\n".join(parts)


def _shared_by(functions: Sequence[CFunction]) -> dict[str, str]:
    """What these launchers need that others need too: its name in `ffi_util.rs`, and its text."""
    used = {"fits": FITS}
    if any(not array.pointer for function in functions for array in function.arrays):
        used["borrow_tensor_on as borrowed"] = BORROWED
    if any(one.endswith(TENSOR_CORES) for function in functions for one in function.generics):
        used["tensor_core_type"] = TENSOR_CORE_TYPE
    return used


def _imports(operator: str, functions: Sequence[CFunction], shared: Collection[str]) -> Iterator[str]:
    arrays = [array for function in functions for array in function.arrays]
    dtypes = {dtype for function in functions for found in function.dtypes for dtype in found}
    dtypes |= {array.element for array in arrays}
    yield "use core::ffi::c_void;"
    if not shared and any(not array.pointer for array in arrays):
        yield "use core::mem::ManuallyDrop;"
    yield ""
    if any(array.pointer for array in arrays):
        yield "use cuda_async::device_buffer::DevicePointer;"
    core = sorted(dtype for dtype in dtypes if ELEMENT_IMPORTS.get(dtype, "").startswith("cuda_core"))
    yield f"use cuda_core::{{{', '.join(['Device', 'Stream', *core])}}};"
    half = sorted(dtype for dtype in dtypes if ELEMENT_IMPORTS.get(dtype, "").startswith("cutile::half"))
    if half:
        yield f"use cutile::half::{_braced(half)};"
    yield "use cutile::prelude::*;"
    yield "use cutile::tile_kernel::{CompileOptions, TileKernel};"
    yield ""
    yield f"use crate::ffi_util::{{{', '.join(sorted(['TensorDesc', 'rc', *shared]))}}};"
    entries = sorted(function.entry for function in functions)
    yield from _listed(f"use {module_name(operator)}::", entries)


def _braced(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{{{', '.join(names)}}}"


def _listed(head: str, names: Sequence[str]) -> Iterator[str]:
    flat = f"{head}{_braced(names)};"
    if len(flat) <= WIDTH:
        yield flat
        return
    yield f"{head}{{"
    line = "   "
    for name in names:  # rustfmt fills the lines of a list of imports
        if len(f"{line} {name},") > WIDTH:
            yield line
            line = "   "
        line += f" {name},"
    yield line
    yield "};"


def _function(function: CFunction) -> Iterator[str]:
    yield f"/// Queues `{function.entry}` on `raw_stream`, and does not wait for it."
    yield "///"
    yield "/// A `num_cta_in_cga` or an `occupancy` of -1 leaves the choice to the compiler."
    yield "///"
    yield "/// # Safety"
    yield "/// The descriptors describe live arrays of device `device_id` that outlive the work on `raw_stream`,"
    yield f"/// and that are as `{function.entry}` demands."
    yield "#[unsafe(no_mangle)]"
    yield f'pub unsafe extern "C" fn {function.symbol}('
    yield from (f"    {parameter}," for parameter in (*map(_parameter, function.arguments), *LAUNCH_ARGUMENTS))
    yield ") -> i32 {"
    yield from (f"    {line}" if line else "" for line in _body(function))
    yield "}"


def _parameter(argument: Argument) -> str:
    match argument:
        case ArrayArgument():
            return f"{argument.name}: *const TensorDesc"
        case ScalarArgument() | FixedArgument():
            return f"{argument.name}: {'i32' if argument.type == 'bool' else argument.type}"


def _body(function: CFunction) -> Iterator[str]:
    names = [array.name for array in function.arrays]
    bound = names[0] if len(names) == 1 else f"({', '.join(names)})"
    flat = f"let {bound} = crate::deref_descs!({', '.join(names)});"
    if len(flat) + 4 <= WIDTH:
        yield flat
    else:
        yield f"let {bound} ="
        yield f"    crate::deref_descs!({', '.join(names)});"
    for condition, code in _refusals(function):
        yield from (f"if {condition} {{", f"    return rc::{code};", "}")
    for generic in function.types:
        yield f"let {_dtype(generic)}: &'static str = crate::resolve_dtype!({_first(function, generic).name});"
    yield "crate::setup_device_stream!(device, stream, device_id, raw_stream);"
    yield ""
    if not function.types:
        yield from _launch(function)
        return
    yield "macro_rules! launch {"
    yield f"    ({', '.join(f'${generic}:ty' for generic in function.types)}) => {{{{"
    yield from (f"        {line}" for line in _launch(function))
    yield "    }};"
    yield "}"
    yield ""
    yield from _dispatch(function)


def _refusals(function: CFunction) -> Iterator[tuple[str, str]]:
    for array in function.arrays:
        last = f" || {array.name}.strides[{array.rank - 1}] != 1" if array.dense and array.rank else ""
        yield f"!fits({array.name}, {array.rank}){last}", "INVALID_ARGS"
    yield "grid_x < 1 || grid_y < 1 || grid_z < 1", "INVALID_ARGS"
    for array in function.arrays:
        if array.element in DESCRIPTOR_CODES:
            yield f"{array.name}.dtype != {DESCRIPTOR_CODES[array.element]}", "UNSUPPORTED_DTYPE"
        elif (first := _first(function, array.element)) is not array:
            yield f"{array.name}.dtype != {first.name}.dtype", "UNSUPPORTED_DTYPE"


def _first(function: CFunction, generic: str) -> ArrayArgument:
    return next(array for array in function.arrays if array.element == generic)


def _dtype(generic: str) -> str:
    """The variable that holds the name of a generic's type."""
    return "dtype" if generic == "E" else f"dtype_{generic.lower()}"


def _launch(function: CFunction) -> Iterator[str]:
    indent = 12 if function.types else 4
    for array in function.arrays:
        if not array.pointer:
            yield f"let {array.name} = unsafe {{ borrowed::<{_element(array)}>({array.name}, device_id) }};"
    generics = [_generic(one, function) for one in function.generics]
    if generics:
        yield from _filled("let generics = vec![", generics, "];")
    yield "let options = crate::compile_options!(occupancy, num_cta_in_cga);"
    yield from _call(function.entry, list(_passed(function.arguments)), indent)
    yield "let kernel = kernel"
    if generics:
        yield "    .generics(generics)"
    yield "    .grid((grid_x as u32, grid_y as u32, grid_z as u32))"
    yield "    .compile_options(options);"
    yield "match unsafe { kernel.async_on(&stream) } {"
    yield "    Ok(_) => rc::OK,"
    yield "    Err(error) => {"
    says = f'"{function.symbol}: {{error:?}}"'
    if len(f"eprintln!({says});") + indent + 8 <= WIDTH:
        yield f"        eprintln!({says});"
    else:
        yield from ("        eprintln!(", f"            {says}", "        );")
    yield "        rc::LAUNCH_FAILED"
    yield "    }"
    yield "}"


def _filled(head: str, items: Sequence[str], end: str) -> Iterator[str]:
    """On one line if rustfmt would have it so."""
    if len(flat := ", ".join(items)) <= ARGUMENTS:
        yield f"{head}{flat}{end}"
        return
    yield head
    yield from (f"    {item}," for item in items)
    yield end


def _call(entry: str, arguments: Sequence[str], indent: int) -> Iterator[str]:
    call = list(_filled(f"{entry}(", arguments, ")"))
    if len(call) == 1 and len(flat := f"let kernel = unsafe {{ {call[0]} }};") + indent <= WIDTH:
        yield flat
        return
    yield "let kernel = unsafe {"
    yield from (f"    {line}" for line in call)
    yield "};"


def _element(array: ArrayArgument) -> str:
    return array.element if array.element in DESCRIPTOR_CODES else f"${array.element}"


def _passed(arguments: Iterable[Argument]) -> Iterator[str]:
    for one in arguments:
        match one:
            case ArrayArgument(pointer=True):
                yield f"DevicePointer::<{_element(one)}>::from_cu_deviceptr({one.name}.ptr)"
                yield from (f"{one.name}.dim({axis})" for axis in range(one.rank))
                yield from (f"{one.name}.strides[{axis}] as i32" for axis in range(one.rank))
            case ArrayArgument():
                yield f"&*{one.name}"
            case ScalarArgument(type="bool"):
                yield f"{one.name} != 0"
            case ScalarArgument():
                yield one.name


def _generic(generic: str, function: CFunction) -> str:
    source = generic_from(generic, function)
    if isinstance(source, str):
        dtype = _dtype(source)
        return f"{dtype}.to_string()" if source == generic else f"tensor_core_type({dtype}).to_string()"
    match source.type:
        case "f32":
            return f"({source.name}.to_bits() as i32).to_string()"
        case "bool":
            return f"({source.name} != 0).to_string()"
        case _:
            return f"{source.name}.to_string()"


def _dispatch(function: CFunction) -> Iterator[str]:
    """Only what was captured is dispatched to: nothing is known of the kernel for other element types."""
    if len(function.types) == 1:
        dtypes = ", ".join(found for (found,) in function.dtypes)
        yield f"crate::dispatch_by_dtype!({_dtype(function.types[0])}, launch, {dtypes})"
        return
    yield f"match ({', '.join(map(_dtype, function.types))}) {{"
    for found in function.dtypes:
        names = ", ".join(f'"{dtype}"' for dtype in found)
        yield f"    ({names}) => launch!({', '.join(found)}),"
    yield "    _ => rc::UNSUPPORTED_DTYPE,"
    yield "}"
