"""What a launcher owes its caller: nothing owned, nothing waited for, every argument looked at before it is used."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from tileport_skill.lint.records import Hit, Port, Rule
from tileport_skill.lint.rules.reading import calls, nodes
from tileport_skill.lint.rust_tree import (
    arguments,
    attributes,
    called,
    inside,
    line_of,
    parameters,
    squeezed,
    text_of,
    walk,
)

_HINTS = ("occupancy", "num_cta_in_cga", "num_ctas")
_WAITING = ("sync_on", "synchronize", "sync")


def exported(port: Port) -> Iterator[Node]:
    """The launcher's `extern "C"` functions."""
    for function in nodes(port, "launcher", "function_item"):
        if any('extern "C"' in text_of(one) for one in function.children if one.type == "function_modifiers"):
            yield function


def launcher(
    body: str,
    *,
    attribute: str = "#[unsafe(no_mangle)]",
    arguments: str = "x: *const TensorDesc, occupancy: i32, device_id: i32, raw_stream: u64",
) -> str:
    """A launcher file around the body of one function, for examples."""
    return f'{attribute}\npub unsafe extern "C" fn cutile_k({arguments}) -> i32 {{\n    {body}\n    rc::OK\n}}\n'


_OPENED = (
    "let (x, y) = crate::deref_descs!(x, x);\n    let dtype: &'static str = crate::resolve_dtype!(x);\n"
    "    crate::setup_device_stream!(device, stream, device_id, raw_stream);\n"
    "    let options = crate::compile_options!(occupancy, -1);"
)
_LAUNCH = "match unsafe { kernel.async_on(&stream) } { Ok(_) => rc::OK, Err(_) => rc::LAUNCH_FAILED };"


def _hit(node: Node, what: str) -> Hit:
    return Hit(part="launcher", line=line_of(node), what=what)


def _owns(port: Port) -> Iterator[Hit]:
    for call in calls(port, "launcher", "from_raw_parts", "forget", "transmute", "from_raw_parts_mut"):
        if called(call).startswith("from_raw_parts"):
            kept: Node | None = call
            while kept is not None and not (kept.type == "call_expression" and _is_manual(kept)):
                kept = inside(kept, "call_expression", "function_item")
                kept = None if kept is not None and kept.type == "function_item" else kept
            if kept is not None:
                continue
        yield _hit(call, f"`{squeezed(call.child_by_field_name('function'))}(...)`")


def _is_manual(call: Node) -> bool:
    return squeezed(call.child_by_field_name("function")).endswith("ManuallyDrop::new")


def _exports(port: Port) -> Iterator[Hit]:
    for function in exported(port):
        if not any("unsafe(no_mangle)" in squeezed(one) for one in attributes(function)):
            yield _hit(function, f"`{text_of(function.child_by_field_name('name'))}` lacks `#[unsafe(no_mangle)]`")


def _unchecked(port: Port) -> Iterator[Hit]:
    for function in exported(port):
        body = squeezed(function.child_by_field_name("body"))
        guarded = {name for listed in re.findall(r"deref_descs!\(([^)]*)\)", body) for name in listed.split(",")}
        for name, kind in parameters(function):
            if kind.startswith("*") and name not in guarded and f"{name}.is_null()" not in body:
                yield _hit(function, f"`{name}` is not held against null")


def _device(port: Port) -> Iterator[Hit]:
    for call in calls(port, "launcher", "new"):
        name, given = squeezed(call.child_by_field_name("function")), arguments(call)
        if name.endswith("Device::new") and given and given[0].type == "integer_literal":
            yield _hit(call, f"`{text_of(call)}`")


def _dtypes(port: Port) -> Iterator[Hit]:
    """A launcher that names an element type at run time has to take it from a descriptor."""
    for function in exported(port):
        body = squeezed(function.child_by_field_name("body"))
        pointers = [name for name, kind in parameters(function) if kind.startswith("*")]
        if pointers and not re.search(r"resolve_dtype!|dtype_str\(|\.dtype\b", body):
            yield _hit(
                function, f"`{text_of(function.child_by_field_name('name'))}` never looks at a descriptor's dtype"
            )


def _waits(port: Port) -> Iterator[Hit]:
    for call in calls(port, "launcher", *_WAITING):
        yield _hit(call, f"`{called(call)}(...)`")


def _stream(port: Port) -> Iterator[Hit]:
    for call in calls(port, "launcher", "new", "new_stream", "default_stream"):
        name = squeezed(call.child_by_field_name("function"))
        if name.endswith("Stream::new") or called(call) != "new":
            yield _hit(call, f"`{name}(...)`")


def _hints(port: Port) -> Iterator[Hit]:
    for function in exported(port):
        body = squeezed(function.child_by_field_name("body"))
        for name, _ in parameters(function):
            if name in _HINTS and not re.search(rf"\b{name}\b", body):
                yield _hit(function, f"`{name}` is taken and reaches no compile option")


def _accumulators(port: Port) -> Iterator[Hit]:
    """`mmaf`'s accumulator of a second type generic, which the launcher fills with the data's type."""
    kernel = port.part("kernel")
    for entry in kernel.rust.walk("function_item") if kernel else ():
        types = [squeezed(one).partition(":")[0] for one in walk(entry, "type_parameter")]
        order = [text_of(one.child_by_field_name("name")) for one in walk(entry, "type_parameter", "const_parameter")]
        carried = {
            kind.group(1)
            for let in walk(entry, "let_declaration")
            if (kind := re.match(r"Tile<(\w+),", squeezed(let.child_by_field_name("type"))))
            and any(called(c) == "mmaf" for c in walk(let, "call_expression"))
        }
        name = text_of(entry.child_by_field_name("name"))
        for second in types[1:]:
            if second in carried:
                yield from _filled(port, name, order.index(second), second)


def _filled(port: Port, entry: str, place: int, generic: str) -> Iterator[Hit]:
    source = port.part("launcher")
    if source is None or entry not in source.text:
        return
    for given in nodes(port, "launcher", "macro_invocation"):
        if not text_of(given).startswith("vec!"):
            continue
        listed = text_of(given).partition("[")[2].rpartition("]")[0].split(",")
        if place < len(listed) and not listed[place].strip().startswith('"f32"'):
            yield _hit(given, f"`{generic}` accumulates and is given `{listed[place].strip()}`")


_SUMS = (
    "#[cutile::entry()]\nunsafe fn k<E: ElementType, A: ElementType>() {\n"
    "    let c: Tile<A, { [4, 4] }> = mmaf(a, b, c);\n}\n"
)

RULES = (
    Rule(
        id="borrow-never-own",
        says="Borrow memory: `from_raw_parts` inside `ManuallyDrop::new` only, no `forget`, no `transmute`.",
        because="What owns a buffer of PyTorch's frees it, on an early return at the latest.",
        check=_owns,
        bad={"launcher": launcher(f"{_OPENED}\n    let t = Tensor::<f32>::from_raw_parts(x.ptr, 4, 0, s, t);")},
        good={
            "launcher": launcher(
                f"{_OPENED}\n    let t = ManuallyDrop::new(Tensor::<f32>::from_raw_parts(x.ptr, 4, 0, s, s));"
            )
        },
        upstream=(10,),
    ),
    Rule(
        id="export-without-mangling",
        says='Mark every `extern "C"` function `#[unsafe(no_mangle)]`.',
        because="Else the library has no such symbol, and Rust 2024 does not take the older form.",
        check=_exports,
        bad={"launcher": launcher(_OPENED, attribute="#[inline]")},
        good={"launcher": launcher(_OPENED)},
        upstream=(32,),
    ),
    Rule(
        id="check-for-null",
        says="Hold every descriptor against null, by `deref_descs!` or `is_null`, before it is read.",
        because="A null descriptor otherwise ends the caller's process.",
        check=_unchecked,
        bad={"launcher": launcher(_OPENED, arguments="x: *const TensorDesc, z: *const TensorDesc, occupancy: i32")},
        good={"launcher": launcher(_OPENED)},
        upstream=(32,),
    ),
    Rule(
        id="use-the-given-device",
        says="Use the device whose number the caller gives.",
        because="A fixed one launches on the wrong GPU as soon as there are two.",
        check=_device,
        bad={"launcher": launcher(f"{_OPENED}\n    let device = Device::new(0);")},
        good={"launcher": launcher(f"{_OPENED}\n    let device = Device::new(device_id as usize);")},
        upstream=(32,),
    ),
    Rule(
        id="look-at-dtypes",
        says="Take element types from the descriptors and refuse those that the kernel is not made for.",
        because="A kernel launched for another type reads other bytes as numbers.",
        check=_dtypes,
        bad={
            "launcher": launcher(
                "let (x, y) = crate::deref_descs!(x, x);\n    let o = crate::compile_options!(occupancy, -1);"
            )
        },
        good={"launcher": launcher(_OPENED)},
        upstream=(32,),
    ),
    Rule(
        id="do-not-wait",
        says="Queue the kernel by `async_on` and return; wait for nothing.",
        because="The caller's stream orders the work; a launcher that waits makes the host pay for every call.",
        check=_waits,
        bad={
            "launcher": launcher(
                f"{_OPENED}\n    match kernel.sync_on(&stream) {{ Ok(_) => rc::OK, Err(_) => rc::LAUNCH_FAILED }};"
            )
        },
        good={"launcher": launcher(f"{_OPENED}\n    {_LAUNCH}")},
    ),
    Rule(
        id="use-the-callers-stream",
        says="Launch on the stream whose handle the caller gives.",
        because="On another one the kernel may read what has not been written yet.",
        check=_stream,
        bad={"launcher": launcher(f"{_OPENED}\n    let stream = Stream::new(&device);")},
        good={"launcher": launcher(_OPENED)},
    ),
    Rule(
        id="hints-reach-the-compiler",
        says="Pass on every compile hint that the launcher takes.",
        because="A hint that is dropped makes all of a tuner's configurations the same one.",
        check=_hints,
        bad={"launcher": launcher(_OPENED.replace("occupancy", "-1"))},
        good={"launcher": launcher(_OPENED)},
        upstream=(20,),
    ),
    Rule(
        id="accumulate-in-f32",
        says='Give the type generic of an `mmaf` accumulator as "f32", not as the data\'s type.',
        because="The sums of products of half-precision numbers need the wider type, as in the reference.",
        check=_accumulators,
        bad={
            "kernel": _SUMS,
            "launcher": launcher(
                f"{_OPENED}\n    let kernel = k().generics(vec![dtype.to_string(), dtype.to_string()]);"
            ),
        },
        good={
            "kernel": _SUMS,
            "launcher": launcher(
                f'{_OPENED}\n    let kernel = k().generics(vec![dtype.to_string(), "f32".to_string()]);'
            ),
        },
        upstream=(31, 8),
    ),
)
