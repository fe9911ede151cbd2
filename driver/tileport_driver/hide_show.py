"""`tileport hide`: an operator's tree as an agent would be given it, for a person: what went, why, what stayed near."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tileport_driver import checkout as checkouts
from tileport_driver.hide_passages import Names, about_backend
from tileport_driver.leaks.scan import Place, scan
from tileport_driver.near_twins import near_twins
from tileport_driver.records import AgentCheckout, LeakScan
from tileport_driver.requests import Order, make_request
from tileport_skill.errors import RequestError
from tileport_skill.tilegym.operators import find_operator, open_checkout, read_operators

_MOST_NEAR_FILES = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Near:
    """Something that stayed and that the agent may learn from."""

    what: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenTree:
    """What `tileport hide` made and found."""

    record: AgentCheckout
    leaks: LeakScan
    near: tuple[Near, ...]
    tree: Path


def hide(operator: str, repository: Path, base: str, out: Path, also: tuple[str, ...], twins: bool) -> HiddenTree:
    """Makes the agent's tree at `out`/tree. Raises `RequestError` for what cannot be asked so."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise RequestError(f"{out} exists and is not an empty folder. Name another with --out.")
    out.mkdir(parents=True, exist_ok=True)
    request = make_request(
        Order(operator=operator, repository=repository, engine="none", base=base, also_hidden=also, hide_twins=twins)
    )
    record, prints = checkouts.prepare_fingerprinted(
        Path(request.repository),
        request.base_commit,
        request.operator,
        out / "trusted.git",
        out / "tree",
        request.also_hidden,
    )
    found = scan((Place(name="tree", root=out / "tree"),), prints)
    return HiddenTree(
        record=record, leaks=found, near=_near(record, out / "tree", Path(request.repository)), tree=out / "tree"
    )


def _near(record: AgentCheckout, tree: Path, repository: Path) -> tuple[Near, ...]:
    checkout = open_checkout(tree)
    operators = read_operators(checkout)
    entry = find_operator(operators, record.operator)
    original = open_checkout(repository)
    twins = near_twins(original, entry, read_operators(original))
    near = [
        Near(what=f"the port of {name}", why=f"shares {share:.0%} of the hidden port's text; `--also {name}` hides it")
        for name, share in twins.items()
        if name not in record.also_hidden
    ]
    others = [o.name for o in operators if o.ported and o.name not in twins]
    if others:
        near.append(Near(what=f"the ports of {', '.join(others)}", why="other operators: the launcher's conventions"))
    return (*near, *_mentions(tree, Names.of(entry.name, *entry.aliases)))


def _mentions(tree: Path, names: Names) -> list[Near]:
    """Files about the porting backend that still name the operator: code, as passages and comments are gone."""
    counts: Counter[str] = Counter()
    for path in sorted(tree.rglob("*")):
        relative = path.relative_to(tree).as_posix()
        if path.is_file() and not path.is_symlink() and about_backend(relative) and not relative.startswith(".git/"):
            text = path.read_text(encoding="utf-8", errors="replace")
            counts[relative] = sum(names.within(line) for line in text.splitlines())
    found = [(path, count) for path, count in counts.items() if count]
    return [Near(what=path, why=f"names it in {count} lines of code") for path, count in found[:_MOST_NEAR_FILES]]
