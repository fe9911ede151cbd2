"""A table in a port's wrapper: what it answers, and when it is not used."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from tileport_skill.draft import tuned
from tileport_skill.errors import RequestError
from tileport_skill.tuning.table import Line, Table, fits, read_table, write_table

KERNEL = "// a kernel\n"
HINTED = Line(
    of="_kernel",
    where=((0, "dtype", "float16", "float16"), (0, 1, 256, 1024), (2, None, "True", "True"), (3, "len", 2, 4)),
    fields={"TILE": 128},
    hints={"num_ctas": 2},
    options={},
    ratio=1.5,
    low=1.4,
    high=1.6,
    shapes=("a", "b"),
)
CALLED = replace(HINTED, of="softmax()", where=(("x", 1, 256, 1024),), fields={}, hints={}, options={"wide": True})
TABLE = Table(
    operator="softmax",
    arch="sm_90",
    reference_sha256="ab" * 32,
    date="2026-11-30",
    gpu="a GPU",
    versions={"cuda-tile": "1.7.0"},
    copies=True,
    lines=(HINTED, CALLED),
)


class Device(NamedTuple):
    type: str


class Tensor:
    device = Device("cuda")

    def __init__(self, *shape: int, dtype: str = "torch.float16") -> None:
        self.shape, self.dtype = shape, dtype


Loaded = Callable[..., dict[str, Any]]


@pytest.fixture
def loaded(tmp_path: Path) -> Loaded:
    """What a wrapper with the table defines, on a GPU of this capability, beside a `kernel.rs` of this text."""

    def load(capability: tuple[int, int] = (9, 0), kernel: str | None = KERNEL) -> dict[str, Any]:
        (tmp_path / "softmax_kernel").mkdir(exist_ok=True)
        if kernel is not None:
            (tmp_path / "softmax_kernel" / "kernel.rs").write_text(kernel, encoding="utf-8")
        cuda = SimpleNamespace(get_device_capability=lambda _device: capability)
        names: dict[str, Any] = {"torch": SimpleNamespace(Tensor=Tensor, cuda=cuda)}
        names["__file__"] = str(tmp_path / "softmax.py")
        imports = "\n".join((*tuned.IMPORTS, *tuned.FROM_IMPORTS, *tuned.SEARCHING))
        text = f"{imports}\n\n\n{tuned.block(TABLE, KERNEL, searches=True)}"
        exec(compile(text, "softmax.py", "exec"), names)
        return names

    return load


ARGUMENTS = (Tensor(64, 512), Tensor(64, 512), True, [Tensor(1), Tensor(1)])


class Kernel:
    def __init__(self, **hints: int) -> None:
        self.crossing = SimpleNamespace(__name__="_kernel")
        self.hints = hints

    def replace_hints(self, **hints: int) -> Kernel:
        return Kernel(**{**self.hints, **hints})


def test_a_known_shape_gets_its_configuration_and_its_hints(loaded: Loaded) -> None:
    wrapper = loaded()
    space = [SimpleNamespace(TILE=32, other=1), SimpleNamespace(TILE=64, other=2)]
    found = wrapper["_table_configuration"](space, Kernel(), lambda _config: ARGUMENTS)
    assert found.best.config == SimpleNamespace(TILE=128, other=1)
    assert space[0].TILE == 32, "the reference's own list is left alone"
    assert wrapper["_with_table_hints"](Kernel(occupancy=1), ARGUMENTS).hints == {"occupancy": 1, "num_ctas": 2}


@pytest.mark.parametrize(
    "arguments",
    [
        (Tensor(64, 2048), *ARGUMENTS[1:]),
        (Tensor(64, 512, dtype="torch.float32"), *ARGUMENTS[1:]),
        (Tensor(512), *ARGUMENTS[1:]),
        (*ARGUMENTS[:2], False, ARGUMENTS[3]),
        (*ARGUMENTS[:3], [Tensor(1)]),
        (*ARGUMENTS[:3], []),
        ARGUMENTS[:2],
        (None, *ARGUMENTS[1:]),
        (),
    ],
)
def test_an_unknown_shape_is_left_to_the_references_list(arguments: Any, loaded: Loaded) -> None:
    wrapper, kernel = loaded(), Kernel()
    assert wrapper["_table_configuration"]([SimpleNamespace(TILE=32)], kernel, lambda _config: arguments) is None
    assert wrapper["_with_table_hints"](kernel, arguments) is kernel


def test_a_gpu_that_nobody_measured_is_left_to_the_references_list(loaded: Loaded) -> None:
    assert loaded(capability=(10, 0))["_table_line"]("_kernel", dict(enumerate(ARGUMENTS))) is None


@pytest.mark.parametrize("kernel", ["// another kernel\n", None])
def test_a_table_for_another_kernel_is_ignored_and_said_once(kernel: str | None, loaded: Loaded) -> None:
    wrapper = loaded(kernel=kernel)
    with pytest.warns(UserWarning, match="is for another kernel.rs and is ignored"):
        assert wrapper["_table_line"]("_kernel", dict(enumerate(ARGUMENTS))) is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert wrapper["_table_line"]("_kernel", dict(enumerate(ARGUMENTS))) is None


def test_the_table_can_be_switched_off(loaded: Loaded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "CUTILE_RS_TUNED", "0")
    assert loaded()["_table_line"]("_kernel", dict(enumerate(ARGUMENTS))) is None


def test_options_are_set_where_the_caller_left_them_open(loaded: Loaded) -> None:
    def softmax(x: Tensor, wide: bool | None = None, **_more: Any) -> Any:
        return wide

    call = loaded()["_with_table_options"](softmax)
    assert call(Tensor(64, 512)) is True
    assert call(Tensor(64, 512), wide=None) is True
    assert call(Tensor(64, 512), wide=False) is False
    assert call(Tensor(64, 512), False) is False
    assert call(Tensor(64, 9999)) is None


def test_a_table_is_the_same_after_it_was_written(tmp_path: Path) -> None:
    write_table(TABLE, tmp_path / "table.json")
    assert read_table(tmp_path / "table.json") == TABLE
    (tmp_path / "table.json").write_text("{}", encoding="utf-8")
    with pytest.raises(RequestError, match="is no tuning table"):
        read_table(tmp_path / "table.json")


def test_a_table_fits_its_own_reference_alone() -> None:
    assert fits(TABLE, "softmax", "ab" * 32) is None
    assert fits(TABLE, "rms_norm", "ab" * 32) == "the table is of softmax"
    other = hashlib.sha256(b"another text").hexdigest()
    assert "another text of the reference" in str(fits(TABLE, "softmax", other))
