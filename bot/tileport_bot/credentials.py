"""What the bot writes with: a token, or a GitHub App's key, from which tokens of an hour are made when needed."""

from __future__ import annotations

from typing import Protocol

import github
from github.Auth import AppAuth, AppInstallationAuth, Token

from tileport_skill.errors import RequestError

API = "https://api.github.com"
WORKFLOW_LOGIN = "github-actions[bot]"
_TIMEOUT = 30


class Credentials(Protocol):
    """One client per repository, since an App's tokens are for one installation."""

    @property
    def login(self) -> str: ...

    def client(self, repository: str) -> github.Github: ...

    def token(self, repository: str) -> str:
        """One that is valid now, for git."""
        ...

    def renew(self, repository: str) -> bool:
        """Forgets the token that was refused; False if there is no other to be had."""
        ...

    def secrets(self) -> tuple[str, ...]:
        """What must never be written anywhere."""
        ...


class TokenCredentials:
    """A workflow's own token, or a person's."""

    def __init__(self, token: str, *, login: str, api: str = API, pace: float = 1.0) -> None:
        """`login` is whom the token writes as; `pace` the seconds between two writes."""
        self._token = token
        self._client = new_client(Token(token), api, pace)
        self.login = login

    def client(self, repository: str) -> github.Github:
        return self._client

    def token(self, repository: str) -> str:
        return self._token

    def renew(self, repository: str) -> bool:
        return False

    def secrets(self) -> tuple[str, ...]:
        return (self._token,)


class AppCredentials:
    """A GitHub App: signed with its key, a token for the installation is asked for, and again before it ends."""

    def __init__(self, app: str, key: str, *, api: str = API, pace: float = 1.0) -> None:
        if "PRIVATE KEY" not in key:
            raise RequestError("TILEPORT_APP_KEY is no private key: give the text of the .pem file that GitHub made.")
        self._auth = AppAuth(app, key)
        self._key = key
        self._api = api
        self._pace = pace
        self._installed: dict[str, tuple[github.Github, AppInstallationAuth]] = {}
        self._login: str | None = None

    @property
    def login(self) -> str:
        if self._login is None:
            self._login = f"{self._integration().get_app().slug}[bot]"
        return self._login

    def client(self, repository: str) -> github.Github:
        return self._of(repository)[0]

    def token(self, repository: str) -> str:
        return self._of(repository)[1].token

    def renew(self, repository: str) -> bool:
        return self._installed.pop(repository, None) is not None

    def secrets(self) -> tuple[str, ...]:
        # A token that was never asked for cannot have leaked; asking for one here would fetch it.
        return (self._key,)

    def _of(self, repository: str) -> tuple[github.Github, AppInstallationAuth]:
        if repository not in self._installed:
            owner, _, name = repository.partition("/")
            installation = self._integration().get_repo_installation(owner, name)
            auth = self._auth.get_installation_auth(installation.id)
            client = new_client(auth, self._api, self._pace)
            self._installed[repository] = (client, auth.withRequester(client.requester))
        return self._installed[repository]

    def _integration(self) -> github.GithubIntegration:
        return github.GithubIntegration(auth=self._auth, base_url=self._api, timeout=_TIMEOUT, retry=None)


def new_client(auth: Token | AppInstallationAuth, api: str, pace: float) -> github.Github:
    """Without PyGithub's own retries, which repeat POSTs: `patience.py` decides what is done again."""
    return github.Github(
        auth=auth,
        base_url=api,
        timeout=_TIMEOUT,
        retry=None,
        lazy=True,
        per_page=100,
        seconds_between_requests=0,
        seconds_between_writes=pace,
    )
