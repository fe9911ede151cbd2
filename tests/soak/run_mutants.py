"""`make mutants`: what the ladder says of mutants and of pairs equal by construction, beside what counting says.

What was judged is kept in the cache under the sources' hash, so that a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from tileir_mutants import Judged, Pair, candidates, judge, made, made_same, same_texts, wrong

from tileport_skill.capture.cache import cache_folder
from tileport_skill.tileir.assemble import toolchain_version

HERE = Path(__file__).parent
ARCH = "sm_90"


class Kept:
    """Judgements by pair, in a file that only grows."""

    def __init__(self, sources: str) -> None:
        self.path = cache_folder("mutants") / f"{sources}.jsonl"
        lines = self.path.read_text(encoding="utf-8").splitlines() if self.path.is_file() else []
        self.known: dict[str, list[dict[str, Any]]] = dict(map(json.loads, lines))

    def unknown(self, key: str) -> bool:
        return key not in self.known

    def judged(self, key: str, make: Callable[[], list[Judged]]) -> list[Judged]:
        if key not in self.known:
            self.known[key] = [asdict(one) for one in make()]
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps((key, self.known[key])) + "\n")
        return [Judged(**one) for one in self.known[key]]


def sources() -> str:
    """The hash of everything a judgement depends on."""
    digest = hashlib.sha256(toolchain_version().encode())
    for path in sorted([*HERE.glob("tileir_*.py"), *(HERE.parents[1] / "skill/tileport_skill/tileir").glob("*.py")]):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def judgements(options: argparse.Namespace) -> Iterator[Judged]:
    """Every pair once for each way: with cubins, and without, where the higher rungs must decide alone."""
    kept = Kept(sources())
    cubins = not options.no_cubins
    archs = (ARCH, None) if cubins else (None,)

    def both(pair: Pair | None) -> list[Judged]:
        return [] if pair is None else [judge(*pair, options.seconds, arch) for arch in archs]

    until = time.monotonic() + options.minutes * 60

    def key(*parts: object) -> str:
        return hashlib.sha256(json.dumps([*parts, options.seconds, cubins]).encode()).hexdigest()

    found = 0
    for item in candidates(options.seed):
        if found >= options.mutants or (time.monotonic() > until and kept.unknown(key(*item))):
            break
        some = kept.judged(key(*item), lambda item=item: both(made(*item, cubins)))
        found += bool(some)
        yield from some
    for item in same_texts(options.same, options.seed):
        if time.monotonic() > until and kept.unknown(key("same", *item)):
            return
        yield from kept.judged(key("same", *item), lambda item=item: both(made_same(*item, cubins)))


def summary(judged: list[Judged]) -> dict[str, Any]:
    """The figures, for each way of judging."""
    return {
        "date": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        "command": "make mutants",
        "compiler": f"tileiras {toolchain_version()}",
        "wrong verdicts": len(wrong(judged)),
        **{
            f"with cubins for {arch}" if arch else "without cubins": _of_one_way([j for j in judged if j.arch == arch])
            for arch in (ARCH, None)
            if any(j.arch == arch for j in judged)
        },
    }


def _of_one_way(judged: list[Judged]) -> dict[str, Any]:
    labels = {name: [j for j in judged if j.label == name] for name in ("different", "equal", "speed", "unlabelled")}
    files = [j for j in labels["different"] if j.same_file]
    told_apart = [j for j in labels["different"] if not j.same_file]
    kinds = sorted({j.kind for j in told_apart})
    return {
        **{name: _verdicts(some) for name, some in labels.items()},
        "different, but one cubin": {"pairs": len(files), "kinds": sorted({j.kind for j in files})},
        "kinds": len(kinds),
        "kernels": len({j.kernel for j in told_apart}),
        "seconds": _times([j.seconds for j in judged]),
        "seconds with tileiras": _times([j.seconds + j.assembling for j in judged]),
        "by kind": {kind: _kind([j for j in told_apart if j.kind == kind]) for kind in kinds},
    }


def _verdicts(judged: list[Judged]) -> dict[str, Any]:
    by = Counter(f"{j.verdict} by {j.by}" if j.by else j.verdict for j in judged)
    counted = sum(j.counts == "same" for j in judged)
    return {"pairs": len(judged), **dict(by.most_common()), "counting names calls the same": counted}


def _kind(judged: list[Judged]) -> dict[str, Any]:
    verdicts = Counter(j.verdict for j in judged)
    return {
        "killed": verdicts["different"],
        "survived": verdicts["equal"],
        "unknown": verdicts["unknown"],
        "by": dict(Counter(j.by for j in judged if j.by)),
        "missed by counting": sum(j.counts == "same" for j in judged),
        "median seconds": round(sorted(j.seconds for j in judged)[len(judged) // 2], 3),
    }


def _times(seconds: list[float]) -> dict[str, float]:
    ordered = sorted(seconds)
    at = {"median": len(ordered) // 2, "90th percentile": len(ordered) * 9 // 10, "worst": len(ordered) - 1}
    return {name: round(ordered[place], 2) for name, place in at.items()}


def printed(document: dict[str, Any], indent: str = "") -> Iterator[str]:
    """The document for people: a line for each figure, one for each kind."""
    for name, value in document.items():
        if isinstance(value, dict) and any(isinstance(inner, dict) for inner in value.values()):
            yield f"{indent}{name}"
            yield from printed(value, indent + "  ")
        else:
            text = ", ".join(f"{k} {v}" for k, v in value.items()) if isinstance(value, dict) else value
            yield f"{indent}{name}: {text}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutants", type=int, default=700)
    parser.add_argument("--same", type=int, default=238)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=3.0, help="for the interpreter, at most, for one pair")
    parser.add_argument(
        "--minutes", type=float, default=120, help="report on what is judged by then; run again for more"
    )
    parser.add_argument("--no-cubins", action="store_true", help="leave the first rung out, and tileiras with it")
    parser.add_argument("--report", type=Path, help="write the figures there as JSON")
    options = parser.parse_args()
    judged = []
    for one in judgements(options):
        judged.append(one)
        if wrong([one]):
            print(f"WRONG: {one}", flush=True)
    document = summary(judged) | {
        "asked for": {"mutants": options.mutants, "pairs equal by construction": options.same}
    }
    if options.report:
        options.report.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print("\n".join(printed(document)))
    return 1 if document["wrong verdicts"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
