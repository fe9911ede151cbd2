"""Every port that TileGym's wheel ships, truly hidden: the scan says nothing, and with one file left it says where."""

from __future__ import annotations

from pathlib import Path

import pytest

from tileport_bot.demo import make_target
from tileport_driver.checkout import prepare_fingerprinted
from tileport_driver.git import resolve_commit, run_git
from tileport_driver.leaks.scan import Place, scan
from tileport_driver.near_twins import near_twins
from tileport_skill.tilegym.operators import find_operator, open_checkout, read_operators
from tileport_skill.tilegym.port_files import port_files

PORTED = ("attention_sink", "bmm", "matmul", "silu_and_mul", "swiglu")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_target(tmp_path_factory.mktemp("wheel") / "tilegym")


@pytest.mark.soak
def test_these_are_the_ports_there_are(wheel: Path) -> None:
    assert tuple(o.name for o in read_operators(open_checkout(wheel)) if o.ported) == PORTED


@pytest.mark.soak
@pytest.mark.parametrize("name", PORTED)
def test_the_scan_is_silent_on_a_hidden_port_and_finds_each_of_its_files_put_back(
    wheel: Path, name: str, tmp_path: Path
) -> None:
    tree = tmp_path / "tree"
    _, prints = prepare_fingerprinted(wheel, resolve_commit(wheel), name, tmp_path / "trusted.git", tree)
    assert scan((Place(name="tree", root=tree),), prints).leaks == ()
    checkout = open_checkout(wheel)
    files = port_files(checkout, find_operator(read_operators(checkout), name)).new
    for path in files:
        half = run_git("-C", str(wheel), "show", f"HEAD:{path}")
        (tree / f"{Path(path).stem}.txt").write_bytes(half[len(half) // 3 : 2 * len(half) // 3])
    found = {leak.path for leak in scan((Place(name="tree", root=tree),), prints).leaks}
    assert {f"{Path(path).stem}.txt" for path in files} <= found


@pytest.mark.soak
def test_the_near_twins_among_the_wheels_ports_are_these(wheel: Path) -> None:
    checkout = open_checkout(wheel)
    operators = read_operators(checkout)
    found = {name: sorted(near_twins(checkout, find_operator(operators, name), operators)) for name in PORTED}
    assert found == {
        "attention_sink": [],
        "bmm": ["matmul"],
        "matmul": ["bmm"],
        "silu_and_mul": ["swiglu"],
        "swiglu": ["silu_and_mul"],
    }
