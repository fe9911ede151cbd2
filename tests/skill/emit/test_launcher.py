"""Our account of what cuTile Rust's launcher derives, held against the crate's own code."""

from __future__ import annotations

import dataclasses
import json
import random
import subprocess
from pathlib import Path

from tileport_skill.capture.records import TensorArgument
from tileport_skill.emit.launcher import ALLOCATION_ALIGNMENT, divisor_of, tensor_facts

LAYOUTS = 10_000
SIZES = (1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 24, 31, 32, 48, 64, 100, 128, 1000, 4096)
STRIDES = (0, 1, 1, 2, 3, 4, 8, 16, 24, 100, 256, 1000, 4096, 65536)


def some_array(random: random.Random) -> TensorArgument:
    rank = random.randint(1, 5)
    return TensorArgument(
        dtype=random.choice(["float32", "bfloat16", "int64", "uint8"]),
        shape=tuple(random.choice(SIZES) for _ in range(rank)),
        strides=tuple(random.choice(STRIDES) for _ in range(rank)),
        offset=random.choice([0, 0, 1, 2, 3, 4, 8, 16, 1000]),
        storage=0,
    )


def test_every_fact_about_ten_thousand_layouts_is_the_crates_own(program: Path) -> None:
    rng = random.Random(20)
    arrays = [some_array(rng) for _ in range(LAYOUTS)]
    bytes_of = {"float32": 4, "bfloat16": 2, "int64": 8, "uint8": 1}
    lines = [
        json.dumps(
            {
                "address": ALLOCATION_ALIGNMENT + array.offset * bytes_of[array.dtype],
                "shape": array.shape,
                "strides": array.strides,
            }
        )
        for array in arrays
    ]
    done = subprocess.run([program, "facts"], input="\n".join(lines), capture_output=True, text=True, check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == LAYOUTS
    for array, theirs in zip(arrays, answers, strict=True):
        ours = json.loads(json.dumps(dataclasses.asdict(tensor_facts("", array))))
        del ours["name"]
        assert ours == {name: theirs[name] for name in ours}, array
        assert theirs["pointer_div"] == ours["base_div"]
        assert theirs["size_divs"] == [divisor_of(size) for size in array.shape]


def test_zero_and_large_powers_have_the_largest_divisor_and_odd_numbers_none() -> None:
    assert [divisor_of(n) for n in (0, 16, 4096, 24, 6, 7, 1, -8)] == [16, 16, 16, 8, 2, 1, 1, 8]
