"""Which files under a path are which parts of which port."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tileport_skill.errors import RequestError
from tileport_skill.lint.records import Part, Port, Source

_FOLDERS = ("src/tilegym/ops/cutile_rs", "tilegym/ops/cutile_rs")
_SHARED: tuple[Part, ...] = ("library", "registration", "manifest")


def ports_at(path: Path) -> list[Port]:
    """The ports of a checkout, of a folder of ports, of one `x_kernel` folder, or a single file.

    Raises `RequestError` where there is nothing to look at.
    """
    if path.is_file():
        return [_around(path) or _single(path)]
    root = next((path / folder for folder in _FOLDERS if (path / folder).is_dir()), path)
    kernels = [root] if (root / "kernel.rs").is_file() else sorted(p.parent for p in root.glob("*_kernel/kernel.rs"))
    if not kernels:
        raise RequestError(
            f"{path} holds no port: no kernel.rs, and no x_kernel/kernel.rs. Give a checkout, its ops/cutile_rs, one "
            "x_kernel folder or one file."
        )
    return [port_of(folder) for folder in kernels]


def port_of(folder: Path) -> Port:
    """The port whose `x_kernel` folder this is, as far as its other files are there."""
    name, base = folder.name.removesuffix("_kernel"), folder.parent
    tests = _upwards(base, f"tests/ops/test_{name}.py")
    paths: dict[Part, Path | None] = {
        "kernel": folder / "kernel.rs",
        "launcher": folder / "ffi.rs",
        "pipeline": folder / "pipeline.rs",
        "wrapper": base / f"{name}.py",
        "library": base / "cutile_kernels" / "src" / "lib.rs",
        "manifest": base / "cutile_kernels" / "Cargo.toml",
        "registration": base / "__init__.py",
        "test": tests,
        "reference": next(iter(sorted((base.parent / "cutile").rglob(f"{name}.py"))), None),
    }
    return Port(parts={part: _read(path) for part, path in paths.items() if path is not None and path.is_file()})


def _around(path: Path) -> Port | None:
    """The port that a single file belongs to, so that it is held against the others; None where it stands alone."""
    named = path.parent if path.parent.name.endswith("_kernel") else path.parent / f"{path.stem}_kernel"
    port = port_of(named) if (named / "kernel.rs").is_file() else Port(parts={})
    return port if any(Path(source.path) == path for source in port.parts.values()) else None


def _upwards(folder: Path, wanted: str) -> Path | None:
    return next((above / wanted for above in folder.parents if (above / wanted).is_file()), None)


def _single(path: Path) -> Port:
    source = _read(path)
    return Port(parts={_part_of(path, source.text): source})


def _part_of(path: Path, text: str) -> Part:
    if path.suffix == ".py":
        return "test" if path.name.startswith("test_") else "registration" if path.name == "__init__.py" else "wrapper"
    if path.suffix == ".toml":
        return "manifest"
    if path.suffix != ".rs":
        raise RequestError(f"{path} is neither Rust, Python nor a Cargo.toml, so there are no rules for it.")
    if 'extern "C"' in text:
        return "launcher"
    return "library" if re.search(r"\binclude!", text) else "kernel"


def _read(path: Path) -> Source:
    try:
        return Source(path=path.as_posix(), text=path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise RequestError(f"{path} cannot be read as UTF-8 text: {error}.") from error


def shared_once(ports: list[Port]) -> Iterator[Port]:
    """Ports of one folder share three files: the first keeps them, so that what is wrong there is told once."""
    seen: set[str] = set()
    for port in ports:
        kept = {part: s for part, s in port.parts.items() if not (part in _SHARED and s.path in seen)}
        seen.update(source.path for source in port.parts.values())
        yield Port(parts=kept)
