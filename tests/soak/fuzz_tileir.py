"""Damaged text and damaged bytecode through reader, printer and ladder; `make fuzz` does so for ten minutes.

Allowed are a `ParseError`, a refusal and a verdict, within a bounded time; anything else is printed with its input.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from tileir_kernels import KERNELS, exported

from tileport_skill.tileir.assemble import Refused, disassemble
from tileport_skill.tileir.ladder import Source, compare, compare_sources
from tileport_skill.tileir.parse import ParseError, parse
from tileport_skill.tileir.printing import print_module
from tileport_skill.tileir.search import Budget

EVERY = Path(__file__).parents[1] / "skill" / "tileir" / "every_operation.tileir"
BUDGET = Budget(seconds=0.05)
SLOW = 5.0
"""Seconds of this process; an input that takes longer is a finding too."""
BITS_OF_TEXT = ["", "%", "<", ">", "x", "{", "}", "\n", "%arg0", ", ", "é", "\0", '"', "99", "tile<", "token", "(", ")"]
BITS_OF_TEXT += [":", " -> ", "#1", ":2", "1" * 30, "-1", "0x", "1099511627776x", "assume div_by<0>, ", "= "]


def damaged_text(chance: random.Random, texts: list[str]) -> str:
    """A piece of a real text with lines dropped, repeated or broken."""
    lines = chance.choice(texts).split("\n")
    if len(lines) > 120:
        at = chance.randrange(len(lines) - 100)
        lines = lines[:1] + lines[at : at + 100]
    for _ in range(chance.choice([1, 1, 2, 4])):
        at = chance.randrange(len(lines))
        way = chance.random()
        if way < 0.25 and len(lines) > 2:
            del lines[at : at + chance.choice([1, 2, 5])]
        elif way < 0.4:
            lines.insert(at, chance.choice(lines))
        else:
            line = lines[at]
            place = chance.randrange(len(line) + 1)
            lines[at] = line[:place] + chance.choice(BITS_OF_TEXT) + line[place + chance.randrange(4) :]
        lines = lines or [""]
    return "\n".join(lines)


def damaged_bytes(chance: random.Random, originals: list[bytes]) -> bytes:
    """Bytecode with some bytes changed, a piece cut out, or the end missing."""
    data = bytearray(chance.choice(originals))
    way = chance.random()
    if way < 0.15:
        return bytes(data[: chance.randrange(len(data))])
    if way < 0.3:
        at = chance.randrange(len(data))
        return bytes(data[:at] + data[at + chance.choice([1, 4, 16]) :])
    for _ in range(chance.choice([1, 1, 2, 8])):
        data[chance.randrange(len(data))] = chance.choice([0, 1, 0x7F, 0xFF, chance.randrange(256)])
    return bytes(data)


def try_text(text: str) -> str:
    """What became of it, in a word."""
    try:
        module = parse(text)
    except ParseError:
        return "text refused"
    print_module(module)
    if len(module.entries) == 1:
        compare_sources(Source(text=text), Source(text=text + "\n"), None, BUDGET)
        compare_sources(Source(text=text), Source(text=text.replace("addi", "muli", 1)), None, BUDGET)
    return "text read"


def try_bytes(content: bytes, original: bytes) -> str:
    text = disassemble(content)
    compare(original, content, None, BUDGET)
    if isinstance(text, Refused):
        return "bytecode refused"
    return f"bytecode disassembled, {try_text(text)}"


def fuzz(seconds: float, seed: int, texts: list[str], originals: list[bytes], keep: Path | None) -> Counter[str]:
    chance = random.Random(seed)
    until, found = time.monotonic() + seconds, Counter[str]()
    while time.monotonic() < until:
        if chance.random() < 0.6:
            text = damaged_text(chance, texts)
            attempt: Callable[[], str] = lambda text=text: try_text(text)  # noqa: E731
            content = text.encode("utf-8", "surrogateescape")
        else:
            content = damaged_bytes(chance, originals)
            attempt = lambda content=content: try_bytes(content, originals[0])  # noqa: E731
        began = time.process_time()  # other programs on the machine are no finding
        try:
            what = attempt()
        except Exception:
            what = "EXCEPTION " + " | ".join(traceback.format_exc().strip().splitlines()[-3:])
        if time.process_time() - began > SLOW:
            what = f"SLOW: {what}"
        if what.startswith(("EXCEPTION", "SLOW")):
            _report(what, content, keep, first=what not in found)
        found[what] += 1
    return found


def _report(what: str, content: bytes, keep: Path | None, *, first: bool) -> None:
    if first:
        print(what, flush=True)
        if keep is not None:
            keep.mkdir(parents=True, exist_ok=True)
            (keep / hashlib.sha256(content).hexdigest()[:12]).write_bytes(content)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--corpus", type=Path, help="a folder of texts, *.txt, to damage besides our own kernels")
    parser.add_argument("--keep", type=Path, help="where inputs that break something are written")
    options = parser.parse_args()
    originals = [exported(name) for name in KERNELS]
    texts = [EVERY.read_text(encoding="utf-8")]
    texts += [text for text in map(disassemble, originals) if isinstance(text, str)]
    if options.corpus:
        paths = sorted(options.corpus.glob("*.txt"))
        texts += [p.read_text() for p in random.Random(options.seed).sample(paths, min(60, len(paths)))]
    found = fuzz(options.seconds, options.seed, texts, originals, options.keep)
    for what, count in found.most_common():
        print(f"{count:8} {what}")
    return 1 if any(what.startswith(("EXCEPTION", "SLOW")) for what in found) else 0


if __name__ == "__main__":
    raise SystemExit(main())
