"""From options and environment to what the doors work with: GitHub, a memory, clones."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import structlog

from tileport_bot.clones import Clones
from tileport_bot.credentials import API, AppCredentials
from tileport_bot.driver import Driver
from tileport_bot.github import GitHub
from tileport_bot.live_github import SERVER, LiveGitHub
from tileport_bot.memory import DatabaseMemory, IssueMemory, Memory
from tileport_bot.work import Shop
from tileport_driver.database import database_url
from tileport_skill.errors import RequestError


def github_of(login: str) -> LiveGitHub:
    """With a GitHub App's key if there is one (TILEPORT_APP_ID, TILEPORT_APP_KEY), else with GITHUB_TOKEN as `login`.

    An Enterprise server is named as GitHub Actions names it, by GITHUB_API_URL and GITHUB_SERVER_URL.
    """
    api, server = os.environ.get("GITHUB_API_URL") or API, os.environ.get("GITHUB_SERVER_URL") or SERVER
    pace = float(os.environ.get("TILEPORT_WRITE_SECONDS") or 1.0)
    app, key, token = (os.environ.get(name) for name in ("TILEPORT_APP_ID", "TILEPORT_APP_KEY", "GITHUB_TOKEN"))
    if app and key:
        return LiveGitHub(AppCredentials(app, key, api=api, pace=pace), server=server)
    if not token:
        raise RequestError(
            "Set GITHUB_TOKEN to a token that may write issues and pull requests, or TILEPORT_APP_ID and "
            "TILEPORT_APP_KEY to an App's; or use --dry-run with handle-event."
        )
    return LiveGitHub(token, login=login, api=api, server=server, pace=pace)


def run_address() -> str:
    """Of the workflow's run this is part of; empty outside of one."""
    server, repository, run = (os.environ.get(f"GITHUB_{name}") for name in ("SERVER_URL", "REPOSITORY", "RUN_ID"))
    return f"{server}/{repository}/actions/runs/{run}" if server and repository and (run or "").isdecimal() else ""


def web(address: str) -> str:
    """The address of a page, as given but for a slash at its end; raises `RequestError` if it is none of the web."""
    if address and not address.startswith(("http://", "https://")):
        raise RequestError(f"--public-url takes an address that begins with https:// or http://, not {address!r}.")
    return address.rstrip("/")


def plain_log() -> None:
    """A line for each thing, and tracebacks without the values of variables: one of them may be a key."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper("iso"),
            structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback),
        ]
    )


def memory_of(github: GitHub) -> Memory:
    """The database's if one is named, else the issues themselves: a runner keeps nothing."""
    return DatabaseMemory(github) if database_url() else IssueMemory(github)


def clones_of(github: LiveGitHub) -> Callable[[str], Path]:
    return Clones(github).fresh


def shop_of(
    login: str, driver: Driver, repositories: tuple[str, ...], *, drafts: bool, stopping: Callable[[], bool]
) -> Shop:
    github = github_of(login)
    return Shop(
        github=github,
        checkout=clones_of(github),
        driver=driver,
        repositories=repositories,
        drafts=drafts,
        stopping=stopping,
    )
