"""One kernel of Tile IR as a Rust entry, an operation at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tileport_skill.capture import records
from tileport_skill.draft import rust
from tileport_skill.draft.from_ir import control, memory, pointwise
from tileport_skill.draft.from_ir.constants import constant
from tileport_skill.draft.from_ir.names import Hint, Names
from tileport_skill.draft.from_ir.parameters import Given, bind_parameters, given, load_arguments
from tileport_skill.draft.from_ir.signs import Signs
from tileport_skill.draft.from_ir.slots import Fillings, numbered
from tileport_skill.draft.from_ir.writer import Writer
from tileport_skill.draft.values import Untranslatable
from tileport_skill.tileir.records import Entry, Op, Region, Value, walk

Line = Callable[[Op], int | None]
"""Which line of the source an operation stands on."""

SPELLINGS: dict[str, pointwise.Spelling] = {
    **pointwise.SPELLINGS,
    **memory.SPELLINGS,
    "constant": constant,
    "continue": control.handed_on,
    "yield": control.handed_on,
    "break": control.handed_on,
    "return": control.ended,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What was written of a kernel."""

    parameters: tuple[str, ...]
    body: rust.Block
    idioms: frozenset[str]


def write(
    entry: Entry,
    parameters: Sequence[records.Parameter],
    fillings: Fillings,
    *,
    declare: bool,
    line: Line,
    hint: Hint | None = None,
    taken: Sequence[str] = (),
) -> Written:
    """Raises `Untranslatable` naming the operation and its line."""
    arguments = given(entry, parameters)
    names = Names(taken, hint)
    writer = Writer(
        numbers=numbered(entry),
        fillings=fillings,
        names=names,
        signs=Signs(entry),
        uses=Counter(value for op in walk(entry.body) for value in op.all_operands()),
        sources={result: op for op in walk(entry.body) for result in op.results},
        declare=declare,
    )
    spelled = tuple(bind_parameters(writer, arguments, names))
    load_arguments(writer, arguments, _elsewhere(entry, arguments))
    _write_region(writer, entry.body, line)
    return Written(parameters=spelled, body=rust.Block(tuple(writer.blocks[0])), idioms=frozenset(writer.idioms))


def _elsewhere(entry: Entry, arguments: Sequence[Given]) -> Mapping[Value, int]:
    """How often each argument is used, but for the views of its own array: under assumptions too."""
    own = {view for one in arguments for view in one.views}
    uses: Counter[Value] = Counter()
    for op in reversed(list(walk(entry.body))):
        if op.name == "assume":
            value = op.operand("value")
            uses[value] += uses[op.result]
        elif op not in own:
            uses.update(op.all_operands())
    return uses


def _write_region(writer: Writer, region: Region, line: Line) -> None:
    def body(inner: Writer, of: Region) -> None:
        _write_region(inner, of, line)

    for op in region.ops:
        try:
            match op.name:
                case "for":
                    control.for_loop(writer, op, body)
                case "loop":
                    control.endless_loop(writer, op, body)
                case "if":
                    control.branch(writer, op, body)
                case name if name in SPELLINGS:
                    SPELLINGS[name](writer, op)
                case name:
                    raise Untranslatable(f"the operation `{name}`, which cuTile Rust 0.2.0 has no word for")
        except Untranslatable as error:
            raise error.at(line(op) or 0) from error
