"""The text of a port's Python wrapper: the reference's host code around a launch into the Rust library."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence

from tileport_skill.draft.crossing import ArrayArgument, CFunction, FixedArgument, ScalarArgument
from tileport_skill.draft.host import Host, Piece

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
LAUNCHING = '''\
_AUTO = -1  # leaves a hint to the compiler


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


def _launch(stream, grid, kernel, args):
    """Queues the kernel on the stream, as `ct.launch` does, and does not wait for it."""
    ffi, library = bind_kernel_function_cffi("{operator}", _CDEF)
    name, crossing = kernel.crossing(*args)
    device = next(one for one in args if isinstance(one, torch.Tensor)).device
    code = getattr(library, name)(
        *[make_tensor_desc(ffi, one) if isinstance(one, torch.Tensor) else one for one in crossing],
        *(*grid, 1, 1)[:3],
        kernel.num_ctas or _AUTO,
        kernel.occupancy or _AUTO,
        torch.cuda.current_device() if device.index is None else device.index,
        stream.cuda_stream,
    )
    check_rc(code, name)
'''
TUNING = '''\
_SEARCHES = count()


def _exhaustive_search(search_space, stream, grid_fn, kernel, args_fn, hints_fn=None):
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
    return SimpleNamespace(best=SimpleNamespace(config=tuned.best_config))
'''


def print_wrapper(operator: str, host: Host, functions: Sequence[CFunction], refused: Mapping[str, str]) -> str:
    """The whole file. `refused` says of kernels that are not drafted why."""
    launched = {piece.kernel for piece in host.pieces}
    by_kernel: dict[str, list[CFunction]] = {}
    for function in functions:
        if function.kernel in launched:
            by_kernel.setdefault(function.kernel, []).append(function)
    imports = {*host.imports, *IMPORTS, *(TUNING_IMPORTS if host.tunes else ())}
    declared = [line for own in by_kernel.values() for one in own for line in _declared(one)]
    blocks = [
        _head(operator, host),
        "\n".join(_sorted(imports)),
        '_CDEF = """\n' + "".join(f"{line}\n" for line in declared) + '"""',
    ]
    text = "\n\n".join(block for block in blocks if block) + "\n"
    text += LAUNCHING.format(operator=operator)
    if host.tunes:
        text += "\n\n" + TUNING.format(operator=operator)
    previous: Piece | None = None
    for piece in host.pieces:
        joined = previous is not None and piece.line == previous.end + 1
        text += ("" if joined else "\n\n") + _piece(piece, by_kernel, refused) + "\n"
        previous = piece
    return text


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


def _piece(piece: Piece, functions: Mapping[str, Sequence[CFunction]], refused: Mapping[str, str]) -> str:
    if piece.kernel is None:
        return piece.text
    mine = functions.get(piece.kernel, ())
    if not mine:
        reason = refused.get(piece.kernel, "no test launches it, so nothing is known of its types")
        said = f"cutile-rs: {piece.kernel} is not drafted: {reason}".replace("\\", "\\\\").replace('"', "'")
        return (
            f"{piece.text}@_kernel({piece.hints})\ndef {piece.kernel}(*_args):\n"
            f'    raise NotImplementedError(\n        "{said}"\n    )'
        )
    parameters = _flat_or_listed(f"def {piece.kernel}(", mine[0].python, "):", "")
    lines = "\n".join(line for function in mine for line in _crossing(function))
    if mine[-1].guard is not None:
        said = f"cutile-rs: {piece.kernel} was compiled for no such constants and element types"
        lines += f'\n    raise NotImplementedError("{said}")'
    return f"{piece.text}@_kernel({piece.hints})\n{parameters}\n{lines}"


def _crossing(function: CFunction) -> Iterator[str]:
    """What the kernel's arguments become, where the entry is for them."""
    indent = "    "
    if function.guard is not None:
        flat = f"    if {' and '.join(function.guard)}:"
        yield from [flat] if len(flat) <= WIDTH else _guarded(function.guard)
        indent = "        "
    crossing = [argument.python for argument in function.arguments]
    yield _flat_or_listed(f'{indent}return "{function.symbol}", (', crossing, ")", indent, len(crossing) == 1)


def _guarded(guard: Sequence[str]) -> Iterator[str]:
    yield "    if ("
    for number, condition in enumerate(guard):
        said = f"        {'and ' if number else ''}{condition}"
        head, opened, rest = said.partition(" in (")
        if len(said) <= WIDTH or not opened:
            yield said
            continue
        yield f"{head} in ("
        items = rest.removesuffix(")").rstrip(",").split("), (" if rest.startswith("(") else ", ")
        for place, item in enumerate(items):
            if rest.startswith("("):
                item = f"{'' if place == 0 else '('}{item}{'' if place == len(items) - 1 else ')'}"
            yield f"            {item},"
        yield "        )"
    yield "    ):"


def _flat_or_listed(head: str, names: Sequence[str], end: str, indent: str, single: bool = False) -> str:
    flat = f"{head}{', '.join(names)}{',' if single else ''}{end}"
    if len(flat) <= WIDTH:
        return flat
    return "\n".join([head, *(f"{indent}    {name}," for name in names), f"{indent}{end}"])
