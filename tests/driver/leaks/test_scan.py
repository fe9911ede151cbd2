"""Planted leaks are found wherever they lie, and a truly hidden port leaves none."""

from __future__ import annotations

import base64
import gzip
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.driver.ported import kernel_text, ported_target
from tileport_driver.checkout import prepare_fingerprinted
from tileport_driver.git import resolve_commit, run_git
from tileport_driver.leaks import index
from tileport_driver.leaks import scan as scanning
from tileport_driver.leaks.fingerprints import Fingerprints, fingerprints
from tileport_driver.leaks.index import file_texts
from tileport_driver.leaks.scan import Place, refuse, scan
from tileport_driver.records import Leak
from tileport_skill.errors import MachineryError

SECRET = "\n".join(kernel_text().splitlines()[60:120])


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Fingerprints]:
    folder = tmp_path_factory.mktemp("prepared")
    target = ported_target(folder / "target")
    _, prints = prepare_fingerprinted(
        target, resolve_commit(target), "silu_and_mul", folder / "trusted.git", folder / "tree"
    )
    return folder / "tree", prints


@pytest.fixture
def tree(prepared: tuple[Path, Fingerprints], tmp_path: Path) -> Path:
    """The agent's tree, to plant something in."""
    subprocess.run(["cp", "-a", prepared[0], tmp_path / "tree"], check=True)
    return tmp_path / "tree"


@pytest.fixture(autouse=True)
def _own_marks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEPORT_CACHE", str(tmp_path / "cache"))


def in_a_comment(tree: Path) -> str:
    path = tree / "src/tilegym/ops/cutile/rms_norm.py"
    path.write_text(path.read_text() + "\n".join(f"# {line}" for line in SECRET.splitlines()) + "\n")
    return path.relative_to(tree).as_posix()


def in_a_comment_of_another_port(tree: Path) -> str:
    path = tree / "src/tilegym/ops/cutile_rs/scale_kernel/kernel.rs"
    path.write_text(path.read_text() + "\n".join(f"/// {line}" for line in SECRET.splitlines()) + "\n")
    return path.relative_to(tree).as_posix()


def in_a_library(tree: Path) -> str:
    """As `#[cutile::module]` does it: the kernel's source is a string in the object file."""
    source = tree.parent / "embed.c"
    source.write_text(f"const char kernel[] = {json.dumps(SECRET, ensure_ascii=True)};\n")
    subprocess.run(["gcc", "-shared", "-o", tree / "src/libthing.so", source], check=True)
    return "src/libthing.so"


def in_a_git_object(tree: Path) -> str:
    name = run_git("-C", str(tree), "hash-object", "-w", "--stdin", stdin=SECRET.encode()).decode().strip()
    return f".git/objects/{name[:2]}/{name[2:]}"


def in_a_git_pack(tree: Path) -> str:
    name = run_git("-C", str(tree), "hash-object", "-w", "--stdin", stdin=SECRET.encode())
    pack = run_git("-C", str(tree), "pack-objects", "-q", str(tree / ".git/objects/pack/pack"), stdin=name)
    in_a_git_object(tree)
    number = pack.decode().strip()
    loose = tree / ".git/objects" / name.decode()[:2] / name.decode().strip()[2:]
    loose.unlink()
    return f".git/objects/pack/pack-{number}.pack"


def in_site_packages(tree: Path) -> str:
    path = tree / ".venv/lib/python3.11/site-packages/tilegym/ops/cutile_rs/silu_and_mul_kernel/kernel.rs"
    path.parent.mkdir(parents=True)
    path.write_text(kernel_text())
    return path.relative_to(tree).as_posix()


def in_base64_in_a_data_file(tree: Path) -> str:
    (tree / "data.json").write_text(json.dumps({"rows": [1, 2], "blob": base64.b64encode(SECRET.encode()).decode()}))
    return "data.json"


def in_wrapped_base64_of_something_compressed(tree: Path) -> str:
    (tree / "data.txt").write_bytes(b"key: " + base64.encodebytes(gzip.compress(SECRET.encode())))
    return "data.txt"


def in_hexadecimal(tree: Path) -> str:
    (tree / "dump.txt").write_text(SECRET.encode().hex())
    return "dump.txt"


def in_an_archive(tree: Path) -> str:
    with zipfile.ZipFile(tree / "thing.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("inner/kernel.txt", SECRET)
    return "thing.zip"


def in_python_bytecode(tree: Path) -> str:
    source = tree.parent / "module.py"
    source.write_text(f"TEXT = {SECRET!r}\n")
    done = [sys.executable, "-c", f"import py_compile; py_compile.compile({str(source)!r}, {str(tree / 'm.pyc')!r})"]
    subprocess.run(done, check=True)
    return "m.pyc"


PLANTS = [
    in_a_comment,
    in_a_comment_of_another_port,
    in_a_library,
    in_a_git_object,
    in_a_git_pack,
    in_site_packages,
    in_base64_in_a_data_file,
    in_wrapped_base64_of_something_compressed,
    in_hexadecimal,
    in_an_archive,
    in_python_bytecode,
]


def test_a_truly_hidden_port_leaves_no_trace(prepared: tuple[Path, Fingerprints]) -> None:
    tree, prints = prepared
    found = scan((Place(name="tree", root=tree), Place(name="large", root=tree, large=True)), prints)
    assert found.leaks == ()
    assert found.passages > 100
    assert [place.files for place in found.places] == [sum(path.is_file() for path in tree.rglob("*"))] * 2


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.__name__)
def test_a_planted_leak_is_found_where_it_lies(
    prepared: tuple[Path, Fingerprints], tree: Path, plant: Callable[[Path], str]
) -> None:
    path = plant(tree)
    found = scan((Place(name="tree", root=tree),), prepared[1])
    assert path in {leak.path for leak in found.leaks}
    with pytest.raises(MachineryError, match="no agent was started"):
        refuse(found, "silu_and_mul")


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.__name__)
def test_it_is_found_by_what_was_kept_of_a_large_place_too(
    prepared: tuple[Path, Fingerprints], tree: Path, plant: Callable[[Path], str]
) -> None:
    path = plant(tree)
    found = scan((Place(name="toolchain", root=tree, large=True),), prepared[1])
    assert [leak.path for leak in found.leaks] == [path]


def test_a_place_found_clean_is_searched_again_once_a_file_has_changed(
    prepared: tuple[Path, Fingerprints], tree: Path
) -> None:
    place = Place(name="toolchain", root=tree, large=True)
    assert not scan((place,), prepared[1]).places[0].known_clean
    assert scan((place,), prepared[1]).places[0].known_clean
    in_site_packages(tree)
    again = scan((place,), prepared[1])
    assert not again.places[0].known_clean
    assert again.leaks


def test_several_readers_keep_what_one_keeps(
    prepared: tuple[Path, Fingerprints], tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = in_a_library(tree)
    place = Place(name="toolchain", root=tree, large=True, identity="one reader")
    assert [leak.path for leak in scan((place,), prepared[1]).leaks] == [path]
    monkeypatch.setattr(index, "_WORTH_IT", 0)
    assert [leak.path for leak in scan((replace(place, identity="several"),), prepared[1]).leaks] == [path]
    for kind in index._KINDS:
        one, several = (index.index_of(name) for name in ("one reader", "several"))
        assert one is not None
        assert several is not None
        assert (one.folder / f"{kind}.npy").read_bytes() == (several.folder / f"{kind}.npy").read_bytes()


def test_a_large_place_is_read_once_for_all_ports(
    prepared: tuple[Path, Fingerprints], tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = in_base64_in_a_data_file(tree)
    place = Place(name="toolchain", root=tree, large=True)
    another = fingerprints(
        "other", {"other.rs": b"fn quite_another_thing() { a_b_c_d_e_f(1, 2, 3, 4, 5, 6, 7); }\n" * 3}, {}
    )
    assert scan((place,), another).leaks == ()
    monkeypatch.setattr(scanning, "make_index", lambda *_: pytest.fail("read again"))
    read: list[Path] = []
    monkeypatch.setattr(scanning, "file_texts", lambda path: read.append(path) or file_texts(path))
    assert [leak.path for leak in scan((place,), prepared[1]).leaks] == [path]
    assert read == [tree / path]
    assert scan((place,), another).places[0].known_clean


def test_a_file_that_got_another_link_is_not_read_again_and_one_changed_under_its_old_times_is(
    prepared: tuple[Path, Fingerprints], tree: Path
) -> None:
    place = Place(name="toolchain", root=tree, large=True)
    path = tree / "README.md"
    scan((place,), prepared[1])
    (tree.parent / "link").hardlink_to(path)
    assert scan((place,), prepared[1]).places[0].known_clean
    was = path.stat()
    path.write_text(SECRET[: was.st_size].ljust(was.st_size))
    os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))
    again = scan((place,), prepared[1])
    assert not again.places[0].known_clean


def test_a_link_leads_nowhere(prepared: tuple[Path, Fingerprints], tree: Path) -> None:
    (tree / "link").symlink_to(Path(__file__).parents[2] / "scripts", target_is_directory=True)
    assert scan((Place(name="tree", root=tree),), prepared[1]).leaks == ()


def test_a_leak_is_told_with_place_path_and_how() -> None:
    leak = Leak(place="/work", path="data.json", how="in base64", what="9 passages of the port's text")
    assert str(leak) == "/work: data.json (in base64): 9 passages of the port's text"
