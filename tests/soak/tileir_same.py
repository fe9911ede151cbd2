"""Edits of a kernel's text that mean nothing: what makes pairs equal by construction."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from tileir_edits import V


def renamed(text: str, chance: random.Random) -> str:
    names = sorted(set(re.findall(r"%\w+", text)))
    fresh = [f"%v{n}" for n in range(len(names))]
    chance.shuffle(fresh)
    to = dict(zip(names, fresh, strict=True))
    return re.sub(r"%\w+", lambda m: to[m[0]], text)


def commuted(text: str, chance: random.Random) -> str:
    return re.sub(
        rf"(= (?:addi|addf|muli|mulf|andi|ori|maxf) )({V}), ({V})",
        lambda m: f"{m[1]}{m[3]}, {m[2]}" if chance.random() < 0.7 else m[0], text,
    )  # fmt: skip


def constants_repeated(text: str, chance: random.Random) -> str:
    out, count = [], 0
    constants = dict(re.findall(rf"^ *({V}) = (constant .*)$", text, re.M))
    for line in text.splitlines():
        for name in re.findall(V, line.partition(" = ")[2]):
            if name in constants and chance.random() < 0.5 and " in (" not in line and "yield" not in line:
                count += 1
                out.append(f"{line[: len(line) - len(line.lstrip())]}%again{count} = {constants[name]}")
                head, equals, tail = line.partition(" = ")
                line = head + equals + re.sub(re.escape(name) + r"(?![\w#])", f"%again{count}", tail, count=1)
        out.append(line)
    return "\n".join(out) + "\n"


def dead_code(text: str, chance: random.Random) -> str:
    lines = text.splitlines()
    for count in range(3):
        at = chance.randrange(1, len(lines) - 1)
        if lines[at].lstrip().startswith(("(", "}")) or lines[at - 1].endswith(" ") or "return" in lines[at - 1]:
            continue
        lines[at:at] = [f"  %dead{count} = constant <i32: {count + 5}> : tile<i32>",
                        f"  %dead_{count} = muli %dead{count}, %dead{count} : tile<i32>"]  # fmt: skip
    return "\n".join(lines) + "\n"


def own_tokens(text: str, chance: random.Random) -> str:
    """Every use of the one token root gets a root of its own."""
    root = re.search(rf"({V}) = make_token : token", text)
    if not root:
        return text
    out, count = [], 0
    for line in text.splitlines():
        if re.search(rf"token ?= ?{re.escape(root[1])}(?![\w#])", line) and "iter_values" not in line:
            count += 1
            out.append(f"  %root{count} = make_token : token")
            line = re.sub(rf"(token ?= ?){re.escape(root[1])}(?![\w#])", rf"\1%root{count}", line)
        out.append(line)
    return "\n".join(out) + "\n"


def reordered(text: str, chance: random.Random) -> str:
    """Neighbouring pure operations change places where neither uses the other."""
    lines = text.splitlines()
    fixed = re.compile(r"_tko|^ *(for|if|loop|\}|\(|return|yield|continue|entry)|reduce|scan|= (for|if|loop) ")
    for at in list(range(1, len(lines) - 2)) * 2:
        a, b = lines[at], lines[at + 1]
        if fixed.search(a) or fixed.search(b) or chance.random() < 0.3:
            continue
        made = re.findall(V, a.partition(" = ")[0])
        if not any(name in re.findall(V, b.partition(" = ")[2]) for name in made):
            lines[at], lines[at + 1] = b, a
    return "\n".join(lines) + "\n"


def refolded(text: str, chance: random.Random) -> str:
    """Adds zeros and factors of one to integers, and turns comparisons round."""
    out = []
    for count, line in enumerate(text.splitlines()):
        found = re.match(rf"^( *)({V}) = (addi|muli) ({V}), ({V}) : (tile<\S+>)$", line)
        turned = re.sub(rf"cmpi less_than ({V}), ({V})", r"cmpi greater_than \2, \1", line)
        if found and chance.random() < 0.6 and "i64" not in found[6]:
            pad = found[1]
            out.append(f"{pad}%zero{count} = constant <{found[6][5:-1].split('x')[-1]}: 0> : {found[6]}")
            out.append(f"{pad}%plus{count} = addi {found[4]}, %zero{count} : {found[6]}")
            line = f"{pad}{found[2]} = {found[3]} %plus{count}, {found[5]} : {found[6]}"
        elif turned != line and chance.random() < 0.6:
            line = turned
        out.append(line)
    return "\n".join(out) + "\n"


SAME: dict[str, Callable[[str, random.Random], str]] = {
    "renamed": renamed,
    "commuted": commuted,
    "constants repeated": constants_repeated,
    "dead code": dead_code,
    "own token roots": own_tokens,
    "reordered": reordered,
    "refolded": refolded,
}
