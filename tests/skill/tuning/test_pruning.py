"""What is left out before a GPU is asked, and why."""

from __future__ import annotations

from tileport_skill.tileir.cubin import Needs
from tileport_skill.tuning.candidates import Candidate
from tileport_skill.tuning.cubins import Answer, Assembled, Dropped
from tileport_skill.tuning.explored import Site, Tried, Work
from tileport_skill.tuning.pruning import pruned, wanted


def work(ir: str | None, grid: int = 1, refused: str | None = None) -> Work:
    return Work(specialisation=f"s-{ir}", ir=ir, grid=(grid,), refused=refused)


def tried(name: str, *works: Work, own: bool = False) -> Tried:
    return Tried(candidate=Candidate(fields=(("TILE", name),)), works=works, own=own)


def site(*candidates: Tried) -> Site:
    return Site(kernel="k", module="m", default=(work("default"),), launches=(), tried=candidates, features={})


def made(sha256: str, spills: int = 0, shared: int = 1000) -> Assembled:
    asked = Needs(instructions=100, spills=spills, shared=shared, registers=64, threads=128)
    return Assembled(sha256=sha256, size=1000, needs=asked, seconds=0.1)


def reasons(found: Site, answers: dict[str, Answer]) -> dict[str, str]:
    return {str(candidate.fields[0][1]): why for candidate, why in pruned(found, answers, "sm_90").dropped}


def test_the_same_cubin_and_grid_is_one_candidate() -> None:
    answers: dict[str, Answer] = {"default": made("d"), "a": made("x"), "b": made("x"), "c": made("x")}
    found = site(tried("a", work("a")), tried("b", work("b")), tried("c", work("c", grid=2)))
    assert reasons(found, answers) == {"b": "the same cubin and grid as namespace(TILE='a')"}


def test_what_the_reference_launches_anyway_is_no_candidate() -> None:
    answers: dict[str, Answer] = {"default": made("d"), "a": made("d")}
    assert reasons(site(tried("a", work("a"))), answers) == {"a": "the same cubin and grid as as it is"}


def test_what_spills_needs_too_much_memory_or_does_not_compile_is_out() -> None:
    answers: dict[str, Answer] = {
        "default": made("d"),
        "a": made("a"),
        "b": made("b", spills=400),
        "c": made("c", shared=300_000),
        "d": Dropped(reason="compiling it: it did not end within 10 s of a processor's time"),
    }
    found = site(
        tried("a", work("a")),
        tried("b", work("b")),
        tried("c", work("c")),
        tried("d", work("d")),
        tried("e", work(None, refused="TileTypeError: no such tile")),
        tried("f", work("never asked for")),
    )
    assert reasons(found, answers) == {
        "b": "400 instructions for spilled registers",
        "c": "300000 bytes of shared memory of 232448",
        "d": "compiling it: it did not end within 10 s of a processor's time",
        "e": "TileTypeError: no such tile",
        "f": "it was not assembled",
    }


def test_where_everything_spills_what_spills_least_is_tried() -> None:
    answers: dict[str, Answer] = {"default": made("d"), "a": made("a", spills=300), "b": made("b", spills=200)}
    assert list(reasons(site(tried("a", work("a")), tried("b", work("b"))), answers)) == ["a"]


def test_the_references_own_list_is_tried_however_it_spills() -> None:
    answers: dict[str, Answer] = {"default": made("d"), "a": made("a"), "b": made("b", spills=999)}
    assert reasons(site(tried("a", work("a")), tried("b", work("b"), own=True)), answers) == {}


def test_what_the_host_launches_itself_is_assembled_first_and_each_kernel_once() -> None:
    one = site(tried("x", work("a"), own=True), tried("y", work("b")), tried("z", work("c"), work("a")))
    other = site(tried("y", work("c")), tried("z", work("b")))
    assert wanted([one, other]) == ("default", "a", "c", "b")
