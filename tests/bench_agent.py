"""`make bench`: bytes sent to the model for a port by roles: with and without a draft, with and without caching.

Played from the scripts in `tests/scripts`, tools real, validators left out, since what is sent does not depend on them.
Without a draft the model writes the same files itself, each once and right, after reading the reference and one port
that is there: less than any model would need.
"""

from __future__ import annotations

import hashlib
import subprocess
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from tests.role_scripts import Played, Sent, draft_into, hidden_tree, play, script_of
from tileport_driver.broker.script import Call, Expect, Say, Script, Turn
from tileport_skill.pipeline.records import Entry, Problem
from tileport_skill.pipeline.submit import read_report
from tileport_skill.pipeline.verdicts import Role, Verdict
from tileport_skill.pipeline.work import Work, hash_tree
from tileport_skill.tilegym.operators import find_operator, open_checkout, read_operators
from tileport_skill.tilegym.port_files import port_files

OPERATORS = ("silu_and_mul", "softmax", "rms_norm", "matmul")
UNFINISHED = "group_gemm"
"""The fifth comes to no port, so that there is nothing to write without its draft: its way to a diagnosis."""
_EDITOR = "str_replace_based_edit_tool"
_EXAMPLE = "bmm"


def main() -> None:
    print(f"{'bytes sent for a port by roles':<34} {'requests':>8} {'in all':>12} {'past the cache':>15}")
    for operator in OPERATORS:
        with tempfile.TemporaryDirectory(prefix="tileport-bench-") as folder:
            drafted = with_draft(operator, Path(folder) / "with")
            show(f"{operator}, with a draft", drafted.sent)
            script = by_hand(operator, Path(folder) / "with" / "work")
            tree = hidden_tree(operator, Path(folder) / "without")
            show(f"{operator}, without", play(script, operator, tree.parent, judge=believed).sent)
    with tempfile.TemporaryDirectory(prefix="tileport-bench-") as folder:
        show(f"{UNFINISHED}, to its diagnosis", with_draft(UNFINISHED, Path(folder)).sent)


def with_draft(operator: str, folder: Path) -> Played:
    tree = hidden_tree(operator, folder)
    ahead = operator == "silu_and_mul"  # the demo's script begins at a draft that the driver has made
    if ahead:
        draft_into(tree, operator)
    return play(script_of(operator), operator, folder, drafted=ahead, judge=believed)


def show(what: str, sent: Sequence[Sent]) -> None:
    fresh = sum(one.bytes - one.known for one in sent)
    print(f"{what:<34} {len(sent):>8} {sum(one.bytes for one in sent):>12,} {fresh:>15,}", flush=True)


def believed(work: Work, role: Role, conversation: str | None, strayed: Sequence[Problem]) -> Entry:
    """Records what the role says, unchecked."""
    history = work.history()
    report = work.report(role, history)
    claimed, problems = read_report(report, role)
    checkout, _ = work.place()
    entry = Entry(
        number=len(history) + 1,
        role=role,
        verdict=claimed or Verdict.MALFORMED,
        claimed=claimed,
        problems=(*problems, *strayed),
        facts=(),
        report=report.relative_to(work.root).as_posix() if report.is_file() else None,
        report_sha256=hashlib.sha256(report.read_bytes()).hexdigest() if report.is_file() else None,
        tree=hash_tree(checkout.root),
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        conversation=conversation,
    )
    work.append(entry)
    return entry


def by_hand(operator: str, tree: Path) -> Script:
    """The script of a model that writes the finished port's six files itself."""
    checkout = open_checkout(tree)
    entry = find_operator(read_operators(checkout), operator)
    files = port_files(checkout, entry)
    edits = [path for path in files.all if path not in files.new]
    diff = subprocess.run(["git", "-C", str(tree), "diff", "--", *edits], check=True, capture_output=True, text=True)
    example = Path(files.wrapper).parent
    read = f"cat {entry.reference} {' '.join(entry.tests)}"
    ports = f"cat {example}/{_EXAMPLE}.py {example}/{_EXAMPLE}_kernel/*.rs"
    kernel = [_written(tree, files.kernel)]
    host = [_written(tree, path) for path in (files.launcher, files.wrapper)]
    applied = Call(tool="bash", input={"command": f"git apply <<'END'\n{diff.stdout}END"})
    turns = [
        *_role("analyzer", "pass", [Call(tool="bash", input={"command": read})]),
        *_role("kernel-writer", "equal", [Call(tool="bash", input={"command": f"{read}; {ports}"}), *kernel]),
        *_role("host-builder", "pass", [Call(tool="bash", input={"command": f"{read}; {ports}"}), *host, applied]),
        *_role("performance-verifier", "not-run", []),
    ]
    return Script(name=f"{operator}, by hand", turns=tuple(turns))


def _written(tree: Path, path: str) -> Call:
    return Call(tool=_EDITOR, input={"command": "create", "path": path, "file_text": (tree / path).read_text()})


def _role(role: str, verdict: str, calls: list[Call]) -> list[Turn]:
    """One call a turn, then the report, then the end."""
    report = f"mkdir -p ../port/reports && printf 'Done.\\n\\nverdict: {verdict}\\n' > ../port/reports/{role}-1.md"
    turns = [Turn(reply=(call,)) for call in calls]
    told = Turn(reply=(Call(tool="bash", input={"command": report}),))
    said = Turn(expect=Expect(is_error=False), reply=(Say(text="Done."),))
    first, *rest = [*turns, told, said]
    return [first.model_copy(update={"expect": Expect(contains=(f"You are the {role}",))}), *rest]


if __name__ == "__main__":
    main()
