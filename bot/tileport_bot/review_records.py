"""What a review found: one JSON document, so that who looked at foreign code need not be who may write comments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import TypeAdapter, ValidationError

from tileport_driver.records import Failed, Gate
from tileport_driver.report import IrRow
from tileport_skill.errors import RequestError
from tileport_skill.lint.records import Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A line that a gate's failure points at."""

    path: str
    line: int
    message: str
    __pydantic_config__: ClassVar = {"extra": "forbid"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PortReview:
    """One port of a commit."""

    operator: str
    findings: tuple[Finding, ...] = ()
    """Broken rules of its sources, the agreement of its files with each other among them."""
    gates: tuple[Gate, ...] = ()
    ir_rows: tuple[IrRow, ...] = ()
    marks: tuple[Mark, ...] = ()
    untried: tuple[str, ...] = ()
    """Configurations of the reference's tuner that the port's leaves out; empty unless those were compared."""
    refused: str | None = None
    """Why it cannot be judged as it stands: whoever wrote the code can mend that."""
    broke_down: str | None = None
    """Why our own machinery came to no end; nothing follows from it about the port."""
    __pydantic_config__: ClassVar = {"extra": "forbid"}

    @property
    def failed(self) -> tuple[Failed, ...]:
        return tuple(gate for gate in self.gates if isinstance(gate, Failed))

    @property
    def errors(self) -> int:
        return sum(one.severity == "error" for one in self.findings)

    @property
    def is_wrong(self) -> bool:
        return bool(self.failed or self.errors or self.refused)


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """All ports that a pull request touches, as they stand at its head."""

    head: str
    ports: tuple[PortReview, ...] = ()
    left_out: tuple[str, ...] = ()
    """Ports beyond the number that is looked at in one review."""
    refused: str | None = None
    """Why the pull request as a whole cannot be read."""
    __pydantic_config__: ClassVar = {"extra": "forbid"}


_REVIEW = TypeAdapter(Review)


def review_json(review: Review) -> bytes:
    return _REVIEW.dump_json(review, indent=1)


def read_review(text: bytes) -> Review:
    """Raises `RequestError`: the document may come from a job that ran beside foreign code."""
    try:
        return _REVIEW.validate_json(text)
    except ValidationError as error:
        raise RequestError(f"This is no review: {error.errors()[0]['msg']}.") from None
