"""`tileport-skill survey`: every test of a checkout captured, and the table of it as data and as Markdown."""

from __future__ import annotations

import dataclasses
import datetime
import tempfile
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from pydantic import TypeAdapter

from tileport_skill.capture.child import Limits
from tileport_skill.capture.cli import Archs, Repo
from tileport_skill.capture.survey import WORKERS, FileRow, Listed, Survey, survey
from tileport_skill.tilegym.operators import open_checkout

BOTH = ["sm_90", "sm_100"]
Keep = Annotated[
    Path | None,
    typer.Option("--keep", help="A folder to keep capture-<date>.json and .md in: counts and hashes, no IR."),
]
Seconds = Annotated[float, typer.Option("--seconds", help="What one child with a quarter of the tests may take.")]

Jobs = Annotated[int, typer.Option("--jobs", help="Children at a time; each takes about 1 GiB.")]


def add_commands(app: typer.Typer) -> None:
    app.command("survey")(survey_command)


def survey_command(
    repo: Repo = Path(), arch: Archs = BOTH, keep: Keep = None, seconds: Seconds = 1800.0, jobs: Jobs = WORKERS
) -> None:
    """Run every test file of a checkout, its suites' too, without a GPU; print what ran, what did not and why."""
    date = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    with tempfile.TemporaryDirectory(prefix="tileport-survey-") as folder:
        found = survey(open_checkout(repo), arch, Path(folder), date, limits=Limits(seconds=seconds), workers=jobs)
    text = markdown(found)
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        document = TypeAdapter(Survey).dump_json(found, indent=1)
        (keep / f"capture-{date}.json").write_bytes(document + b"\n")
        (keep / f"capture-{date}.md").write_text(text, encoding="utf-8")
    print(text)


def markdown(found: Survey) -> str:
    """The same as a page for people."""
    versions = ", ".join(f"{name} {version}" for name, version in sorted(found.versions.items()))
    times = ", ".join(f"{arch} {seconds:.0f} s" for arch, seconds in found.seconds.items())
    lines = [f"# Capture of {found.date}", "", f"Made with {versions}. In {times}.", ""]
    lines += _table("Together", _totals(found))
    lines += _table("Test files", found.files)
    lines += _listed("Not captured", found.failed)
    lines += _listed("Refused by cuTile's compiler", found.refused)
    lines += _listed("Skipped by their own rules", found.skipped)
    if found.unlaunched:
        lines += ["## Kernels that nothing launches", "", *(f"- `{kernel}`" for kernel in found.unlaunched), ""]
    lines += [f"{len(found.kernels)} kernels; the JSON beside this page has the digest of each one's Tile IR.", ""]
    return "\n".join(lines)


def _totals(found: Survey) -> tuple[FileRow, ...]:
    """One row for each part of the tests and architecture."""
    names = [field.name for field in dataclasses.fields(FileRow) if field.name not in ("file", "arch")]
    sums: dict[tuple[str, str], Counter[str]] = {}
    for row in found.files:
        part = "/".join(row.file.split("/")[: 3 if "suites" in row.file else 2])
        sums.setdefault((part, row.arch), Counter()).update({name: getattr(row, name) for name in names})
    return tuple(
        FileRow(file=part, arch=arch, **{name: counts[name] for name in names})
        for (part, arch), counts in sorted(sums.items())
    )


def _table(title: str, rows: tuple[FileRow, ...]) -> list[str]:
    names = [field.name for field in dataclasses.fields(FileRow)]
    body = ["| " + " | ".join(str(getattr(row, name)) for name in names) + " |" for row in rows]
    return [f"## {title}", "", "| " + " | ".join(names) + " |", "|" + " --- |" * len(names), *body, ""]


def _listed(title: str, entries: tuple[Listed, ...]) -> list[str]:
    lines = [f"## {title}", ""]
    for entry in entries:
        where = f", `{entry.where}`" if entry.where else ""
        reason = entry.reason.replace("\n", " ")[:240]
        lines.append(f"- {entry.what} ({', '.join(entry.archs)}){where}: {reason}")
    return [*lines, *([] if entries else ["None."]), ""]
