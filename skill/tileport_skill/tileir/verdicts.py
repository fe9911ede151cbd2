"""What a comparison of two kernels can answer. No record can contradict itself: only `Equal` has a proof."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import Discriminator

Rung = Literal["same cubin", "same graph", "named rules"]
Severity = Literal["wrong", "unsound", "slow", "note"]
"""`wrong`: results differ. `unsound`: the port assumes more. `slow`: only speed differs. `note`: neither."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of one side's text, as `tileirdisasm` prints it."""

    number: int
    text: str
    __pydantic_config__: ClassVar = {"extra": "forbid"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One thing that is not the same on both sides; a side without a line has nothing there."""

    kind: str
    severity: Severity
    text: str
    a: Line | None = None
    b: Line | None = None
    __pydantic_config__: ClassVar = {"extra": "forbid"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """Why two kernels are equal, with all that the reason depends on."""

    rung: Rung
    text: str
    arch: str | None = None
    """Set when the proof holds for one architecture and one compiler only."""
    compiler: str | None = None
    cubin_sha256: str | None = None
    rules: tuple[str, ...] = ()
    """Names of the rewrite rules the proof used."""
    over_reals: bool = False
    """True if one of the rules holds for real numbers only, so results may differ by rounding."""
    while_true: tuple[str, ...] = ()
    """What must be so for the rules used to hold, where they do not always: `no size plus a tile reaches 2^31`."""
    __pydantic_config__: ClassVar = {"extra": "forbid"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Witness:
    """Where two kernels part, enough to see it again."""

    kind: Literal["input", "promise", "speed"]
    """An input with other results; an input the reference takes and the port does not; or speed alone."""
    inputs: str
    """The arguments and the grid, in the words `tileport-skill ir run` accepts; `any` for speed."""
    where: str
    """The first element that differs: argument and index. For speed: what was measured."""
    a: str
    b: str
    __pydantic_config__: ClassVar = {"extra": "forbid"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Equal:
    """For equal grids and arguments both kernels do the same."""

    proof: Proof
    differences: tuple[Difference, ...] = ()
    """Only notes: differences in the text that the proof shows to be without effect."""
    verdict: Literal["equal"] = "equal"
    __pydantic_config__: ClassVar = {"extra": "forbid"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Different:
    """There is an input on which they differ, and here it is."""

    witness: Witness
    differences: tuple[Difference, ...] = ()
    tested: int = 0
    verdict: Literal["different"] = "different"
    __pydantic_config__: ClassVar = {"extra": "forbid"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """Neither shown equal nor shown different. Never passes silently."""

    reasons: tuple[str, ...]
    """What could not be decided, one sentence each; at least one."""
    differences: tuple[Difference, ...] = ()
    tested: int = 0
    """Inputs on which both gave the same result."""
    verdict: Literal["unknown"] = "unknown"
    __pydantic_config__: ClassVar = {"extra": "forbid"}

    def __post_init__(self) -> None:
        if not self.reasons:
            raise ValueError("an unknown verdict says what could not be decided")


Verdict = Annotated[Equal | Different | Unknown, Discriminator("verdict")]
