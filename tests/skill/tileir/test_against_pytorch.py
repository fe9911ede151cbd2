"""The interpreter against PyTorch on the CPU: kernels of ours here, TileGym's own tests in `soak/interpreted.py`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from tileport_skill.tilegym.operators import open_checkout, read_operators
from tileport_skill.tileir.assemble import disassemble
from tileport_skill.tileir.interpret import run
from tileport_skill.tileir.launch import ArrayTable, Buffer, Launch, TableRow
from tileport_skill.tileir.parse import parse

CHECKOUT = Path(__file__).parents[2] / "data" / "checkout"
REPORTS = Path(__file__).parents[2] / "soak" / "reports"
TOLERANCES = {torch.float32: (1e-5, 1e-6), torch.float16: (1e-2, 1e-2)}
"""Relative and absolute, as TileGym's tests have them."""


def attention(q, k, v, _, scale):
    """Causal, the scale being of the exponent to base two."""
    scores = (q.float() @ k.float().T) * scale
    scores = scores.masked_fill(torch.ones_like(scores).tril() == 0, -1e30)
    return torch.softmax(scores * float(np.log(2)), -1) @ v.float()


def layer_norm(x, w, b, _, eps):
    return torch.nn.functional.layer_norm(x, (x.shape[1],), w, b, eps)


REFERENCES = {
    "gemm": lambda a, b, _: a.float() @ b.float(),
    "softmax": lambda x, _: torch.softmax(x.float(), -1),
    "rms_norm": lambda x, w, _, eps: torch.nn.functional.rms_norm(x.float(), (x.shape[1],), w.float(), eps),
    "layer_norm": layer_norm,
    "attention": attention,
    "transpose": lambda x, _: x.T * 2,
    "running_sum": lambda x, _: torch.cumsum(x, 1),
}
OUTPUT = {"layer_norm": 3, "attention": 3, "gemm": 2, "rms_norm": 2}


def arrays(kernels, name: str, seed: int) -> tuple[tuple[int, int, int], list]:
    return kernels.KERNELS[name].launch(np.random.default_rng(seed))


def interpreted(kernels, name: str, seed: int) -> torch.Tensor:
    """What the kernel writes, unspecified elements as NaN."""
    (entry,) = parse(disassemble(kernels.exported(name))).entries
    grid, given = arrays(kernels, name, seed)
    place = OUTPUT.get(name, 1)
    arguments: list = []
    for value in given:
        if isinstance(value, np.ndarray):
            strides = [s // value.itemsize for s in value.strides]
            arguments += [Buffer("array", value.reshape(-1)), *value.shape, *strides]
        else:
            arguments.append(value)
    outcome = run(entry, Launch(grid, tuple(arguments)))
    assert outcome.findings == ()
    count = sum(isinstance(value, np.ndarray) for value in given[:place])
    written = outcome.buffers[count]
    data = written.data.copy()
    data[written.poison | ~written.touched] = np.nan
    return torch.from_numpy(data.reshape(given[place].shape))


@pytest.mark.parametrize("name", REFERENCES)
def test_a_kernel_of_ours_gives_what_pytorch_gives(soak, name):
    kernels = soak("tileir_kernels")
    for seed in (1000, 1001):
        found = interpreted(kernels, name, seed)
        _, given = arrays(kernels, name, seed)
        expected = REFERENCES[name](*(torch.from_numpy(v) if isinstance(v, np.ndarray) else v for v in given))
        seen = ~torch.isnan(found)
        assert seen.sum() >= 0.5 * seen.numel()
        rtol, atol = TOLERANCES[found.dtype]
        torch.testing.assert_close(found[seen], expected.to(found.dtype)[seen], rtol=rtol, atol=atol)


TABLE = """\
entry @k(%t: tile<ptr<i64>>, %n: tile<i32>) {
  %0 = make_token : token
  %tv = make_tensor_view %t, shape = [%n, 3], strides = [3, 1] : tile<i32> -> tensor_view<?x3xi64, strides=[3,1]>
  %pv = make_partition_view %tv : partition_view<tile=(1x4), tensor_view<?x3xi64, strides=[3,1]>>
  %x, %y, %z = get_tile_block_id : tile<i32>
  %c0 = constant <i32: 0> : tile<i32>
  %row, %rt = load_view_tko weak %pv[%x, %c0] : partition_view<tile=(1x4), tensor_view<?x3xi64, strides=[3,1]>>, \
tile<i32> -> tile<1x4xi64>, token
  %a = extract %row[%c0, %c0] : tile<1x4xi64> -> tile<1x1xi64>
  %b = reshape %a : tile<1x1xi64> -> tile<i64>
  %p = int_to_ptr %b : tile<i64> -> tile<ptr<f32>>
  %v, %vt = load_ptr_tko weak %p token=%0 : tile<ptr<f32>> -> tile<f32>, token
  %w = addf %v, %v  : tile<f32>
  %s = store_ptr_tko weak %p, %w token=%vt : tile<ptr<f32>>, tile<f32> -> token
  return
}
"""


def test_a_list_of_arrays_is_a_table_of_addresses_in_memory():
    """As cuTile passes one: a row of pointer, sizes and strides for each array."""
    one, two = np.array([1.5, 8.0], np.float32), np.array([4.0, -2.0], np.float32)
    rows = (TableRow(Buffer("one", one), (2, 1)), TableRow(Buffer("two", two, 1), (1, 1)))
    outcome = run(parse(TABLE).entries[0], Launch((2, 1, 1), (ArrayTable("list", rows), 2)))
    assert outcome.findings == ()
    assert [list(written.data) for written in outcome.buffers] == [[3.0, 8.0], [4.0, -4.0]]


@pytest.fixture(scope="module")
def scaled(soak, tmp_path_factory):
    """A test of the scaling operator on CPU tensors, its kernel run by the interpreter."""
    root = tmp_path_factory.mktemp("interpreted") / "checkout"
    shutil.copytree(CHECKOUT, root)
    checkout = open_checkout(root)
    operators = [operator for operator in read_operators(checkout) if operator.name == "scale"]
    interpreted_ = soak("interpreted")
    ids = ["tests/ops/test_scale.py::test_op[cutile-dtype0-size0]", "tests/ops/test_scale.py::test_slice_of_an_array"]
    return interpreted_, operators, interpreted_.interpret(checkout, operators, ids, 60)


def test_an_operators_own_test_passes_with_its_kernel_interpreted(scaled):
    interpreted_, operators, records = scaled
    assert [record["status"] for record in records] == ["passed", "passed"], records
    assert records[0]["launches"] == {"scale._scale_kernel": 1}
    (checked,) = interpreted_.judged(operators, records)
    assert checked.agrees
    assert checked.tests == 2


def test_a_test_that_would_not_notice_a_wrong_kernel_proves_nothing(scaled):
    """The one test compares, and fails once the kernel is falsified; the other compares nothing."""
    interpreted_, operators, records = scaled
    assert records[0]["falsified"] == {"scale._scale_kernel": True}
    blind = [{**record, "falsified": {}} for record in records]
    (checked,) = interpreted_.judged(operators, blind)
    assert not checked.agrees
    assert "do not notice" in checked.reason


def test_the_kept_report_says_that_the_interpreter_agrees_with_pytorch_on_most_kernels_of_tilegym():
    """Made by `soak/interpreted.py`; each kernel is named, one that is not checked with the reason."""
    report = json.loads((REPORTS / "interpreted-tilegym.json").read_text())
    results = report["results"]
    assert report["kernels"] == len(results) >= 56
    assert report["agree"] == sum(one["agrees"] for one in results) >= 45
    assert all(one["agrees"] != bool(one["reason"]) for one in results)
