"""A pull request in GitHub's JSON, the short form of lists and the long one with its counts."""

from __future__ import annotations

from tests.bot.fakegithub.git_store import changes, commits_between, head_of, mergeable
from tests.bot.fakegithub.render import Json, Renderer, node
from tests.bot.fakegithub.state import Issue, Pull, Repository


def short_pull(say: Renderer, repository: Repository, issue: Issue) -> Json:
    pull = pull_of(issue)
    own = say.repository_api(repository, f"/pulls/{issue.number}")
    html = say.html(repository, f"/pull/{issue.number}")
    issue_url = say.repository_api(repository, f"/issues/{issue.number}")
    links = {
        "self": own,
        "html": html,
        "issue": issue_url,
        "comments": f"{issue_url}/comments",
        "review_comments": f"{own}/comments",
        "review_comment": say.repository_api(repository, "/pulls/comments{/number}"),
        "commits": f"{own}/commits",
        "statuses": say.repository_api(repository, f"/statuses/{pull.head_sha}"),
    }
    head = say.world.repositories[pull.head_repository.lower()]
    return {
        "url": own,
        "id": issue.id,
        "node_id": node("PullRequest", issue.id),
        "html_url": html,
        "diff_url": f"{html}.diff",
        "patch_url": f"{html}.patch",
        "issue_url": issue_url,
        "number": issue.number,
        "state": issue.state,
        "locked": issue.locked,
        "title": issue.title,
        "user": say.user(issue.user),
        "body": issue.body,
        "created_at": issue.created,
        "updated_at": issue.updated,
        "closed_at": issue.closed,
        "merged_at": issue.closed if pull.merged else None,
        "merge_commit_sha": None,
        "assignee": None,
        "assignees": [],
        "requested_reviewers": [],
        "requested_teams": [],
        "labels": say.issue_labels(repository, issue),
        "milestone": None,
        "draft": pull.draft,
        **{f"{name}_url": links[name] for name in links if name not in ("self", "html", "issue")},
        "head": _side(say, head, pull.head_branch, pull.head_sha),
        "base": _side(say, repository, pull.base_branch, pull.base_sha),
        "_links": {name: {"href": url} for name, url in links.items()},
        "author_association": say.association(repository, issue.user),
        "auto_merge": None,
        "active_lock_reason": None,
    }


def full_pull(say: Renderer, repository: Repository, issue: Issue) -> Json:
    pull = pull_of(issue)
    found = changes(repository.git, pull.base_sha, pull.head_sha)
    merges = mergeable(repository.git, head_of(repository.git, pull.base_branch) or pull.base_sha, pull.head_sha)
    return {
        **short_pull(say, repository, issue),
        "merged": pull.merged,
        "mergeable": merges,
        "rebaseable": merges,
        "mergeable_state": "clean" if merges else "dirty",
        "merged_by": None,
        "comments": sum(comment.issue == issue.number for comment in repository.comments.values()),
        "review_comments": 0,
        "maintainer_can_modify": pull.maintainer_can_modify,
        "commits": len(commits_between(repository.git, pull.base_sha, pull.head_sha)),
        "additions": sum(change.added for change in found),
        "deletions": sum(change.removed for change in found),
        "changed_files": len(found),
    }


def pull_of(issue: Issue) -> Pull:
    assert issue.pull is not None
    return issue.pull


def _side(say: Renderer, repository: Repository, branch: str, sha: str) -> Json:
    return {
        "label": f"{repository.owner.login}:{branch}",
        "ref": branch,
        "sha": sha,
        "user": say.user(repository.owner),
        "repo": say.repository(repository),
    }
