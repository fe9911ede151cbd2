"""A real Postgres server from Debian's package, for as long as a test needs it: no port, one Unix socket."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

USER = "postgres"


def binaries() -> Path:
    """The newest installed server's programs."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    assert found, "no Postgres server is installed: apt-get install postgresql"
    return found[-1].parent


@contextmanager
def postgres() -> Iterator[str]:
    """The URL of an empty database."""
    folder = Path(tempfile.mkdtemp(prefix="tppg-"))
    as_user = {"user": USER, "group": USER} if os.getuid() == 0 else {}
    if as_user:
        shutil.chown(folder, USER, USER)
    data = folder / "data"
    options = f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync=off -c full_page_writes=off"

    def run(*command: str) -> None:
        subprocess.run(
            command, check=True, cwd=folder, stdout=subprocess.DEVNULL, env={"PATH": "/usr/bin:/bin"}, **as_user
        )  # type: ignore[call-overload]

    try:
        run(str(binaries() / "initdb"), "-D", str(data), "-U", USER, "-A", "trust", "-N", "--no-locale", "-E", "UTF8")
        run(str(binaries() / "pg_ctl"), "-D", str(data), "-l", str(folder / "log"), "-w", "-o", options, "start")
        try:
            run(str(binaries() / "createdb"), "-h", str(folder), "-U", USER, "tileport")
            yield f"postgresql://{USER}@/tileport?host={folder}"
        finally:
            run(str(binaries() / "pg_ctl"), "-D", str(data), "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
