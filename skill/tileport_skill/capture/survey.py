"""Every test of a checkout captured: what runs, what it launches, what does not and why. Counts and hashes, no IR."""

from __future__ import annotations

import functools
import hashlib
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from tileport_skill.capture.child import CASES, Limits, cases_of
from tileport_skill.capture.profiles import profile_of
from tileport_skill.capture.records import FORBID, Capture, Test
from tileport_skill.capture.session import capture
from tileport_skill.capture.sources import versions_of
from tileport_skill.errors import RequestError
from tileport_skill.tilegym.operators import BENCHMARK_PREFIX, Checkout, read_operators

WORKERS = 2
GROUPS = 4
"""Children per architecture, each with its share of the test files: two at a time, and none grows large."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRow:
    """One test file on one architecture."""

    file: str
    arch: str
    passed: int
    skipped: int
    failed: int
    launches: int
    configurations: int
    specialisations: int
    refused: int
    """Specialisations that cuTile's compiler refuses."""
    __pydantic_config__: ClassVar = FORBID


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelRow:
    """One kernel over all files and architectures."""

    kernel: str
    specialisations: int
    distinct_ir: int
    ir_digest: str
    """SHA-256 over the sorted hashes of its Tile IR: the same if and only if the same IR was made."""
    __pydantic_config__: ClassVar = FORBID


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A test that was not captured, a kernel that was refused: what, where, why, and on which architectures."""

    what: str
    where: str | None
    reason: str
    archs: tuple[str, ...]
    __pydantic_config__: ClassVar = FORBID


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """The whole table, as it is kept."""

    date: str
    archs: tuple[str, ...]
    seconds: dict[str, float]
    """Per architecture, wall-clock."""
    files: tuple[FileRow, ...]
    kernels: tuple[KernelRow, ...]
    unlaunched: tuple[str, ...]
    """Kernels of the operators in `ops/` that nothing launched."""
    failed: tuple[Listed, ...]
    skipped: tuple[Listed, ...]
    refused: tuple[Listed, ...]
    versions: dict[str, str]
    __pydantic_config__: ClassVar = FORBID


def survey(
    checkout: Checkout,
    archs: Sequence[str],
    out: Path,
    date: str,
    *,
    limits: Limits | None = None,
    workers: int = WORKERS,
) -> Survey:
    """Runs every test file of `checkout` (our cases for a wheel) and sums up; captures lie under `out`."""
    groups = _groups(checkout)
    if not groups:
        raise RequestError(f"{checkout.root} has no tests, and tileport_skill/cases none for its operators.")
    captures: list[Capture] = []
    seconds = {}
    for profile in [profile_of(arch) for arch in archs]:
        started = time.monotonic()
        one = functools.partial(_captured, checkout, profile.arch, limits)
        with ThreadPoolExecutor(workers) as pool:
            captures += pool.map(one, [out / str(number) for number in range(len(groups))], groups)
        seconds[profile.arch] = round(time.monotonic() - started, 1)
    return summed(checkout, captures, seconds, date)


def _captured(checkout: Checkout, arch: str, limits: Limits | None, out: Path, files: tuple[str, ...]) -> Capture:
    (only,) = capture(checkout, (), [arch], out, limits=limits, for_ports=False, files=files)
    return only


def _groups(checkout: Checkout) -> list[tuple[str, ...]]:
    """Test files in groups of about equal size; cases of ours for operators that no test of the checkout names."""
    root = checkout.root
    parts = (("ops", "test_"), ("suites", "test_"), ("benchmark", BENCHMARK_PREFIX))
    own = [
        path.relative_to(root).as_posix()
        for part, prefix in parts
        for path in sorted((root / "tests" / part).rglob(f"{prefix}*.py"))
    ]
    untested = [operator for operator in read_operators(checkout) if not operator.tests]
    return [*_balanced(root, own), *_balanced(CASES, cases_of(untested))]


def _balanced(root: Path, files: list[str]) -> list[tuple[str, ...]]:
    groups: list[list[str]] = [[] for _ in range(min(GROUPS, len(files)))]
    filled = [0] * len(groups)
    for file in sorted(files, key=lambda file: -(root / file).stat().st_size):
        least = filled.index(min(filled))
        groups[least].append(file)
        filled[least] += (root / file).stat().st_size
    return [tuple(sorted(group)) for group in groups]


def summed(checkout: Checkout, captures: Sequence[Capture], seconds: dict[str, float], date: str) -> Survey:
    """The table of what was captured."""
    launched = {s.kernel.rpartition(".")[2] for captured in captures for s in captured.specialisations}
    return Survey(
        date=date,
        archs=tuple(seconds),
        seconds=seconds,
        files=tuple(row for captured in captures for row in _files(captured)),
        kernels=tuple(_kernels(captures)),
        unlaunched=tuple(
            f"{operator.name}: {kernel}"
            for operator in read_operators(checkout)
            for kernel in operator.kernels
            if kernel not in launched
        ),
        failed=_listed(captures, "failed"),
        skipped=_listed(captures, "skipped"),
        refused=_refused(captures),
        versions={**captures[0].versions, **versions_of(checkout)},
    )


def file_of(test: Test) -> str:
    return test.id.partition("::")[0]


def _files(captured: Capture) -> Iterator[FileRow]:
    known = {s.id: s for s in captured.specialisations}
    used: dict[str, dict[str, bool]] = {}
    for launch in captured.launches:
        refused = known[launch.specialisation].refused is not None
        used.setdefault(launch.test.partition("::")[0], {})[launch.specialisation] = refused
    for file in dict.fromkeys(map(file_of, captured.tests)):
        tests = [test for test in captured.tests if file_of(test) == file]
        status = Counter(test.status for test in tests)
        yield FileRow(
            file=file,
            arch=captured.arch,
            passed=status["passed"],
            skipped=status["skipped"],
            failed=status["failed"],
            launches=sum(test.launches for test in tests),
            configurations=sum(test.configurations for test in tests),
            specialisations=len(used.get(file, {})),
            refused=sum(used.get(file, {}).values()),
        )


def _kernels(captures: Sequence[Capture]) -> Iterator[KernelRow]:
    found: dict[str, dict[tuple[str, str], str | None]] = {}
    for captured in captures:
        for s in captured.specialisations:
            name = f"{s.module.rpartition('.')[2]}.{s.kernel}"
            found.setdefault(name, {})[captured.arch, s.id] = s.ir.sha256 if s.ir else None
    for kernel, made in sorted(found.items()):
        hashes = sorted({sha256 for sha256 in made.values() if sha256 is not None})
        digest = hashlib.sha256("".join(hashes).encode()).hexdigest()
        yield KernelRow(kernel=kernel, specialisations=len(made), distinct_ir=len(hashes), ir_digest=digest)


def _listed(captures: Sequence[Capture], status: str) -> tuple[Listed, ...]:
    """Tests that end alike, at one line for one reason, are one entry of their file."""
    found: dict[tuple[str, str | None, str], Counter[str]] = {}
    for captured in captures:
        for test in captured.tests:
            if test.status == status:
                where = test.where and test.where.rpartition("site-packages/")[2]  # a report names no machine's folders
                key = (file_of(test), where, test.reason or "")
                found.setdefault(key, Counter())[captured.arch] += 1
    return tuple(
        Listed(what=f"{max(archs.values())} of {file}", where=where, reason=reason, archs=tuple(archs))
        for (file, where, reason), archs in found.items()
    )


def _refused(captures: Sequence[Capture]) -> tuple[Listed, ...]:
    found: dict[tuple[str, str], Counter[str]] = {}
    for captured in captures:
        for s in captured.specialisations:
            if s.refused is not None:
                found.setdefault((s.kernel, s.refused), Counter())[captured.arch] += 1
    return tuple(
        Listed(what=f"{max(archs.values())} of {kernel}", where=None, reason=reason, archs=tuple(archs))
        for (kernel, reason), archs in found.items()
    )
