"""Only what GitHub signed with our secret is kept, and it is kept before GitHub is answered."""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.bot.conftest import event

from tileport_bot import inbox
from tileport_bot.inbox import Delivery
from tileport_bot.serve import application
from tileport_bot.webhook import MOST_BYTES, Receiver, read_secrets
from tileport_skill.errors import MachineryError, RequestError

SECRET = "a-secret-of-the-tests"
LABELED = json.dumps(event("issues.labeled")).encode()


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEPORT_STATE", str(tmp_path / "state"))
    monkeypatch.delenv("TILEPORT_DATABASE_URL", raising=False)


def sign(body: bytes, secret: str = SECRET, kind: str = "sha256") -> str:
    return f"{kind}={hmac.new(secret.encode(), body, kind).hexdigest()}"


def headers(body: bytes, *, id: str = "d-1", name: str = "issues", **more: str) -> dict[str, str]:
    said = {"X-GitHub-Event": name, "X-GitHub-Delivery": id, "Content-Type": "application/json"}
    return {**said, "X-Hub-Signature-256": sign(body), **more}


def post(
    *posts: tuple[bytes, dict[str, str]], secrets: Sequence[str] = (SECRET,), receiver: Receiver | None = None
) -> list[httpx2.Response]:
    """All at once, to the application as it is served."""

    async def run() -> list[httpx2.Response]:
        app = application(secrets) if receiver is None else application(secrets, receiver)
        async with app.router.lifespan_context(app):
            transport = httpx2.ASGITransport(app=app)
            async with httpx2.AsyncClient(transport=transport, base_url="http://bot") as client:
                sent = [client.post("/webhook", content=body, headers=said) for body, said in posts]
                return list(await asyncio.gather(*sent))

    return asyncio.run(run())


def kept() -> list[str]:
    return [done.id for done in reversed(inbox.newest(10_000))]


def test_a_signed_delivery_is_answered_202_and_kept() -> None:
    (answer,) = post((LABELED, headers(LABELED)))
    assert answer.status_code == 202
    waiting = inbox.next_waiting(1e12)
    assert waiting is not None
    assert (waiting.delivery.id, waiting.delivery.event, waiting.delivery.about) == (
        "d-1",
        "issues",
        "example/TileGym#12",
    )
    assert waiting.payload() == event("issues.labeled")


@pytest.mark.parametrize(
    "signature",
    [
        {"X-Hub-Signature-256": ""},
        {"X-Hub-Signature-256": sign(LABELED, "another secret")},
        {"X-Hub-Signature-256": sign(LABELED).upper()},
        {"X-Hub-Signature-256": sign(LABELED).replace("sha256=", "SHA256=")},
        {"X-Hub-Signature-256": sign(LABELED)[:-1]},
        {"X-Hub-Signature-256": sign(LABELED).removeprefix("sha256=")},
        {"X-Hub-Signature-256": sign(LABELED, kind="sha1")},
        {"X-Hub-Signature-256": "sha256=" + "é" * 64},
        {"X-Hub-Signature-256": "", "X-Hub-Signature": sign(LABELED, kind="sha1")},
    ],
)
def test_what_is_not_signed_with_sha_256_by_our_secret_is_401_and_not_kept(signature: dict[str, str]) -> None:
    said = {name: value.encode() for name, value in headers(LABELED, **signature).items()}
    (answer,) = post((LABELED, said))  # type: ignore[arg-type]
    assert answer.status_code == 401
    assert kept() == []


def test_a_signature_of_another_body_is_none() -> None:
    (answer,) = post((LABELED.replace(b"alice", b"mallo"), headers(LABELED)))
    assert answer.status_code == 401
    assert kept() == []


def test_of_two_secrets_either_counts_while_one_replaces_the_other() -> None:
    secrets = read_secrets(f"new-secret, {SECRET}")
    new = headers(LABELED, id="d-2", **{"X-Hub-Signature-256": sign(LABELED, "new-secret")})
    answers = post((LABELED, headers(LABELED)), (LABELED, new), secrets=secrets)
    assert [answer.status_code for answer in answers] == [202, 202]


@pytest.mark.parametrize("text", ["", " ", ",", "one,", " ,two"])
def test_an_empty_secret_is_none_and_the_server_does_not_start_with_it(text: str) -> None:
    with pytest.raises(RequestError, match="secret is empty"):
        read_secrets(text)


def test_an_oversized_delivery_is_413_whatever_its_length_says() -> None:
    body = b" " * (MOST_BYTES + 1)

    async def chunks() -> Any:
        for _ in range(MOST_BYTES // 65_536 + 2):
            yield b" " * 65_536

    answers = post((body, headers(body)), (chunks(), headers(body)))  # type: ignore[arg-type]
    assert [answer.status_code for answer in answers] == [413, 413]
    assert kept() == []


def test_one_with_a_comment_of_a_megabyte_is_kept() -> None:
    document = event("issue_comment.created")
    document["comment"]["body"] = "/port x\n" + "é" * 1_000_000
    body = json.dumps(document).encode()
    (answer,) = post((body, headers(body, name="issue_comment")))
    assert answer.status_code == 202
    assert len(kept()) == 1


@pytest.mark.parametrize(
    ("body", "more", "status"),
    [
        (b"{", {}, 400),
        (b"\xff\xfe", {}, 400),
        (b"[]", {}, 400),
        (b"[" * 100_000, {}, 400),
        (b'{"action": "labeled"}', {}, 400),
        (b'{"repository": {"full_name": "../../etc/passwd"}}', {}, 400),
        (LABELED, {"X-GitHub-Delivery": ""}, 400),
        (LABELED, {"X-GitHub-Delivery": "x" * 201}, 400),
        (LABELED, {"X-GitHub-Event": ""}, 400),
        (b"payload=%7B%7D", {"Content-Type": "application/x-www-form-urlencoded"}, 415),
        (LABELED, {"Content-Type": ""}, 415),
    ],
)
def test_what_is_signed_and_makes_no_sense_is_refused_and_not_kept(
    body: bytes, more: dict[str, str], status: int
) -> None:
    (answer,) = post((body, headers(body, **more)))
    assert answer.status_code == status
    assert kept() == []


@pytest.mark.parametrize("name", ["ping", "star", "a-new-event"])
def test_events_that_nothing_is_done_about_are_answered_and_not_kept(name: str) -> None:
    body = b'{"zen": "x"}'
    (answer,) = post((body, headers(body, name=name)))
    assert answer.status_code == 202
    assert kept() == []


def test_twenty_deliveries_of_one_id_at_once_are_one() -> None:
    answers = post(*[(LABELED, headers(LABELED))] * 20)
    assert {answer.status_code for answer in answers} == {202}
    assert kept() == ["d-1"]


def test_deliveries_that_come_at_once_are_written_together() -> None:
    written: list[int] = []

    def keep(deliveries: Sequence[Delivery], now: float) -> None:
        written.append(len(deliveries))
        inbox.keep(deliveries, now)

    posts = [(LABELED, headers(LABELED, id=f"d-{number}")) for number in range(50)]
    answers = post(*posts, receiver=Receiver((SECRET,), keep))
    assert {answer.status_code for answer in answers} == {202}
    assert len(kept()) == 50
    assert len(written) < 50


def test_what_could_not_be_kept_is_not_accepted_and_the_next_one_is() -> None:
    failures = iter([MachineryError("no disk"), ZeroDivisionError("a bug")])

    def keep(deliveries: Sequence[Delivery], now: float) -> None:
        if (failure := next(failures, None)) is not None:
            raise failure
        inbox.keep(deliveries, now)

    answers = [post((LABELED, headers(LABELED)), receiver=Receiver((SECRET,), keep))[0] for _ in range(3)]
    assert [answer.status_code for answer in answers] == [503, 503, 202]
    assert kept() == ["d-1"]


def test_only_posts_are_taken_and_the_pages_only_read() -> None:
    async def run() -> list[int]:
        transport = httpx2.ASGITransport(app=application((SECRET,)))
        async with httpx2.AsyncClient(transport=transport, base_url="http://bot") as client:
            asked = [("GET", "/webhook"), ("POST", "/"), ("GET", "/healthz"), ("GET", "/"), ("GET", "/requests/7")]
            return [(await client.request(method, path)).status_code for method, path in asked]

    assert asyncio.run(run()) == [405, 405, 200, 200, 404]


def test_healthz_says_when_deliveries_cannot_be_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("TILEPORT_DATABASE_URL", f"postgresql://nobody@/none?host={tmp_path / 'file'}")

    async def run() -> httpx2.Response:
        transport = httpx2.ASGITransport(app=application((SECRET,)))
        async with httpx2.AsyncClient(transport=transport, base_url="http://bot") as client:
            return await client.get("/healthz")

    answer = asyncio.run(run())
    assert answer.status_code == 503
    assert "does not serve" in answer.text
