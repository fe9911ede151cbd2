"""The fake's state as GitHub says it in JSON: the same objects in answers and in webhooks."""

from __future__ import annotations

import base64
from typing import Any

from tests.bot.fakegithub.git_store import Change, CommitInfo
from tests.bot.fakegithub.state import App, CheckRun, Comment, Issue, Label, Reaction, Repository, User, World

Json = dict[str, Any]

_USER_URLS = {
    "followers": "/followers",
    "following": "/following{/other_user}",
    "gists": "/gists{/gist_id}",
    "starred": "/starred{/owner}{/repo}",
    "subscriptions": "/subscriptions",
    "organizations": "/orgs",
    "repos": "/repos",
    "events": "/events{/privacy}",
    "received_events": "/received_events",
}

_REPOSITORY_URLS = {
    "forks": "/forks",
    "keys": "/keys{/key_id}",
    "collaborators": "/collaborators{/collaborator}",
    "teams": "/teams",
    "hooks": "/hooks",
    "issue_events": "/issues/events{/number}",
    "events": "/events",
    "assignees": "/assignees{/user}",
    "branches": "/branches{/branch}",
    "tags": "/tags",
    "blobs": "/git/blobs{/sha}",
    "git_tags": "/git/tags{/sha}",
    "git_refs": "/git/refs{/sha}",
    "trees": "/git/trees{/sha}",
    "statuses": "/statuses/{sha}",
    "languages": "/languages",
    "stargazers": "/stargazers",
    "contributors": "/contributors",
    "subscribers": "/subscribers",
    "subscription": "/subscription",
    "commits": "/commits{/sha}",
    "git_commits": "/git/commits{/sha}",
    "comments": "/comments{/number}",
    "issue_comment": "/issues/comments{/number}",
    "contents": "/contents/{+path}",
    "compare": "/compare/{base}...{head}",
    "merges": "/merges",
    "archive": "/{archive_format}{/ref}",
    "downloads": "/downloads",
    "issues": "/issues{/number}",
    "pulls": "/pulls{/number}",
    "milestones": "/milestones{/number}",
    "notifications": "/notifications{?since,all,participating}",
    "labels": "/labels{/name}",
    "releases": "/releases{/id}",
    "deployments": "/deployments",
}


def node(kind: str, id: int) -> str:
    return base64.b64encode(f"{kind}{id}".encode()).decode()


class Renderer:
    """Knows the server's address, which half of GitHub's JSON consists of."""

    def __init__(self, world: World) -> None:
        self.world = world

    def api(self, path: str) -> str:
        return f"{self.world.address}{path}"

    def repository_api(self, repository: Repository, path: str = "") -> str:
        return self.api(f"/repos/{repository.full_name}{path}")

    def html(self, repository: Repository, path: str = "") -> str:
        return f"{self.world.address}/{repository.full_name}{path}"

    def user(self, user: User) -> Json:
        own = self.api(f"/users/{user.login}")
        return {
            "login": user.login,
            "id": user.id,
            "node_id": node("User", user.id),
            "avatar_url": f"{self.world.address}/avatars/{user.id}",
            "gravatar_id": "",
            "url": own,
            "html_url": f"{self.world.address}/{user.login}",
            **{f"{name}_url": f"{own}{path}" for name, path in _USER_URLS.items()},
            "type": user.type,
            "site_admin": False,
        }

    def repository(self, repository: Repository) -> Json:
        own = self.repository_api(repository)
        html = self.html(repository)
        open_issues = sum(issue.state == "open" for issue in repository.issues.values())
        return {
            "id": repository.id,
            "node_id": node("Repository", repository.id),
            "name": repository.name,
            "full_name": repository.full_name,
            "private": repository.private,
            "owner": self.user(repository.owner),
            "html_url": html,
            "description": None,
            "fork": repository.fork_of is not None,
            "url": own,
            **{f"{name}_url": f"{own}{path}" for name, path in _REPOSITORY_URLS.items()},
            "created_at": repository.created,
            "updated_at": repository.created,
            "pushed_at": repository.created,
            "git_url": f"git:{html.partition(':')[2]}.git",
            "ssh_url": f"git@localhost:{repository.full_name}.git",
            "clone_url": f"{html}.git",
            "svn_url": html,
            "homepage": None,
            "size": 1,
            "stargazers_count": 0,
            "watchers_count": 0,
            "watchers": 0,
            "language": "Python",
            **{f"has_{what}": True for what in ("issues", "projects", "downloads", "wiki")},
            "has_pages": False,
            "has_discussions": False,
            "forks_count": 0,
            "forks": 0,
            "mirror_url": None,
            "archived": False,
            "disabled": False,
            "open_issues_count": open_issues,
            "open_issues": open_issues,
            "license": None,
            "allow_forking": True,
            "is_template": False,
            "topics": [],
            "visibility": "private" if repository.private else "public",
            "default_branch": repository.default_branch,
            "web_commit_signoff_required": False,
        }

    def full_repository(self, repository: Repository) -> Json:
        return {**self.repository(repository), "network_count": 0, "subscribers_count": 0}

    def label(self, repository: Repository, label: Label) -> Json:
        return {
            "id": label.id,
            "node_id": node("Label", label.id),
            "url": self.repository_api(repository, f"/labels/{label.name}").replace(" ", "%20"),
            "name": label.name,
            "color": label.color,
            "default": False,
            "description": label.description,
        }

    def issue_labels(self, repository: Repository, issue: Issue) -> list[Json]:
        return [self.label(repository, repository.labels[name.lower()]) for name in issue.labels]

    def association(self, repository: Repository, user: User) -> str:
        role = self.world.role(repository, user.login)
        if user.login.lower() == repository.owner.login.lower():
            return "OWNER"
        return "COLLABORATOR" if role in ("admin", "maintain", "write", "triage") else "NONE"

    def issue(self, repository: Repository, issue: Issue) -> Json:
        own = self.repository_api(repository, f"/issues/{issue.number}")
        kind = "pull" if issue.pull else "issues"
        pull = self.repository_api(repository, f"/pulls/{issue.number}")
        html = self.html(repository, f"/{kind}/{issue.number}")
        links = {"url": pull, "html_url": html, "diff_url": f"{html}.diff", "patch_url": f"{html}.patch"}
        comments = sum(comment.issue == issue.number for comment in repository.comments.values())
        return {
            "url": own,
            "repository_url": self.repository_api(repository),
            "labels_url": f"{own}/labels{{/name}}",
            "comments_url": f"{own}/comments",
            "events_url": f"{own}/events",
            "html_url": html,
            "id": issue.id,
            "node_id": node("Issue", issue.id),
            "number": issue.number,
            "title": issue.title,
            "user": self.user(issue.user),
            "labels": self.issue_labels(repository, issue),
            "state": issue.state,
            "state_reason": None if issue.state == "open" else "completed",
            "locked": issue.locked,
            "active_lock_reason": None,
            "assignee": None,
            "assignees": [],
            "milestone": None,
            "comments": comments,
            "created_at": issue.created,
            "updated_at": issue.updated,
            "closed_at": issue.closed,
            "author_association": self.association(repository, issue.user),
            "body": issue.body,
            "reactions": self.rollup(f"{own}/reactions", issue.reactions),
            "timeline_url": f"{own}/timeline",
            "performed_via_github_app": None,
            **({"draft": issue.pull.draft, "pull_request": {**links, "merged_at": None}} if issue.pull else {}),
        }

    def rollup(self, url: str, reactions: list[Reaction]) -> Json:
        kinds = ("+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes")
        counts = {kind: sum(reaction.content == kind for reaction in reactions) for kind in kinds}
        return {"url": url, "total_count": len(reactions), **counts}

    def comment(self, repository: Repository, comment: Comment) -> Json:
        own = self.repository_api(repository, f"/issues/comments/{comment.id}")
        issue = repository.issues[comment.issue]
        kind = "pull" if issue.pull else "issues"
        return {
            "url": own,
            "html_url": self.html(repository, f"/{kind}/{comment.issue}#issuecomment-{comment.id}"),
            "issue_url": self.repository_api(repository, f"/issues/{comment.issue}"),
            "id": comment.id,
            "node_id": node("IssueComment", comment.id),
            "user": self.user(comment.user),
            "created_at": comment.created,
            "updated_at": comment.updated,
            "author_association": self.association(repository, comment.user),
            "body": comment.body,
            "reactions": self.rollup(f"{own}/reactions", comment.reactions),
            "performed_via_github_app": None,
        }

    def reaction(self, reaction: Reaction) -> Json:
        return {
            "id": reaction.id,
            "node_id": node("Reaction", reaction.id),
            "user": self.user(reaction.user),
            "content": reaction.content,
            "created_at": reaction.created,
        }

    def issue_event(self, repository: Repository, event: Json) -> Json:
        return {
            "id": event["id"],
            "node_id": node("Event", event["id"]),
            "url": self.repository_api(repository, f"/issues/events/{event['id']}"),
            "actor": self.user(event["actor"]),
            "event": event["event"],
            "commit_id": None,
            "commit_url": None,
            "created_at": event["created"],
            "performed_via_github_app": None,
            "label": {"name": event["label"], "color": "ededed"},
        }

    def app(self, app: App) -> Json:
        return {
            "id": app.id,
            "slug": app.slug,
            "node_id": node("App", app.id),
            "client_id": f"Iv1.{app.id}",
            "owner": self.user(self.world.user(f"{app.slug}-owner")),
            "name": app.slug,
            "description": None,
            "external_url": self.world.address,
            "html_url": f"{self.world.address}/apps/{app.slug}",
            "created_at": "2026-01-01T00:00:00Z",
            "updated_at": "2026-01-01T00:00:00Z",
            "permissions": {"metadata": "read"},
            "events": [],
        }

    def check_run(self, repository: Repository, run: CheckRun) -> Json:
        own = self.repository_api(repository, f"/check-runs/{run.id}")
        output = {name: run.output.get(name) for name in ("title", "summary", "text")}
        return {
            "id": run.id,
            "node_id": node("CheckRun", run.id),
            "name": run.name,
            "head_sha": run.head_sha,
            "external_id": run.external_id,
            "url": own,
            "html_url": self.html(repository, f"/runs/{run.id}"),
            "details_url": run.details_url,
            "status": run.status,
            "conclusion": run.conclusion,
            "started_at": run.started,
            "completed_at": run.completed,
            "output": {
                **output,
                "annotations_count": len(run.annotations),
                "annotations_url": f"{own}/annotations",
            },
            "check_suite": {"id": run.app.id},
            "app": self.app(run.app),
            "pull_requests": [],
        }

    def annotation(self, repository: Repository, run: CheckRun, given: Json) -> Json:
        optional = {name: given.get(name) for name in ("start_column", "end_column", "title", "raw_details")}
        return {**given, **optional, "blob_href": self.html(repository, f"/blob/{run.head_sha}/{given['path']}")}

    def commit(self, repository: Repository, found: CommitInfo) -> Json:
        own = self.repository_api(repository, f"/commits/{found.sha}")
        person = {"name": found.author, "email": found.email, "date": found.date}
        tree = {"sha": found.tree, "url": self.repository_api(repository, f"/git/trees/{found.tree}")}
        parents = [{"sha": sha, "url": self.repository_api(repository, f"/commits/{sha}")} for sha in found.parents]
        return {
            "sha": found.sha,
            "node_id": node("Commit", int(found.sha[:8], 16)),
            "commit": {
                "author": person,
                "committer": person,
                "message": found.message,
                "tree": tree,
                "url": self.repository_api(repository, f"/git/commits/{found.sha}"),
                "comment_count": 0,
            },
            "url": own,
            "html_url": self.html(repository, f"/commit/{found.sha}"),
            "comments_url": f"{own}/comments",
            "author": None,
            "committer": None,
            "parents": parents,
        }

    def change(self, repository: Repository, sha: str, change: Change) -> Json:
        path = change.path.replace(" ", "%20").replace("\n", "%0A")
        said = {
            "sha": change.blob,
            "filename": change.path,
            "status": change.status,
            "additions": change.added,
            "deletions": change.removed,
            "changes": change.added + change.removed,
            "blob_url": self.html(repository, f"/blob/{sha}/{path}"),
            "raw_url": self.html(repository, f"/raw/{sha}/{path}"),
            "contents_url": self.repository_api(repository, f"/contents/{path}?ref={sha}"),
        }
        if change.previous:
            said["previous_filename"] = change.previous
        if change.patch:
            said["patch"] = change.patch
        return said
