"""A repository with ports on the fake GitHub, and a judge that says what it is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.bot.conftest import KERNEL
from tests.bot.fakegithub.server import FakeGitHub
from tests.bot.fakegithub.state import Issue, Repository

from tileport_bot.code import about_code
from tileport_bot.code_events import read_code_event
from tileport_bot.live_github import LiveGitHub
from tileport_bot.review_records import PortReview
from tileport_driver.records import Failed, NotRun, Passed
from tileport_driver.report import IrRow

NAME = "example/TileGym"
RUST = "src/tilegym/ops/cutile_rs"
FILES = {
    **{f"src/tilegym/ops/cutile/{name}.py": KERNEL.format(name=name) for name in ("scale", "rms_norm")},
    f"{RUST}/__init__.py": "",
    f"{RUST}/scale.py": "def scale(x):\n    return x\n",
    f"{RUST}/scale_kernel/kernel.rs": "// line 1\n#[cutile::entry()]\nfn scale() {}\n",
    f"{RUST}/scale_kernel/ffi.rs": "// launcher\n",
    "pyproject.toml": "[project]\n",
}
ROW = IrRow(kernel="scale_kernel", dtype="float32", arch="sm_90", verdict="equal", proof="by same cubin")


def equal(operator: str, untried: tuple[str, ...] = ()) -> PortReview:
    gates = (
        Passed(gate="policy", evidence=("Plain files.",)),
        Passed(gate="build", evidence=("It builds.",)),
        Passed(gate="tile-ir", evidence=("1 compiled kernel equal.",)),
        NotRun(gate="correctness", why="No GPU.", how="Elsewhere."),
    )
    return PortReview(operator=operator, gates=gates, ir_rows=(ROW,), untried=untried)


def different(operator: str) -> PortReview:
    row = IrRow(
        kernel="scale_kernel", dtype="float32", arch="sm_90", verdict="different", proof="entry: mulf against addf"
    )
    gates = (Failed(gate="tile-ir", reasons=("scale_kernel float32 on sm_90: different. entry: mulf against addf",)),)
    return PortReview(operator=operator, gates=gates, ir_rows=(row, ROW))


@dataclass
class ScriptedJudge:
    """`says` by operator; an exception is raised. Notes what it was asked, with the kernel it saw."""

    says: dict[str, PortReview | BaseException] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)
    before: PortReview | None = None
    """What it says of the commit before a push, where that is another."""
    newest: Callable[[], str | None] = lambda: None
    meanwhile: Callable[[], object] = lambda: None

    def __call__(self, tree: Path, commit: str, operator: str, *, tuning: bool = False) -> PortReview:
        kernel = tree / RUST / f"{operator}_kernel/kernel.rs"
        self.asked.append((operator, kernel.read_text() if kernel.is_file() else ""))
        self.meanwhile()
        said = self.says.get(operator, equal(operator))
        if tuning and commit != self.newest():
            said = self.before or equal(operator)
        if isinstance(said, BaseException):
            raise said
        return said


class CodeRoom:
    """A bot on the fake GitHub that handles events about code."""

    def __init__(self, fake: FakeGitHub, folder: Path) -> None:
        self.fake = fake
        self.repository: Repository = fake.add_repository(NAME, FILES, roles={"alice": "write"})
        self.judge = ScriptedJudge(newest=lambda: fake.head(self.repository, "main"))
        app, _ = fake.add_app("tileport", on="example")
        permissions = {"contents": "read", "issues": "write", "pull_requests": "write", "checks": "write"}
        self.token = fake.token("tileport[bot]", permissions={"metadata": "read", **permissions}, app=app)
        self.host = LiveGitHub(self.token, login="tileport[bot]", api=fake.address, server=fake.address, pace=0)
        self.checkout = fake.clone(self.repository, folder / "clone")
        self.said: list[str] = []

    def pull(self, files: dict[str, str | bytes | None], *, fork: bool = True, branch: str = "idea") -> Issue:
        head = self.fake.fork(self.repository, "carol") if fork else self.repository
        self.fake.push_files(head, branch, files, base="main")
        return self.fake.open_pull(self.repository, "carol", branch=branch, head=head)

    def opened(self, pull: Issue, action: str = "opened") -> str:
        payload = self.fake.payloads.pull_request(self.repository, pull, self.fake.user("carol"), action=action)
        return self.handle("pull_request", payload)

    def push(self, files: dict[str, str | bytes | None]) -> str:
        before = self.fake.head(self.repository, "main") or ""
        self.fake.push_files(self.repository, "main", files)
        return self.handle("push", self.fake.payloads.push(self.repository, "main", before, self.fake.user("alice")))

    def handle(self, name: str, payload: object) -> str:
        event = read_code_event(name, payload)
        assert event is not None
        return about_code(self.host, self.judge, self.checkout, event, self.said.append)

    def comments(self, number: int) -> list[str]:
        return [comment.body for comment in self.repository.comments.values() if comment.issue == number]
