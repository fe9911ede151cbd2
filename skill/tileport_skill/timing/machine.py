"""Which GPU a folder of measurements is about: one, from its first sample to its last."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tileport_skill.errors import MachineryError, RequestError
from tileport_skill.timing.raw import read_json, write_json


def known_machine(path: Path, probe: Callable[[], object], log: Path, *, measured: bool) -> dict[str, Any]:
    """The GPU at hand, as `probe` writes it to `path`; asked again when a folder is gone on with.

    What was tuned on another GPU of the same kind stands, so that a lent machine is no trouble; with `measured` samples
    in the folder it has to be the same one. Raises `RequestError` where it is not, and leaves `path` as it was then;
    `MachineryError` if the GPU gives no answer.
    """
    before = read_json(path) if path.is_file() else None
    path.unlink(missing_ok=True)
    try:
        probe()
        if not path.is_file():
            raise MachineryError(f"this machine's GPU could not be asked what it is; {log} says why.")
        now: dict[str, Any] = read_json(path)
        if before is not None:
            _check(before, now, path.parent, measured=measured)
    except BaseException:
        if before is not None:
            write_json(path, before)
        raise
    return now


def _check(before: dict[str, Any], now: dict[str, Any], folder: Path, *, measured: bool) -> None:
    if before["gpu"] != now["gpu"]:
        raise RequestError(f"{folder} was begun on {before['gpu']}, and this is {now['gpu']}. Give a new folder.")
    if measured and before["uuid"] != now["uuid"]:
        raise RequestError(
            f"{folder} holds samples of another {now['gpu']} ({before['uuid']}, this is {now['uuid']}), and two GPUs "
            "are not one measurement. Give a new folder, or remove the samples from this one: what was tuned is kept."
        )
