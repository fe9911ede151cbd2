"""Reads `tileirdisasm`'s text: a whole module, or a `ParseError` with line, column and text."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from tileport_skill.errors import RequestError
from tileport_skill.tileir.formats import FOLDS, FORMATS, Field, Part, fields, parts
from tileport_skill.tileir.records import Entry, Global, Module, Op, Region, Value
from tileport_skill.tileir.types import TensorView, Tile, Token, Type, parse_type

MAX_BYTES = 64 << 20
MAX_DEPTH = 64

_VALUE = r"%[\w$.\-]+(?:#\d+)?"
_TYPE = r"[a-z_]+(?:<[^<>]*(?:<[^<>]*>[^<>]*)*>)?"
_OF_KIND = {
    "$": _VALUE,
    "$*": rf"{_VALUE}(?:, {_VALUE})*",
    "$!": r"\w+",
    "$#": r"-?\d+",
    "$?": r".*?",
    '$"': r'"(?:[^"\\]|\\.)*"',
    "$@": r"@[\w$.]+",
    "$~": r"[^\]]*",
    "$%": _VALUE,
    "$=": rf"{_VALUE} = {_VALUE}(?:, {_VALUE} = {_VALUE})*",
    "@*": rf"{_TYPE}(?:, {_TYPE})*",
    "@^": rf"{_TYPE}(?:, {_TYPE})*",
}
_RESULT = r"%[\w$.\-]+(?::\d{1,9})?"
_HEAD = re.compile(rf"({_RESULT}(?:, {_RESULT})*) = (\w+)|(\w+)")
_ENTRY = re.compile(r"entry @([\w$.]+)\((.*)\)(?: optimization_hints=<(.*)>)? \{")
_ARGUMENT = re.compile(rf"({_VALUE}): ({_TYPE})(?:, |$)")
_REGION = re.compile(rf"\(({_VALUE}: {_TYPE}(?:, {_VALUE}: {_TYPE})*)\) \{{")


class ParseError(RequestError):
    """The text is not what `tileirdisasm` prints. `line` and `column` count from 1."""

    def __init__(self, what: str, line: int, column: int, text: str) -> None:
        super().__init__(f"line {line}, column {column}: {what}\n  {text[:200]}")
        self.line, self.column, self.text = line, column, text


@dataclass(frozen=True, slots=True)
class _Pattern:
    regex: re.Pattern[str]
    fields: tuple[Field, ...]
    """In the order of the regex's groups."""


@functools.cache
def _pattern(name: str) -> _Pattern:
    format_ = parts(name)
    return _Pattern(re.compile(_regex(format_)), fields(format_))


def _regex(format_: tuple[Part, ...]) -> str:
    pieces = []
    for part in format_:
        if isinstance(part, str):
            pieces.append(re.escape(part))
        elif isinstance(part, Field):
            pieces.append(f"({_of(part)})")
        else:
            pieces.append(f"(?:{_regex(part)})?")
    return "".join(pieces)


def _of(field: Field) -> str:
    if field.sort == "$" and field.kind == "+":
        return "unsigned" if field.name == "unsignedCmp" else re.escape(field.name)
    if field.sort == "@" and not field.name:
        return _TYPE if field.kind == "=1" else _OF_KIND["@*"]
    return _OF_KIND.get(field.sort + field.kind, _TYPE)


def parse(text: str) -> Module:
    """The module `text` holds."""
    if len(text) > MAX_BYTES:
        raise RequestError(f"The text has {len(text)} characters; at most {MAX_BYTES} are read.")
    return _Reader(text).module()


class _Reader:
    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        self.at = 0  # index of the line being read
        self.values: dict[str, Value] = {}
        self.visible: list[str] = []  # the names in `values`, innermost region last

    def fail(self, what: str, column: int | None = None) -> ParseError:
        number = min(self.at + 1, len(self.lines))
        text = self.lines[number - 1]
        indent = len(text) - len(text.lstrip())
        return ParseError(what, number, indent + 1 if column is None else column, text)

    def module(self) -> Module:
        items: list[Global | Entry] = []
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if line.startswith("entry "):
                items.append(self.entry())
            elif line.startswith("global "):
                found = re.search(r"@([\w$.]+)", line)
                items.append(Global(found[1] if found else "", self.at + 1, line))
            elif line.strip():
                raise self.fail("expected `entry` or `global`")
            self.at += 1
        return Module(tuple(items), tuple(self.lines))

    def entry(self) -> Entry:
        self.values, self.visible = {}, []
        start = self.at + 1
        found = _ENTRY.fullmatch(self.lines[self.at])
        if not found:
            raise self.fail("not an entry as tileirdisasm prints it")
        arguments = self.arguments(found[2])
        body = self.region(arguments, 1)
        if self.lines[self.at] != "}":
            raise self.fail("expected the `}` that closes the entry")
        return Entry(found[1], start, arguments, found[3], body)

    def arguments(self, text: str) -> tuple[Value, ...]:
        """Reads `%a: type, %b: type` and defines the values."""
        values, end = [], 0
        while end < len(text):
            found = _ARGUMENT.match(text, end)
            if not found:
                raise self.fail(f"not an argument: {text[end : end + 80]}")
            values.append(self.define(found[1], self.type(found[2])))
            end = found.end()
        return tuple(values)

    def define(self, name: str, type_: Type) -> Value:
        if name in self.values:
            raise self.fail(f"{name} is defined twice")
        value = self.values[name] = Value(name, type_, self.at + 1)
        self.visible.append(name)
        return value

    def use(self, name: str) -> Value:
        try:
            return self.values[name]
        except KeyError:
            column = self.lines[self.at].find(name) + 1
            raise self.fail(f"{name} is not defined here", max(column, 1)) from None

    def type(self, text: str) -> Type:
        try:
            return parse_type(text)
        except ValueError as error:
            raise self.fail(str(error), max(self.lines[self.at].find(text) + 1, 1)) from None

    def region(self, arguments: tuple[Value, ...], depth: int) -> Region:
        """Reads from the line after the current one to the `}` that ends the region, and stays there."""
        if depth > MAX_DEPTH:
            raise self.fail(f"regions nested deeper than {MAX_DEPTH}")
        ops: list[Op] = []
        outside = len(self.visible) - len(arguments)
        while True:
            self.at += 1
            if self.at >= len(self.lines):
                raise self.fail("the text ends inside a region")
            line = self.lines[self.at].lstrip()
            if line.startswith("}"):
                break
            if line:
                ops.append(self.op(line, depth))
        for name in self.visible[outside:]:  # what was defined in the region is unknown behind it
            del self.values[name]
        del self.visible[outside:]
        return Region(arguments, tuple(ops))

    def op(self, line: str, depth: int) -> Op:
        head = _HEAD.match(line)
        if not head:
            raise self.fail("not an operation")
        name = head[2] or head[3]
        if name not in FORMATS:
            raise self.fail(f"unknown operation `{name}`", self.lines[self.at].find(name) + 1)
        found, pattern = self.match(line, name, head.end())
        reading = _Reading(self, found, pattern)
        number = self.at + 1
        regions: tuple[Region, ...] = ()
        if line.endswith(" {"):
            regions = self.blocks(reading.block_arguments(), depth)
        elif name in FOLDS:
            regions = (self.fold_region(depth),)
        if name == "make_tensor_view" and not _dimensions_fit(reading):
            raise self.fail("the shape or strides are not those of the type")
        if name == "load_ptr_tko":
            _tell_padding_from_mask(reading.operands)
        results = self.results(head[1], reading, number)
        return Op(name, number, results, reading.operands, reading.attributes, regions)

    def match(self, line: str, name: str, start: int) -> tuple[re.Match[str], _Pattern]:
        pattern = _pattern(name)
        found = pattern.regex.fullmatch(line, start)
        if not found and name == "loop":
            pattern = _pattern("loop without values")
            found = pattern.regex.fullmatch(line, start)
        if not found:
            column = len(self.lines[self.at]) - len(line) + _reached(name, line, start) + 1
            raise self.fail(f"not a `{name}` as tileirdisasm prints it", column)
        return found, pattern

    def blocks(self, arguments: tuple[Value, ...], depth: int) -> tuple[Region, ...]:
        regions = [self.region(arguments, depth + 1)]
        while self.lines[self.at].lstrip() == "} else {":
            regions.append(self.region((), depth + 1))
        if self.lines[self.at].lstrip() != "}":
            raise self.fail("expected `}`")
        return tuple(regions)

    def fold_region(self, depth: int) -> Region:
        self.at += 1
        line = self.lines[self.at].lstrip() if self.at < len(self.lines) else ""
        found = _REGION.fullmatch(line)
        if not found:
            raise self.fail("expected the arguments of the combining region")
        region = self.region(self.arguments(found[1]), depth + 1)
        if self.lines[self.at].lstrip() != "}":
            raise self.fail("expected `}`")
        return region

    def results(self, names: str | None, reading: _Reading, number: int) -> tuple[Value, ...]:
        if not names:
            if reading.result_types and not reading.shared_type:
                raise self.fail("the results have no names")
            return ()
        spelled: list[str] = []
        for name in names.split(", "):
            base, colon, count = name.partition(":")
            if colon and int(count) > 4096:
                raise self.fail(f"{count} results")
            spelled += [f"{base}#{k}" for k in range(int(count))] if colon else [base]
        types = reading.result_types * len(spelled) if reading.shared_type else reading.result_types
        if len(types) != len(spelled):
            raise self.fail(f"{len(spelled)} results with {len(types)} types")
        values = []
        for name, type_ in zip(spelled, types, strict=True):
            if name in self.values:
                raise self.fail(f"{name} is defined twice")
            value = self.values[name] = Value(name, type_, number)
            self.visible.append(name)
            values.append(value)
        return tuple(values)


class _Reading:
    """What one line says: operands looked up, attributes as spelled, declared types checked."""

    def __init__(self, reader: _Reader, found: re.Match[str], pattern: _Pattern) -> None:
        self.reader = reader
        self.operands: dict[str, tuple[Value, ...]] = {}
        self.attributes: dict[str, str] = {}
        self.result_types: tuple[Type, ...] = ()
        self.shared_type = False
        self.new_names: list[str] = []
        self.iv: tuple[str, Type] | None = None
        self._iv_name = ""
        for field, text in zip(pattern.fields, found.groups(), strict=True):
            if text is None:
                continue
            if field.sort == "$":
                self.read(field, text)
            else:
                self.read_type(field, text)
        if pattern.fields == (Field("$", "token", ""),):  # memory_fence_alias_tko names no type
            self.result_types = (Token(),)

    def read(self, field: Field, text: str) -> None:
        use, kind = self.reader.use, field.kind
        if kind == "":
            self.operands[field.name] = (use(text),)
        elif kind == "*":
            self.operands[field.name] = tuple([use(name) for name in text.split(", ")])
        elif kind == "~":
            items = text.split(", ") if text else []
            self.operands[field.name] = tuple([use(item) for item in items if item.startswith("%")])
            self.attributes[field.name] = text
        elif kind == "%":
            self._iv_name = text
        elif kind == "=":
            pairs = [pair.split(" = ") for pair in text.split(", ")]
            self.new_names = [new for new, _ in pairs]
            self.operands[field.name] = tuple([use(old) for _, old in pairs])
        else:
            self.attributes[field.name] = text

    def read_type(self, field: Field, text: str) -> None:
        many = field.kind in ("*", "^", "=") or not field.name
        spelled = _split_types(text) if many and field.name != "acc" else (text,)
        types = tuple([self.reader.type(one) for one in spelled])
        if not field.name:
            self.result_types = types
            self.shared_type = field.kind == "=1"
        elif field.kind == "%":
            self.iv = (self._iv_name, types[0])
        elif field.name == "dynamic":
            dynamic = self.operands["dynamicShape"] + self.operands["dynamicStrides"]
            self.check(dynamic, types * len(dynamic))
        else:
            values = self.operands.get(field.name, ())
            self.check(values, types * len(values) if field.kind == "^" and len(types) == 1 else types)
            if field.kind == "=":
                self.result_types = types

    def check(self, values: tuple[Value, ...], types: tuple[Type, ...]) -> None:
        if len(values) != len(types):
            raise self.reader.fail(f"{len(values)} operands with {len(types)} types")
        for value, type_ in zip(values, types, strict=True):
            if value.type is not type_ and value.type != type_:
                raise self.reader.fail(f"{value.name} is a {value.type}, not a {type_}")

    def block_arguments(self) -> tuple[Value, ...]:
        """Defines the values a loop's body starts with."""
        define = self.reader.define
        arguments = [define(*self.iv)] if self.iv else []
        initial = self.operands.get("initValues", ())
        arguments += [define(name, value.type) for name, value in zip(self.new_names, initial, strict=True)]
        return tuple(arguments)


def _dimensions_fit(reading: _Reading) -> bool:
    """Whether the type has a `?` exactly where an operand is given, and otherwise the same numbers."""
    type_ = reading.result_types[0]
    if not isinstance(type_, TensorView):
        return False
    for known, name in ((type_.shape, "dynamicShape"), (type_.strides, "dynamicStrides")):
        spelled = ["?" if item.startswith("%") else item for item in reading.attributes[name].split(", ") if item]
        if spelled != ["?" if n is None else str(n) for n in known]:
            return False
    return True


def _tell_padding_from_mask(operands: dict[str, tuple[Value, ...]]) -> None:
    """A load's only further operand is its mask, unless its type says that it must be the padding."""
    if "mask" in operands and "paddingValue" not in operands:
        type_ = operands["mask"][0].type
        if isinstance(type_, Tile) and type_.element != "i1":
            operands["paddingValue"] = operands.pop("mask")


@functools.lru_cache(maxsize=8192)
def _split_types(text: str) -> tuple[str, ...]:
    return tuple(re.findall(_TYPE, text))


def _reached(name: str, line: str, start: int) -> int:
    """How far into `line` the format of `name` fits, for the column of an error."""
    format_ = parts(name)
    for count in range(len(format_), 0, -1):
        found = re.compile(_regex(format_[:count])).match(line, start)
        if found:
            return found.end()
    return start
