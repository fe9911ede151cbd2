"""Apps, their installations and tokens; who one is; how much one may still ask."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime

from tests.bot.fakegithub.call import Answer, Call, Refuse, Route, paged
from tests.bot.fakegithub.render import Json
from tests.bot.fakegithub.state import Token, stamp

TOKEN_SECONDS = 3600
_numbers = itertools.count(1)


def get_app(call: Call) -> Answer:
    if call.app is None:
        raise Refuse(401, "A JSON web token could not be decoded")
    return Answer(200, {**call.say.app(call.app), "installations_count": len(call.world.installations)})


def list_installations(call: Call) -> Answer:
    return paged(call, [_installation(call, id) for id in call.world.installations])


def get_installation(call: Call) -> Answer:
    return Answer(200, _installation(call, int(call.params["installation_id"])))


def repository_installation(call: Call) -> Answer:
    owner = call.repository.owner.login
    for id, (_, account, _) in call.world.installations.items():
        if account.lower() == owner.lower():
            return Answer(200, _installation(call, id))
    raise Refuse(404, "Not Found")


def create_token(call: Call) -> Answer:
    id = int(call.params["installation_id"])
    if call.app is None or id not in call.world.installations or call.world.installations[id][0] != call.app:
        raise Refuse(404, "Integration not found")
    app, account, granted = call.world.installations[id]
    asked = call.body or {}
    permissions = asked.get("permissions") or granted  # none asked for is all, which PyGithub says so
    if any(granted.get(name) != level and granted.get(name) != "write" for name, level in permissions.items()):
        raise Refuse(422, "The permissions requested are not granted to this installation.")
    names = asked.get("repositories")
    repositories = frozenset(f"{account}/{name}".lower() for name in names) if names else None
    expires = call.world.now() + TOKEN_SECONDS
    text = f"ghs_{next(_numbers):036d}"
    bot = f"{app.slug}[bot]"
    call.world.tokens[text] = Token(text, bot, dict(permissions), expires, app, repositories)
    said: Json = {"token": text, "expires_at": stamp(expires), "permissions": permissions}
    return Answer(201, {**said, "repository_selection": "selected" if names else "all"})


def _installation(call: Call, id: int) -> Json:
    if id not in call.world.installations:
        raise Refuse(404, "Not Found")
    app, account, permissions = call.world.installations[id]
    return {
        "id": id,
        "account": call.say.user(call.world.user(account)),
        "access_tokens_url": call.say.api(f"/app/installations/{id}/access_tokens"),
        "repositories_url": call.say.api("/installation/repositories"),
        "html_url": f"{call.world.address}/settings/installations/{id}",
        "app_id": app.id,
        "app_slug": app.slug,
        "target_id": call.world.user(account).id,
        "target_type": "Organization",
        "permissions": permissions,
        "events": ["issues"],
        "created_at": "2026-01-01T00:00:00Z",
        "updated_at": "2026-01-01T00:00:00Z",
        "single_file_name": None,
        "repository_selection": "all",
        "suspended_by": None,
        "suspended_at": None,
    }


def installation_repositories(call: Call) -> Answer:
    found = [
        repository
        for repository in call.world.repositories.values()
        if call.token and call.token.app and _reaches(call.token, repository.full_name, call)
    ]
    return paged(call, [call.say.repository(repository) for repository in found], "repositories")


def _reaches(token: Token, full_name: str, call: Call) -> bool:
    accounts = {account.lower() for app, account, _ in call.world.installations.values() if app == token.app}
    allowed = token.repositories is None or full_name.lower() in token.repositories
    return allowed and full_name.partition("/")[0].lower() in accounts


def get_user(call: Call) -> Answer:
    if call.token is None or call.token.app is not None:
        raise Refuse(403, "Resource not accessible by integration")
    counts = dict.fromkeys(("public_repos", "public_gists", "followers", "following"), 0)
    texts = dict.fromkeys(("name", "company", "blog", "location", "email", "hireable", "bio"))
    times = dict.fromkeys(("created_at", "updated_at"), datetime(2026, 1, 1, tzinfo=UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))
    return Answer(200, {**call.say.user(call.user), **texts, **counts, **times})


ROUTES = (
    Route("GET", "/app", get_app, None),
    Route("GET", "/app/installations", list_installations, None),
    Route("GET", "/app/installations/{installation_id}", get_installation, None),
    Route("POST", "/app/installations/{installation_id}/access_tokens", create_token, None),
    Route("GET", "/repos/{owner}/{repo}/installation", repository_installation, None),
    Route("GET", "/installation/repositories", installation_repositories, None),
    Route("GET", "/user", get_user, None),
)
