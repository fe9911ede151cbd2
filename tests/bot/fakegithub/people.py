"""What people do in the fake: set up repositories, open issues, set labels, push, rename, transfer."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from tests.bot.fakegithub.git_store import git, head_of, make_bare
from tests.bot.fakegithub.render import Renderer
from tests.bot.fakegithub.routes_issues import new_comment, new_issue, put_label, take_label
from tests.bot.fakegithub.routes_pulls import follow_push, open_pull
from tests.bot.fakegithub.state import App, Comment, Issue, Repository, Token, User, World
from tests.bot.fakegithub.webhooks import Payloads

BOT_PERMISSIONS = {
    "contents": "write",
    "issues": "write",
    "pull_requests": "write",
    "checks": "write",
    "metadata": "read",
}
"""What an installation of the bot is granted, unless a test says otherwise."""


class People:
    def __init__(self, world: World) -> None:
        self.world = world
        self.say = Renderer(world)
        self.payloads = Payloads(self.say)
        self.moved_pulls: list[tuple[str, int]] = []
        """Pull requests that a push has moved."""

    def add_repository(
        self,
        full_name: str,
        files: Mapping[str, str | bytes] | Path | None = None,
        *,
        roles: Mapping[str, str] | None = None,
        private: bool = False,
    ) -> Repository:
        """`files` as a tree in memory, or a git repository whose HEAD becomes `main`."""
        owner, _, name = full_name.partition("/")
        folder = self.world.folder / f"{full_name}.git"
        make_bare(folder, "main")
        repository = Repository(
            id=self.world.next_id(),
            owner=self.world.user(owner, "Organization"),
            name=name,
            git=folder,
            created=self.world.stamp(),
            private=private,
        )
        self.world.repositories[full_name.lower()] = repository
        for login, role in (roles or {}).items():
            self.world.user(login)
            repository.roles[login.lower()] = role
        if isinstance(files, Path):
            git(folder, "fetch", "--quiet", str(files), "HEAD:refs/heads/main")
        else:
            self.push_files(repository, "main", files or {"README.md": "A repository.\n"}, "The first commit")
        return repository

    def fork(self, repository: Repository, owner: str) -> Repository:
        self.world.user(owner)
        fork = self.add_repository(f"{owner}/{repository.name}", repository.git, roles={owner: "admin"})
        fork.fork_of = repository.full_name
        return fork

    def push_files(
        self,
        repository: Repository,
        branch: str,
        files: Mapping[str, str | bytes | None],
        message: str = "A change",
        *,
        base: str | None = None,
    ) -> str:
        """One commit on `branch` (begun at `base`, or where it is); None removes a file. Pull requests follow."""
        start = head_of(repository.git, branch) or (head_of(repository.git, base) if base else None)
        with tempfile.TemporaryDirectory() as folder:
            tree = Path(folder)
            git(tree, "init", "--quiet")
            if start:
                git(tree, "fetch", "--quiet", str(repository.git), start)
                git(tree, "reset", "--quiet", "--hard", "FETCH_HEAD")
            for name, content in files.items():
                path = tree / name
                if content is None:
                    path.unlink()
                    continue
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content if isinstance(content, bytes) else content.encode())
            git(tree, "add", "-A", "--force")
            git(tree, "commit", "--quiet", "--allow-empty", "-m", message)
            sha = git(tree, "rev-parse", "HEAD").strip()
            # Pushed as a file, not through the door: it is not the bot that does it.
            git(tree, "push", "--quiet", "--force", str(repository.git), f"HEAD:refs/heads/{branch}")
        for moved, issue in follow_push(self.world, repository):
            self.moved_pulls.append((moved.full_name, issue.number))
        return sha

    def token(
        self,
        login: str,
        *,
        permissions: Mapping[str, str] | None = None,
        app: App | None = None,
        seconds: float | None = None,
        repositories: frozenset[str] | None = None,
    ) -> str:
        """A person's token, or with `permissions` an installation's, such as a workflow's own."""
        text = f"{'ghs' if permissions else 'ghp'}_{self.world.next_id():036d}"
        self.world.user(login)
        if permissions and app is None:
            app = self.world.apps.setdefault(15368, App(15368, "github-actions", ""))
        expires = None if seconds is None else self.world.now() + seconds
        granted = dict(permissions) if permissions else None
        self.world.tokens[text] = Token(text, login, granted, expires, app, repositories)
        return text

    def workflow_token(self, **permissions: str) -> str:
        """As a workflow with these `permissions:` gets it."""
        return self.token("github-actions[bot]", permissions={"metadata": "read", **permissions})

    def add_app(self, slug: str, *, on: str, permissions: Mapping[str, str] | None = None) -> tuple[App, str]:
        """An App installed on the account `on`, with its private key as PEM."""
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
        )
        public = key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        app = App(self.world.next_id(), slug, public.decode())
        self.world.apps[app.id] = app
        granted = dict(permissions or BOT_PERMISSIONS)
        self.world.installations[self.world.next_id()] = (app, on, granted)
        self.world.user(f"{slug}[bot]")
        return app, private.decode()

    def open_issue(self, repository: Repository, user: str, title: str, body: str | None = None) -> Issue:
        return new_issue(self.world, repository, self.world.user(user), title, body)

    def label(self, repository: Repository, issue: Issue, name: str, by: str) -> None:
        put_label(self.world, repository, issue, name, self.world.user(by))

    def unlabel(self, repository: Repository, issue: Issue, name: str, by: str) -> None:
        assert take_label(self.world, issue, name, self.world.user(by)), f"no label {name}"

    def comment(self, repository: Repository, issue: Issue, user: str, body: str) -> Comment:
        return new_comment(self.world, repository, issue, self.world.user(user), body)

    def open_pull(
        self,
        repository: Repository,
        user: str,
        *,
        branch: str,
        head: Repository | None = None,
        base: str = "main",
        title: str = "A change",
        body: str | None = None,
        draft: bool = False,
    ) -> Issue:
        """`head`: the fork that holds the branch, if it is not `repository` itself."""
        return open_pull(
            self.world,
            repository,
            self.world.user(user),
            head=head or repository,
            branch=branch,
            base=base,
            title=title,
            body=body,
            draft=draft,
        )

    def rename(self, repository: Repository, name: str) -> None:
        """The old name leads on to the new one, as on GitHub."""
        old = repository.full_name
        del self.world.repositories[old.lower()]
        repository.name = name
        self.world.repositories[repository.full_name.lower()] = repository
        self.world.renamed[old.lower()] = repository.full_name
        for other in self.world.repositories.values():
            for issue in other.issues.values():
                if issue.pull and issue.pull.head_repository == old:
                    issue.pull.head_repository = repository.full_name

    def transfer(self, repository: Repository, issue: Issue, to: Repository) -> Issue:
        moved = new_issue(self.world, to, issue.user, issue.title, issue.body)
        issue.gone_to = f"{to.full_name}#{moved.number}"
        return moved

    def delete_issue(self, issue: Issue) -> None:
        issue.gone_to = "deleted"

    def head(self, repository: Repository, branch: str) -> str | None:
        """The commit a branch is at."""
        return head_of(repository.git, branch)

    def user(self, login: str) -> User:
        return self.world.user(login)

    def clone(self, repository: Repository, folder: Path) -> Path:
        """A clone for the bot to work in; its `origin` is the fake."""
        subprocess.run(
            ["git", "clone", "--quiet", f"{self.world.address}/{repository.full_name}.git", folder],
            check=True,
            capture_output=True,
        )
        return folder
