"""The wrapper around our own kernels: the golden, what it launches when it runs, and what is refused with its line."""

from __future__ import annotations

import functools
import re
import sys
import types
from pathlib import Path
from typing import Any

import cffi
import pytest
import torch
from tests.conftest import Golden
from tests.skill.tuning.tables import drafted_table

from tileport_skill import infrastructure
from tileport_skill.draft.crossing import c_function
from tileport_skill.draft.host import Borrowed, read_host
from tileport_skill.draft.operator import KernelDraft
from tileport_skill.draft.values import Untranslatable
from tileport_skill.draft.wrapper import Tuned, print_wrapper
from tileport_skill.infrastructure import MODULE

REFERENCE = (Path(__file__).parents[2] / "data/drafts/host.py.txt").read_text(encoding="utf-8")

DESCRIPTOR = """
typedef struct { uint64_t ptr; int32_t ndim; int64_t shape[5]; int64_t strides[5]; int32_t dtype; } TensorDesc;
"""


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
    """Stands where the built library would: C functions as the wrapper declares them, which keep what crosses."""

    def __init__(self, descriptor: str = DESCRIPTOR) -> None:
        self.calls: list[tuple[str, tuple[Any, ...]]] = []
        self.described: list[torch.dtype] = []
        """What `make_tensor_desc` was asked for."""
        self._descriptor = descriptor

    def bind(self, _operator: str, cdef: str) -> tuple[cffi.FFI, Any]:
        ffi = cffi.FFI()
        ffi.cdef(self._descriptor + cdef)
        return ffi, ffi.dlopen("library")

    def load_function(self, type: Any, name: str) -> Any:
        def called(*arguments: Any) -> int:
            self.calls.append((name, tuple(map(_read, arguments))))
            return 0

        return cffi.FFI().callback(type, called)

    def describe(self, ffi: cffi.FFI, tensor: torch.Tensor) -> Any:
        self.described.append(tensor.dtype)
        code = {torch.float32: 0, torch.bfloat16: 2}[tensor.dtype]
        described = ffi.new("TensorDesc *", {"ptr": tensor.data_ptr(), "ndim": tensor.dim(), "dtype": code})
        described.shape[0 : tensor.dim()], described.strides[0 : tensor.dim()] = tensor.shape, tensor.stride()
        if "layout" in self._descriptor:
            described.layout = 7
        return described


def _read(argument: Any) -> Any:
    if isinstance(argument, int | float):
        return argument
    return (*argument.shape[0 : argument.ndim],), (*argument.strides[0 : argument.ndim],), argument.dtype


def loaded(
    wrapper: str, monkeypatch: pytest.MonkeyPatch, tuning: bool, descriptor: str = DESCRIPTOR
) -> tuple[dict[str, Any], Library]:
    """The wrapper, run with stand-ins for TileGym's loader and for its autotuner, which runs the last one best.

    Tensors are said to lie on device 3.
    """
    library, cache = Library(descriptor), dict[object, object]()

    def autotune_launch(kernel_fn: Any, configs: list[Any], key: object, kernel_name: str) -> Any:
        for config in configs:
            kernel_fn(config)
        cache[str((kernel_name, key))] = configs[-1]
        kernel_fn(configs[-1])
        return types.SimpleNamespace(best_config=configs[-1], tuning_record=[(one, 0.002) for one in configs])

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
            "bind_kernel_function_cffi": functools.cache(library.bind),
            "check_rc": lambda code, name: None,
            "make_tensor_desc": library.describe,
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
    monkeypatch.setattr(cffi.api, "_load_backend_lib", lambda *_: library)
    monkeypatch.setattr(torch.Tensor, "is_cuda", True, raising=False)
    monkeypatch.setattr(torch.Tensor, "get_device", lambda _: 3)
    names: dict[str, Any] = {"__name__": "drafted"}
    exec(compile(wrapper, "drafted.py", "exec"), names)
    return names, library


def test_a_launch_passes_arrays_constants_grid_hints_device_and_stream(
    wrapper: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    names, library = loaded(wrapper, monkeypatch, tuning=False)
    names["leaky"](torch.zeros(3, 100))
    array = ((300,), (1,), 0)
    assert library.calls == [("cutile_drafted_leaky_kernel", (array, array, 128, False, 3, 1, 1, -1, 2, 3, 77))]


def test_make_tensor_desc_is_asked_once_for_an_element_type_and_always_if_its_layout_is_another(
    wrapper: str, sharing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for text in (wrapper, sharing):
        seen = []
        for descriptor in (DESCRIPTOR, DESCRIPTOR.replace("dtype;", "dtype; int32_t layout;")):
            names, library = loaded(text, monkeypatch, tuning=False, descriptor=descriptor)
            for x in (torch.zeros(3, 100), torch.zeros(3, 100), torch.zeros(5, 100, dtype=torch.bfloat16)):
                names["leaky"](x)
            seen.append((library.described, library.calls))
        (once, calls), (always, same_calls) = seen
        assert once == [torch.float32, torch.bfloat16]
        assert always == [torch.float32] * 4 + [torch.bfloat16] * 2
        assert calls == same_calls
        assert [arguments[0] for _, arguments in calls] == [((300,), (1,), 0)] * 2 + [((500,), (1,), 2)]


def test_each_configuration_is_tried_and_the_best_is_launched_once_a_call(
    wrapper: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    names, library = loaded(wrapper, monkeypatch, tuning=True)
    for _ in range(2):
        names["rows"](torch.zeros(7, 30), torch.zeros(30))
    assert [arguments[-3] for _, arguments in library.calls] == [1, 2, 4, 4, 4]
    assert library.calls[0][1][:6] == (((7, 30), (30, 1), 0), ((30,), (1,), 0), ((7, 30), (30, 1), 0), 0.5, 7, 32)


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
    table = drafted_table(of="_rows_kernel", where=((0, 0, 1, 9), (0, 1, 16, 32)))
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
        ("lambda _: args, _hints", "lambda _: args, _hints, warmup=3", "options"),
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


def test_a_registered_function_of_another_operator_is_its_ports_and_anything_else_of_it_is_refused() -> None:
    imported = REFERENCE.replace("import math\n", "import math\n\nfrom .reduce import reduce\n").replace(
        "math.ceil(x.numel() / block)", "reduce(math.ceil(x.numel() / block))"
    )
    host = read_host(imported, {"reduce": frozenset({"reduce"})})
    assert host.borrowed == (Borrowed(name="reduce", module="reduce", function="reduce"),)
    text = print_wrapper("drafted", host, [], {})
    assert "from tilegym.ops.cutile_rs.reduce import reduce as ported" in text
    assert "from .reduce" not in text
    inside = REFERENCE.replace(
        "    from .utils import next_power_of_2", "    from tilegym.ops.cutile.reduce import reduce"
    )
    (rows,) = (
        one.text for one in read_host(inside, {"reduce": frozenset({"reduce"})}).pieces if "rows" in one.text[:60]
    )
    assert "    from tilegym.ops.cutile_rs.reduce import reduce\n" in rows
    for text in (imported, inside):
        with pytest.raises(Untranslatable, match="belongs to the reference"):
            read_host(text, {"reduce": frozenset({"other"})})


@pytest.mark.parametrize(
    ("old", "new", "kept"),
    [
        ("def _hints(config):", "def _hints(config: ct.Constant) -> dict:", "def _hints(config: object) -> dict:"),
        ("exhaustive_search(\n", "ct.tune.exhaustive_search(\n", " _exhaustive_search("),
        ("lambda _: args, _hints", "lambda _: args, _hints, quiet=True", "_hints, quiet=True"),
        ("from .utils", "from tilegym.ops.cutile.utils", "from tilegym.backend.cutile_rs.utils import next_power_of_2"),
    ],
)
def test_what_has_a_counterpart_under_another_name_gets_it(old: str, new: str, kept: str) -> None:
    assert old in REFERENCE
    host = read_host(REFERENCE.replace(old, new))
    assert kept in "\n".join([*host.imports, *(piece.text for piece in host.pieces)])
