"""The text of a port's Python wrapper: the reference's host code around a launch into the Rust library."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tileport_skill.draft import tuned as tuning
from tileport_skill.draft.crossing import ArrayArgument, CFunction, FixedArgument, ScalarArgument
from tileport_skill.draft.host import Host, Piece
from tileport_skill.draft.replaced import PORTS
from tileport_skill.infrastructure import MODULE
from tileport_skill.tuning.table import Table

WIDTH = 120
C_TYPES = {"i32": "int32_t", "f32": "float", "bool": "int32_t"}
LAUNCH = "int32_t grid_x, int32_t grid_y, int32_t grid_z, int32_t num_cta_in_cga, int32_t occupancy,"
IMPORTS = (
    "import torch",
    "from tilegym.backend.cutile_rs.utils import bind_kernel_function_cffi",
    "from tilegym.backend.cutile_rs.utils import check_rc",
    "from tilegym.backend.cutile_rs.utils import make_tensor_desc",
)
TUNING_IMPORTS = (
    "from itertools import count",
    "from types import SimpleNamespace",
    "from tilegym.backend.cutile_rs.autotuner import autotune_launch",
    "from tilegym.backend.cutile_rs.autotuner import get_cache_stats",
)
SHARED_IMPORTS = (
    f"from {MODULE} import Launcher",
    f"from {MODULE} import kernel as _kernel",
)
SHARED = """\
_LAUNCHER = Launcher("{operator}", _CDEF)
_launch = _LAUNCHER.launch
"""
SHARED_TUNING = "_exhaustive_search = _LAUNCHER.exhaustive_search\n"
LAUNCHING = '''\
_AUTO = -1  # leaves a hint to the compiler
_CODES = {{}}  # element types' codes in a TensorDesc, as make_tensor_desc has said them


class _Kernel:
    """An entry of kernel.rs: what crosses to its launcher, and the hints it is compiled with."""

    def __init__(self, crossing, occupancy=None, num_ctas=None, num_worker_warps=None):
        self.crossing = crossing
        self.occupancy = occupancy
        self.num_ctas = num_ctas
        # cuTile Rust 0.2.0 has no word for num_worker_warps, so it has no effect.
        self.num_worker_warps = num_worker_warps

    def replace_hints(self, **hints):
        kept = {{
            "occupancy": self.occupancy,
            "num_ctas": self.num_ctas,
            "num_worker_warps": self.num_worker_warps,
        }}
        return _Kernel(self.crossing, **{{**kept, **hints}})


def _kernel(**hints):
    return lambda crossing: _Kernel(crossing, **hints)


def _described(ffi, tensor):
    """As `make_tensor_desc`, in a third of its time once that has said what the element type's code is."""
    if tensor.is_cuda and tensor.dtype in _CODES:
        return _filled(tensor, _CODES[tensor.dtype])
    known = make_tensor_desc(ffi, tensor)  # raises what cannot be described
    if ffi.buffer(ffi.new("TensorDesc *", *_filled(tensor, known.dtype)))[:] == ffi.buffer(known)[:]:
        _CODES[tensor.dtype] = known.dtype
    return known


def _filled(tensor, code):
    """What cffi fills a TensorDesc from while it calls."""
    shape = tensor.shape
    return [(tensor.data_ptr(), len(shape), shape, tensor.stride(), code)]


def _launch(stream, grid, kernel, args):
    """Queues the kernel on the stream, as `ct.launch` does, and does not wait for it."""
    ffi, library = bind_kernel_function_cffi("{operator}", _CDEF)
    name, crossing = kernel.crossing(*args)
    device = next(one for one in args if isinstance(one, torch.Tensor)).get_device()
    code = getattr(library, name)(
        *[_described(ffi, one) if isinstance(one, torch.Tensor) else one for one in crossing],
        *(*grid, 1, 1)[:3],
        {num_ctas} or _AUTO,
        {occupancy} or _AUTO,
        device,
        stream.cuda_stream,
    )
    check_rc(code, name)
'''
BY_TARGET = '''\
class _ByTarget:
    """A hint that depends on the GPU: `_ByTarget(sm_100=8, default=2)`."""

    def __init__(self, default=None, **values):
        self.default = default
        self.values = values


@cache
def _on(hint, device):
    if not isinstance(hint, _ByTarget):
        return hint
    major, minor = torch.cuda.get_device_capability(device)
    return hint.values.get(f"sm_{major}{minor}", hint.default)
'''
TIMEOUT = '''\
def _compiler_timeout(_seconds):
    """cuTile Rust 0.2.0 cannot give up compiling: a slow configuration makes tuning longer, and is not left out."""
    return nullcontext()
'''
TUNING = '''\
_SEARCHES = count()


def _exhaustive_search(search_space, stream, grid_fn, kernel, args_fn, hints_fn=None, quiet=True):
    """The fastest configuration by TileGym's autotuner, each run on arguments of its own."""
    configs, number, trial = list(search_space), next(_SEARCHES), {{}}

    def run(config):
        if id(config) not in trial:
            trial.clear()
            trial[id(config)] = args_fn(config)
        args = trial[id(config)]
        # The autotuner runs the winner once more when it is done; the caller launches it itself.
        if str(("{operator}", number)) not in get_cache_stats():
            hinted = kernel if hints_fn is None else kernel.replace_hints(**hints_fn(config))
            _launch(stream, grid_fn(config), hinted, args)
        return next(one for one in args if isinstance(one, torch.Tensor))

    tuned = autotune_launch(kernel_fn=run, configs=configs, key=number, kernel_name="{operator}")
    microseconds = 1000 * min((time for _, time in tuned.tuning_record), default=0.0)
    return SimpleNamespace(best=SimpleNamespace(config=tuned.best_config, mean_us=microseconds))
'''
BORROWED = '''\
def {name}(*args, **kwargs):
    """The port of {module} is a port of its own: it is there when this is called, or the import says that it is not."""
    from {ports}.{module} import {function} as ported

    return ported(*args, **kwargs)
'''

TUNED_LAUNCH = '''\


def _launch(stream, grid, kernel, args):
    """Queues the kernel on the stream with the hints that were measured, and does not wait for it."""
    _LAUNCHER.launch(stream, grid, _with_table_hints(kernel, args), args)
'''
TUNED_SEARCH = '''\


def _exhaustive_search(search_space, stream, grid_fn, kernel, args_fn, hints_fn=None):
    """The configuration that was measured to be fastest, and a search where none was."""
    measured = _table_configuration(list(search_space), kernel, args_fn)
    if measured is not None:
        return measured
    return _LAUNCHER.exhaustive_search(search_space, stream, grid_fn, kernel, args_fn, hints_fn)
'''


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuned:
    """A tuning table, and the text of the `kernel.rs` that it is delivered with."""

    table: Table
    kernel: str


_REPLACED = ("_exhaustive_search", "_compiler_timeout", "_ByTarget")


def print_wrapper(
    operator: str,
    host: Host,
    functions: Sequence[CFunction],
    refused: Mapping[str, str],
    *,
    shared: bool = False,
    tuned: Tuned | None = None,
) -> str:
    """The whole file. `refused` says of kernels that are not drafted why; `shared` is as for the launcher."""
    launched = {piece.kernel for piece in host.pieces}
    mine = [function for function in functions if function.kernel in launched]
    by_kernel = {kernel: tuple(one for one in mine if one.kernel == kernel) for kernel in launched if kernel}
    blocks = [
        _head(operator, host),
        "\n".join(_sorted({*host.imports, *_own_imports(host, shared), *_tuned_imports(host, tuned)})),
        '_CDEF = """\n' + "".join(f"{line}\n" for one in mine for line in _declared(one)) + '"""',
    ]
    text = "\n\n".join(block for block in blocks if block) + "\n"
    text += _launching(operator, host, shared)
    for one in host.borrowed:
        text += "\n\n" + BORROWED.format(name=one.name, module=one.module, function=one.function, ports=PORTS)
    if tuned is not None:
        text = _with_table(text, tuned, host, shared)
    previous: Piece | None = None
    for piece in host.pieces:
        joined = previous is not None and piece.line == previous.end + 1
        text += ("" if joined else "\n\n") + _opened(_piece(piece, by_kernel, refused), tuned) + "\n"
        previous = piece
    return text


def _tuned_imports(host: Host, tuned: Tuned | None) -> set[str]:
    if tuned is None:
        return set()
    options = any(line.options for line in tuned.table.lines)
    searches = host.uses("_exhaustive_search")
    wanted = {"import hashlib", "import os", "import warnings", "import torch", *tuning.FROM_IMPORTS}
    wanted |= {"import functools", "import inspect"} if options else set()
    return wanted | ({"import copy", *tuning.SEARCHING} if searches else set())


def _with_table(text: str, tuned: Tuned, host: Host, shared: bool) -> str:
    """The launching part, made to ask the table first."""
    searches = host.uses("_exhaustive_search")
    if shared:
        text = text.replace("_launch = _LAUNCHER.launch\n", TUNED_LAUNCH)
        text = text.replace(SHARED_TUNING, TUNED_SEARCH)
    else:
        text = text.replace(
            "    name, crossing = kernel.crossing(*args)\n",
            "    kernel = _with_table_hints(kernel, args)\n    name, crossing = kernel.crossing(*args)\n",
        )
        text = text.replace(
            "    configs, number, trial = list(search_space), next(_SEARCHES), {}\n",
            "    configs, number, trial = list(search_space), next(_SEARCHES), {}\n"
            "    if (measured := _table_configuration(configs, kernel, args_fn)) is not None:\n"
            "        return measured\n",
        )
    return f"{text}\n\n{tuning.block(tuned.table, tuned.kernel, searches=searches)}"


def _opened(text: str, tuned: Tuned | None) -> str:
    """With the decorator that sets options, on a function whose options are chosen."""
    for line in tuned.table.lines if tuned is not None else ():
        name = line.of.removesuffix("()")
        if line.options and text.find(f"\ndef {name}(") >= 0:
            return text.replace(f"\ndef {name}(", f"\n@{tuning.OPEN}\ndef {name}(", 1)
    return text


def _own_imports(host: Host, shared: bool) -> set[str]:
    """What the launching part needs."""
    tunes, timed, by_target = (host.uses(name) for name in _REPLACED)
    if shared:
        named = (("ByTarget", by_target), ("compiler_timeout", timed))
        return {*SHARED_IMPORTS, *(f"from {MODULE} import {name} as _{name}" for name, used in named if used)}
    needed = [*IMPORTS, *(TUNING_IMPORTS if tunes else ())]
    needed += ["from contextlib import nullcontext"] if timed else []
    needed += ["from functools import cache"] if by_target else []
    return set(needed)


def _launching(operator: str, host: Host, shared: bool) -> str:
    """What stands for cuTile's own functions in the host code."""
    tunes, timed, by_target = (host.uses(name) for name in _REPLACED)
    if shared:
        return SHARED.format(operator=operator) + (SHARED_TUNING if tunes else "")
    hint = "_on(kernel.{}, device)" if by_target else "kernel.{}"
    text = LAUNCHING.format(operator=operator, num_ctas=hint.format("num_ctas"), occupancy=hint.format("occupancy"))
    parts = ((BY_TARGET, by_target), (TIMEOUT, timed), (TUNING.format(operator=operator), tunes))
    return text + "".join(f"\n\n{part}" for part, wanted in parts if wanted)


def _head(operator: str, host: Host) -> str:
    says = f'"""{operator} on cuTile Rust: the reference\'s own host code, made by `tileport-skill draft`."""'
    return "\n".join([*host.header, "", says]) if host.header else says


def _sorted(imports: set[str]) -> Iterator[str]:
    """In TileGym's order: the standard library, others, TileGym; `import` before `from`; one name a line."""
    groups: dict[int, list[str]] = {}
    for said in imports:
        package = said.split()[1].split(".")[0]
        rank = 0 if package in sys.stdlib_module_names else 2 if package == "tilegym" else 1
        groups.setdefault(rank, []).append(said)
    for place, rank in enumerate(sorted(groups)):
        if place:
            yield ""
        yield from sorted(groups[rank], key=lambda said: (said.startswith("from"), said.casefold()))


def _declared(function: CFunction) -> Iterator[str]:
    yield f"int32_t {function.symbol}("
    line = "   "
    for argument in function.arguments:
        match argument:
            case ArrayArgument():
                said = f" const TensorDesc* {argument.name},"
            case ScalarArgument() | FixedArgument():
                said = f" {C_TYPES[argument.type]} {argument.name},"
        if len(line + said) > WIDTH:
            yield line
            line = "   "
        line += said
    yield line
    yield f"    {LAUNCH}"
    yield "    int32_t device_id, uint64_t raw_stream);"


def _piece(piece: Piece, functions: Mapping[str, tuple[CFunction, ...]], refused: Mapping[str, str]) -> str:
    if piece.kernel is None:
        return piece.text
    variants, reason = functions[piece.kernel], refused.get(piece.kernel)
    head = f"{piece.text}@_kernel({piece.hints})\n"
    if not variants:
        reason = reason or "no test launches it, so nothing is known of its types"
        return f"{head}def {piece.kernel}(*_args):\n{_raised(f'{piece.kernel} is not drafted: {reason}')}"
    lines = [_flat_or_listed(f"def {piece.kernel}(", variants[0].python, "):", "")]
    for one in variants:
        lines += _condition(one.guard) if one.guard else []
        crossing = [argument.python for argument in one.arguments]
        indent = "        " if one.guard else "    "
        returned = f'{indent}return "{one.symbol}", ('
        lines.append(_flat_or_listed(returned, crossing, ")", indent, len(crossing) == 1))
    if all(one.guard for one in variants):
        known = f": {reason}" if reason else ""
        lines.append(_raised(f"{piece.kernel} is not drafted for these arguments{known}"))
    return head + "\n".join(lines)


def _condition(guard: str) -> Iterator[str]:
    """`if`, in one line or with a line for each part."""
    flat = f"    if {guard}:"
    if len(flat) <= WIDTH:
        yield flat
        return
    tree = ast.parse(guard, mode="eval").body
    parts = tree.values if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And) else [tree]
    yield "    if ("
    for number, part in enumerate(parts):
        said = ast.unparse(part)
        said = f"({said})" if isinstance(part, ast.BoolOp | ast.IfExp) else said
        line = f"        {'and ' if number else ''}{said}"
        match part:
            case ast.Compare(left=left, ops=[ast.In()], comparators=[ast.Tuple(elts=items)]) if len(line) > WIDTH:
                yield f"        {'and ' if number else ''}{ast.unparse(left)} in ("
                yield from (f"            {ast.unparse(item)}," for item in items)
                yield "        )"
            case _:
                yield line
    yield "    ):"


def _raised(said: str) -> str:
    text = f"cutile-rs: {said}".replace("\\", "\\\\").replace('"', "'")
    return f'    raise NotImplementedError(\n        "{text}"\n    )'


def _flat_or_listed(head: str, names: Sequence[str], end: str, indent: str, single: bool = False) -> str:
    flat = f"{head}{', '.join(names)}{',' if single else ''}{end}"
    if len(flat) <= WIDTH:
        return flat
    return "\n".join([head, *(f"{indent}    {name}," for name in names), f"{indent}{end}"])
