"""A kernel as a dataflow graph in normal form: equal numbers mean equal kernels, whatever the text was.

Names, the order of pure operations, duplicate constants, dead code, where assumes stand, how many token roots
there are and the order of carried values leave no trace. Memory operations keep what orders them, and nothing
else does: `before` of each is the set of all memory operations its token depends on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tileport_skill.tileir.dataflow import Graph, Path, Promise
from tileport_skill.tileir.facts import Fact, facts_of
from tileport_skill.tileir.keys import padding_read, pure_key, whole_number
from tileport_skill.tileir.liveness import EFFECTS, exits, has_effect, live_values, unchanged
from tileport_skill.tileir.numbering import Key, Numbering
from tileport_skill.tileir.records import Entry, Op, Region, Value
from tileport_skill.tileir.strength import strength_of, without
from tileport_skill.tileir.types import Token

MAY_BE_UNDEFINED = frozenset({"divi", "remi", "ftoi"})


@dataclass(frozen=True, slots=True)
class _Loop:
    op: Op
    slots: tuple[int, ...]
    """The carried values in normal order, dead and unchanging ones left out."""
    outs: tuple[int, ...]
    """The results in normal order."""
    continues: list[tuple[int, ...]]
    """Collected while the body is numbered: the operands of each `continue`, in normal order."""
    breaks: list[tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class _Place:
    path: Path
    loop: _Loop | None
    depth: int


def build(entry: Entry, numbering: Numbering, *, loose: bool = False, fixed: Mapping[int, int] | None = None) -> Graph:
    """The graph of `entry`; two graphs can be compared if they were built with one `numbering`.

    A `loose` one leaves out how strongly operations ask for ordering and exactness, and notes it beside them.
    `fixed` integer arguments, by place, are the constants that they are in every launch that counts.
    """
    return _Builder(entry, numbering, loose, fixed or {}).build()


class _Builder:
    def __init__(self, entry: Entry, numbering: Numbering, loose: bool, fixed: Mapping[int, int]) -> None:
        self.entry, self.numbering, self.loose, self.fixed = entry, numbering, loose, fixed
        self.live = live_values(entry)
        self.of: dict[Value, int] = {}
        self.before: dict[Value, frozenset[int]] = {}
        self.graph = Graph()
        self.trial = 0

    def build(self) -> Graph:
        for index, argument in enumerate(self.entry.arguments):
            known = self.fixed.get(index)
            key: Key = ("argument", index, argument.type)
            self.of[argument] = self.numbering.number(key if known is None else ("constant", str(known), argument.type))
        body = self.region(self.entry.body, _Place((), None, 0))
        types = tuple(argument.type for argument in self.entry.arguments)
        self.graph.whole = self.numbering.number(("entry", types, body))
        return self.graph

    def region(self, region: Region, place: _Place) -> int:
        """The number of what `region` does; its pure values are numbered on the way."""
        segments: list[tuple[int, ...]] = []
        effects: list[int] = []
        seen: Counter[Key] = Counter()
        last: Key = ("end",)
        for op in region.ops:
            if op.name in ("yield", "continue", "break", "return"):
                last = self.terminator(op, place)
            elif op.regions and op.name in ("for", "loop", "if"):
                kept = self.control(op, place, seen)
                if kept is None:
                    continue
                effects.append(kept)
                if exits(op):  # what stands behind it may not run, so order counts from here on
                    segments.append(tuple(sorted(effects)))
                    effects = []
                    crossed = self.numbering.number(("behind", kept, len(segments)))
                    place = _Place((*place.path, crossed), place.loop, place.depth)
            elif op.name in EFFECTS:
                effects.append(self.effect(op, place, seen))
            else:
                self.pure(op, place)
        if not region.ops or region.ops[-1].name not in ("yield", "continue", "break", "return"):
            last = self.implicit_end(region, place)
        return self.numbering.number(("region", tuple(segments), tuple(sorted(effects)), last))

    def implicit_end(self, region: Region, place: _Place) -> Key:
        """A loop's body without a terminator continues; a branch without one yields nothing."""
        if place.loop is not None and region is place.loop.op.regions[0]:
            place.loop.continues.append(())
            return ("continue",)
        return ("yield",)

    def terminator(self, op: Op, place: _Place) -> Key:
        operands = op.operands.get("operands", ())
        if op.name == "continue" and place.loop is not None:
            numbers = tuple([self.use(operands[slot]) for slot in place.loop.slots])
            place.loop.continues.append(numbers)
            return ("continue", *numbers)
        if op.name == "break" and place.loop is not None:
            numbers = tuple([self.use(operands[slot]) for slot in place.loop.outs])
            place.loop.breaks.append(numbers)
            return ("break", *numbers)
        if op.name == "yield":
            return ("yield",)  # what a branch yields is in its results, compared there
        return ("return",)

    def use(self, value: Value) -> int:
        """The number of `value`; a token's is that of the set of operations it stands for."""
        if isinstance(value.type, Token):
            return self.numbering.number(("after", tuple(sorted(self.before[value]))))
        return self.of[value]

    def note(self, op: Op, number: int) -> int:
        if not self.trial:
            self.graph.ops.setdefault(number, op)
            self.graph.numbers[op] = number
            if self.loose and (strength := strength_of(op)) is not None:
                self.graph.strengths.setdefault(number, set()).add(strength)
        return number

    def attributes(self, op: Op) -> Mapping[str, str]:
        return without(op) if self.loose else op.attributes

    def pure(self, op: Op, place: _Place) -> None:
        if op.name == "make_token":
            self.before[op.result] = frozenset()
            return
        if op.name == "join_tokens":
            self.before[op.result] = frozenset().union(*(self.before[t] for t in op.operands["tokens"]))
            return
        if op.name != "assume" and not any(result in self.live for result in op.results):
            return
        if op.name == "assume":
            if op.operand("value") not in self.of:
                return  # about something that does not matter
            self.of[op.result] = self.of[op.operand("value")]
            for fact in facts_of(op.attributes["predicate"]):
                self.promise(self.of[op.result], fact, place, op)
            return
        inner = tuple(self.combiner(region, place) for region in op.regions)
        number = self.numbering.number(pure_key(op, self.attributes(op), self.numbering, self.use, inner))
        self.note(op, number)
        if len(op.results) == 1:
            self.of[op.result] = number
        else:
            for index, result in enumerate(op.results):
                self.of[result] = self.numbering.number(("result", number, index, result.type))
        self.undefined(op, number, place)

    def promise(self, subject: int, fact: Fact, place: _Place, op: Op) -> None:
        if not self.trial:
            self.graph.promises.append(Promise(subject, fact, place.path, op))
        if not place.path:
            self.numbering.facts.setdefault(subject, []).append(fact)

    def undefined(self, op: Op, number: int, place: _Place) -> None:
        """Notes that `op` has a meaning for some operands only, so running it is a promise about them."""
        if "overflow" in op.attributes:
            self.promise(number, Fact("does not wrap"), place, op)
        elif op.name in MAY_BE_UNDEFINED and "saturating" not in op.attributes:
            divisor = op.optional("rhs")
            by = None if divisor is None else whole_number(self.numbering.keys[self.of[divisor]])
            if by in (None, 0, -1):
                self.promise(number, Fact("is defined"), place, op)

    def combiner(self, region: Region, place: _Place) -> int:
        """The number of a reduce's or scan's body; its arguments are counted, not named."""
        for index, argument in enumerate(region.arguments):
            self.of[argument] = self.numbering.number(("operand", place.depth, index, argument.type))
        inside = _Place((*place.path, self.numbering.number(("combiner",))), None, place.depth + 1)
        for op in region.ops[:-1]:
            self.pure(op, inside)
        last = region.ops[-1]
        return self.numbering.number(("combine", *[self.use(v) for v in last.operands.get("operands", ())]))

    def effect(self, op: Op, place: _Place, seen: Counter[Key]) -> int:
        after = op.optional("token")
        before = self.before[after] if after is not None else frozenset()
        attributes = tuple(sorted((k, v) for k, v in self.attributes(op).items() if k != "optimization_hints"))
        operands = [
            (name, *[self.of[value] for value in values]) for name, values in op.operands.items() if name != "token"
        ]
        padding = padding_read(op)
        types = tuple(result.type for result in op.results)
        key: Key = (op.name, attributes, types, padding, tuple(sorted(before)), place.path, *operands)
        seen[key] += 1  # equal operations are told apart by counting
        number = self.note(op, self.numbering.number(("effect", key, seen[key])))
        for index, result in enumerate(op.results):
            if isinstance(result.type, Token):
                self.before[result] = before | {number}
            else:
                self.of[result] = self.numbering.number(("result", number, index, result.type))
        if "optimization_hints" in op.attributes and not self.trial:
            self.graph.hints.append((number, op.attributes["optimization_hints"], op))
        return number

    def control(self, op: Op, place: _Place, seen: Counter[Key]) -> int | None:
        """Numbers a loop or branch; None if it has neither effect nor a result that counts."""
        live = [index for index, result in enumerate(op.results) if result in self.live]
        if not live and not has_effect(op) and not exits(op):
            return None
        if op.name == "if":
            return self.branch(op, place, live, seen)
        return self.loop(op, place, live, seen)

    def once(self, op: Op, key: Key, seen: Counter[Key]) -> int:
        """The number of a region operation; ones with effects are told apart by counting."""
        if has_effect(op) or exits(op):
            seen[key] += 1
            key = ("effect", key, seen[key])
        return self.note(op, self.numbering.number(key))

    def branch(self, op: Op, place: _Place, live: list[int], seen: Counter[Key]) -> int | None:
        condition = self.of[op.operand("condition")]
        bodies: list[int] = []
        yields: list[tuple[Value, ...] | None] = []
        for index in range(2):
            here = self.numbering.number(("if", condition, index))
            inside = _Place((*place.path, here), place.loop, place.depth)
            if index < len(op.regions):
                region = op.regions[index]
                bodies.append(self.region(region, inside))
                last = region.ops[-1] if region.ops else None
                left = last is not None and last.name in ("continue", "break", "return")
                yields.append(None if left else (last.operands.get("operands", ()) if last else ()))
            else:
                bodies.append(self.numbering.number(("region", (), (), ("yield",))))
                yields.append(())
        arms = {index: tuple(self.use(arm[index]) if arm is not None else -1 for arm in yields) for index in live}
        if not has_effect(op) and not exits(op) and not any(isinstance(op.results[i].type, Token) for i in arms):
            self.choice(op, condition, arms)
            return None
        key = ("if", condition, *bodies, tuple(sorted(set(arms.values()))))
        number = self.once(op, key, seen)
        for index, values in arms.items():
            self.branch_result(op.results[index], number, index, values, yields)
        return number

    def choice(self, op: Op, condition: int, arms: dict[int, tuple[int, ...]]) -> None:
        """A branch without effects is nothing but its results, each one of two values."""
        for index, values in arms.items():
            type_ = op.results[index].type
            number = self.numbering.number(("branch", (), (type_,), condition, *values))
            self.of[op.results[index]] = self.note(op, number)

    def branch_result(
        self,
        result: Value,
        number: int,
        index: int,
        arms: tuple[int, ...],
        yields: list[tuple[Value, ...] | None],
    ) -> None:
        mine = self.numbering.number(("result", number, arms, result.type))
        if not isinstance(result.type, Token):
            self.of[result] = mine
            return
        sets = [self.before[arm[index]] for arm in yields if arm is not None]
        if all(each == sets[0] for each in sets):
            self.before[result] = sets[0]
        else:
            self.before[result] = frozenset.intersection(*sets) | {mine}

    def loop(self, op: Op, place: _Place, live: list[int], seen: Counter[Key]) -> int:
        control = tuple(self.of[op.operand(n)] for n in ("lowerBound", "upperBound", "step") if n in op.operands)
        head = self.numbering.number((op.name, "unsignedCmp" in op.attributes, *control))
        inside = _Place((*place.path, head), None, place.depth + 1)
        body = op.regions[0]
        carried = body.arguments[1:] if op.name == "for" else body.arguments
        initial = op.operands.get("initValues", ())
        if op.name == "for":
            self.of[body.arguments[0]] = self.numbering.number(("index", inside.depth, head, body.arguments[0].type))
        fixed = unchanged(op)
        for slot in fixed:
            self.alias(carried[slot], initial[slot])
        slots = [s for s, value in enumerate(carried) if value in self.live and s not in fixed]
        outs = live if op.name == "loop" else []
        ordered = self.order(op, inside, slots, outs, initial, carried)
        self.arguments(inside, ordered.slots, carried, None)
        term = self.region(body, _Place(inside.path, ordered, inside.depth))
        starts = tuple(self.use(initial[slot]) for slot in ordered.slots)
        number = self.once(op, (op.name, head, starts, term), seen)
        self.loop_results(op, number, ordered, fixed, initial)
        return number

    def alias(self, value: Value, to: Value) -> None:
        if isinstance(value.type, Token):
            self.before[value] = self.before[to]
        else:
            self.of[value] = self.of[to]

    def arguments(
        self, inside: _Place, slots: Iterable[int], carried: tuple[Value, ...], colours: dict[int, int] | None
    ) -> None:
        """Numbers the carried values: by their place in normal order, or by colour while that is sought."""
        for place, slot in enumerate(slots):
            value = carried[slot]
            mark: Key = ("carried", inside.depth, place) if colours is None else ("colour", colours[slot])
            number = self.numbering.number((*mark, inside.path[-1], value.type))
            if isinstance(value.type, Token):
                self.before[value] = frozenset({number})
            else:
                self.of[value] = number

    def order(
        self,
        op: Op,
        inside: _Place,
        slots: list[int],
        outs: list[int],
        initial: tuple[Value, ...],
        carried: tuple[Value, ...],
    ) -> _Loop:
        """A normal order for carried values and results: by what they start from, then by what they become.

        Values that stay alike keep the order of the text; that can miss an equality, never invent one.
        """
        number = self.numbering.number
        colours = {s: number(("start", carried[s].type, self.use(initial[s]))) for s in slots}
        out_colours = {k: number(("out", op.results[k].type)) for k in outs}
        for _ in range(3):
            settled = len(set(colours.values())) == len(slots)
            if settled and len(set(out_colours.values())) == len(outs):
                break
            loop = _Loop(op, tuple(slots), tuple(outs), [], [])
            self.trial += 1
            self.arguments(inside, slots, carried, colours)
            self.region(op.regions[0], _Place(inside.path, loop, inside.depth))
            self.trial -= 1
            before = (len(set(colours.values())), len(set(out_colours.values())))
            for place, slot in enumerate(slots):
                becomes = tuple(values[place] for values in loop.continues if values)
                colours[slot] = number(("becomes", colours[slot], becomes))
            for place, result in enumerate(outs):
                left = tuple(values[place] for values in loop.breaks)
                out_colours[result] = number(("leaves", out_colours[result], left))
            if before == (len(set(colours.values())), len(set(out_colours.values()))):
                break
        ordered = tuple(sorted(slots, key=lambda slot: colours[slot]))
        return _Loop(op, ordered, tuple(sorted(outs, key=lambda k: out_colours[k])), [], [])

    def loop_results(
        self,
        op: Op,
        number: int,
        loop: _Loop,
        fixed: frozenset[int],
        initial: tuple[Value, ...],
    ) -> None:
        if op.name == "for":
            for slot in fixed:
                self.alias(op.results[slot], initial[slot])
        for place, slot in enumerate(loop.slots if op.name == "for" else loop.outs):
            result = op.results[slot]
            mine = self.numbering.number(("result", number, place, result.type))
            if not isinstance(result.type, Token):
                self.of[result] = mine
                continue
            self.before[result] = frozenset({mine})
            if op.name == "for" and self.chained(loop, place):
                self.before[result] |= self.before[initial[slot]]

    def chained(self, loop: _Loop, place: int) -> bool:
        """Whether each iteration's token in `place` comes after the one before, so that all come in turn."""
        carried = loop.op.regions[0].arguments[1:][loop.slots[place]]
        (mark,) = self.before[carried]
        return all(mark in _members(self.numbering.keys[values[place]]) for values in loop.continues)


def _members(key: Key) -> tuple[object, ...]:
    members = key[1] if key[0] == "after" else ()
    return members if isinstance(members, tuple) else ()
