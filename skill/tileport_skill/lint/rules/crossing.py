"""What holds between the files of a port: what one declares another calls, what one includes nobody copies."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tileport_skill.lint.boundary import disagreements
from tileport_skill.lint.records import Hit, Port, Rule
from tileport_skill.lint.rules.kernel import module
from tileport_skill.lint.rules.reading import calls, nodes
from tileport_skill.lint.rust_tree import (
    arguments,
    called,
    entries,
    generics,
    line_of,
    parameters,
    squeezed,
    text_of,
    walk,
)

_SCALARS = frozenset({"i32", "i64", "u32", "u64", "f32", "f64", "bool"})


def _one_text(port: Port) -> Iterator[Hit]:
    """`kernel.rs` is included, once, and nobody holds another text of it."""
    library = port.part("library")
    for block in nodes(port, "library", "mod_item"):
        included = re.findall(r'include!\("([^"]+)"\)', squeezed(block))
        for path in {one for one in included if included.count(one) > 1}:
            yield Hit(part="library", line=line_of(block), what=f"`{path}` is included twice")
        kernels = [path for path in included if path.endswith("/kernel.rs")]
        if kernels and kernels[0].replace("kernel.rs", "ffi.rs") not in included:
            yield Hit(part="library", line=line_of(block), what=f"`{kernels[0]}` is included without its `ffi.rs`")
    for part in ("launcher", "pipeline"):
        for node in nodes(port, part, "attribute_item"):
            if squeezed(node) == "#[cutile::module]":
                yield Hit(part=part, line=line_of(node), what="a kernel module beside kernel.rs")
    if library is not None and "#[cutile::module]" in library.text.replace(" ", ""):
        yield Hit(part="library", line=1, what="a kernel module beside kernel.rs")


def _pins(port: Port) -> Iterator[Hit]:
    manifest = port.part("manifest")
    if manifest is None:
        return
    found = {}
    for number, line in enumerate(manifest.text.splitlines(), 1):
        pinned = re.match(r"\s*((?:cutile|cuda)-?[\w-]*)\s*=\s*(.+?)\s*(?:#.*)?$", line)
        if pinned and pinned[1] != "cutile_kernels":
            found[pinned[1]] = (number, pinned[2])
    versions = {text for _, text in found.values()}
    for name, (number, text) in found.items():
        if not re.fullmatch(r'"=\d+\.\d+\.\d+"', text) or len(versions) > 1:
            yield Hit(part="manifest", line=number, what=f"`{name} = {text}`")
    if "cutile" in found and "cutile-compiler" not in found:
        yield Hit(
            part="manifest", line=found["cutile"][0], what="`cutile` without `cutile-compiler`, which its macro needs"
        )


def _run_time_constants(port: Port) -> Iterator[Hit]:
    kernel, reference = port.part("kernel"), port.part("reference")
    if kernel is None or reference is None:
        return
    constants: dict[str, set[str]] = {}
    for function in [one for one in ast.walk(reference.module) if isinstance(one, ast.FunctionDef)]:
        if any("kernel" in ast.unparse(one) for one in function.decorator_list):
            for argument in function.args.args:
                if argument.annotation is not None and "Constant" in ast.unparse(argument.annotation):
                    constants.setdefault(function.name.strip("_"), set()).add(argument.arg.lower())
    for entry in entries(kernel.rust):
        name = text_of(entry.child_by_field_name("name"))
        for parameter, kind in parameters(entry):
            if kind in _SCALARS and parameter.lower().lstrip("_") in constants.get(name, ()):
                yield Hit(
                    part="kernel", line=line_of(entry), what=f"`{parameter}` of `{name}` is a constant in the reference"
                )


def _floors(port: Port) -> Iterator[Hit]:
    kernel, reference = port.part("kernel"), port.part("reference")
    if kernel is None or (reference is not None and ("//" in reference.text or "cdiv" not in reference.text)):
        return
    for function in kernel.rust.walk("function_item"):
        constants = {name for name, kind in generics(function) if kind == "const"}
        lets = {text_of(one.child_by_field_name("pattern")): one for one in walk(function, "let_declaration")}
        for loop in walk(function, "for_expression"):
            bounds = [
                text_of(r).rpartition("..")[2].strip("() ")
                for r in walk(loop.child_by_field_name("value") or loop, "range_expression")
            ]
            let = lets.get(bounds[0]) if bounds else None
            divided = (
                re.fullmatch(r"(\w+)/(\w+)", squeezed(let.child_by_field_name("value"))) if let is not None else None
            )
            if let is not None and divided and divided[2] in constants:
                yield Hit(
                    part="kernel",
                    line=line_of(let),
                    what=f"`{divided[0]}` bounds a loop and leaves out the last, partial tile",
                )


def _hard_coded(port: Port) -> Iterator[Hit]:
    kernel, source = port.part("kernel"), port.part("launcher")
    if kernel is None or source is None:
        return
    spread = [text_of(one) for one in source.rust.walk("macro_invocation") if "dispatch_by_dtype!" in text_of(one)]
    many = any(len(one.rpartition(")")[0].rstrip(", \n").split(",")) > 3 for one in spread)
    for entry in entries(kernel.rust) if many else ():
        types = {name for name, kind in generics(entry) if kind == "type"}
        fixed = [
            name for name, kind in parameters(entry) if re.match(r"\*mut(f16|bf16|f32)$|&Tensor<(f16|bf16|f32),", kind)
        ]
        arrays = [name for name, kind in parameters(entry) if kind.startswith(("*mut", "&Tensor"))]
        if arrays and fixed == arrays and not types:
            yield Hit(
                part="kernel",
                line=line_of(entry),
                what=f"`{fixed[0]}` has one element type and the launcher dispatches over several",
            )


def _promises(port: Port) -> Iterator[Hit]:
    source = port.part("launcher")
    checked = source is not None and re.search(r"%\s*\d+|is_multiple_of", source.text)
    kernel = port.part("kernel")
    for entry in entries(kernel.rust) if kernel and not checked else ():
        numbers = {name for name, kind in parameters(entry) if kind in _SCALARS}
        for call in walk(entry, "call_expression"):
            given = [text_of(one) for one in arguments(call)]
            if called(call) == "assume_div_by" and given and given[0] in numbers:
                yield Hit(part="kernel", line=line_of(call), what=f"`{text_of(call)}`")


def _strides(port: Port) -> Iterator[Hit]:
    kernel = port.part("kernel")
    ranks = {}
    for entry in entries(kernel.rust) if kernel else ():
        for name, kind in parameters(entry):
            shape = re.match(r"&Tensor<\w+,\{\[([^\]]*)\]\}>", kind)
            if shape:
                ranks[name] = len(shape[1].split(","))
    for call in calls(port, "pipeline", "strides"):
        for name, listed in re.findall(r'\("(\w+)",&\[([^\]]*)\]\)', squeezed(call)):
            given = len([one for one in listed.split(",") if one])
            if name in ranks and given != ranks[name]:
                yield Hit(
                    part="pipeline",
                    line=line_of(call),
                    what=f"`{name}` has {ranks[name]} axes and is given {given} strides",
                )


_CDEF = '_CDEF = """\nint32_t cutile_k(const TensorDesc* x, int32_t tile, float scale);\n"""\n'
_RUST = (
    '#[unsafe(no_mangle)]\npub unsafe extern "C" fn cutile_k(x: *const TensorDesc, tile: i32, scale: f32) -> i32 {\n'
    "    let (x, y) = crate::deref_descs!(x, x);\n    x.dtype\n}\n"
)

RULES = (
    Rule(
        id="boundary-agrees",
        says="Let C declaration, exported function, the entry's generics and Python's call agree, types included.",
        because="Each compiler sees one side only; what differs is read as another number, or past the end.",
        check=disagreements,
        bad={"wrapper": _CDEF.replace("int32_t tile, float scale", "float scale, int32_t tile"), "launcher": _RUST},
        good={"wrapper": _CDEF, "launcher": _RUST},
        upstream=(35,),
    ),
    Rule(
        id="one-kernel-text",
        says="Include kernel.rs once and with its ffi.rs, and copy it nowhere.",
        because="Only then is what is compared the same text as what is launched.",
        check=_one_text,
        bad={"library": 'mod k {\n    include!("../../k_kernel/kernel.rs");\n}\n'},
        good={
            "library": 'mod k {\n    include!("../../k_kernel/kernel.rs");\n    include!("../../k_kernel/ffi.rs");\n}\n'
        },
        upstream=(17,),
    ),
    Rule(
        id="pin-the-crates",
        says="Pin every crate of cuTile Rust to one exact version, `cutile-compiler` with them.",
        because="The macro looks its compiler up by name, and two versions of it make two different kernels.",
        check=_pins,
        bad={"manifest": '[dependencies]\ncutile = "0.2"\ncutile-compiler = "=0.2.0"\n'},
        good={"manifest": '[dependencies]\ncutile = "=0.2.0"\ncutile-compiler = "=0.2.0"\n'},
        upstream=(33,),
    ),
    Rule(
        id="constants-are-generics",
        says="Make a `ct.Constant` of the reference a const generic, not an argument of the launch.",
        because="The reference is compiled for its value; an argument makes another, slower kernel of it.",
        check=_run_time_constants,
        bad={
            "kernel": module("", "x: *mut E, n: i32"),
            "reference": "@ct.kernel\ndef k(x, N: ct.Constant[int]):\n    pass\n",
        },
        good={
            "kernel": module("", "x: *mut E, m: i32"),
            "reference": "@ct.kernel\ndef k(x, m, N: ct.Constant[int]):\n    pass\n",
        },
        upstream=(23,),
    ),
    Rule(
        id="round-tile-counts-up",
        says="Count tiles by `(n + TILE - 1) / TILE` where the reference counts them by `ct.cdiv`.",
        because="Rounding down leaves out the last tile of every size that is not a multiple.",
        check=_floors,
        bad={"kernel": module("let tiles: i32 = n / N; for j in 0i32..tiles { }")},
        good={"kernel": module("let tiles: i32 = (n + N - 1i32) / N; for j in 0i32..tiles { }")},
        upstream=(45,),
    ),
    Rule(
        id="element-type-is-generic",
        says="Take the data's element type as `<E: ElementType>` if it is launched for more than one.",
        because="A kernel of one type reads the others' bytes as numbers.",
        check=_hard_coded,
        bad={
            "kernel": "#[cutile::entry()]\nunsafe fn k<const N: i32>(x: *mut f32) {}\n",
            "launcher": "fn f() -> i32 {\n    crate::dispatch_by_dtype!(dtype, launch, f32, f16)\n}\n",
        },
        good={
            "kernel": module(""),
            "launcher": "fn f() -> i32 {\n    crate::dispatch_by_dtype!(dtype, launch, f32, f16)\n}\n",
        },
        upstream=(16,),
    ),
    Rule(
        id="promise-what-is-checked",
        says="Promise divisibility of a size or stride only if the launcher checks it.",
        because="A promise that does not hold for some call corrupts its masks.",
        check=_promises,
        bad={"kernel": module("let n: i32 = unsafe { assume_div_by::<_, 16>(n) };")},
        good={"kernel": module("let x: *mut E = unsafe { assume_div_by::<_, 16>(x) };")},
        upstream=(21,),
    ),
    Rule(
        id="strides-of-every-axis",
        says="Give a kernel's Rust test the strides of every axis of a tensor, those that are 1 too.",
        because="The compiler takes them by position; the kernel compiled from fewer is another one.",
        check=_strides,
        bad={
            "kernel": module("", "x: &Tensor<E, { [-1, -1] }>"),
            "pipeline": 'fn t() { c.strides(&[("x", &[64])]); }\n',
        },
        good={
            "kernel": module("", "x: &Tensor<E, { [-1, -1] }>"),
            "pipeline": 'fn t() { c.strides(&[("x", &[64, 1])]); }\n',
        },
        upstream=(11,),
    ),
)
