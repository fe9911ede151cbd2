"""What a route is given and what it returns; refusals in GitHub's words; lists a page at a time."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import urlencode

from tests.bot.fakegithub.render import Renderer
from tests.bot.fakegithub.state import App, Issue, Repository, Token, User, World

DOCS = "https://docs.github.com/rest"
LONGEST_BODY = 65_536
_MULTI_SEGMENT = {"path", "ref", "basehead"}


@dataclass
class Answer:
    status: int
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)


class Refuse(Exception):
    """An answer that is GitHub's no."""

    def __init__(self, status: int, message: str, errors: list[dict[str, str]] | None = None) -> None:
        body: dict[str, Any] = {"message": message, "documentation_url": DOCS, "status": str(status)}
        if errors is not None:
            body["errors"] = errors
        super().__init__(message)
        self.answer = Answer(status, body)


def invalid(resource: str, name: str, code: str, message: str | None = None) -> Refuse:
    error = {"resource": resource, "field": name, "code": code}
    return Refuse(422, "Validation Failed", [{**error, **({"message": message} if message else {})}])


@dataclass
class Call:
    """One request, after everything about it was looked up."""

    world: World
    say: Renderer
    params: dict[str, str]
    query: dict[str, str]
    body: Any
    path: str
    token: Token | None
    app: App | None
    """Set when an App speaks as itself, by JWT."""
    hidden_heads: Callable[[], bool] = lambda: False
    """Whether GitHub does not see a pushed branch yet."""

    @property
    def user(self) -> User:
        assert self.token is not None
        return self.world.user(self.token.login)

    @property
    def repository(self) -> Repository:
        found = self.world.find_repository(self.params["owner"], self.params["repo"])
        if found is None:
            raise Refuse(404, "Not Found")
        return found

    @property
    def issue(self) -> Issue:
        number = int(self.params.get("issue_number") or self.params["pull_number"])
        found = self.repository.issues.get(number)
        if found is None or ("pull_number" in self.params and found.pull is None):
            raise Refuse(404, "Not Found")
        if found.gone_to == "deleted":
            raise Refuse(410, "This issue was deleted")
        if found.gone_to:
            owner_name, _, moved = found.gone_to.partition("#")
            raise Moved(f"{self.world.address}/repos/{owner_name}/issues/{moved}")
        return found


class Moved(Exception):
    """Answered with a redirection to `url`."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.url = url


class Needs(NamedTuple):
    """What a token must be allowed to: an installation's permission, and a person's role."""

    permission: str
    level: str
    role: str = "read"


@dataclass(frozen=True)
class Route:
    method: str
    template: str
    """As in GitHub's description."""
    handler: Callable[[Call], Answer]
    needs: Needs | None

    @property
    def pattern(self) -> re.Pattern[str]:
        parts = re.split(r"\{(\w+)\}", self.template)
        said = [
            re.escape(part) if index % 2 == 0 else f"(?P<{part}>{'.+' if part in _MULTI_SEGMENT else '[^/]+'})"
            for index, part in enumerate(parts)
        ]
        return re.compile("".join(said))


def paged(call: Call, items: list[Any], key: str | None = None) -> Answer:
    """One page of `items` with GitHub's Link header; `key` where the list lies inside an object."""
    size = min(int(call.query.get("per_page", 30)), 100)
    page = int(call.query.get("page", 1))
    last = max(1, -(-len(items) // size))

    def link(number: int, relation: str) -> str:
        query = urlencode({**call.query, "page": number})
        return f'<{call.world.address}{call.path}?{query}>; rel="{relation}"'

    links = [link(page - 1, "prev")] if page > 1 else []
    links += [link(page + 1, "next"), link(last, "last")] if page < last else []
    links += [link(1, "first")] if page > 1 else []
    shown = items[(page - 1) * size : page * size]
    body = shown if key is None else {"total_count": len(items), key: shown}
    return Answer(200, body, {"Link": ", ".join(links)} if links else {})


def short_enough(body: str | None, resource: str) -> None:
    if body is not None and len(body) > LONGEST_BODY:
        raise invalid(resource, "body", "custom", "body is too long (maximum is 65536 characters)")
