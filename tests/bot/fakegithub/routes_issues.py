"""Issues, comments, labels and reactions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

from tests.bot.fakegithub.call import Answer, Call, Needs, Refuse, Route, invalid, paged, short_enough
from tests.bot.fakegithub.state import Comment, Issue, Label, Reaction, Repository, User, World

_ISSUE = "/repos/{owner}/{repo}/issues/{issue_number}"
_COMMENT = "/repos/{owner}/{repo}/issues/comments/{comment_id}"
READ = Needs("issues", "read")
SPEAK = Needs("issues", "write")
TRIAGE = Needs("issues", "write", "triage")


def list_issues(call: Call) -> Answer:
    wanted = [name.lower() for name in call.query.get("labels", "").split(",") if name]
    state = call.query.get("state", "open")
    found = [
        issue
        for issue in call.repository.issues.values()
        if issue.gone_to is None
        and state in ("all", issue.state)
        and set(wanted) <= {name.lower() for name in issue.labels}
        and issue.updated >= call.query.get("since", "")
        and call.query.get("creator", issue.user.login).lower() == issue.user.login.lower()
    ]
    key = call.query.get("sort", "created")
    found.sort(key=lambda issue: (issue.updated if key == "updated" else issue.created, issue.number))
    if call.query.get("direction", "desc") == "desc":
        found.reverse()
    return paged(call, [call.say.issue(call.repository, issue) for issue in found])


def create_issue(call: Call) -> Answer:
    short_enough(call.body.get("body"), "Issue")
    issue = new_issue(call.world, call.repository, call.user, str(call.body["title"]), call.body.get("body"))
    names = [label if isinstance(label, str) else label["name"] for label in call.body.get("labels", [])]
    for name in names:
        put_label(call.world, call.repository, issue, name, call.user)
    return Answer(201, call.say.issue(call.repository, issue))


def get_issue(call: Call) -> Answer:
    return Answer(200, call.say.issue(call.repository, call.issue))


def edit_issue(call: Call) -> Answer:
    issue = call.issue
    if "body" in call.body:
        short_enough(call.body["body"], "Issue")
        issue.body = call.body["body"]
    issue.title = call.body.get("title") or issue.title
    if "state" in call.body:
        issue.state = call.body["state"]
        issue.closed = call.world.stamp() if issue.state == "closed" else None
    if "labels" in call.body:
        issue.labels = []
        for label in call.body["labels"]:
            put_label(call.world, call.repository, issue, label if isinstance(label, str) else label["name"], call.user)
    issue.updated = call.world.stamp()
    return Answer(200, call.say.issue(call.repository, issue))


def list_events(call: Call) -> Answer:
    return paged(call, [call.say.issue_event(call.repository, event) for event in call.issue.events])


def list_comments(call: Call) -> Answer:
    number, since = call.issue.number, call.query.get("since", "")
    found = [c for c in call.repository.comments.values() if c.issue == number and c.updated >= since]
    return paged(call, [call.say.comment(call.repository, comment) for comment in found])


def list_repository_comments(call: Call) -> Answer:
    found = [c for c in call.repository.comments.values() if c.updated >= call.query.get("since", "")]
    return paged(call, [call.say.comment(call.repository, comment) for comment in found])


def create_comment(call: Call) -> Answer:
    issue = call.issue
    short_enough(call.body["body"], "IssueComment")
    if not call.body["body"].strip():
        raise invalid("IssueComment", "body", "missing_field")
    if issue.locked and call.world.role(call.repository, call.user.login) not in ("admin", "maintain", "write"):
        raise Refuse(403, "Unable to create comment because issue is locked.")
    comment = new_comment(call.world, call.repository, issue, call.user, call.body["body"])
    return Answer(201, call.say.comment(call.repository, comment))


def comment_of(call: Call) -> Comment:
    found = call.repository.comments.get(int(call.params["comment_id"]))
    if found is None:
        raise Refuse(404, "Not Found")
    return found


def get_comment(call: Call) -> Answer:
    return Answer(200, call.say.comment(call.repository, comment_of(call)))


def edit_comment(call: Call) -> Answer:
    comment = comment_of(call)
    _own_or_writer(call, comment)
    short_enough(call.body["body"], "IssueComment")
    comment.body = call.body["body"]
    comment.updated = call.world.stamp()
    return Answer(200, call.say.comment(call.repository, comment))


def delete_comment(call: Call) -> Answer:
    comment = comment_of(call)
    _own_or_writer(call, comment)
    del call.repository.comments[comment.id]
    return Answer(204)


def _own_or_writer(call: Call, comment: Comment) -> None:
    writer = call.world.role(call.repository, call.user.login) in ("admin", "maintain", "write")
    if comment.user != call.user and not (writer or (call.token and call.token.permissions)):
        raise Refuse(403, "Must have admin rights to Repository.")


def react_to_issue(call: Call) -> Answer:
    return _react(call, call.issue.reactions)


def react_to_comment(call: Call) -> Answer:
    return _react(call, comment_of(call).reactions)


def list_issue_reactions(call: Call) -> Answer:
    return paged(call, [call.say.reaction(reaction) for reaction in call.issue.reactions])


def list_comment_reactions(call: Call) -> Answer:
    return paged(call, [call.say.reaction(reaction) for reaction in comment_of(call).reactions])


def _react(call: Call, reactions: list[Reaction]) -> Answer:
    for there in reactions:
        if there.user == call.user and there.content == call.body["content"]:
            return Answer(200, call.say.reaction(there))
    reaction = Reaction(call.world.next_id(), call.user, call.body["content"], call.world.stamp())
    reactions.append(reaction)
    return Answer(201, call.say.reaction(reaction))


def list_labels_of_issue(call: Call) -> Answer:
    return paged(call, call.say.issue_labels(call.repository, call.issue))


def add_labels(call: Call) -> Answer:
    names = call.body["labels"] if isinstance(call.body, dict) else call.body
    for name in names:
        put_label(call.world, call.repository, call.issue, name if isinstance(name, str) else name["name"], call.user)
    return Answer(200, call.say.issue_labels(call.repository, call.issue))


def remove_label(call: Call) -> Answer:
    name = unquote(call.params["name"])
    if not take_label(call.world, call.issue, name, call.user):
        raise Refuse(404, "Label does not exist")
    return Answer(200, call.say.issue_labels(call.repository, call.issue))


def list_labels(call: Call) -> Answer:
    return paged(call, [call.say.label(call.repository, label) for label in call.repository.labels.values()])


def get_label(call: Call) -> Answer:
    label = call.repository.labels.get(unquote(call.params["name"]).lower())
    if label is None:
        raise Refuse(404, "Not Found")
    return Answer(200, call.say.label(call.repository, label))


def create_label(call: Call) -> Answer:
    name = call.body["name"]
    if name.lower() in call.repository.labels:
        raise invalid("Label", "name", "already_exists")
    label = Label(call.world.next_id(), name, call.body.get("color", "ededed"), call.body.get("description"))
    call.repository.labels[name.lower()] = label
    return Answer(201, call.say.label(call.repository, label))


def new_issue(world: World, repository: Repository, user: User, title: str, body: str | None) -> Issue:
    number = max(repository.issues, default=0) + 1
    now = world.stamp()
    issue = Issue(id=world.next_id(), number=number, user=user, title=title, body=body, created=now, updated=now)
    repository.issues[number] = issue
    return issue


def new_comment(world: World, repository: Repository, issue: Issue, user: User, body: str) -> Comment:
    now = world.stamp()
    comment = Comment(world.next_id(), issue.number, user, body, now, now)
    repository.comments[comment.id] = comment
    issue.updated = now
    return comment


def put_label(world: World, repository: Repository, issue: Issue, name: str, actor: User) -> None:
    """As GitHub does it: a label that the repository lacks is made, one that is there stays."""
    repository.labels.setdefault(name.lower(), Label(world.next_id(), name))
    if name.lower() not in [label.lower() for label in issue.labels]:
        issue.labels.append(repository.labels[name.lower()].name)
        _note(world, issue, "labeled", name, actor)


def take_label(world: World, issue: Issue, name: str, actor: User) -> bool:
    kept = [label for label in issue.labels if label.lower() != name.lower()]
    if len(kept) == len(issue.labels):
        return False
    issue.labels = kept
    _note(world, issue, "unlabeled", name, actor)
    return True


def _note(world: World, issue: Issue, event: str, label: str, actor: User) -> None:
    issue.updated = world.stamp()
    noted: dict[str, Any] = {"id": world.next_id(), "event": event, "label": label, "actor": actor}
    issue.events.append({**noted, "created": issue.updated})


def _route(method: str, template: str, handler: Callable[[Call], Answer], needs: Needs) -> Route:
    return Route(method, template, handler, needs)


ROUTES = (
    _route("GET", "/repos/{owner}/{repo}/issues", list_issues, READ),
    _route("POST", "/repos/{owner}/{repo}/issues", create_issue, SPEAK),
    _route("GET", "/repos/{owner}/{repo}/issues/comments", list_repository_comments, READ),
    _route("GET", _COMMENT, get_comment, READ),
    _route("PATCH", _COMMENT, edit_comment, SPEAK),
    _route("DELETE", _COMMENT, delete_comment, SPEAK),
    _route("GET", f"{_COMMENT}/reactions", list_comment_reactions, READ),
    _route("POST", f"{_COMMENT}/reactions", react_to_comment, SPEAK),
    _route("GET", _ISSUE, get_issue, READ),
    _route("PATCH", _ISSUE, edit_issue, TRIAGE),
    _route("GET", f"{_ISSUE}/events", list_events, READ),
    _route("GET", f"{_ISSUE}/comments", list_comments, READ),
    _route("POST", f"{_ISSUE}/comments", create_comment, SPEAK),
    _route("GET", f"{_ISSUE}/reactions", list_issue_reactions, READ),
    _route("POST", f"{_ISSUE}/reactions", react_to_issue, SPEAK),
    _route("GET", f"{_ISSUE}/labels", list_labels_of_issue, READ),
    _route("POST", f"{_ISSUE}/labels", add_labels, TRIAGE),
    _route("DELETE", f"{_ISSUE}/labels/{{name}}", remove_label, TRIAGE),
    _route("GET", "/repos/{owner}/{repo}/labels", list_labels, READ),
    _route("POST", "/repos/{owner}/{repo}/labels", create_label, Needs("issues", "write", "write")),
    _route("GET", "/repos/{owner}/{repo}/labels/{name}", get_label, READ),
)
