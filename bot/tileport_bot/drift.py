"""READ FIRST for pushes: ports that a push to the default branch may have parted from their reference.

push → ports touched → judged (`reviewer.py`) → one issue a port, opened, brought up to date or closed

A port is touched by a change of its own files, of its reference, or of a version that both are compiled with. One
that is equal and has no issue says nothing; one that could not be judged changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tileport_bot import drift_words
from tileport_bot.code_events import Pushed
from tileport_bot.code_host import CodeHost
from tileport_bot.code_records import OwnIssue
from tileport_bot.review_records import PortReview
from tileport_bot.reviewer import Judge, touched_ports
from tileport_bot.writes import once
from tileport_driver.pull_tree import open_pull
from tileport_skill.errors import MachineryError, RequestError
from tileport_skill.tilegym.operators import Checkout, find_operator, open_checkout, read_operators

_VERSIONS = re.compile(
    r"(?:.*/)?(?:pyproject\.toml|requirements[\w.-]*\.txt|setup\.(?:py|cfg)|Cargo\.(?:toml|lock)|.*\.lock)"
)
"""Files that pin what references and ports are compiled with."""
_SHARED = re.compile(r".*/ops/(?:cutile_rs/cutile_kernels/.*|cutile_rs/[\w.-]*util[\w.-]*|cutile_rs/__init__\.py)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """What the watch works with."""

    host: CodeHost
    judge: Judge
    checkout: Path
    log: Callable[[str], None] = print


def watch(desk: Watch, event: Pushed) -> str:
    """Judges every port the push touches anew; a line for the log."""
    after = desk.host.fetch_branch(event.repository, desk.checkout, event.branch)
    with TemporaryDirectory(prefix="tileport-drift-") as folder:
        tree = open_pull(desk.checkout, event.before or _EMPTY_TREE, after, Path(folder) / "tree")
        checkout = open_checkout(tree.path)
        names = ports_to_judge(checkout, tree.changed)
        if not names:
            return f"ignored: {event.after[:12]} touches no port, no reference and no pinned version"
        said = [judge_and_say(desk, event, checkout, name, after) for name in names]
    return "; ".join(said)


_EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


def ports_to_judge(checkout: Checkout, changed: tuple[str, ...]) -> tuple[str, ...]:
    """All ports where what they share was changed, else those that the paths belong to."""
    if any(_VERSIONS.fullmatch(path) or _SHARED.fullmatch(path) for path in changed):
        return tuple(
            sorted(path.parent.name.removesuffix("_kernel") for path in checkout.port_dir.glob("*_kernel/kernel.rs"))
        )
    return touched_ports(checkout, changed)


class Change(NamedTuple):
    """What a push did to one port."""

    parted: bool
    """It differs somewhere where it did not before."""
    gained: frozenset[str]
    """Configurations that the reference's tuner has gained and the port's has not."""


def judge_and_say(desk: Watch, event: Pushed, checkout: Checkout, name: str, commit: str) -> str:
    """Judges one port and leaves its issue as it should be. What breaks down changes no issue."""
    desk.log(f"verifying {name}")
    try:
        port = _judged(desk, checkout, name, commit)
        wrong = bool(port.failed or port.refused or port.untried)
        before = _judged_before(desk, event, name) if wrong and event.before else None
    except MachineryError as error:
        return f"{name}: not judged: {error}"
    return settle(desk.host, event, port, change(port, before, known=event.before is not None), commit)


def change(port: PortReview, before: PortReview | None, *, known: bool) -> Change:
    """A port may differ or leave configurations out from its first day; that is no drift.

    `before` is None where there was no port; where nothing is `known` of the time before, all that differs counts.
    """
    if before is None:
        return Change(parted=not known, gained=frozenset())
    return Change(
        parted=bool(_differences(port) - _differences(before)),
        gained=frozenset(port.untried) - frozenset(before.untried),
    )


def _differences(port: PortReview) -> frozenset[tuple[str, ...]]:
    rows = {(row.kernel, row.dtype, row.arch, row.verdict) for row in port.ir_rows if row.verdict != "equal"}
    gates = {(gate.gate,) for gate in port.failed if gate.gate != "tile-ir" or not rows}
    return frozenset(rows | gates | ({("refused",)} if port.refused else set()))


def _judged(desk: Watch, checkout: Checkout, name: str, commit: str) -> PortReview:
    try:
        operator = find_operator(read_operators(checkout), name).name
        port = desk.judge(checkout.root, commit, operator, tuning=True)
    except RequestError as error:
        return PortReview(operator=name, refused=str(error))
    if port.broke_down:
        raise MachineryError(port.broke_down)
    return port


def _judged_before(desk: Watch, event: Pushed, name: str) -> PortReview | None:
    """None if there was no such port."""
    assert event.before is not None
    with TemporaryDirectory(prefix="tileport-before-") as folder:
        tree = open_pull(desk.checkout, event.before, event.before, Path(folder) / "tree")
        checkout = open_checkout(tree.path)
        if not (checkout.port_dir / f"{name}_kernel" / "kernel.rs").is_file():
            return None
        return _judged(desk, checkout, name, event.before)


def settle(host: CodeHost, event: Pushed, port: PortReview, change: Change, commit: str) -> str:
    """One issue at most, found by its hidden marker among our own."""
    there = _issue_of(host, event.repository, port.operator)
    open_now = there if there is not None and there.is_open else None
    known = frozenset(drift_words.lacking_of(open_now.body)) if open_now else frozenset()
    lacking = tuple(sorted(change.gained | (known & frozenset(port.untried))))
    differs = bool(port.failed or port.refused)
    if not (differs or lacking):
        if open_now is None:
            return f"{port.operator}: equal"
        words = drift_words.closing(open_now.body, operator=port.operator, commit=commit)
        host.edit_issue(event.repository, open_now.number, body=words, is_open=False)
        return f"{port.operator}: equal again, #{open_now.number} closed"
    if open_now is None and not (change.parted or change.gained):
        return f"{port.operator}: differs, as it did before"
    words = drift_words.body(port, commit=commit, since=event.before, lacking=lacking)
    if there is not None:
        host.edit_issue(event.repository, there.number, body=words, is_open=True)
        return f"{port.operator}: differs, #{there.number} brought up to date"
    label, title = drift_words.label(port.operator), drift_words.title(port.operator)
    number = once(
        lambda: _number_of(host, event.repository, port.operator),
        lambda: host.create_issue(event.repository, title, words, label),
    )
    return f"{port.operator}: differs, #{number} opened"


def _number_of(host: CodeHost, repository: str, operator: str) -> int | None:
    there = _issue_of(host, repository, operator)
    return there.number if there else None


def _issue_of(host: CodeHost, repository: str, operator: str) -> OwnIssue | None:
    """The open one if there is any, else the newest."""
    found = [one for one in host.own_issues(repository) if drift_words.operator_of(one.body) == operator]
    return max(found, key=lambda one: (one.is_open, one.number), default=None)
