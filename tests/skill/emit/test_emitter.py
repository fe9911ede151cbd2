"""The emitter program on kernels that compile and on all that do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tileport_skill.emit.entries import KernelModule, Problem
from tileport_skill.emit.mapping import Request
from tileport_skill.emit.program import Emitter
from tileport_skill.emit.rules import explained
from tileport_skill.emit.symbol import Malformed, rename_entry
from tileport_skill.tileir.assemble import disassemble

HEAD = "#[cutile::module]\npub mod m {\n    use cutile::core::*;\n"
ENTRY = "    #[cutile::entry()]\n    pub unsafe fn k<E: ElementType, const N: i32>(x: *mut E, n: i32) {\n"
GOOD = f"{HEAD}{ENTRY}        let _t: Tile<i32, {{ [N] }}> = iota(const_shape![N]);\n    }}\n}}\n"


def request(**changes: object) -> Request:
    base: dict[str, object] = {
        "entry": "k",
        "arch": "sm_90",
        "symbol": "kernel_entry",
        "generics": ("f16", "128"),
        "tensors": (),
        "scalars": (("x", 16), ("n", 2)),
        "occupancy": 2,
        "num_cta_in_cga": None,
    }
    return Request(**{**base, **changes})  # type: ignore[arg-type]


def written(folder: Path, text: str) -> Path:
    path = folder / "kernel.rs"
    path.write_text(text, encoding="utf-8")
    return path


def described(emitter: Emitter, folder: Path, text: str) -> str:
    found = emitter.describe(written(folder, text))
    assert isinstance(found, Problem), found
    return explained(found)


def test_bytecode_has_the_asked_symbol_hints_and_divisors(emitter: Emitter, tmp_path: Path) -> None:
    kernel = written(tmp_path, GOOD)
    (module,) = emitter.describe(kernel)
    assert isinstance(module, KernelModule)
    assert [entry.name for entry in module.entries] == ["k"]
    (emitted,) = emitter.emit(kernel, [request()])
    assert emitted.bytecode is not None, emitted.problem
    text = disassemble(emitted.bytecode)
    assert isinstance(text, str)
    assert text.startswith("entry @kernel_entry(")
    for part in ("sm_90 = {occupancy = 2}", "assume div_by<16>, %arg0", "assume div_by<2>, %arg1", "tile<128xi32>"):
        assert part in text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no module is marked #[cutile::module]"),
        (HEAD + "}\n", "no function is marked #[cutile::entry()]"),
        (HEAD + "    fn broken( {\n}\n", "line 4: "),
        (HEAD + ENTRY.replace("x: *mut E", "(x, y): (i32, i32)") + "    }\n}\n", "a parameter is one plain name"),
    ],
)
def test_a_file_without_a_readable_entry_says_what_is_missing(
    emitter: Emitter, tmp_path: Path, text: str, words: str
) -> None:
    assert words in described(emitter, tmp_path, text)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("let t = no_such_function(n);", "no_such_function"),
        ('let t = include_str!("/etc/hostname");', "include_str"),
        ("let t: Tile<i32, { [N] }> = remi(iota(const_shape![N]), iota(const_shape![N]));", "RemI"),
    ],
)
def test_what_the_compiler_says_comes_back_short_and_harms_no_other_request(
    emitter: Emitter, tmp_path: Path, body: str, words: str
) -> None:
    text = GOOD.replace("    }\n}\n", f"    }}\n{ENTRY.replace('fn k', 'fn bad')}        {body}\n    }}\n}}\n")
    bad, good = emitter.emit(written(tmp_path, text), [request(entry="bad"), request()])
    assert bad.problem is not None
    assert good.bytecode is not None, good.problem
    said = explained(bad.problem)
    assert len(said) < 600
    assert "\n" not in said
    assert words in bad.problem.message or bad.problem.line is not None, said


@pytest.mark.parametrize("generics", [(), ("f16",), ("f16", "128", "7"), ("f16", "many"), ("no_type", "128")])
def test_a_wrong_number_or_kind_of_generics_is_a_problem_not_a_crash(
    emitter: Emitter, tmp_path: Path, generics: tuple[str, ...]
) -> None:
    bad, good = emitter.emit(written(tmp_path, GOOD), [request(generics=generics), request()])
    assert good.bytecode is not None
    assert bad.problem is not None
    assert bad.problem.kind in ("compiler", "panic")


def test_two_entries_of_one_name_are_told_apart_by_their_module_only(emitter: Emitter, tmp_path: Path) -> None:
    kernel = written(tmp_path, GOOD + GOOD.replace("mod m ", "mod other "))
    both, one = emitter.emit(kernel, [request(), request(module="other")])
    assert both.problem is not None
    assert "name the module" in both.problem.message
    assert one.bytecode is not None


def test_what_a_kernel_makes_the_compiler_print_is_no_answer(emitter: Emitter, tmp_path: Path) -> None:
    kernel = written(tmp_path, GOOD.replace("entry()", "entry(print_ir = true)"))
    (emitted,) = emitter.emit(kernel, [request()])
    assert emitted.bytecode is not None, emitted.problem


def test_a_compilation_that_does_not_end_in_time_is_cut_off_and_the_rest_goes_on(
    emitter: Emitter, tmp_path: Path
) -> None:
    first, second = emitter.emit(written(tmp_path, GOOD), [request(), request()], seconds=0.0)
    assert first.problem is not None
    assert second.problem is not None
    assert (first.problem.kind, second.problem.kind) == ("timeout", "timeout")


def test_the_entry_can_be_renamed_in_finished_bytecode(emitter: Emitter, tmp_path: Path) -> None:
    (emitted,) = emitter.emit(written(tmp_path, GOOD), [request()])
    assert emitted.bytecode is not None
    for symbol in ("kernel_entry", "k", "a_much_longer_symbol_than_the_first"):
        renamed = rename_entry(emitted.bytecode, "kernel_entry", symbol)
        text = disassemble(renamed)
        assert isinstance(text, str)
        assert text.startswith(f"entry @{symbol}(")
        assert rename_entry(renamed, symbol, "kernel_entry") == emitted.bytecode


@pytest.mark.parametrize("damage", [b"", b"no bytecode", None])
def test_bytes_that_are_no_bytecode_are_not_renamed(emitter: Emitter, tmp_path: Path, damage: bytes | None) -> None:
    (emitted,) = emitter.emit(written(tmp_path, GOOD), [request()])
    assert emitted.bytecode is not None
    spoilt = emitted.bytecode[:40] if damage is None else damage
    with pytest.raises(Malformed):
        rename_entry(spoilt, "kernel_entry", "k")
    with pytest.raises(Malformed, match="not in the file exactly once"):
        rename_entry(emitted.bytecode, "another", "k")
