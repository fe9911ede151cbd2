"""The last rung: witnesses that can be replayed, and launches that bound what is tried."""

from __future__ import annotations

import pytest

from tileport_skill.errors import RequestError
from tileport_skill.tileir.assemble import disassemble
from tileport_skill.tileir.interpret import Limits
from tileport_skill.tileir.launch import ArrayShape, LaunchShape
from tileport_skill.tileir.parse import parse
from tileport_skill.tileir.replay import read_recipe, read_shape, replay, spell_recipe, spell_shape
from tileport_skill.tileir.search import Budget, part, search


@pytest.fixture(scope="module")
def kernel(soak):
    """The text of one of the soak's kernels, with edits."""

    def text(name: str, *edits: tuple[str, str]):
        found = disassemble(soak("tileir_kernels").exported(name))
        for old, new in edits:
            assert old in found
            found = found.replace(old, new)
        return parse(found).entries[0]

    return text


def test_a_witness_is_an_input_that_shows_the_difference_again(kernel):
    a, b = kernel("softmax"), kernel("softmax", ("= subf ", "= addf "))
    witness = search(a, b).witness
    assert witness is not None
    limits = Limits(blocks=8)
    _, ours = replay(a, a, witness.inputs, limits)
    _, theirs = replay(b, a, witness.inputs, limits)
    again = part(ours, theirs, witness.inputs)
    assert again is not None
    assert (again.where, again.a, again.b) == (witness.where, witness.a, witness.b)


WHOLE = LaunchShape(
    (2, 2, 1), (ArrayShape((32, 64), (64, 1), 0), ArrayShape((64, 32), (32, 1), 1), ArrayShape((32, 32), (32, 1), 2))
)
RAGGED = LaunchShape(
    (2, 2, 1), (ArrayShape((32, 60), (64, 1), 0), ArrayShape((60, 32), (32, 1), 1), ArrayShape((32, 32), (32, 1), 2))
)


def test_what_only_unlaunched_sizes_show_is_no_difference_of_a_port(kernel):
    """Without padding the product of ragged arrays is unspecified; of whole tiles it is the same."""
    a, b = kernel("gemm"), kernel("gemm", ("padding_value = zero, ", ""))
    whole = search(a, b, Budget(inputs=5), [WHOLE])
    assert whole.witness is None
    assert whole.tested == 5
    ragged = search(a, b, Budget(inputs=5), [WHOLE, RAGGED])
    assert ragged.witness is not None
    assert ragged.witness.b.endswith("unspecified")
    assert search(a, b).witness is not None


def test_arrays_of_one_storage_share_their_memory(kernel):
    """The copy reads what it has just written when both views lie in one buffer."""
    a = kernel("transpose")
    apart = LaunchShape((2, 2, 1), (ArrayShape((32, 32), (32, 1), 0), ArrayShape((32, 32), (32, 1), 1)))
    joined = LaunchShape((2, 2, 1), (ArrayShape((32, 32), (32, 1), 0), ArrayShape((32, 32), (32, 1), 0)))
    assert search(a, a, Budget(inputs=2), [apart]).tested == 2
    overlapping = search(a, a, Budget(inputs=2), [joined])
    assert overlapping.tested == 0
    assert "an element is overwritten" in overlapping.reason


def test_a_launch_with_other_arguments_than_the_kernels_is_not_run(kernel):
    wrong = LaunchShape((1, 1, 1), (ArrayShape((4,), (1,), 0),))
    result = search(kernel("gemm"), kernel("gemm"), None, [wrong])
    assert result.tested == 0
    assert "arguments are not the kernel's" in result.reason


def test_a_launch_too_large_to_run_is_left_out_and_said_so(kernel):
    huge = ArrayShape((1 << 20, 1 << 20), (1 << 20, 1), 0)
    result = search(kernel("softmax"), kernel("softmax"), None, [LaunchShape((1, 1, 1), (huge, huge))])
    assert result.tested == 0
    assert "elements" in result.reason


def test_words_name_the_input_they_were_made_from():
    shape = LaunchShape((2, 1, 1), (ArrayShape((3, 8), (8, 1), 1, 5), -4, 0.5, ArrayShape((), (), 0)))
    assert read_shape(spell_shape(shape, 7, "grid")) == (shape, 7, "grid")
    recipe, least = read_recipe("seed=3 style=tiny grid=1,2,3 roomy 0.1>=64")
    assert spell_recipe(recipe, least) == "seed=3 style=tiny grid=1,2,3 roomy 0.1>=64"
    with pytest.raises(RequestError):
        read_shape("seed=1 style=grid grid=1,1,1 arguments=[4x:;;")
