"""`/check` on a pull request: its ports, for the gates that run on a GPU; and what came of them, in the same comment.

On a GPU the port's code runs outside any container, so only whoever may write to the repository can ask for it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import TypeAdapter

from tileport_bot.code_host import CodeHost
from tileport_bot.events import Place
from tileport_bot.reviewer import touched_ports
from tileport_bot.status import reply_marker
from tileport_bot.writes import once
from tileport_driver import jobs
from tileport_driver.host.paths import state_dir
from tileport_driver.pull_tree import PullTree, changed_paths, open_pull
from tileport_driver.records import Failed, Gate, Passed
from tileport_driver.report import first_line_and_rest
from tileport_driver.store import attempt_of
from tileport_skill.errors import MachineryError, RequestError
from tileport_skill.pages.markdown import fit
from tileport_skill.pages.render import render
from tileport_skill.tilegym.operators import open_checkout

TEMPLATES = Path(__file__).parent / "templates"
_GPU_GATES = ("correctness", "performance")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A check that was asked for and is not told yet, kept below the state folder."""

    repository: str
    number: int
    head: str
    comment: int
    trigger: str
    attempts: dict[str, str]
    """Attempt by operator."""


def check_pull(host: CodeHost, checkout: Path, place: Place) -> str:
    """Enters every port the pull request touches into the GPU queue, and says so once; a line for the log."""
    from tileport_driver.review import enter_for_gpu  # importing it costs seconds that other events need not pay

    try:
        tree = _tree(host, checkout, place)
        names = touched_ports(open_checkout(tree.path), tree.changed)
        attempts = {name: enter_for_gpu(tree.path, tree.commit, name) for name in names}
    except RequestError as error:
        return _answer(host, place, str(error), {}, "")
    if not attempts:
        return _answer(host, place, "This pull request touches no cuTile Rust kernel.", {}, "")
    return _answer(host, place, "", attempts, tree.commit)


def tell_checks(host: CodeHost) -> Iterator[str]:
    """Brings the comment of each check that came to its end up to date; a line for each."""
    ended = {job.attempt: job for job in jobs.all_jobs() if job.queue == "gpu" and job.state == "ended"}
    for path in sorted(_folder().glob("*.json")):
        asked = TypeAdapter(Asked).validate_json(path.read_bytes())
        if not all(attempt in ended for attempt in asked.attempts.values()):
            continue
        try:
            host.edit_comment(asked.repository, asked.comment, _words(asked.trigger, "", asked.attempts, asked.head))
        except MachineryError as error:
            yield f"{asked.repository}#{asked.number}: the check is not told yet: {error}"
            continue
        path.unlink()
        yield f"{asked.repository}#{asked.number}: the check has ended and is told"


def _tree(host: CodeHost, checkout: Path, place: Place) -> PullTree:
    """The pull request's head in a folder that stays until a machine with a GPU has judged it."""
    now = host.pull_head(place.repository, place.issue)
    head = host.fetch_pull(place.repository, checkout, place.issue)
    host.fetch_branch(place.repository, checkout, now.base)
    folder = _folder() / f"{place.repository.replace('/', '+')}-{place.issue}-{head[:12]}"
    if (folder / ".git").is_dir():
        return PullTree(path=folder, commit=head, changed=changed_paths(checkout, now.base_sha, head))
    return open_pull(checkout, now.base_sha, head, folder)


def _answer(host: CodeHost, place: Place, said: str, attempts: dict[str, str], head: str) -> str:
    body = _words(place.trigger, said, attempts, head)

    def there() -> int | None:
        comments = host.own_comments(place.repository, place.issue)
        return next((one.id for one in comments if one.body.startswith(reply_marker(place.trigger))), None)

    comment = once(there, lambda: host.create_comment(place.repository, place.issue, body))
    if attempts:
        asked = Asked(
            repository=place.repository,
            number=place.issue,
            head=head,
            comment=comment,
            trigger=place.trigger,
            attempts=attempts,
        )
        path = _folder() / f"{place.repository.replace('/', '+')}-{place.issue}-{comment}.json"
        path.write_text(json.dumps(asdict(asked)), encoding="utf-8")
    return f"queued for a GPU: {', '.join(attempts)}" if attempts else f"answered: {said}"


def _words(trigger: str, said: str, attempts: dict[str, str], head: str) -> str:
    rows = [(operator, gate, _found(gate)) for operator, name in attempts.items() for gate in _gates(name)]
    waiting = [operator for operator, name in attempts.items() if not _gates(name)]
    marker = reply_marker(trigger)
    return fit(render(TEMPLATES / "check.md.j2", marker=marker, said=said, rows=rows, waiting=waiting, head=head))


def _gates(attempt: str) -> list[Gate]:
    folder = attempt_of(attempt)
    acceptance = folder.acceptance() if folder else None
    gates = acceptance.gates if acceptance else ()
    return [gate for gate in gates if gate.gate in _GPU_GATES or isinstance(gate, Failed)]


def _found(gate: Gate) -> tuple[str, ...]:
    said = gate.evidence if isinstance(gate, Passed) else gate.reasons if isinstance(gate, Failed) else (gate.why,)
    return tuple(first_line_and_rest(sentence)[0][:400] for sentence in said[:6])


def _folder() -> Path:
    folder = state_dir() / "pulls"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
