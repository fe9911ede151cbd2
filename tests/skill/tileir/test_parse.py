"""Reading and writing Tile IR text: byte for byte back, and a clear error for anything else."""

from __future__ import annotations

import contextlib
import os
import random
from pathlib import Path

import pytest

from tileport_skill.tileir.assemble import disassemble
from tileport_skill.tileir.formats import FORMATS
from tileport_skill.tileir.parse import ParseError, parse
from tileport_skill.tileir.printing import print_module
from tileport_skill.tileir.records import walk
from tileport_skill.tileir.types import PartitionView, Tile, parse_type

EVERY = (Path(__file__).parent / "every_operation.tileir").read_text()


def test_every_operation_comes_back_byte_for_byte():
    """The text is `tileirdisasm`'s own, for each operation in each of its spellings."""
    assert print_module(parse(EVERY)) == EVERY


def test_the_text_of_every_operation_covers_the_table():
    seen = {op.name for entry in parse(EVERY).entries for op in walk(entry.body)}
    assert set(FORMATS) - seen == {"pow", "loop without values"}  # older name of fpowf; a spelling of loop


def test_a_real_kernel_comes_back_byte_for_byte(gemm):
    text = disassemble(gemm("a_times_b"))
    assert print_module(parse(text)) == text


@pytest.mark.soak
def test_the_whole_corpus_comes_back_byte_for_byte():
    folder = os.environ.get("TILEPORT_CORPUS")
    if not folder:
        pytest.skip("TILEPORT_CORPUS names no folder of captured bytecode")
    for path in sorted(Path(folder).glob("*.tileirbc")):
        text = disassemble(path.read_bytes())
        assert print_module(parse(text)) == text, path


def test_values_know_their_lines_and_types():
    (entry,) = parse(
        "entry @k(%arg0: tile<f32>) {\n  %0 = negf %arg0 : tile<f32>\n  %1 = absf %0 : tile<f32>\n  return\n}\n"
    ).entries
    negf, absf, _ = entry.body.ops
    assert absf.operand("source") is negf.result
    assert (negf.result.line, absf.line) == (2, 3)
    assert negf.result.type == Tile((), "f32")


def test_view_types_are_taken_apart():
    view = parse_type(
        "partition_view<tile=(8x4), padding_value = zero, tensor_view<?x16xf32, strides=[?,1]>, dim_map=[1, 0]>"
    )
    assert isinstance(view, PartitionView)
    assert (view.tile, view.padding, view.dim_map) == ((8, 4), "zero", (1, 0))
    assert view.tensor.shape == (None, 16)


HEAD = "entry @k(%arg0: tile<f32>, %arg1: tile<i32>) {\n"


@pytest.mark.parametrize(
    ("body", "line", "column", "says"),
    [
        ("  %0 = frobnicate %arg0 : tile<f32>\n", 2, 8, "unknown operation `frobnicate`"),
        ("  %0 = negf %arg7 : tile<f32>\n", 2, 13, "%arg7 is not defined here"),
        ("  %0 = negf %arg1 : tile<q32>\n", 2, 21, "not an element type"),
        ("  %0 = addf %arg0, %arg0 rounding<: tile<f32>\n", 2, 26, "not a `addf`"),
        ("  %0 = ftof %arg1  : tile<f32> -> tile<f16>\n", 2, 3, "%arg1 is a tile<i32>, not a tile<f32>"),
        ("  %0, %1 = negf %arg0 : tile<f32>\n", 2, 3, "2 results with 1 types"),
        ("  %arg1 = negf %arg0 : tile<f32>\n", 2, 3, "defined twice"),
        ("  if %arg0 {\n", 5, 1, "ends inside a region"),
        ("  ???\n", 2, 3, "not an operation"),
        (
            "  %0 = make_tensor_view %arg0, shape = [%arg1], strides = [] : tile<i32> -> "
            "tensor_view<?xf32, strides=[1]>\n",
            2,
            3,
            "not those of the type",  # found by fuzzing
        ),
        ("  %0:2%1 = get_tile_block_id : tile<i32>\n", 2, 3, "not an operation"),  # found by fuzzing
    ],
)
def test_an_error_has_line_column_and_text(body, line, column, says):
    with pytest.raises(ParseError, match=says.replace("?", r"\?")) as caught:
        parse(HEAD + body + "  return\n}\n")
    assert (caught.value.line, caught.value.column) == (line, column)


def test_a_value_is_unknown_behind_the_region_that_defined_it():
    body = "  if %arg2 {\n    %0 = negf %arg0 : tile<f32>\n  } else {\n  }\n  %1 = absf %0 : tile<f32>\n"
    with pytest.raises(ParseError, match="%0 is not defined here"):
        parse("entry @k(%arg0: tile<f32>, %arg2: tile<i1>) {\n" + body + "}\n")


def test_absurd_input_ends_in_an_error_soon():
    with pytest.raises(ParseError, match="nested deeper"):
        parse("entry @k(%arg0: tile<i1>) {\n" + "  if %arg0 {\n" * 5000)
    with pytest.raises(ParseError, match="99999999 results"):
        parse("entry @k(%arg0: tile<i32>) {\n  %0:99999999 = get_tile_block_id : tile<i32>\n}\n")
    assert parse_type(f"tile<{2**40}xf32>") == Tile((2**40,), "f32")


def test_damaged_text_gives_an_error_or_a_module_and_nothing_else():
    """A thousand random edits; what a longer run found is kept in the tests above."""
    chance = random.Random(5)
    lines = EVERY.splitlines(keepends=True)
    for _ in range(1000):
        start = chance.randrange(len(lines) - 20)
        piece = "".join(lines[start : start + 20])
        where = chance.randrange(len(piece))
        junk = chance.choice(["", "%", "<", ">", "x", "{", "}", "\n", "%arg0", ", ", "é", "\0", '"', "99"])
        damaged = "entry @k(%arg0: tile<f32>) {\n" + piece[:where] + junk + piece[where + chance.randrange(4) :]
        with contextlib.suppress(ParseError):
            parse(damaged)
