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
    assert set(refused) == {"_running_kernel", "_half_tile_kernel"}
    reason, line = refused["_running_kernel"]
    assert "cuda.tile.cumsum" in reason
    assert "cumsum" in line
    reason, line = refused["_half_tile_kernel"]
    assert "computed" in reason
    assert "TILE // 2" in line
    assert len(draft.translated) == 4


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
        "rows_kernel": ("f16", "7", "32"),
        "halves_kernel": ("f16", "32"),
        "product_kernel": ("f32", "tf32", "32"),
    }
    arrays = {"rows_kernel": ((2, "x"), (1, "w"), (2, "y")), "halves_kernel": ((2, "x"),)}
    arrays |= {"product_kernel": ((2, "a"), (2, "b"), (2, "c"))}
    requests = [_request(name, values, arrays.get(name, ())) for name, values in generics.items()]
    answers = Emitter(built_emitter()).emit(kernel, requests)
    assert [str(answer.problem) for answer in answers if answer.problem] == []


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
