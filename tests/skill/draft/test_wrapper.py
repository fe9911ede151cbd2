"""The wrapper around our own kernels: the golden, what it launches when it runs, and what is refused with its line."""

from __future__ import annotations

import re
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.conftest import Golden

from tileport_skill import infrastructure
from tileport_skill.draft.crossing import c_function
from tileport_skill.draft.host import read_host
from tileport_skill.draft.operator import KernelDraft
from tileport_skill.draft.values import Untranslatable
from tileport_skill.draft.wrapper import Tuned, print_wrapper
from tileport_skill.infrastructure import MODULE
from tileport_skill.tuning.table import Line, Table

REFERENCE = (Path(__file__).parents[2] / "data/drafts/host.py.txt").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def wrapper(draft: KernelDraft) -> str:
    functions = [c_function("drafted", entry) for entry in draft.entries]
    refused = {one.kernel: one.reason for one in draft.refused}
    return print_wrapper("drafted", read_host(REFERENCE), functions, refused)


def test_the_wrapper_reads_as_the_golden_does(wrapper: str, golden: Golden) -> None:
    golden("drafted_wrapper.py.txt", wrapper)


@pytest.fixture(scope="module")
def sharing(draft: KernelDraft) -> str:
    """The wrapper where the repository has what ports share."""
    functions = [c_function("drafted", entry) for entry in draft.entries]
    return print_wrapper("drafted", read_host(REFERENCE), functions, {}, shared=True)


def test_what_no_registered_function_reaches_is_left_behind(wrapper: str) -> None:
    for gone in ("unregistered", "_scratch_bytes", "_squared", "PAD_ZERO", "_product_kernel", "import cuda", r"\bct\."):
        assert re.search(gone, wrapper.replace("`ct.launch`", "")) is None


class Library:
    """Stands where the built library would: keeps what crosses."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[Any, ...]]] = []

    def __getattr__(self, name: str) -> Callable[..., int]:
        def called(*arguments: Any) -> int:
            self.calls.append((name, arguments))
            return 0

        return called


def loaded(wrapper: str, monkeypatch: pytest.MonkeyPatch, tuning: bool) -> tuple[dict[str, Any], Library]:
    """The wrapper, run with stand-ins for TileGym's loader and for its autotuner, which runs the last one best."""
    library, cache = Library(), dict[object, object]()

    def autotune_launch(kernel_fn: Any, configs: list[Any], key: object, kernel_name: str) -> Any:
        for config in configs:
            kernel_fn(config)
        cache[str((kernel_name, key))] = configs[-1]
        kernel_fn(configs[-1])
        return types.SimpleNamespace(best_config=configs[-1])

    modules: dict[str, dict[str, Any]] = {
        "tilegym": {},
        "tilegym.autotune": {"is_autotune_disabled": lambda: not tuning},
        "tilegym.backend": {"register_impl": lambda name, backend: lambda function: function},
        "tilegym.backend.cutile_rs": {},
        "tilegym.backend.cutile_rs.autotuner": {
            "autotune_launch": autotune_launch,
            "get_cache_stats": lambda: {key: {} for key in cache},
        },
        "tilegym.backend.cutile_rs.utils": {
            "bind_kernel_function_cffi": lambda operator, cdef: (None, library),
            "check_rc": lambda code, name: None,
            "make_tensor_desc": lambda ffi, tensor: tuple(tensor.shape),
            "next_power_of_2": lambda n: 1 << (n - 1).bit_length(),
        },
    }
    for name, content in modules.items():
        module = types.ModuleType(name)
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, name, module)
    launching = types.ModuleType(MODULE)
    monkeypatch.setitem(sys.modules, MODULE, launching)
    text = Path(infrastructure.__file__).with_name("launching.py.txt").read_text(encoding="utf-8")
    exec(compile(text, "launching.py", "exec"), vars(launching))
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: types.SimpleNamespace(cuda_stream=77))
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 3)
    names: dict[str, Any] = {"__name__": "drafted"}
    exec(compile(wrapper, "drafted.py", "exec"), names)
    return names, library


def test_a_launch_passes_arrays_constants_grid_hints_device_and_stream(
    wrapper: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    names, library = loaded(wrapper, monkeypatch, tuning=False)
    names["leaky"](torch.zeros(3, 100))
    assert library.calls == [("cutile_drafted_leaky_kernel", ((300,), (300,), 128, False, 3, 1, 1, -1, 2, 3, 77))]


def test_each_configuration_is_tried_and_the_best_is_launched_once_a_call(
    wrapper: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    names, library = loaded(wrapper, monkeypatch, tuning=True)
    for _ in range(2):
        names["rows"](torch.zeros(7, 30), torch.zeros(30))
    assert [arguments[-3] for _, arguments in library.calls] == [1, 2, 4, 4, 4]
    assert library.calls[0][1][:6] == ((7, 30), (30,), (7, 30), 0.5, 7, 32)


def test_a_kernel_that_is_not_drafted_says_so_when_it_is_launched(
    wrapper: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    names, library = loaded(wrapper, monkeypatch, tuning=False)
    with pytest.raises(NotImplementedError, match=r"_running_kernel is not drafted: .*cumsum"):
        names["leaky"](torch.zeros(128, requires_grad=True)).sum().backward()
    assert [name for name, _ in library.calls] == ["cutile_drafted_leaky_kernel"]


def test_with_the_shared_launcher_the_same_is_launched_by_a_wrapper_half_as_long(
    wrapper: str, sharing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(sharing.splitlines()) < 0.65 * len(wrapper.splitlines())
    calls = []
    for text in (wrapper, sharing):
        names, library = loaded(text, monkeypatch, tuning=True)
        names["leaky"](torch.zeros(3, 100))
        names["rows"](torch.zeros(7, 30), torch.zeros(30))
        calls.append(library.calls)
    assert calls[0] == calls[1] != []


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize(("width", "launched"), [(30, [4]), (64, [1, 2, 4, 4])])
def test_a_measured_configuration_is_launched_without_a_search_and_unknown_shapes_are_searched(
    draft: KernelDraft, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, shared: bool, width: int, launched: list[int]
) -> None:
    functions = [c_function("drafted", entry) for entry in draft.entries]
    line = Line(
        of="_rows_kernel",
        where=((0, 0, 1, 9), (0, 1, 16, 32)),
        fields={"occupancy": 4},
        hints={},
        options={},
        ratio=1.2,
        low=1.1,
        high=1.3,
        shapes=("a",),
    )
    table = Table(
        operator="drafted",
        arch="sm_90",
        reference_sha256="",
        date="2026-11-30",
        gpu="a GPU",
        versions={},
        copies=True,
        lines=(line,),
    )
    tuned = Tuned(table=table, kernel="// the kernel\n")
    text = print_wrapper("drafted", read_host(REFERENCE), functions, {}, shared=shared, tuned=tuned)
    (tmp_path / "drafted_kernel").mkdir()
    (tmp_path / "drafted_kernel" / "kernel.rs").write_text("// the kernel\n", encoding="utf-8")
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _device: (9, 0))
    names, library = loaded(text, monkeypatch, tuning=True)
    names["__file__"] = str(tmp_path / "drafted.py")
    names["rows"](torch.zeros(7, width, device="meta"), torch.zeros(width, device="meta"))
    assert [arguments[-3] for _, arguments in library.calls] == launched


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("_running_kernel, (dy, torch.empty_like(dy), 128))", "_running_kernel)", "launch with"),
        ("    return _TUNE_CACHE[key]", "    return ct.bid(_TUNE_CACHE[key])", "ct.bid"),
        ("lambda _: args, _hints", "lambda _: args, _hints, quiet=True", "options"),
        ("    from .utils import next_power_of_2", "    from .gelu import gelu", "from .gelu import gelu"),
        ("occupancy=2", "occupancy=ct.of_the_day()", "the hint occupancy"),
        ("@experimental_kernel", "@unheard_of", "the decorator unheard_of"),
        ('"occupancy": config', '"cutile": config', "names the backend cutile"),
        ("_CONFIGS = ", "_NOT_HERE = ", "_CONFIGS, which no plain statement"),
    ],
)
def test_what_has_no_counterpart_is_refused_with_its_line(old: str, new: str, reason: str) -> None:
    assert old in REFERENCE
    with pytest.raises(Untranslatable, match=re.escape(reason)) as refused:
        read_host(REFERENCE.replace(old, new, 1))
    assert refused.value.line is not None
