"""What the server does with what came in: one process handles deliveries in order, others make attempts.

Either may be killed at any moment. A delivery that was not dealt with is handled again, and finds by its markers what
it had done; a request whose worker is gone is taken by the next one, which goes on with its attempt.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import structlog

from tileport_bot import inbox, requests
from tileport_bot.code_host import CodeHost
from tileport_bot.driver import Driver, Interrupted
from tileport_bot.events import Place
from tileport_bot.github import Gone, Later, Refusal
from tileport_bot.handle import Bot, Handled, handle, port
from tileport_bot.inbox import Waiting
from tileport_bot.memory import DatabaseMemory, held
from tileport_bot.progress import said, show
from tileport_bot.replies import status_comment
from tileport_bot.requests import Request
from tileport_bot.reviewer import Judge
from tileport_bot.status import Record, Stage
from tileport_bot.sweep import sweep
from tileport_driver.worker import is_gone, worker_name
from tileport_skill.errors import MachineryError, RequestError

log = structlog.get_logger()

SWEEP_SECONDS = 300.0
_IDLE_SECONDS = 0.3
_BACK_OFF = (5.0, 30.0, 120.0, 600.0, 1800.0)
"""Seconds before each further try of a delivery or a request that our machinery or GitHub's failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shop:
    """What all workers share."""

    github: CodeHost
    checkout: Callable[[str], Path]
    """A clone of a repository, at its newest commit."""
    driver: Driver
    repositories: tuple[str, ...] = ()
    """Those that are served and swept; empty for whichever send events, and then none is swept."""
    drafts: bool = True
    public_url: str = ""
    """Where people reach the status page; empty where they do not."""
    judge: Judge | None = None
    stopping: Callable[[], bool] = lambda: False

    def bot(self, repository: str) -> Bot:
        return Bot(
            github=self.github,
            driver=self.driver,
            memory=DatabaseMemory(self.github),
            checkout=self.checkout(repository),
            start=enqueue,
            judge=self.judge,
            drafts=self.drafts,
            resumes=True,
            stopping=self.stopping,
            log=lambda line: log.info(line, repository=repository),
        )


def enqueue(bot: Bot, place: Place, record: Record) -> Handled:
    """The request stands in the tables already; its comment says that it waits, and then it may be taken."""
    queued = replace(record, stage=Stage.QUEUED)
    show(bot.github, place, queued, status_comment(queued, updated=said(bot.now())))
    requests.ready(place, record)
    return Handled(f"queued: {record.operator}")


def step_back() -> None:
    """Leaves the processors to the process that receives: GitHub waits ten seconds for an answer, people for hours."""
    os.nice(10)
    with contextlib.suppress(OSError):  # where the kernel groups processes by session, only the group's niceness counts
        Path("/proc/self/autogroup").write_text("10", encoding="ascii")


def work_on_deliveries(shop: Shop, *, drain: bool = False, code: bool = False) -> int:
    """Until asked to stop, or until nothing waits if it is to `drain`. Gives the number it dealt with.

    Those about `code` take minutes each, so a worker of its own deals with them, and does not sweep.
    """
    dealt, swept = 0, float("-inf")
    while not shop.stopping():
        waiting = inbox.next_waiting(time.time(), code=code)
        if waiting is not None:
            dealt += _deal_with(shop, waiting)
        elif not code and time.monotonic() - swept > SWEEP_SECONDS:
            # After what came by itself, so that little is left to be looked for.
            _swept(shop)
            swept = time.monotonic()
        elif drain:
            break
        else:
            _sleep(_IDLE_SECONDS, shop.stopping)
    return dealt


def work_on_requests(shop: Shop, *, drain: bool = False) -> int:
    """One attempt after the other, until asked to stop, or until nothing waits if it is to `drain`."""
    name, made = worker_name(), 0
    while not shop.stopping():
        requests.release_dead(is_gone)
        request = requests.take(name)
        if request is not None:
            made += 1
            _serve(shop, request)
        elif drain:
            break
        else:
            _sleep(_IDLE_SECONDS, shop.stopping)
    return made


def _deal_with(shop: Shop, waiting: Waiting) -> bool:
    """One delivery; True if it is over and done with."""
    say = log.bind(delivery=waiting.delivery.id, about=waiting.delivery.about)
    if shop.repositories and waiting.repository not in shop.repositories:
        inbox.done(waiting, "ignored: this repository is not served here")
        return True
    try:
        line = handle(shop.bot(waiting.repository), waiting.delivery.event, waiting.payload()).line
    except (RequestError, Refusal, Gone) as error:
        line = f"refused: {error}"
    except MachineryError as error:
        if waiting.tries < len(_BACK_OFF):
            after = error.seconds if isinstance(error, Later) else _BACK_OFF[waiting.tries]
            inbox.put_off(waiting, time.time() + after, str(error))
            say.warning("put off", seconds=after, why=str(error))
            return False
        line = f"given up: {error}"
    except Exception as bug:  # of ours, in this one delivery: the others are still to be handled
        say.exception("a bug of ours")
        line = f"given up: a bug of ours, {type(bug).__name__}"
    inbox.done(waiting, line)
    say.info(line)
    return True


def _serve(shop: Shop, request: Request) -> None:
    """One request, as far as it goes."""
    say = log.bind(request=request.id, operator=request.record.operator, repository=request.place.repository)
    last = request.tries >= len(_BACK_OFF)
    with held(request) as journal:
        try:
            bot = shop.bot(request.place.repository)
            bot = replace(
                bot,
                resumes=not last,
                evidence=f"{shop.public_url}/requests/{request.id}" if shop.public_url else "",
                stopping=lambda: shop.stopping() or journal.lost.is_set(),
            )
            say.info(port(bot, request.place, request.record, journal).line)
        except Interrupted:
            say.info("put back" if requests.put_back(request, why="put back: the bot stopped") else "lost")
        except MachineryError as error:
            after = error.seconds if isinstance(error, Later) else _BACK_OFF[min(request.tries, len(_BACK_OFF) - 1)]
            requests.put_back(request, after, f"again in {after:.0f} s: {error}", tried=True)
            say.warning("put back", seconds=after, why=str(error))
        except Exception as bug:  # `port` has told the issue of it if it could; the other requests are still to be made
            say.exception("a bug of ours")
            line = f"a bug of ours, {type(bug).__name__}: the log holds it"
            if not last:
                requests.put_back(request, _BACK_OFF[request.tries], line, tried=True)
            elif requests.end(request, replace(request.record, stage=Stage.FAILED), "", line):
                requests.told(request.id)


def _swept(shop: Shop) -> None:
    try:
        for line in sweep(shop.github, shop.bot, shop.repositories):
            log.info("swept", what=line)
        inbox.forget(time.time() - inbox.KEPT_SECONDS)
    except Exception:  # it comes round again; deliveries must not wait for it
        log.exception("the sweep broke off")


def _sleep(seconds: float, stop: Callable[[], bool]) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until and not stop():
        time.sleep(0.05)
