"""Pull requests, whose branches are real refs of the git repositories behind them."""

from __future__ import annotations

from tests.bot.fakegithub.call import Answer, Call, Needs, Refuse, Route, invalid, paged, short_enough
from tests.bot.fakegithub.git_store import changes, commit_info, commits_between, git, head_of
from tests.bot.fakegithub.render_pulls import full_pull, pull_of, short_pull
from tests.bot.fakegithub.routes_issues import new_issue
from tests.bot.fakegithub.state import Issue, Pull, Repository, User, World

_PULLS = "/repos/{owner}/{repo}/pulls"
READ = Needs("pull_requests", "read")
WRITE = Needs("pull_requests", "write", "write")


def list_pulls(call: Call) -> Answer:
    state = call.query.get("state", "open")
    found = [i for i in call.repository.issues.values() if i.pull and i.gone_to is None and state in ("all", i.state)]
    if "head" in call.query:
        found = [issue for issue in found if _label(call.world, issue) == call.query["head"].lower()]
    if "base" in call.query:
        found = [issue for issue in found if pull_of(issue).base_branch == call.query["base"]]
    found.sort(key=lambda issue: issue.number, reverse=call.query.get("direction", "desc") == "desc")
    return paged(call, [short_pull(call.say, call.repository, issue) for issue in found])


def get_pull(call: Call) -> Answer:
    return Answer(200, full_pull(call.say, call.repository, call.issue))


def create_pull(call: Call) -> Answer:
    if call.hidden_heads():
        raise invalid("PullRequest", "head", "invalid")
    owner, _, branch = str(call.body["head"]).rpartition(":")
    head = _head_repository(call.world, call.repository, owner)
    short_enough(call.body.get("body"), "PullRequest")
    issue = open_pull(
        call.world,
        call.repository,
        call.user,
        head=head,
        branch=branch,
        base=call.body["base"],
        title=call.body.get("title") or "",
        body=call.body.get("body"),
        draft=call.body.get("draft", False),
    )
    return Answer(201, full_pull(call.say, call.repository, issue))


def edit_pull(call: Call) -> Answer:
    issue = call.issue
    if "body" in call.body:
        short_enough(call.body["body"], "PullRequest")
        issue.body = call.body["body"]
    issue.title = call.body.get("title", issue.title)
    if "state" in call.body:
        issue.state = call.body["state"]
        issue.closed = call.world.stamp() if issue.state == "closed" else None
    if "base" in call.body:
        pull_of(issue).base_branch = call.body["base"]
    issue.updated = call.world.stamp()
    return Answer(200, full_pull(call.say, call.repository, issue))


def list_files(call: Call) -> Answer:
    pull = pull_of(call.issue)
    found = changes(call.repository.git, pull.base_sha, pull.head_sha)[:3000]
    return paged(call, [call.say.change(call.repository, pull.head_sha, change) for change in found])


def list_commits(call: Call) -> Answer:
    pull = pull_of(call.issue)
    shas = commits_between(call.repository.git, pull.base_sha, pull.head_sha)[:250]
    return paged(call, [call.say.commit(call.repository, commit_info(call.repository.git, sha)) for sha in shas])


def open_pull(
    world: World,
    repository: Repository,
    user: User,
    *,
    head: Repository,
    branch: str,
    base: str,
    title: str,
    body: str | None,
    draft: bool = False,
) -> Issue:
    """Raises what GitHub would refuse."""
    base_sha, head_sha = head_of(repository.git, base), head_of(head.git, branch)
    if head_sha is None:
        raise invalid("PullRequest", "head", "invalid")
    if base_sha is None:
        raise invalid("PullRequest", "base", "invalid")
    name = f"{head.owner.login}:{branch}"
    for there in repository.issues.values():
        if there.pull and there.state == "open" and _label(world, there) == name.lower():
            raise invalid("PullRequest", "base", "custom", f"A pull request already exists for {name}.")
    git(repository.git, "fetch", "--quiet", str(head.git), head_sha)
    if not commits_between(repository.git, base_sha, head_sha):
        raise invalid("PullRequest", "head", "custom", f"No commits between {base} and {branch}")
    issue = new_issue(world, repository, user, title, body)
    issue.pull = Pull(head.full_name, branch, head_sha, base, base_sha, draft=draft)
    git(repository.git, "update-ref", f"refs/pull/{issue.number}/head", head_sha)
    return issue


def follow_push(world: World, pushed: Repository) -> list[tuple[Repository, Issue]]:
    """Moves the pull requests whose branch was pushed; returns them."""
    moved = []
    for repository in world.repositories.values():
        for issue in repository.issues.values():
            pull = issue.pull
            if pull is None or issue.state != "open" or pull.head_repository.lower() != pushed.full_name.lower():
                continue
            sha = head_of(pushed.git, pull.head_branch)
            if sha and sha != pull.head_sha:
                git(repository.git, "fetch", "--quiet", str(pushed.git), sha)
                git(repository.git, "update-ref", f"refs/pull/{issue.number}/head", sha)
                pull.head_sha, issue.updated = sha, world.stamp()
                pull.base_sha = head_of(repository.git, pull.base_branch) or pull.base_sha
                moved.append((repository, issue))
    return moved


def _label(world: World, issue: Issue) -> str:
    pull = pull_of(issue)
    return f"{pull.head_repository.partition('/')[0]}:{pull.head_branch}".lower()


def _head_repository(world: World, base: Repository, owner: str) -> Repository:
    if owner in ("", base.owner.login):
        return base
    for repository in world.repositories.values():
        if repository.owner.login.lower() == owner.lower() and repository.fork_of == base.full_name:
            return repository
    raise Refuse(422, "Validation Failed", [{"resource": "PullRequest", "field": "head", "code": "invalid"}])


ROUTES = (
    Route("GET", _PULLS, list_pulls, READ),
    Route("POST", _PULLS, create_pull, Needs("pull_requests", "write")),
    Route("GET", f"{_PULLS}/{{pull_number}}", get_pull, READ),
    Route("PATCH", f"{_PULLS}/{{pull_number}}", edit_pull, WRITE),
    Route("GET", f"{_PULLS}/{{pull_number}}/files", list_files, READ),
    Route("GET", f"{_PULLS}/{{pull_number}}/commits", list_commits, READ),
)
