"""Repositories, who may do what in them, their refs, commits and files, and their check runs."""

from __future__ import annotations

import base64
from typing import Any

from tests.bot.fakegithub.call import Answer, Call, Needs, Refuse, Route, paged
from tests.bot.fakegithub.git_store import (
    branches,
    changes,
    commit_info,
    commits_between,
    git,
    merge_base,
    read_file,
    resolve,
)
from tests.bot.fakegithub.state import CheckRun

_REPO = "/repos/{owner}/{repo}"
METADATA = Needs("metadata", "read")
CONTENTS = Needs("contents", "read")
CHECKS = Needs("checks", "write")
MOST_ANNOTATIONS = 50

# `maintain` counts as write and `triage` as read in the old field.
_PERMISSION = {"admin": "admin", "maintain": "write", "write": "write", "triage": "read", "read": "read"}


def get_repository(call: Call) -> Answer:
    return Answer(200, call.say.full_repository(call.repository))


def get_permission(call: Call) -> Answer:
    login = call.params["username"]
    if login.lower() not in call.world.users:
        raise Refuse(404, "Not Found")
    user = call.world.user(login)
    role = call.world.role(call.repository, login)
    said = {**call.say.user(user), "role_name": role}
    return Answer(200, {"permission": _PERMISSION.get(role, "none"), "role_name": role, "user": said})


def list_branches(call: Call) -> Answer:
    found = branches(call.repository.git)
    commits = [(name, {"sha": sha, "url": _commit_url(call, sha)}) for name, sha in found.items()]
    return paged(call, [{"name": name, "commit": commit, "protected": False} for name, commit in commits])


def get_ref(call: Call) -> Answer:
    name = f"refs/{call.params['ref']}"
    sha = resolve(call.repository.git, name)
    if sha is None or call.hidden_heads():
        raise Refuse(404, "Not Found")
    return Answer(200, _ref(call, name, sha))


def matching_refs(call: Call) -> Answer:
    wanted = f"refs/{call.params['ref']}"
    lines = git(call.repository.git, "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
    found = dict(line.rsplit(" ", 1) for line in lines)
    return paged(call, [_ref(call, name, sha) for name, sha in found.items() if name.startswith(wanted)])


def delete_ref(call: Call) -> Answer:
    name = f"refs/{call.params['ref']}"
    if resolve(call.repository.git, name) is None:
        raise Refuse(422, "Reference does not exist")
    git(call.repository.git, "update-ref", "-d", name)
    return Answer(204)


def _ref(call: Call, name: str, sha: str) -> dict[str, Any]:
    url = call.say.repository_api(call.repository, f"/git/{name}")
    return {"ref": name, "node_id": "UmVm", "url": url, "object": {"sha": sha, "type": "commit", "url": url}}


def get_commit(call: Call) -> Answer:
    sha = resolve(call.repository.git, call.params["ref"])
    if sha is None:
        raise Refuse(422, f"No commit found for SHA: {call.params['ref']}")
    return Answer(200, call.say.commit(call.repository, commit_info(call.repository.git, sha)))


def compare(call: Call) -> Answer:
    store = call.repository.git
    base, _, head = call.params["basehead"].partition("...")
    ends = [resolve(store, name) for name in (base, head)]
    if ends[0] is None or ends[1] is None:
        raise Refuse(404, "Not Found")
    before, after = ends[0], ends[1]
    ahead, behind = commits_between(store, before, after), commits_between(store, after, before)
    status = "diverged" if ahead and behind else "ahead" if ahead else "behind" if behind else "identical"
    own = call.say.repository_api(call.repository, f"/compare/{base}...{head}")
    html = call.say.html(call.repository, f"/compare/{base}...{head}")
    root = merge_base(store, before, after) or before
    said = {
        "url": own,
        "html_url": html,
        "permalink_url": html,
        "diff_url": f"{html}.diff",
        "patch_url": f"{html}.patch",
        "base_commit": call.say.commit(call.repository, commit_info(store, before)),
        "merge_base_commit": call.say.commit(call.repository, commit_info(store, root)),
        "status": status,
        "ahead_by": len(ahead),
        "behind_by": len(behind),
        "total_commits": len(ahead),
        "commits": [call.say.commit(call.repository, commit_info(store, sha)) for sha in ahead[:250]],
        "files": [call.say.change(call.repository, after, change) for change in changes(store, before, after)[:300]],
    }
    return Answer(200, said)


def get_contents(call: Call) -> Answer:
    sha = resolve(call.repository.git, call.query.get("ref", call.repository.default_branch))
    path = call.params["path"]
    found = read_file(call.repository.git, sha, path) if sha else None
    if found is None:
        raise Refuse(404, "Not Found")
    blob, data = found
    own = call.say.repository_api(call.repository, f"/contents/{path}?ref={sha}")
    html = call.say.html(call.repository, f"/blob/{sha}/{path}")
    git_url = call.say.repository_api(call.repository, f"/git/blobs/{blob}")
    said = {"type": "file", "encoding": "base64", "size": len(data), "name": path.rpartition("/")[2], "path": path}
    said |= {"content": base64.encodebytes(data).decode(), "sha": blob, "url": own, "git_url": git_url}
    links = {"git": git_url, "self": own, "html": html}
    return Answer(200, {**said, "html_url": html, "download_url": html, "_links": links})


def create_check_run(call: Call) -> Answer:
    if call.token is None or call.token.app is None:
        raise Refuse(403, "You must authenticate via a GitHub App.")
    sha = resolve(call.repository.git, call.body["head_sha"])
    if sha is None:
        raise Refuse(422, f"No commit found for SHA: {call.body['head_sha']}")
    now = call.world.stamp()
    run = CheckRun(
        id=call.world.next_id(),
        name=call.body["name"],
        head_sha=sha,
        app=call.token.app,
        status="queued",
        conclusion=None,
        details_url=call.body.get("details_url"),
        external_id=call.body.get("external_id"),
        started=call.body.get("started_at", now),
        completed=None,
        output={},
        annotations=[],
    )
    _change_run(call, run)
    call.repository.check_runs[run.id] = run
    return Answer(201, call.say.check_run(call.repository, run))


def edit_check_run(call: Call) -> Answer:
    run = _run_of(call)
    if call.token is None or call.token.app != run.app:
        raise Refuse(403, "Invalid app_id: only the App that made a check run may change it.")
    run.name = call.body.get("name", run.name)
    run.details_url = call.body.get("details_url", run.details_url)
    _change_run(call, run)
    return Answer(200, call.say.check_run(call.repository, run))


def _change_run(call: Call, run: CheckRun) -> None:
    output = call.body.get("output") or {}
    added = output.get("annotations", [])
    if len(added) > MOST_ANNOTATIONS:
        raise Refuse(422, "Invalid request.\n\nNo more than 50 items are allowed; 51 were supplied.")
    for text in (output.get("summary"), output.get("text")):
        if text is not None and len(text) > 65535:
            raise Refuse(422, "Only 65535 characters are allowed; more were supplied.")
    run.annotations += [call.say.annotation(call.repository, run, given) for given in added]
    run.output.update({name: value for name, value in output.items() if name != "annotations"})
    run.conclusion = call.body.get("conclusion", run.conclusion)
    run.status = "completed" if "conclusion" in call.body else call.body.get("status", run.status)
    if run.status == "completed":
        run.completed = call.body.get("completed_at", call.world.stamp())


def _run_of(call: Call) -> CheckRun:
    run = call.repository.check_runs.get(int(call.params["check_run_id"]))
    if run is None:
        raise Refuse(404, "Not Found")
    return run


def get_check_run(call: Call) -> Answer:
    return Answer(200, call.say.check_run(call.repository, _run_of(call)))


def list_annotations(call: Call) -> Answer:
    return paged(call, list(_run_of(call).annotations))


def list_check_runs(call: Call) -> Answer:
    sha = resolve(call.repository.git, call.params["ref"])
    name = call.query.get("check_name")
    app = call.query.get("app_id")
    found = [
        run
        for run in call.repository.check_runs.values()
        if run.head_sha == sha and name in (None, run.name) and app in (None, str(run.app.id))
    ]
    return paged(call, [call.say.check_run(call.repository, run) for run in reversed(found)], "check_runs")


def dispatch_workflow(call: Call) -> Answer:
    call.repository.dispatches.append({"workflow": call.params["workflow_id"], **call.body})
    return Answer(204)


def _commit_url(call: Call, sha: str) -> str:
    return call.say.repository_api(call.repository, f"/commits/{sha}")


ROUTES = (
    Route("GET", _REPO, get_repository, METADATA),
    Route("GET", f"{_REPO}/collaborators/{{username}}/permission", get_permission, METADATA),
    Route("GET", f"{_REPO}/branches", list_branches, CONTENTS),
    Route("GET", f"{_REPO}/git/ref/{{ref}}", get_ref, CONTENTS),
    Route("GET", f"{_REPO}/git/matching-refs/{{ref}}", matching_refs, CONTENTS),
    Route("DELETE", f"{_REPO}/git/refs/{{ref}}", delete_ref, Needs("contents", "write", "write")),
    Route("GET", f"{_REPO}/commits/{{ref}}/check-runs", list_check_runs, Needs("checks", "read")),
    Route("GET", f"{_REPO}/commits/{{ref}}", get_commit, CONTENTS),
    Route("GET", f"{_REPO}/compare/{{basehead}}", compare, CONTENTS),
    Route("GET", f"{_REPO}/contents/{{path}}", get_contents, CONTENTS),
    Route("POST", f"{_REPO}/check-runs", create_check_run, CHECKS),
    Route("GET", f"{_REPO}/check-runs/{{check_run_id}}", get_check_run, Needs("checks", "read")),
    Route("PATCH", f"{_REPO}/check-runs/{{check_run_id}}", edit_check_run, CHECKS),
    Route("GET", f"{_REPO}/check-runs/{{check_run_id}}/annotations", list_annotations, Needs("checks", "read")),
    Route(
        "POST",
        f"{_REPO}/actions/workflows/{{workflow_id}}/dispatches",
        dispatch_workflow,
        Needs("actions", "write", "write"),
    ),
)
