"""A model that hunts for the key, against a broker that really uses it: it gets out nowhere and in no form.

Without a container here; `tests/test_end_to_end.py` sends the same model on its hunt in one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anthropic
import pytest

from tileport_driver.broker.engines import LiveModel, scripted_message
from tileport_driver.broker.masking import Masks
from tileport_driver.broker.script import load_script

CANARY = "sk-ant-canary-7Jq0vX3mPz81LtYbWc5d"
SCRIPT = Path(__file__).parents[2] / "scripts" / "canary"


def _holds(text: str) -> bool:
    """Whether the key is in there: plain, encoded, reversed, or in pieces of four characters and more."""
    pieces = {CANARY[at : at + 10] for at in range(7, len(CANARY) - 9)}
    flat = "".join(text.split())
    return Masks([CANARY, CANARY[::-1]]).text(text) != text or any(piece in flat for piece in pieces)


def test_the_key_is_in_nothing_that_a_hunting_model_can_see_or_leave(
    attempt: Any, stand_in: Any, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    stand_in.key = CANARY
    turns = load_script(SCRIPT).turns
    asked = {"messages": []}
    stand_in.answers = [scripted_message(turn, number, asked) for number, turn in enumerate(turns)]
    monkeypatch.setenv("HUNT", str(attempt.root))
    with attempt.broker(LiveModel(CANARY, stand_in.url)) as broker:
        code = attempt.run_agent()
        assert broker.turns() == len(turns)
    said = capfd.readouterr()
    left = [path for path in attempt.root.rglob("*") if path.is_file()]
    seen = {str(path): path.read_text(errors="replace") for path in left} | {"stdout": said.out, "stderr": said.err}
    assert [name for name, text in seen.items() if _holds(text)] == []
    # The hunt was one: the broker answered it, and the stand-in had the key all the while.
    found = (attempt.work / "found").read_text()
    assert "the broker serves POST /v1/messages only" in found
    assert "api_key: Extra inputs are not permitted" in found
    assert {headers["authorization"] for headers in stand_in.headers} == {f"Bearer {CANARY}"}
    assert code == 0


def test_the_check_itself_finds_the_key_in_every_form() -> None:
    import base64

    assert not _holds("nothing here")
    for form in (CANARY, CANARY[::-1], base64.b64encode(b"x" + CANARY.encode()).decode(), CANARY.encode().hex()):
        assert _holds(f"a {form} b")
    assert _holds("\n".join(CANARY[at : at + 4] for at in range(0, len(CANARY), 4)))


def test_an_api_that_repeats_the_key_does_not_carry_it_inside(attempt: Any, stand_in: Any, ask: dict[str, Any]) -> None:
    stand_in.key = CANARY
    stand_in.answers = [(400, "invalid_request_error", {}, f"the key {CANARY} may not do this")]
    with (
        attempt.broker(LiveModel(CANARY, stand_in.url)),
        pytest.raises(anthropic.BadRequestError, match=r"the key \[masked\] may not") as caught,
    ):
        attempt.sdk().messages.create(**ask)
    assert CANARY not in caught.value.response.text
    assert CANARY not in attempt.transcript.read_text()
