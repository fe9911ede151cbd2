"""The frozen records at the driver's seams, in the order of the flow. Each cannot contradict itself.

They are written as JSON into the attempt's folder and validated when read back (`store.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import Discriminator

from tileport_skill.draft.report import DraftReport
from tileport_skill.pipeline.diagnosis import Diagnosis, Turn

EngineName = Literal["scripted", "anthropic", "none"]
"""Who writes the port; `none`: a program, or whoever wrote a patch that was there already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PortRequest:
    """What one attempt is asked to do."""

    repository: str
    """Path of the target git repository on this machine."""
    operator: str
    base_commit: str
    """The commit whose tree is ported and judged, 40 hex digits."""
    reference_hash: str
    """SHA-256 of the reference module at that commit: with repository and operator, what a request is."""
    engine: EngineName
    script: str | None = None
    """Folder of the scripted conversation; only for the scripted engine."""
    draft: bool = False
    """Whether the agent begins at a program's draft of the port."""
    declare: bool = False
    """Whether the draft may itself declare operations that the pinned crate has no word for."""
    attempt: int = 1
    """Its number among the attempts at this operator and reference, from 1; the ledger counts."""
    previous: str | None = None
    """The attempt before it that was spent, whose patch and diagnosis it starts from."""
    diagnosis: str = ""
    """Why that one brought no port, as its gates said."""
    roles: bool = True
    """Whether the port is made by the skill's roles, in bounded turns; else in one conversation."""
    keep: bool = False
    """Keep the work trees after the attempt, for a person to look at."""
    also_hidden: tuple[str, ...] = ()
    """Near twins whose ports are hidden too."""
    __pydantic_config__: ClassVar = {"extra": "forbid"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Hidden:
    """One thing taken out of the agent's tree."""

    path: str
    what: Literal["file", "lines", "build product"]
    why: str
    removed: tuple[str, ...] = ()
    """For `lines`: the removed lines as they stood."""
    __pydantic_config__: ClassVar = {"extra": "forbid"}


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentCheckout:
    """The tree the agent was given: one commit, no remotes, the existing port gone."""

    operator: str
    base_commit: str
    base_tree: str
    """Tree hash of the base commit."""
    agent_tree: str
    """Tree hash of the agent's only commit; the patch is taken against it."""
    hidden: tuple[Hidden, ...]
    allowed: tuple[str, ...]
    """The six paths a patch may touch."""
    also_hidden: tuple[str, ...] = ()
    """Near twins whose ports were hidden too."""
    __pydantic_config__: ClassVar = {"extra": "forbid"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Leak:
    """A trace of the hidden port in something the agent's container would see."""

    place: str
    path: str
    how: str
    """How the text was come by: empty where it stands there as it is."""
    what: str
    """What was known again."""
    __pydantic_config__: ClassVar = {"extra": "forbid"}

    def __str__(self) -> str:
        return f"{self.place}: {self.path}{f' ({self.how})' if self.how else ''}: {self.what}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScannedPlace:
    """One tree that was looked through."""

    name: str
    files: int
    bytes: int
    known_clean: bool = False
    """The same files were read before, and by what was kept of that none has a trace of this port."""
    __pydantic_config__: ClassVar = {"extra": "forbid"}


@dataclass(frozen=True, slots=True, kw_only=True)
class LeakScan:
    """What was looked through for traces of the hidden port, and what was found."""

    places: tuple[ScannedPlace, ...]
    leaks: tuple[Leak, ...]
    passages: int
    """How many fingerprints of the port's text were looked for."""
    names: int
    __pydantic_config__: ClassVar = {"extra": "forbid"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens as the API reported them, summed over a conversation; our own arithmetic adds nothing."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cache_read_input_tokens: int = 0
    __pydantic_config__: ClassVar = {"extra": "forbid"}


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRun:
    """How the agent's container ended. `summary` is the agent's own word and nothing is decided by it."""

    status: Literal["finished", "failed", "timed out"]
    exit_code: int | None
    """None when the container had to be killed."""
    seconds: float
    turns: int
    usage: Usage
    summary: str
    roles: tuple[Turn, ...] = ()
    """Of a port by roles: each run in order, as programs inside the container judged it."""
    given_up: Diagnosis | None = None
    """Why a port by roles was given up. Then nothing is judged, since there is no whole port."""
    __pydantic_config__: ClassVar = {"extra": "forbid"}


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftRun:
    """What the drafting program came to: alone, or before the agent that goes on from there."""

    seconds: float
    report: DraftReport | None
    """None if the program refused the request itself."""
    refused: tuple[str, ...]
    """Why there is no whole port, each kernel by name and line; empty when there is one."""
    __pydantic_config__: ClassVar = {"extra": "forbid"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One path of the patch, as `git diff --raw` tells it. Modes are git's, six octal digits."""

    path: str
    old_mode: str
    new_mode: str
    status: Literal["A", "M", "D", "T"]
    __pydantic_config__: ClassVar = {"extra": "forbid"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """What the agent left, as a diff of bytes against the agent's base tree (`patch.diff`)."""

    base_tree: str
    result_tree: str
    changes: tuple[Change, ...]
    bytes: int
    sha256: str
    ignored: tuple[str, ...]
    """Files the tree holds that git ignores and the patch therefore lacks; at most 100, for the report."""
    secret: bool = False
    """It carries the API's key or the broker's token; then `patch.diff` is a word for it, and such paths are masked."""
    __pydantic_config__: ClassVar = {"extra": "forbid"}

    @property
    def files(self) -> tuple[str, ...]:
        """The paths the patch touches."""
        return tuple(change.path for change in self.changes)


GateName = Literal["policy", "apply", "build", "tile-ir", "correctness", "performance"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """The gate ran and holds."""

    gate: GateName
    evidence: tuple[str, ...]
    """What was found, one sentence each, facts only."""
    files: tuple[str, ...] = ()
    """Evidence files, relative to the attempt's folder."""
    seconds: float = 0.0
    verdict: Literal["passed"] = "passed"
    __pydantic_config__: ClassVar = {"extra": "forbid"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The gate ran and does not hold."""

    gate: GateName
    reasons: tuple[str, ...]
    files: tuple[str, ...] = ()
    seconds: float = 0.0
    verdict: Literal["failed"] = "failed"
    __pydantic_config__: ClassVar = {"extra": "forbid"}


@dataclass(frozen=True, slots=True, kw_only=True)
class NotRun:
    """The gate could not run, or an earlier one failed."""

    gate: GateName
    why: str
    how: str
    """What a person runs, and where, to have it run."""
    verdict: Literal["not run"] = "not run"
    __pydantic_config__: ClassVar = {"extra": "forbid"}


Gate = Annotated[Passed | Failed | NotRun, Discriminator("verdict")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """Every gate passed."""

    gates: tuple[Gate, ...]
    verdict: Literal["accepted"] = "accepted"
    __pydantic_config__: ClassVar = {"extra": "forbid"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """A gate failed."""

    gates: tuple[Gate, ...]
    verdict: Literal["rejected"] = "rejected"
    __pydantic_config__: ClassVar = {"extra": "forbid"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Inconclusive:
    """No gate failed, and at least one could not run."""

    gates: tuple[Gate, ...]
    verdict: Literal["inconclusive"] = "inconclusive"
    __pydantic_config__: ClassVar = {"extra": "forbid"}


Acceptance = Annotated[Accepted | Rejected | Inconclusive, Discriminator("verdict")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """The port as delivered into the target repository: one branch with one commit."""

    branch: str
    commit: str
    __pydantic_config__: ClassVar = {"extra": "forbid"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ported:
    """Accepted and delivered."""

    delivery: Delivery
    kind: Literal["ported"] = "ported"
    __pydantic_config__: ClassVar = {"extra": "forbid"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Unproved:
    """Delivered as a draft: nothing failed, and what could not run is named. Costs no attempt."""

    delivery: Delivery
    missing: tuple[NotRun, ...]
    kind: Literal["unproved"] = "unproved"
    __pydantic_config__: ClassVar = {"extra": "forbid"}


@dataclass(frozen=True, slots=True, kw_only=True)
class NotPorted:
    """The agent or its patch failed; nothing was delivered."""

    reasons: tuple[str, ...]
    kind: Literal["not ported"] = "not ported"
    __pydantic_config__: ClassVar = {"extra": "forbid"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """The request itself is wrong; no attempt was made."""

    reason: str
    kind: Literal["refused"] = "refused"
    __pydantic_config__: ClassVar = {"extra": "forbid"}


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineryFailed:
    """Our machinery failed; the attempt is not spent and can be resumed."""

    reason: str
    kind: Literal["failed"] = "failed"
    __pydantic_config__: ClassVar = {"extra": "forbid"}


Outcome = Annotated[Ported | Unproved | NotPorted | Refused | MachineryFailed, Discriminator("kind")]

EXIT_CODES: dict[str, int] = {"ported": 0, "not ported": 10, "unproved": 11, "refused": 12, "failed": 13}
"""Exit status of `tileport port` by the outcome's kind; 2 stays the usage error."""
