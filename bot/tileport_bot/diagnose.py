"""Why an attempt brought no port: which gate, the first cause in plain words, whose it is. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

from tileport_bot.excerpts import Excerpt
from tileport_driver.records import Acceptance, Failed, GateName, MachineryFailed, NotPorted, Refused
from tileport_driver.report import first_line_and_rest
from tileport_skill.pipeline.diagnosis import Diagnosis as GivenUp
from tileport_skill.pipeline.diagnosis import said_otherwise

Owner = Literal["kernel", "host", "environment", "compiler", "agent", "budget", "request", "draft", "unknown"]

OWNERS: dict[Owner, str] = {
    "kernel": "the kernel (`kernel.rs`)",
    "host": "the host side (launcher, wrapper or registration)",
    "environment": "the environment: our machine or set-up, not the port",
    "compiler": "the compiler, not the port",
    "agent": "the agent: it left no port that could be judged",
    "budget": "nobody: the budget of tokens and money was spent before the port was done",
    "request": "the request",
    "draft": "the drafting program: it has no words for this operator. A draft costs no attempt",
    "unknown": "not told by the record: kernel or host",
}

GATE_MEANINGS: dict[GateName, str] = {
    "policy": "The patch is not only a port: it touches what a port may not touch.",
    "apply": "The patch could not be applied to a clean checkout with the result that the agent left.",
    "build": "The kernels crate does not build with the port in it.",
    "tile-ir": "The port compiles to something else than its reference.",
    "correctness": "The operator's tests fail with the port.",
    "performance": "The port is slower than its reference allows.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    gate: GateName | None
    """None when it ended before any gate."""
    meaning: str
    causes: tuple[str, ...]
    owner: Owner
    excerpt: Excerpt | None


def first_failed_gate(acceptance: Acceptance | None) -> Failed | None:
    gates = acceptance.gates if acceptance else ()
    return next((gate for gate in gates if isinstance(gate, Failed)), None)


def diagnose(
    outcome: NotPorted | Refused | MachineryFailed,
    failed: Failed | None,
    excerpt: Excerpt | None,
    *,
    drafted: bool = False,
    given_up: GivenUp | None = None,
) -> Diagnosis:
    """`drafted`: no model was in the loop. `given_up`: what the roles left where they came to no port."""
    match outcome:
        case Refused(reason=reason):
            return _without_gate("The request cannot be served as asked.", (reason,), "request")
        case MachineryFailed(reason=reason):
            return _without_gate("Our own machinery failed. This costs no attempt.", (reason,), "environment")
        case NotPorted(reasons=reasons) if failed is None and given_up is not None:
            return replace(
                _without_gate("The roles gave the port up before any gate.", reasons, given_up.owner),
                excerpt=Excerpt(None, _route(given_up)),
            )
        case NotPorted(reasons=reasons) if failed is None:
            return _without_gate("No gate was reached.", reasons, "draft" if drafted else "agent")
    assert failed is not None
    return Diagnosis(
        gate=failed.gate,
        meaning=GATE_MEANINGS[failed.gate],
        causes=tuple(first_line_and_rest(reason)[0] for reason in failed.reasons),
        owner=owner_of(failed, excerpt),
        excerpt=excerpt,
    )


def _route(given_up: GivenUp) -> str:
    """Each run of a role and its verdict, with what the role itself had said where programs found otherwise."""
    return "\n".join(f"{turn.number}. {turn.role}: {turn.verdict}{said_otherwise(turn)}" for turn in given_up.runs)


def owner_of(failed: Failed, excerpt: Excerpt | None) -> Owner:
    """Whose a failed gate is; `unknown` where the record does not tell, which is better than a guess."""
    text = "\n".join([*failed.reasons, excerpt.text if excerpt else ""])
    if re.search(r"No space left|Cannot allocate memory|Could not resolve host|Permission denied|OOM", text):
        return "environment"
    if re.search(r"internal compiler error|tileiras.*(?:crash|signal|assert)|rustc.*panicked", text, re.IGNORECASE):
        return "compiler"
    match failed.gate:
        case "policy":
            return "agent"
        case "apply":
            return "environment"
        case "tile-ir" | "performance":
            return "kernel"
        case "build" | "correctness":
            named = re.search(r"\b(kernel\.rs|ffi\.rs|lib\.rs|\w+\.py)\b", text)
            if named is None or failed.gate == "correctness":
                return "unknown"
            return "kernel" if named[1] == "kernel.rs" else "host"


def _without_gate(meaning: str, causes: tuple[str, ...], owner: Owner) -> Diagnosis:
    rest = first_line_and_rest(causes[0])[1] if causes else ""
    return Diagnosis(
        gate=None,
        meaning=meaning,
        causes=tuple(first_line_and_rest(cause)[0] for cause in causes),
        owner=owner,
        excerpt=Excerpt(None, rest) if rest else None,
    )
