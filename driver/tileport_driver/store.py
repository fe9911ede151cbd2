"""One folder per attempt: a JSON file per record, validated when read, and evidence as files beside them.

What lies where is said once, here. A record is written under a temporary name and renamed, so a reader sees the
whole of it or none.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from tileport_driver.host.paths import runtime_dir, state_dir
from tileport_driver.records import Acceptance, AgentCheckout, AgentRun, DraftRun, Outcome, Patch, PortRequest
from tileport_skill.errors import MachineryError, RequestError

Record = TypeVar("Record")
GPU = "gpu"
"""In an attempt's folder: what the gates that need a GPU wrote, here or on another machine."""


@dataclass(frozen=True, slots=True)
class AttemptFolder:
    """The folder of one attempt; `path` exists."""

    path: Path

    @property
    def id(self) -> str:
        return self.path.name

    @property
    def transcript(self) -> Path:
        """The broker's record of the conversation, JSON lines."""
        return self.path / "transcript.jsonl"

    @property
    def diff(self) -> Path:
        return self.path / "patch.diff"

    @property
    def task(self) -> Path:
        """What the agent is told, mounted into its container."""
        return self.path / "task"

    @property
    def roles(self) -> Path:
        """The working folder of a port by roles, which its container writes."""
        return self.path / "roles"

    @property
    def evidence(self) -> Path:
        """What the judging container wrote."""
        return self.path / "evidence"

    @property
    def gpu(self) -> Path:
        return self.path / GPU

    @property
    def work(self) -> Path:
        """Trees and our bare repository; removed at the end unless the request says `keep`."""
        return self.path / "work"

    @property
    def trusted(self) -> Path:
        return self.work / "trusted.git"

    @property
    def sockets(self) -> Path:
        """The folder of the broker's socket, elsewhere because such paths must be short."""
        return runtime_dir() / self.sockets_name

    @property
    def sockets_name(self) -> str:
        return self.id[-12:]

    def request(self) -> PortRequest:
        return self._need("request.json", PortRequest)

    def checkout(self) -> AgentCheckout:
        return self._need("checkout.json", AgentCheckout)

    def agent_run(self) -> AgentRun | None:
        found: AgentRun | None = self._maybe("agent_run.json", AgentRun)
        return found

    def draft_run(self) -> DraftRun | None:
        found: DraftRun | None = self._maybe("draft_run.json", DraftRun)
        return found

    def draft_alone(self) -> DraftRun | None:
        """The draft where no model was in the loop."""
        return self.draft_run() if self.request().engine == "none" else None

    def patch(self) -> Patch | None:
        found: Patch | None = self._maybe("patch.json", Patch)
        return found

    def acceptance(self) -> Acceptance | None:
        found: Acceptance | None = self._maybe("acceptance.json", Acceptance)
        return found

    def outcome(self) -> Outcome | None:
        found: Outcome | None = self._maybe("outcome.json", Outcome)
        return found

    def write(self, name: str, record: Any) -> None:
        """Writes a frozen record as `name`.json, whole or not at all."""
        write_json(self.path / f"{name}.json", asdict(record))

    def _need(self, name: str, kind: type[Record]) -> Record:
        record: Record | None = self._maybe(name, kind)
        if record is None:
            raise MachineryError(f"{self.path / name} is missing; the attempt stopped before it was written.")
        return record

    def _maybe(self, name: str, kind: Any) -> Any:
        path = self.path / name
        if not path.is_file():
            return None
        try:
            return TypeAdapter(kind).validate_json(path.read_bytes())
        except ValidationError as error:
            raise MachineryError(f"{path} is damaged or of another version: {error.errors()[0]['msg']}.") from error


def attempt_id(request: PortRequest) -> str:
    """A new attempt's name: sorts by time, is safe everywhere, and becomes its folder's and its containers'."""
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    return f"{request.operator}-{stamp}-{secrets.token_hex(3)}"


def new_attempt(request: PortRequest, name: str | None = None) -> AttemptFolder:
    """A fresh folder with `request.json` in it, or the one that has that name already."""
    return _new_folder(_attempts(), request, name)


def attempt_of(name: str) -> AttemptFolder | None:
    """The attempt of exactly that name, if its folder is here."""
    folder = _attempts() / name
    return AttemptFolder(folder) if (folder / "request.json").is_file() else None


def all_attempts() -> tuple[AttemptFolder, ...]:
    """Every attempt of this state folder, oldest first."""
    return tuple(AttemptFolder(path.parent) for path in sorted(_attempts().glob("*/request.json"), key=_modified))


def left_judgements() -> tuple[AttemptFolder, ...]:
    """Judgements whose trees are still there: under way, or their judge was killed."""
    return tuple(AttemptFolder(path.parent) for path in sorted((state_dir() / "judgements").glob("*/work")))


def new_judgement(request: PortRequest) -> AttemptFolder:
    """A folder for a patch that is judged without an attempt; laid out alike, kept apart."""
    return _new_folder(state_dir() / "judgements", request)


def find_attempt(name: str | None) -> AttemptFolder:
    """The attempt of that name or unambiguous beginning; the newest for None. Raises `RequestError`."""
    folders = [attempt.path for attempt in all_attempts()]
    if not folders:
        raise RequestError(f"There is no attempt yet in {_attempts()}. Make one: tileport port OP")
    if name is None:
        return AttemptFolder(folders[-1])
    matches = [folder for folder in folders if folder.name == name] or [
        folder for folder in folders if folder.name.startswith(name)
    ]
    if len(matches) == 1:
        return AttemptFolder(matches[0])
    near = ", ".join(folder.name for folder in (matches or folders)[-5:])
    what = "More than one attempt begins so" if matches else f"There is no attempt {name!r}"
    raise RequestError(f"{what}. {'They are' if matches else 'The latest are'}: {near}")


def request_from(text: str) -> PortRequest:
    """A request as a database keeps it."""
    return TypeAdapter(PortRequest).validate_json(text)


def write_json(path: Path, document: Any) -> None:
    """JSON for people too: indented, keys in the record's order."""
    part = path.with_suffix(".part")
    part.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    part.replace(path)


def _new_folder(parent: Path, request: PortRequest, name: str | None = None) -> AttemptFolder:
    made = AttemptFolder(parent / (name or attempt_id(request)))
    made.path.mkdir(parents=True, exist_ok=True)
    if not (made.path / "request.json").exists():
        made.write("request", request)
    return made


def _modified(path: Path) -> float:
    return path.stat().st_mtime


def _attempts() -> Path:
    return state_dir() / "attempts"
