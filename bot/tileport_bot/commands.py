"""Labels and comments as commands: the grammar, and the help text that is made from it.

A label `port: OP` asks; taking it off cancels. In a comment the first line that begins with `/` and a command
counts, outside quotes, code and HTML comments. Other bots have slash commands too, so what does not look
like one of ours is nobody's mistake and gets no answer.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from dataclasses import dataclass

from tileport_bot.events import Commented, Dispatched, Labeled, Unlabeled


@dataclass(frozen=True, slots=True, kw_only=True)
class Port:
    operator: str
    """As it was spelled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PortMany:
    """A batch."""

    operators: tuple[str, ...] | None
    """As they were spelled; None for all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    operator: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancel:
    operator: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """Have the gates run that need a GPU."""

    operator: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Help:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Misspelt:
    """Meant for us, and not a command."""

    wrote: str
    meant: str


Command = Port | PortMany | Retry | Cancel | Check | Status | Help | Misspelt

HELP: dict[str, str] = {
    "/port OP": "port the operator; the label `port: OP` asks for the same",
    "/port all": "every operator that has no port yet, one after the other",
    "/retry [OP]": "ask again after an end, within the attempts allowed",
    "/cancel [OP]": "stop; taking the label off does the same",
    "/check [OP]": "queue the gates that need a GPU, for a port that is not yet proved",
    "/status": "what is being done in this issue",
    "/help": "this list",
}
"""Each command with what it does; the name of an operator may be spelled in any way that names one."""

_NAMES = tuple(dict.fromkeys(usage.split()[0].removeprefix("/") for usage in HELP))

_SLASHES = ("/", "\uff0f")
"""The second is full-width, as some keyboards write it."""

_LOOK_ALIKES = str.maketrans("аеорсухіјѕԁһкмтвɡοαρνετυ", "aeopcyxijsdhkmtbgoapvetu")


def read_command(event: Labeled | Unlabeled | Commented | Dispatched) -> Command | None:
    """None when the event asks nothing of us."""
    match event:
        case Labeled(label=label):
            return _label_command(label)
        case Unlabeled(label=label):
            operator = _label_operator(label)
            return Cancel(operator=operator) if operator else None
        case Commented(body=body):
            line = next((line for line in _spoken_lines(body) if line.startswith(_SLASHES)), None)
            return _comment_command(line) if line else None
        case Dispatched(operators=names):
            words = tuple(dict.fromkeys(re.split(r"[\s,]+", names.strip(" ,\n"))))
            return PortMany(operators=None if words == ("all",) else words)


def _label_command(label: str) -> Command | None:
    operator = _label_operator(label)
    if operator:
        return Port(operator=operator)
    # A colon or letters of another alphabet look right in GitHub's list of labels and would wait for ever.
    folded = _looks_like(label)
    operator = _label_operator(folded) if folded != label else None
    return Misspelt(wrote=label, meant=f"port: {operator}") if operator else None


def _label_operator(label: str) -> str | None:
    found = re.fullmatch(r"\s*port\s*:\s*(\S(?:.*\S)?)\s*", label, re.IGNORECASE | re.ASCII)
    return found[1] if found else None


def _comment_command(line: str) -> Command | None:
    word, *arguments = line[1:].split()[:4] or [""]
    match word.casefold() if line.startswith("/") else "", arguments:
        case "port", [operator] if operator.casefold() == "all":
            return PortMany(operators=None)
        case "port", [operator]:
            return Port(operator=operator)
        case "retry", [] | [_]:
            return Retry(operator=arguments[0] if arguments else None)
        case "cancel", [] | [_]:
            return Cancel(operator=arguments[0] if arguments else None)
        case "check", [] | [_]:
            return Check(operator=arguments[0] if arguments else None)
        case "status", []:
            return Status()
        case "help", []:
            return Help()
    # What only looks like a command would wait for ever; it is asked back, like one that is misspelt.
    near = difflib.get_close_matches(_looks_like(word).casefold(), _NAMES, n=1, cutoff=0.75)
    if not near:
        return None
    return Misspelt(wrote=line[:200], meant=_usage(near[0], arguments))


def _looks_like(word: str) -> str:
    """The Latin letters that those of another width or alphabet are taken for."""
    return unicodedata.normalize("NFKC", word).translate(_LOOK_ALIKES)


def _usage(name: str, arguments: list[str]) -> str:
    """The command as it was probably meant; how it is used when its arguments do not fit."""
    usage = next(usage for usage in HELP if usage.split()[0] == f"/{name}")
    takes_one = "OP" in usage
    return f"/{name} {arguments[0]}" if takes_one and len(arguments) == 1 else usage


def _spoken_lines(body: str) -> list[str]:
    """The lines the author says, stripped: no quotes, no fenced or indented code, no HTML comments."""
    lines, fence = [], ""
    for line in re.sub(r"<!--.*?(?:-->|\Z)", "", body[:100_000], flags=re.DOTALL).splitlines():
        mark = re.match(r" {0,3}(`{3,}|~{3,})(.*)$", line)
        if fence:
            if mark and mark[1].startswith(fence) and not mark[2].strip():
                fence = ""
        elif mark:
            fence = mark[1]
        elif not line.startswith(("    ", "\t")) and not line.lstrip().startswith(">"):
            lines.append(line.strip())
    return lines
