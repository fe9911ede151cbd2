"""Who speaks, and whether they may: tokens, an App's JWT, an installation's permissions, a person's role."""

from __future__ import annotations

import base64
import binascii

import jwt
from tests.bot.fakegithub.call import Call, Needs, Refuse
from tests.bot.fakegithub.state import App, Repository, Token, World

ROLES = ("none", "read", "triage", "write", "maintain", "admin")
BAD_CREDENTIALS = "Bad credentials"


def who_speaks(world: World, authorization: str | None) -> tuple[Token | None, App | None]:
    """Raises what GitHub says to credentials that are wrong or over."""
    if not authorization:
        return None, None
    kind, _, value = authorization.partition(" ")
    if kind.lower() == "basic":
        value = _password(value)
    if value.count(".") == 2:
        return None, _app(world, value)
    token = world.tokens.get(value)
    if token is None or (token.expires is not None and world.now() >= token.expires):
        raise Refuse(401, BAD_CREDENTIALS)
    return token, None


def _password(encoded: str) -> str:
    try:
        return base64.b64decode(encoded).decode().partition(":")[2]
    except (binascii.Error, UnicodeDecodeError):
        raise Refuse(401, BAD_CREDENTIALS) from None


def _app(world: World, text: str) -> App:
    try:
        issuer = int(jwt.decode(text, options={"verify_signature": False})["iss"])
        app = world.apps[issuer]
        # The world's clock may be ahead of the machine's, by which jwt judges.
        claims = jwt.decode(
            text, app.public_key, algorithms=["RS256"], options={"verify_exp": False, "verify_iat": False}
        )
    except (jwt.PyJWTError, KeyError, ValueError, TypeError):
        raise Refuse(401, "A JSON web token could not be decoded") from None
    if claims["exp"] - claims["iat"] > 660:
        raise Refuse(401, "'Expiration time' claim ('exp') is too far in the future")
    return app


def check_access(call: Call, needs: Needs | None) -> None:
    if needs is None:
        if call.token is None and call.app is None:
            raise Refuse(401, "Requires authentication")
        return
    repository, token = call.repository, call.token
    if token is None:
        if needs.level == "write" or repository.private:
            raise Refuse(401 if needs.level == "write" else 404, "Requires authentication")
        return
    if token.permissions is not None:
        _check_installation(token, repository, needs, call.params)
    elif not has_role(call.world, repository, token.login, needs.role):
        raise Refuse(404 if call.world.role(repository, token.login) == "none" else 403, "Must have push access")


def _check_installation(token: Token, repository: Repository, needs: Needs, params: dict[str, str]) -> None:
    if token.repositories is not None and repository.full_name.lower() not in token.repositories:
        raise Refuse(404, "Not Found")
    names = [needs.permission]
    number = params.get("issue_number", "")
    if needs.permission == "issues" and number.isdigit():
        issue = repository.issues.get(int(number))
        # GitHub counts a pull request's comments and labels to either.
        names += ["pull_requests"] if issue is not None and issue.pull else []
    elif needs.permission == "issues" and "comment_id" in params:
        names.append("pull_requests")
    held = [(token.permissions or {}).get(name) for name in names]
    if needs.permission == "metadata" or "write" in held or (needs.level == "read" and "read" in held):
        return
    raise Refuse(403, "Resource not accessible by integration")


def has_role(world: World, repository: Repository, login: str, role: str) -> bool:
    return ROLES.index(world.role(repository, login)) >= ROLES.index(role)
