"""One side's process: the operator's tests, twice, then the kept calls and their variations.

The first round of the tests lets tuners and compilers do their work; CUPTI, which takes one subscriber only, records
the second, and the calls after it.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from tileport_skill.correctness import files, untimed
from tileport_skill.correctness.calls import CallStore, load_calls, on_device
from tileport_skill.correctness.integrity import Snapshot, fingerprint
from tileport_skill.correctness.plugin import BACKENDS, Plugin
from tileport_skill.correctness.records import Job, Observation, Role, read_job, to_json
from tileport_skill.correctness.replay import in_graph, observe, on_second_device, on_two_streams, on_two_threads
from tileport_skill.correctness.tracing import Trace
from tileport_skill.correctness.variations import VARIATIONS
from tileport_skill.tilegym.operators import UNTUNED

_SETTINGS: dict[str, Callable[..., Any]] = {
    "two streams": on_two_streams,
    "two threads": on_two_threads,
    "CUDA graph": in_graph,
    "second device": on_second_device,
}
"""How else a call is made as it is. The reference decides here too whether it makes sense."""


def main() -> int:
    job, out, calls = read_job(Path(sys.argv[1])), Path(sys.argv[3]), Path(sys.argv[4])
    role: Role = "reference" if sys.argv[2] == "reference" else "port"
    # Importing it replaces `torch.manual_seed`, and TileGym's tuner for cuTile Rust does so on its way.
    importlib.import_module("torch._dynamo")
    untimed.install()
    snapshot = Snapshot()
    store = CallStore(calls) if role == "reference" else None
    _run_tests(job, role, out / files.TESTS, Plugin(job, role, store, None))
    (out / files.DOING).write_text("the tests, traced", encoding="utf-8")
    trace = Trace()
    second = Plugin(job, role, None, trace)
    _run_tests(job, role, out / files.TRACED, second)
    with (out / files.FACTS).open("w", encoding="utf-8") as lines:
        lines.writelines(to_json(run) + "\n" for run in second.results())
    if role == "reference":
        _wait_for_the_port()
    os.environ[UNTUNED] = "1"  # as these calls were compared without a GPU
    _replay_all(job, role, load_calls(calls), out, trace)
    document = {
        "patched": snapshot.changed(),
        "fingerprint": fingerprint(job.reference_module, [name for name in sorted(sys.modules) if _is_test(name)]),
        "unrecorded": list(store.refused) if store else [],
        "host": _host(),
    }
    (out / files.END).write_text(json.dumps(document), encoding="utf-8")
    # Past every atexit handler and thread the port may have left behind.
    os._exit(0)


def _run_tests(job: Job, role: Role, xml: Path, plugin: Plugin) -> None:
    root = Path(job.tests_root)
    arguments = [str(root / path) for path in job.tests]
    pytest.main(
        [*arguments, f"--junitxml={xml}", f"--rootdir={root}", "-q", "--no-header", "-p", "no:cacheprovider"],
        plugins=[plugin],
    )


def _is_test(module: str) -> bool:
    return module.startswith("tests.")


def _wait_for_the_port() -> None:
    """What is expected is computed when the port's process is gone."""
    print("recorded", flush=True)
    sys.stdin.readline()


def _replay_all(job: Job, role: Role, calls: list[dict[str, Any]], out: Path, trace: Trace) -> None:
    """Every kept call in every variation; what is being done stands in a file, should the process die of it."""
    (out / files.VALUES).mkdir(exist_ok=True)
    with (out / files.OBSERVED).open("w", encoding="utf-8") as observed:
        for number, (item, call, arguments) in enumerate(_items(job, calls)):
            (out / files.DOING).write_text(item, encoding="utf-8")
            function = implementation(call["name"], role)
            observation, values = _one(item, function, arguments, job.seed + number, trace)
            torch.save(values, out / files.VALUES / f"{number:04}.pt")
            observed.write(to_json(observation) + "\n")
            observed.flush()
    (out / files.DOING).unlink(missing_ok=True)


def _items(job: Job, calls: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any], Any]]:
    for name, change in VARIATIONS.items():
        if name in job.without:
            continue
        for number, call in enumerate(calls):
            source = torch.Generator().manual_seed(job.seed + number)
            arguments = change((call["args"], call["kwargs"]), source)
            if arguments is not None:
                yield f"call {number}, {name}", call, arguments
    for name in _SETTINGS:
        if name == "second device" and torch.cuda.device_count() < 2:
            continue
        for number, call in enumerate(calls):
            yield f"call {number}, {name}", call, (call["args"], call["kwargs"])


def _one(item: str, function: Callable[..., Any], arguments: Any, seed: int, trace: Trace) -> tuple[Observation, Any]:
    """Warm first, then watched."""
    setting = _SETTINGS.get(item.split(", ")[1])
    if setting is not None:
        with trace.paused():
            return _elsewhere(item, setting, function, arguments, seed)
    warm, _ = observe(item, function, on_device(arguments), seed, None)
    if warm.error is not None:
        return warm, None
    return observe(item, function, on_device(arguments), seed, trace)


def _elsewhere(
    item: str, setting: Callable[..., Any], function: Callable[..., Any], arguments: Any, seed: int
) -> tuple[Observation, Any]:
    try:
        values = setting(function, on_device(arguments), seed)
    except Exception as error:
        return Observation(item=item, error=f"{type(error).__name__}: {error}"), None
    return Observation(item=item, error=None), values


def implementation(name: str, role: Role) -> Callable[..., Any]:
    """This side's implementation as registered, past the recorder; `NAME()` is a getter's product."""
    dispatcher = importlib.import_module("tilegym.backend.dispatcher")
    registered = dispatcher._REGISTRY[name.removesuffix("()")][BACKENDS[role]]
    found = getattr(registered, "_tileport_inner", registered)
    return found() if name.endswith("()") else found  # type: ignore[no-any-return]


def _host() -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version

    capability = ".".join(map(str, torch.cuda.get_device_capability()))
    found = {
        "device": torch.cuda.get_device_name(),
        "capability": capability,
        "devices": str(torch.cuda.device_count()),
    }
    for package in ("torch", "cuda-tile", "cupti-python", "pytest"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


if __name__ == "__main__":
    sys.exit(main())
