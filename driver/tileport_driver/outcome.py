"""Gates -> acceptance, and records -> outcome. Pure: every decision about an attempt's end is here."""

from __future__ import annotations

from tileport_driver.records import (
    Acceptance,
    Accepted,
    AgentRun,
    Delivery,
    DraftRun,
    Failed,
    Gate,
    Inconclusive,
    NotPorted,
    NotRun,
    Outcome,
    Ported,
    Rejected,
    Unproved,
)
from tileport_skill.pipeline.diagnosis import Diagnosis


def accept(gates: tuple[Gate, ...]) -> Acceptance:
    """Three classes, never two: one failure rejects, one gate that did not run leaves it open."""
    if any(isinstance(gate, Failed) for gate in gates):
        return Rejected(gates=gates)
    if any(isinstance(gate, NotRun) for gate in gates):
        return Inconclusive(gates=gates)
    return Accepted(gates=gates)


def decide(run: AgentRun | DraftRun, acceptance: Acceptance | None, delivery: Delivery | None) -> Outcome:
    """How the attempt ended. `delivery` is None exactly when nothing may be delivered."""
    if isinstance(run, DraftRun):
        if run.refused:
            return NotPorted(reasons=run.refused)
    elif run.given_up is not None:
        return NotPorted(reasons=given_up(run.given_up))
    elif run.status != "finished":
        return NotPorted(reasons=(f"The agent {run.status}: {run.summary}",))
    if acceptance is None:
        return NotPorted(reasons=("There is nothing to judge.",))
    if isinstance(acceptance, Rejected):
        reasons = [reason for gate in acceptance.gates if isinstance(gate, Failed) for reason in gate.reasons]
        return NotPorted(reasons=tuple(reasons))
    if delivery is None:
        raise ValueError("an acceptance that is not a rejection is delivered")
    if isinstance(acceptance, Accepted):
        return Ported(delivery=delivery)
    return Unproved(delivery=delivery, missing=tuple(g for g in acceptance.gates if isinstance(g, NotRun)))


def given_up(diagnosis: Diagnosis) -> tuple[str, ...]:
    """Why the roles gave a port up, first in a sentence, then what was found."""
    last = diagnosis.last
    ended = f"{diagnosis.why}, after {len(diagnosis.runs)} runs; the last was {last.role}'s: {last.verdict}"
    return (f"The roles gave the port up: {ended}.", *last.problems)


def settle(acceptance: Acceptance, delivery: Delivery) -> Outcome:
    """What becomes of a draft that was delivered unproved, once it is judged where every gate can run."""
    if isinstance(acceptance, Accepted):
        return Ported(delivery=delivery)
    if isinstance(acceptance, Rejected):
        reasons = [reason for gate in acceptance.gates if isinstance(gate, Failed) for reason in gate.reasons]
        return NotPorted(reasons=tuple(reasons))
    return Unproved(delivery=delivery, missing=tuple(g for g in acceptance.gates if isinstance(g, NotRun)))
