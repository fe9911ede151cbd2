"""The part of a port's wrapper that holds a tuning table, and the host code that asks it. Text only."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from tileport_skill.tuning.table import Line, Table

IMPORTS = ("import copy", "import functools", "import hashlib", "import inspect", "import os", "import warnings")
FROM_IMPORTS = ("from pathlib import Path",)
SEARCHING = ("from types import SimpleNamespace",)
OPEN = "_with_table_options"
"""The decorator of functions whose options are chosen."""

CODE = '''\
_TABLE_FOR = "{kernel}"  # sha256 of the kernel.rs that was measured; for another the table is not used
_TABLE = {{
    "{arch}": {table},
}}
_TABLE_LINES = {{}}


def _table_lines(device):
    """The measured lines for the GPU; none for one that nobody measured, or for other kernels."""
    if device not in _TABLE_LINES:
        major, minor = torch.cuda.get_device_capability(device)
        lines = _TABLE.get(f"sm_{{major}}{{minor}}", ()) if os.environ.get("CUTILE_RS_TUNED", "1") != "0" else ()
        source = Path(__file__).parent / "{operator}_kernel" / "kernel.rs"
        if lines and not (source.is_file() and hashlib.sha256(source.read_bytes()).hexdigest() == _TABLE_FOR):
            warnings.warn("{operator}: its tuning table is for another kernel.rs and is ignored", stacklevel=2)
            lines = ()
        _TABLE_LINES[device] = lines
    return _TABLE_LINES[device]


def _table_holds(where, given):
    """Whether each size, type or value lies within its bounds."""
    for name, part, low, high in where:
        value = given.get(name)
        if part == "len":
            value = len(value)
        else:
            if isinstance(value, (list, tuple)):
                value = value[0]
            if part == "dtype":
                value = str(value.dtype).removeprefix("torch.")
            elif part is not None:
                value = value.shape[part]
            elif isinstance(value, bool):
                value = str(value)
        if not low <= value <= high:
            return False
    return True


def _table_line(name, given):
    """What was measured to be fastest for arguments like these; None for what nobody measured."""
    parts = (part for one in given.values() for part in (one if isinstance(one, (list, tuple)) else (one,)))
    device = next((part.device for part in parts if isinstance(part, torch.Tensor)), None)
    if device is None or device.type == "cpu":
        return None
    for line in _table_lines(device):
        if line["of"] == name:
            try:
                if _table_holds(line["where"], given):
                    return line
            except (AttributeError, IndexError, TypeError):
                continue
    return None


def _with_table_hints(kernel, args):
    """The kernel with the hints that were measured to be fastest, if there are any."""
    line = _table_line(kernel.crossing.__name__, dict(enumerate(args)))
    return kernel.replace_hints(**line["hints"]) if line and line["hints"] else kernel
'''
SEARCH = '''\
def _table_configuration(configs, kernel, args_fn):
    """The measured configuration, in place of a search; None where one must be made."""
    line = _table_line(kernel.crossing.__name__, dict(enumerate(args_fn(configs[0]))))
    if line is None or not line["fields"]:
        return None
    config = copy.copy(configs[0])
    for name, value in line["fields"].items():
        object.__setattr__(config, name, value)
    return SimpleNamespace(best=SimpleNamespace(config=config))
'''
OPTIONS = '''\
def _with_table_options(function):
    """Sets what the caller left open as it was measured to be fastest."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*args, **kwargs):
        bound = signature.bind(*args, **kwargs).arguments
        line = _table_line(f"{function.__name__}()", bound)
        if line is None:
            return function(*args, **kwargs)
        given = {**bound, **kwargs}
        if any(given.get(name) is not None for name in line["options"]):
            return function(*args, **kwargs)
        return function(*args, **{**kwargs, **line["options"]})

    return call
'''


def block(table: Table, kernel: str, *, searches: bool) -> str:
    """Data and code; `kernel` is the text of the port's `kernel.rs`, `searches` whether its host code tunes."""
    text = CODE.format(
        kernel=hashlib.sha256(kernel.encode()).hexdigest(),
        arch=table.arch,
        table=_listed(table.lines),
        operator=table.operator,
    )
    parts = [text]
    parts += [SEARCH] if searches else []
    parts += [OPTIONS] if any(line.options for line in table.lines) else []
    return f"# {said(table)}\n" + "\n\n".join(parts)


def said(table: Table) -> str:
    """Where the numbers are from, in a line."""
    versions = ", ".join(
        f"{name} {table.versions[name]}" for name in ("cuda-tile", "tileiras") if name in table.versions
    )
    return f"Measured by `tileport-skill tune` on {table.date}, {table.gpu}, {versions}."


def _listed(lines: Sequence[Line]) -> str:
    found = "[\n"
    for line in lines:
        interval = (
            f"{line.ratio:.3f} times as fast as the reference's own choice (95 % {line.low:.3f} to {line.high:.3f})"
        )
        found += f"        # {interval}, on {len(line.shapes)} shapes.\n"
        found += "        {\n"
        found += f'            "of": "{line.of}",\n            "where": [\n'
        for condition in line.where:
            found += f"                {_spelt(condition)},\n"
        found += "            ],\n"
        for name, value in (("fields", line.fields), ("hints", line.hints), ("options", line.options)):
            found += f'            "{name}": {_spelt(value)},\n'
        found += "        },\n"
    return found + "    ]"


def _spelt(value: object) -> str:
    """As `repr`, with the quotes that TileGym's formatter wants."""
    return repr(value).replace("'", '"')
