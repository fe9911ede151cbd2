"""Written bytecode: what it disassembles to is the text it was written from."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tileport_skill.errors import RequestError
from tileport_skill.tileir.assemble import Cubin, assemble, disassemble
from tileport_skill.tileir.encode import encode
from tileport_skill.tileir.parse import parse

EVERY = (Path(__file__).parent / "every_operation.tileir").read_text()
LATER = ("fpowi", "saturating", "gdc_", "memory_fence_alias", "insert")
"""Operations of bytecode 13.4; what is written is 13.3."""

KERNELS = ["gemm", "softmax", "gated", "rms_norm", "attention", "transpose", "running_sum", "embedding",
           "persistent", "guarded", "histogram", "layer_norm", "best", "blend"]  # fmt: skip


@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_read_and_written_is_the_same_kernel(name, soak):
    bytecode = soak("tileir_kernels").exported(name)
    text = disassemble(bytecode)
    assert disassemble(encode(parse(text))) == text


def test_a_kernel_read_and_written_gives_the_same_cubin(soak):
    bytecode = soak("tileir_kernels").exported("transpose")
    ours, theirs = (assemble(b, "sm_90") for b in (bytecode, encode(parse(disassemble(bytecode)))))
    assert isinstance(ours, Cubin)
    assert isinstance(theirs, Cubin)
    assert ours.image == theirs.image


def test_every_operation_can_be_written():
    pieces = re.split(r"(?m)^(?=entry )", EVERY)[1:]
    kept = [piece for piece in pieces if not any(word in piece for word in (*LATER, "get_global"))]
    assert len(pieces) - len(kept) < 10
    for piece in kept:
        assert disassemble(encode(parse(piece))) == piece


def test_what_cannot_be_written_is_refused():
    with pytest.raises(RequestError, match="global variables"):
        encode(parse(EVERY))
