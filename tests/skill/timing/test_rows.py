"""The rows kept in the repository: for every operator of TileGym's wheel, few enough, and with a way to be called."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

import tileport_skill.timing
from tileport_skill.errors import RequestError
from tileport_skill.timing.rows import MOST, all_rows, rows_of

CALLS = Path(inspect.getfile(tileport_skill.timing)).parent / "inside" / "calls.py"

WHEEL = [
    "attention",
    "attention_sink",
    "attention_sink_decode",
    "attention_variant",
    "attention_varlen",
    "bmm",
    "chunk_gated_delta_rule",
    "dropout",
    "flash_decode",
    "fp8_quantization_matmul",
    "fused_linear_cross_entropy",
    "geglu",
    "gelu",
    "gemma_attention",
    "gemma_attention_decode",
    "group_gemm",
    "layer_norm",
    "layer_norm_legacy",
    "linear_gluact_linear",
    "mamba2",
    "matmul",
    "mhc",
    "mla",
    "mla_decoding",
    "mla_decoding_split_kv",
    "moe",
    "moe_actgrad_bwd",
    "moe_align_block",
    "recurrent_gated_delta_rule",
    "relu",
    "rms_norm",
    "rope",
    "silu_and_mul",
    "softmax",
    "sparse_mla",
    "splitk_reduce",
    "swa_attention",
    "swiglu",
    "transpose",
]


def test_every_operator_of_the_wheel_has_rows() -> None:
    assert list(all_rows()) == WHEEL


@pytest.mark.parametrize("operator", WHEEL)
def test_rows_are_few_and_different_and_say_where_they_come_from(operator: str) -> None:
    kept = rows_of(operator)
    ids = [row.id for row in kept.rows]
    assert 1 <= len(ids) == len(set(ids)) <= MOST
    assert kept.why
    assert all(origin == "ours" or origin.startswith("tests/") for origin in kept.origin)


def test_every_operator_with_rows_can_be_called() -> None:
    """Read from the source: the module itself imports TileGym."""
    tree = ast.parse(CALLS.read_text(encoding="utf-8"))
    tables = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "_CALLS"
    ]
    assert isinstance(tables[0], ast.Dict)
    assert [ast.literal_eval(key) for key in tables[0].keys if key is not None] == WHEEL


def test_a_row_is_named_after_its_arguments() -> None:
    assert rows_of("rms_norm").rows[0].id == "m=262144,n=1024,float16,static_persistent"
    assert rows_of("silu_and_mul").rows[0].id == "64x1024x1024,float16"
    assert rows_of("bmm").rows[-1].id == "batch=8,size=4096,float16,no-persistent"


def test_an_operator_without_rows_is_refused_with_what_to_do() -> None:
    with pytest.raises(RequestError, match=r"No rows are kept for 'nothing'.*rows\.toml"):
        rows_of("nothing")
