"""Kernels of our own, translated: the Rust as a golden, what is refused by name, and that Rust's compilers take it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.conftest import Golden

from tileport_skill.draft.operator import KernelDraft
from tileport_skill.emit.cli import built_emitter
from tileport_skill.emit.mapping import Request
from tileport_skill.emit.program import Emitter
from tileport_skill.emit.rust import MINIMUM, find_rust


def test_the_rust_reads_as_the_golden_does(draft: KernelDraft, golden: Golden) -> None:
    assert draft.text is not None
    golden("drafted_kernel.rs", draft.text)


def test_what_has_no_translation_is_named_with_its_line_and_the_others_come_out(draft: KernelDraft) -> None:
    lines = (Path(__file__).parents[2] / "data/drafts/tilegym/ops/cutile/drafted.py").read_text().splitlines()
    refused = {one.kernel: (one.reason, lines[(one.line or 0) - 1]) for one in draft.refused}
    assert set(refused) == {"_running_kernel", "_square_kernel"}
    reason, line = refused["_running_kernel"]
    assert "cuda.tile.cumsum" in reason
    assert "cumsum" in line
    reason, line = refused["_square_kernel"]
    assert "--declare" in reason
    assert "ct.gather(x, (rows, columns))" in line
    assert {one.kernel for one in draft.translated} >= {"_leaky_kernel", "_box_kernel", "_below_kernel"}


def test_names_are_the_sources_and_what_is_a_transcript_is_said_to_be_one(draft: KernelDraft) -> None:
    by_name = {one.kernel: one for one in draft.translated}
    assert {one.kernel for one in draft.translated if one.names_kept >= one.names / 2} >= {
        "_leaky_kernel",
        "_rows_kernel",
        "_product_kernel",
    }
    assert all(not one.numbered for one in draft.translated)
    assert by_name["_product_kernel"].translated
    assert not by_name["_halves_kernel"].translated  # each ordered read takes a view and eight lines


def test_a_branch_no_launch_takes_is_translated_too(draft: KernelDraft) -> None:
    """Only `SQUARE=False` is among the specialisations."""
    assert draft.text is not None
    assert "if SQUARE {" in draft.text
    assert "squared(result)" in draft.text


def test_a_product_that_the_compiler_merges_into_a_sum_is_written_as_one_operation(draft: KernelDraft) -> None:
    assert draft.text is not None
    rows = draft.text[draft.text.index("fn rows_kernel") :]
    assert "fma(" in rows[: rows.index("#[cutile::entry")]


def test_numbers_made_of_constants_are_generics_that_the_caller_computes(draft: KernelDraft) -> None:
    derived = {entry.kernel: {one.generic: one.python for one in entry.derived} for entry in draft.entries}
    assert derived["_half_tile_kernel"] == {"TILE_OVER_TWO": "TILE // 2"}
    assert derived["_thinned_kernel"] == {
        "P_BELOW_ONE": "P < 1.0",
        "ONE_OVER_ONE_MINUS_P_BITS": "1.0 / (1.0 - P) if P < 1.0 else 0",
    }
    assert "1.0f32 -" not in (draft.text or "")


def test_a_loop_that_the_compiler_splits_is_two_loops(draft: KernelDraft) -> None:
    text = _entry(draft, "below_kernel")
    first, second = text.index("for j in 0..j_first_stop"), text.index("for j in j_second_start..")
    assert first < second
    assert text.count("* half") == 1
    assert text.index("* half") > second  # the branch is taken in the second loop alone


def test_launches_of_other_ranks_get_an_entry_each_and_a_guard_tells_them(draft: KernelDraft) -> None:
    guards = {entry.entry.name: entry.variant.guard for entry in draft.entries if entry.kernel == "_either_rank_kernel"}
    assert guards == {"either_rank_kernel": "x.ndim == 1", "either_rank_kernel_2": "x.ndim == 2"}


def test_an_array_by_pointer_whose_last_stride_is_not_1_gets_an_entry_that_multiplies_by_it(draft: KernelDraft) -> None:
    guards = {entry.entry.name: entry.variant.guard for entry in draft.entries if entry.kernel == "_leaky_kernel"}
    assert guards == {
        "leaky_kernel": "x.stride(-1) == 1",
        "leaky_kernel_strided": "x.stride(-1) != 1 and (not (SQUARE))",
    }
    assert "gather(x, x_length, " in _entry(draft, "leaky_kernel")
    assert "gather_at_lanes_strided(x, x_length, x_stride, " in _entry(draft, "leaky_kernel_strided")


def test_a_branch_that_was_never_read_is_left_out_and_guarded_against(draft: KernelDraft) -> None:
    (entry,) = [entry for entry in draft.entries if entry.kernel == "_same_size_kernel"]
    assert entry.variant.guard == "(TILE == OTHER)"


def test_several_indices_are_gathered_axis_by_axis(draft: KernelDraft) -> None:
    text = _entry(draft, "box_kernel")
    assert "gather_at_scalar_scalar_lanes(" in text
    assert "scatter_at_scalar_lanes_lanes_where(" in text


def _entry(draft: KernelDraft, name: str) -> str:
    assert draft.text is not None
    text = draft.text[draft.text.index(f"fn {name}<") :]
    return text[: text.find("#[cutile::entry")]


def test_the_two_halves_are_written_behind_both_reads(draft: KernelDraft) -> None:
    assert draft.text is not None
    halves = draft.text[draft.text.index("fn halves_kernel") :]
    joined = halves[halves.index("join_tokens(") : halves.index(".store(")]
    assert "get_partition_token(&left_view)" in joined
    assert "get_partition_token(&right_view)" in joined


def test_cutile_rust_compiles_every_entry(draft: KernelDraft, tmp_path: Path) -> None:
    assert draft.text is not None
    kernel = tmp_path / "kernel.rs"
    kernel.write_text(draft.text, encoding="utf-8")
    generics = {
        "leaky_kernel": ("f16", "128", "true"),
        "leaky_kernel_strided": ("f16", "128"),
        "rows_kernel": ("f16", "7", "32"),
        "halves_kernel": ("f16", "32"),
        "product_kernel": ("f32", "tf32", "32"),
        "half_tile_kernel": ("f16", "16"),
        "thinned_kernel": ("f16", "1048576000", "128", "true", "1068149419"),
        "below_kernel": ("f16", "1", "32"),
        "box_kernel": ("f16", "32"),
        "either_rank_kernel_2": ("f16", "32"),
        "padded_kernel": ("f16", "32"),
        "flags_kernel": ("f16", "1", "32"),
    }
    arrays = {"rows_kernel": ((2, "x"), (1, "w"), (2, "y")), "halves_kernel": ((2, "x"),)}
    arrays |= {"below_kernel": ((2, "x"), (2, "y")), "either_rank_kernel_2": ((2, "x"), (1, "y"))}
    arrays |= {"padded_kernel": ((1, "x"), (1, "_bias"), (1, "y"))}
    arrays |= {"half_tile_kernel": ((1, "x"), (1, "y")), "flags_kernel": ((1, "x"), (1, "y"))}
    arrays |= {"product_kernel": ((2, "a"), (2, "b"), (2, "c"))}
    requests = [_request(name, values, arrays.get(name, ())) for name, values in generics.items()]
    answers = Emitter(built_emitter()).emit(kernel, requests)
    assert [str(answer.problem) for answer in answers if answer.problem] == []


def test_elements_of_several_axes_are_gathered_where_operations_may_be_declared(
    declared: KernelDraft, tmp_path: Path
) -> None:
    assert {one.kernel for one in declared.refused} == {"_running_kernel"}
    assert "gather_at_lanes_lanes_2d(" in _entry(declared, "square_kernel")
    kernel = tmp_path / "kernel.rs"
    kernel.write_text(declared.text or "", encoding="utf-8")
    (answer,) = Emitter(built_emitter()).emit(kernel, [_request("square_kernel", ("f16", "16"), ())])
    assert answer.problem is None


def _request(entry: str, generics: tuple[str, ...], arrays: tuple[tuple[int, str], ...]) -> Request:
    from tileport_skill.emit.launcher import TensorFacts

    facts = tuple(
        TensorFacts(
            name=name,
            strides=(-1,) * (rank - 1) + (1,),
            shape_div=(1,) * rank,
            stride_div=(1,) * rank,
            stride_one=(False,) * (rank - 1) + (True,),
            base_div=16,
            disjoint=True,
        )
        for rank, name in arrays
    )
    return Request(
        entry=entry,
        arch="sm_90",
        symbol="kernel_entry",
        generics=generics,
        tensors=facts,
        scalars=(),
        occupancy=None,
        num_cta_in_cga=None,
    )


def test_rustfmt_would_change_nothing(draft: KernelDraft, tmp_path: Path) -> None:
    toolchain = find_rust(MINIMUM)  # not rustup's proxy, which needs settings in HOME
    program = toolchain and toolchain.sysroot / "bin/rustfmt"
    if program is None or not program.exists():
        pytest.skip("no rustfmt here")
    assert draft.text is not None
    kernel = tmp_path / "kernel.rs"
    kernel.write_text(draft.text, encoding="utf-8")
    done = subprocess.run(
        [program, "--edition", "2024", "--check", kernel], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def test_a_branch_whose_arms_leave_other_types_behind_makes_an_entry_for_each(draft: KernelDraft) -> None:
    centred = [entry for entry in draft.entries if entry.kernel == "_centred_kernel"]
    assert sorted(entry.variant.guard for entry in centred) == ["(ROWS != 1)", "(not (ROWS != 1))"]
    generics = {entry.variant.guard: [one.split(":")[0] for one in entry.entry.generics] for entry in centred}
    assert "const ROWS" in generics["(ROWS != 1)"]
    assert "const ROWS" not in generics["(not (ROWS != 1))"]


def test_a_variable_of_one_arm_makes_an_entry_for_each_and_a_static_assertion_is_a_guard(draft: KernelDraft) -> None:
    padded = [entry for entry in draft.entries if entry.kernel == "_padded_kernel"]
    assert sorted(entry.variant.guard for entry in padded) == [
        "(BIAS == 1) and (TILE > BIAS)",
        "(not (BIAS == 1)) and (TILE > BIAS)",
    ]


def test_what_follows_an_early_end_is_the_other_arm(draft: KernelDraft) -> None:
    padded = _entry(draft, "padded_kernel")
    assert "return" not in padded
    assert padded.index("} else {") < padded.index("max(")


def test_bits_of_a_constant_are_numbers_though_a_branch_asks_whether_they_are_true(draft: KernelDraft) -> None:
    assert "if FLAGS & 1 != 0 {" in _entry(draft, "flags_kernel")


def test_a_literal_has_a_name_where_cutile_rust_would_take_it_for_another_type(draft: KernelDraft) -> None:
    padded = _entry(draft, "padded_kernel")
    assert "let zero: i32 = 0;" in padded
    assert "max(zero, " in padded


def test_an_array_of_elements_and_of_tiles_is_a_pointer_and_a_tensor_made_of_it(draft: KernelDraft) -> None:
    first = next(entry for entry in draft.entries if entry.kernel == "_centred_kernel")
    assert "means: *mut f32" in first.entry.parameters
    assert draft.text is not None
    assert "let means_tensor = unsafe {" in draft.text


def test_a_generic_that_cutile_rust_takes_for_its_own_has_another_name(draft: KernelDraft) -> None:
    first = next(entry for entry in draft.entries if entry.kernel == "_centred_kernel")
    assert [(one.generic, one.python) for one in first.derived] == [("D_VALUE", "D")]
