"""`tileiras` in our container: one input gives one file, the same as outside, which Docker's own profile prevents."""

from __future__ import annotations

import hashlib
import io
import shutil
import subprocess
from pathlib import Path

import cuda.tile as ct
import pytest
from cuda.tile.compilation import (
    ArrayConstraint,
    CallingConvention,
    KernelSignature,
    ScalarConstraint,
    export_kernel,
)

from tileport_driver.container import run_to_end
from tileport_driver.host.engine import docker_engine
from tileport_driver.host.images import ensure_base
from tileport_driver.host.paths import containers_dir
from tileport_driver.host.versions import read_versions
from tileport_skill.tileir.assemble import Cubin, assemble, tool

RUNS = 4
SKILL = Path(__file__).parents[3] / "skill"
ASSEMBLE = f"""
import hashlib, os
os.environ["TILEPORT_CUDA_HOME"] = "/cuda"
from tileport_skill.tileir.assemble import assemble
for _ in range({RUNS}):
    assemble.cache_clear()
    made = assemble(open("/input/kernel.tileirbc", "rb").read(), "sm_100")
    print(hashlib.sha256(made.image).hexdigest() if hasattr(made, "image") else made.reason)
"""


@ct.kernel
def attention(Q, K, V, O, scale: float):  # noqa: E741 - the names of the literature
    """Large enough that where memory lies shows in what the compiler makes of it."""
    i = ct.bid(0)
    q = ct.load(Q, (i, 0), (128, 128))
    m = ct.full((128, 1), -1e30, ct.float32)
    total = ct.zeros((128, 1), ct.float32)
    acc = ct.zeros((128, 128), ct.float32)
    for j in range(ct.num_tiles(K, axis=0, shape=(128, 128))):
        s = ct.mma(q, ct.load(K, (0, j), (128, 128), order=(1, 0)), ct.zeros((128, 128), ct.float32)) * scale
        new = ct.maximum(m, ct.max(s, axis=1, keepdims=True))
        p = ct.exp2(s - new)
        alpha = ct.exp2(m - new)
        total = total * alpha + ct.sum(p, axis=1, keepdims=True)
        acc = ct.mma(ct.astype(p, ct.float16), ct.load(V, (j, 0), (128, 128)), acc * alpha)
        m = new
    ct.store(O, (i, 0), ct.astype(acc / total, ct.float16))


@pytest.fixture(scope="module")
def bytecode() -> bytes:
    array = ArrayConstraint(
        ct.float16,
        2,
        index_dtype=ct.int32,
        stride_lower_bound_incl=0,
        alias_groups=(),
        may_alias_internally=False,
        stride_constant=[None, 1],
        stride_divisible_by=[8, 1],
        shape_divisible_by=1,
        base_addr_divisible_by=16,
    )
    signature = KernelSignature(
        [array, array, array, array, ScalarConstraint(ct.float32)], CallingConvention.cutile_python_v1(), symbol="entry"
    )
    out = io.BytesIO()
    options = {"gpu_code": "sm_100", "output_format": "tileir_bytecode", "bytecode_version": "13.3"}
    export_kernel(attention, [signature], out, **options)
    return out.getvalue()


def test_where_memory_lies_shows_in_the_cubin_of_this_kernel(bytecode: bytes, tmp_path: Path) -> None:
    """Without this the other tests would prove nothing: run plainly, one input gives several files."""
    source = tmp_path / "kernel.tileirbc"
    source.write_bytes(bytecode)
    found = set()
    for run in range(12):
        target = tmp_path / f"{run}.cubin"
        subprocess.run([tool("tileiras"), "--gpu-name", "sm_100", str(source), "-o", str(target)], check=True)
        found.add(target.read_bytes())
        if len(found) > 1:
            return
    pytest.fail("12 runs gave one file")


def test_at_fixed_addresses_one_input_gives_one_file(bytecode: bytes) -> None:
    assert len({_outside(bytecode) for _ in range(RUNS)}) == 1


@pytest.mark.docker
def test_in_our_container_it_gives_that_file_too(bytecode: bytes, tmp_path: Path) -> None:
    shutil.copytree(SKILL / "tileport_skill", tmp_path / "skill" / "tileport_skill")
    (tmp_path / "input").mkdir()
    (tmp_path / "input" / "kernel.tileirbc").write_bytes(bytecode)
    tmp_path.chmod(0o755)
    with docker_engine() as client:
        done = run_to_end(
            client,
            image=ensure_base(client, read_versions(containers_dir()), print),
            name=f"tileport-test-{tmp_path.name}",
            command=["env", "PYTHONPATH=/skill", "python3", "-c", ASSEMBLE],
            writable={},
            readable={
                tmp_path / "skill": "/skill",
                tmp_path / "input": "/input",
                Path(tool("tileiras")).parents[1]: "/cuda",
            },
            seconds=120,
        )
    assert done.exit_code == 0, done.log
    assert done.log.split() == [_outside(bytecode)] * RUNS


def _outside(bytecode: bytes) -> str:
    assemble.cache_clear()
    made = assemble(bytecode, "sm_100")
    assert isinstance(made, Cubin)
    return hashlib.sha256(made.image).hexdigest()
