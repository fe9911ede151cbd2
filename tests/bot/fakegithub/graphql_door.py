"""The one mutation of GitHub's GraphQL API that the bot makes; REST has no word for it."""

from __future__ import annotations

from tests.bot.fakegithub.access import check_access
from tests.bot.fakegithub.call import Answer, Call, Refuse
from tests.bot.fakegithub.contract import Contract
from tests.bot.fakegithub.render import node
from tests.bot.fakegithub.routes_pulls import WRITE
from tests.bot.fakegithub.state import Issue, Repository, World

_READY = "markPullRequestReadyForReview"


def answer_graphql(call: Call, contract: Contract | None) -> tuple[Answer, list[str]]:
    """GitHub's answer, and what in question or answer is not GitHub's."""
    query, variables = str(call.body.get("query")), call.body.get("variables") or {}
    if contract is not None and (wrong := contract.graphql(query, variables)):
        return Answer(200, {"errors": [{"message": line} for line in wrong]}), wrong
    if _READY not in query:
        return Answer(501, {"message": "not faked"}), [f"the fake GitHub has no {query}"]
    try:
        data = {_READY: {"pullRequest": {"isDraft": _ready(call, str(variables["input"]["pullRequestId"]))}}}
    except Refuse as refusal:
        kind = "NOT_FOUND" if refusal.answer.status == 404 else "FORBIDDEN"
        body = {"data": {_READY: None}, "errors": [{"type": kind, "message": refusal.answer.body["message"]}]}
        return Answer(200, body), []
    return Answer(200, {"data": data}), contract.graphql(query, variables, data) if contract is not None else []


def _ready(call: Call, wanted: str) -> bool:
    repository, issue = _pull_of(call.world, wanted)
    owner, _, name = repository.full_name.partition("/")
    call.params = {"owner": owner, "repo": name, "pull_number": str(issue.number)}
    check_access(call, WRITE)
    assert issue.pull is not None
    issue.pull.draft = False
    issue.updated = call.world.stamp()
    return issue.pull.draft


def _pull_of(world: World, wanted: str) -> tuple[Repository, Issue]:
    for repository in world.repositories.values():
        for issue in repository.issues.values():
            if issue.pull is not None and node("PullRequest", issue.id) == wanted:
                return repository, issue
    raise Refuse(404, f"Could not resolve to a node with the global id of '{wanted}'")


def is_graphql(method: str, path: str) -> bool:
    return method == "POST" and path in ("/graphql", "/api/graphql")
