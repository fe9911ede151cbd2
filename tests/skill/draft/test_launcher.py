"""`ffi.rs` of our own kernels: the golden, its form, and what has no C function."""

from __future__ import annotations

import dataclasses
import re
import subprocess
from pathlib import Path

import pytest
from tests.conftest import Golden

from tileport_skill.capture.records import Array, Constant
from tileport_skill.draft.crossing import c_function
from tileport_skill.draft.launcher import print_launcher
from tileport_skill.draft.operator import KernelDraft
from tileport_skill.draft.values import Untranslatable
from tileport_skill.draft.variant import variants_of
from tileport_skill.emit.rust import MINIMUM, find_rust


def launcher(draft: KernelDraft) -> str:
    return print_launcher("drafted", [c_function("drafted", entry) for entry in draft.entries])


def test_the_launcher_reads_as_the_golden_does(draft: KernelDraft, golden: Golden) -> None:
    golden("drafted_ffi.rs", launcher(draft))


def test_where_ports_share_it_nothing_of_it_is_carried(draft: KernelDraft) -> None:
    functions = [c_function("drafted", entry) for entry in draft.entries]
    text = print_launcher("drafted", functions, shared=True)
    assert not re.search(r"^(unsafe )?fn ", text, re.MULTILINE)
    assert "use crate::ffi_util::{TensorDesc, borrow_tensor_on as borrowed, fits, rc, tensor_core_type};" in text
    own = launcher(draft)
    assert text[text.index("/// Queues") :] == own[own.index("/// Queues") :]


def test_only_captured_element_types_are_dispatched_to(draft: KernelDraft) -> None:
    assert launcher(draft).count("crate::dispatch_by_dtype!(dtype, launch, f32, bf16)") == len(draft.entries)


def test_an_entry_of_another_operators_name_is_called_by_both(draft: KernelDraft) -> None:
    entry = draft.entries[0]
    assert c_function("drafted", entry).symbol == "cutile_drafted_leaky_kernel"
    assert c_function("leaky", entry).symbol == "cutile_leaky_kernel"


def test_constants_that_the_entry_does_not_use_stay_behind(draft: KernelDraft) -> None:
    function = next(c_function("drafted", entry) for entry in draft.entries if entry.kernel == "_leaky_kernel")
    assert function.python == ("x", "y", "BLOCK", "SQUARE")
    assert [one.name for one in function.arguments] == ["x", "y", "block", "square"]
    entry = next(entry for entry in draft.entries if entry.kernel == "_leaky_kernel")
    generics = tuple(one for one in entry.entry.generics if "BLOCK" not in one)
    without = dataclasses.replace(entry, entry=dataclasses.replace(entry.entry, generics=generics))
    assert [one.name for one in c_function("drafted", without).arguments] == ["x", "y", "square"]


@pytest.mark.parametrize(("dtype", "element"), [("bool", "bool"), ("int8", "i8")])
def test_an_array_that_tilegyms_descriptor_cannot_describe_is_refused_by_name(
    draft: KernelDraft, dtype: str, element: str
) -> None:
    entry = draft.entries[0]
    parameters = tuple(
        dataclasses.replace(one, dtype=dtype) if isinstance(one, Array) and one.name == "x" else one
        for one in entry.variant.parameters
    )
    specialisation = dataclasses.replace(entry.variant.specialisations[0], parameters=parameters)
    variant = dataclasses.replace(entry.variant, specialisations=(specialisation,))
    with pytest.raises(Untranslatable, match=f"x, an array of {element}"):
        c_function("drafted", dataclasses.replace(entry, variant=variant))


def test_an_element_type_without_a_descriptor_keeps_no_other_from_being_drafted(draft: KernelDraft) -> None:
    entry = draft.entries[0]
    captured = entry.variant.generics | {"E": {**entry.variant.generics["E"], -1: "float64"}}
    mixed = dataclasses.replace(entry, variant=dataclasses.replace(entry.variant, generics=captured))
    assert c_function("drafted", mixed).dtypes == c_function("drafted", entry).dtypes
    alone = dataclasses.replace(entry.variant, generics={"E": {0: "float64"}})
    with pytest.raises(Untranslatable, match="arrays of f64, for which TileGym's TensorDesc has no code"):
        c_function("drafted", dataclasses.replace(entry, variant=alone))


def test_a_parameter_that_was_never_given_is_guarded_and_not_dropped(draft: KernelDraft) -> None:
    none = Constant(name="bias", type="NoneType", text="None")
    one = draft.entries[0].variant.specialisations[0]
    specialisation = dataclasses.replace(one, parameters=(*one.parameters, none))
    (variant,) = variants_of("_leaky_kernel", [specialisation], ())
    assert variant.guard == "bias is None"
    function = c_function("drafted", dataclasses.replace(draft.entries[0], variant=variant))
    assert function.guard == "bias is None"
    assert "bias" in function.python
    assert "bias" not in [argument.python for argument in function.arguments]


def test_rustfmt_would_change_nothing_in_a_launcher(draft: KernelDraft, tmp_path: Path) -> None:
    toolchain = find_rust(MINIMUM)
    program = toolchain and toolchain.sysroot / "bin/rustfmt"
    if program is None or not program.exists():
        pytest.skip("no rustfmt here")
    file = tmp_path / "ffi.rs"
    file.write_text(launcher(draft), encoding="utf-8")
    done = subprocess.run([program, "--edition", "2024", "--check", file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
