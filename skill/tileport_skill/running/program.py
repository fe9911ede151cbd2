"""A kernel's own test in pure Rust: a crate that holds the kernel, a function for each case, and their data."""

from __future__ import annotations

import json
import shutil
import struct
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from tileport_skill.emit.entries import ConstGeneric, EntryParameter, PointerParameter, TensorParameter
from tileport_skill.running.cases import Case
from tileport_skill.tileir.launch import Buffer, Given

MAIN = "main.rs"
NAME = "pipeline"
_HELPERS = Path(__file__).with_name("program.rs")


def write_crate(folder: Path, kernel: Path, manifest: Path, cases: Sequence[Case]) -> None:
    """Everything to build and run: `main.rs`, a copy of `kernel.rs`, `Cargo.toml`, and `data/CASE/NUMBER.in|out|open`.

    `manifest` is that of the crate that the port belongs to: the same dependencies, so that they are compiled already.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    shutil.copyfile(kernel, folder / "kernel.rs")
    (folder / MAIN).write_text(main_text(cases), encoding="utf-8")
    (folder / "Cargo.toml").write_text(manifest_text(manifest.read_text(encoding="utf-8")), encoding="utf-8")
    for case in cases:
        _write_data(folder / "data" / case.name, case)


def manifest_text(port: str) -> str:
    """A manifest with the dependencies and profiles of another, a workspace of its own."""
    given = tomllib.loads(port)
    package = {"name": NAME, "version": "0.1.0", "edition": given["package"].get("edition", "2024")}
    lines = ["[package]", *_entries(package), "", "[[bin]]", *_entries({"name": NAME, "path": MAIN})]
    lines += ["", "[workspace]", "", "[dependencies]", *_entries(given.get("dependencies", {}))]
    for name, profile in given.get("profile", {}).items():
        lines += ["", f"[profile.{name}]", *_entries(profile)]
    return "\n".join(lines) + "\n"


def _entries(table: dict[str, object]) -> list[str]:
    return [f"{key} = {_toml(value)}" for key, value in table.items()]


def _toml(value: object) -> str:
    """JSON is TOML but for tables."""
    if isinstance(value, dict):
        return "{ " + ", ".join(_entries(value)) + " }"
    return json.dumps(value)


def main_text(cases: Sequence[Case]) -> str:
    functions = "\n".join("\n".join(_function(case)) + "\n" for case in cases)
    listed = "".join(f'    ("{case.name}", {_name(case)}),\n' for case in cases)
    table = f"const CASES: [(&str, Case); {len(cases)}] = [\n{listed}];\n"
    return f"{_HELPERS.read_text(encoding='utf-8')}{functions}\n{table}"


def _name(case: Case) -> str:
    return f"case_{case.name}"


def _function(case: Case) -> Iterator[str]:
    buffers = case.launch.buffers
    bound = list(_bound(case))
    elements = _elements(case)
    yield f"fn {_name(case)}(gpu: &Gpu) -> Result<(), String> {{"
    yield "    let buffers = ["
    for number, buffer in enumerate(buffers):
        yield f'        gpu.upload("{case.name}", {number}, "{elements[id(buffer.data)]}")?,'
    yield "    ];"
    passed = []
    for number, (parameter, given) in enumerate(bound):
        if isinstance(parameter, TensorParameter):
            yield f"    let tensor_{number} = unsafe {{"
            rank = len(parameter.shape)
            shape, strides = list(given[1 : 1 + rank]), list(given[1 + rank :])
            element = _element(parameter.element, case)
            yield f"        borrowed::<{element}>({_address(given[0], case)}, &{shape}, &{strides})"
            yield "    };"
            passed.append(f"&*tensor_{number}")
        elif isinstance(parameter, PointerParameter):
            element = _element(parameter.element, case)
            passed.append(f"DevicePointer::<{element}>::from_cu_deviceptr({_address(given[0], case)})")
        else:
            passed.append(_literal(given[0], parameter.dtype))
    yield "    let kernel = unsafe {"
    yield f"        {case.module}::{case.entry.name}("
    yield from (f"            {one}," for one in passed)
    yield "        )"
    yield "    };"
    generics = ", ".join(f'"{one}".to_string()' for one in case.request.generics)
    x, y, z = case.launch.grid
    yield "    let kernel = kernel"
    if case.request.generics:
        yield f"        .generics(vec![{generics}])"
    yield f"        .grid(({x}, {y}, {z}))"
    yield f"        .compile_options(hints({case.request.occupancy or -1}, {case.request.num_cta_in_cga or -1}));"
    yield '    unsafe { kernel.async_on(&gpu.stream) }.map_err(|error| format!("{error:?}"))?;'
    yield "    gpu.compare(&buffers)"
    yield "}"


def _bound(case: Case) -> Iterator[tuple[EntryParameter, list[Given]]]:
    """Each parameter of the entry with its share of the interpreter's arguments: the same in the same order."""
    left = list(case.launch.arguments)
    for parameter in case.entry.parameters:
        count = 1 + 2 * len(parameter.shape) if isinstance(parameter, TensorParameter) else 1
        yield parameter, left[:count]
        left = left[count:]


def _elements(case: Case) -> dict[int, str]:
    """The element type of each buffer, by the array's identity."""
    found = {}
    for parameter, given in _bound(case):
        if isinstance(given[0], Buffer) and isinstance(parameter, PointerParameter | TensorParameter):
            found[id(given[0].data)] = _element(parameter.element, case)
    return found


def _element(name: str, case: Case) -> str:
    """A type as it is written, or what a generic is bound to."""
    bound = dict(zip((one.name for one in case.entry.generics), case.request.generics, strict=True))
    generic = any(one.name == name and not isinstance(one, ConstGeneric) for one in case.entry.generics)
    return bound[name] if generic else name


def _address(given: Given, case: Case) -> str:
    assert isinstance(given, Buffer)
    number = next(n for n, buffer in enumerate(case.launch.buffers) if buffer.data is given.data)
    offset = given.offset * given.data.dtype.itemsize
    return f"buffers[{number}].address" + (f" + {offset}" if offset else "")


def _literal(given: Given, dtype: str) -> str:
    assert isinstance(given, int | float)
    if dtype == "bool":
        return "true" if given else "false"
    if dtype in ("f32", "f64"):
        code, bits = ("<f", "<I") if dtype == "f32" else ("<d", "<Q")
        (number,) = struct.unpack(bits, struct.pack(code, float(given)))
        return f"{dtype}::from_bits({number:#x})"
    return f"{int(given)}{dtype}"


def _write_data(folder: Path, case: Case) -> None:
    folder.mkdir(parents=True)
    for number, (buffer, written) in enumerate(zip(case.launch.buffers, case.outcome.buffers, strict=True)):
        (folder / f"{number}.in").write_bytes(np.ascontiguousarray(buffer.data).tobytes())
        (folder / f"{number}.out").write_bytes(np.ascontiguousarray(written.data).tobytes())
        (folder / f"{number}.open").write_bytes(written.poison.astype(np.uint8).tobytes())
