"""A tuning table's code is let through as `draft --tuned` writes it, and in no other form."""

from __future__ import annotations

import pytest
from tests.skill.tuning.tables import drafted_table

from tileport_skill.draft.tuned import FROM_IMPORTS, IMPORTS, SEARCHING, block
from tileport_skill.lint.rules.reach import python_reaches

TABLE = drafted_table(
    of="rows()",
    where=(("x", 1, 16, 32), ("x", "dtype", "float16", "float16")),
    fields={"TILE": 128},
    hints={"occupancy": 4},
    options={"static_persistent": False},
    shapes=("a", "b"),
)
HEAD = "\n".join([*IMPORTS, *FROM_IMPORTS, *SEARCHING, "import torch"])
WRAPPER = f"{HEAD}\n\n\n{block(TABLE, '// a kernel', searches=True)}\n\ndef rows(x):\n    return x\n"


def test_it_breaks_no_rule_as_it_is_written() -> None:
    assert list(python_reaches(WRAPPER)) == []
    alone = f"{HEAD}\n\n\n{block(TABLE, '// a kernel', searches=False)}\n"
    assert list(python_reaches(alone)) == []


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ('os.environ.get("CUTILE_RS_TUNED", "1")', 'os.environ.get("EVIL", "1")', "imports `os`"),
        ("    return x\n", "    return os.system(x)\n", "imports `os`"),
        ('"TILE": 128', '"TILE": __import__("os")', "imports `os`"),
        ("import copy\n", "import copy\nimport threading\n", "imports `threading`"),
    ],
)
def test_any_other_word_of_it_and_any_other_use_of_its_imports_is_found(old: str, new: str, line: str) -> None:
    assert old in WRAPPER
    assert any(line in what for _, what in python_reaches(WRAPPER.replace(old, new, 1)))


def test_lines_keep_their_numbers() -> None:
    spoilt = WRAPPER + "import socket\n"
    ((line, what),) = python_reaches(spoilt)
    assert (line, "imports `socket`" in what) == (spoilt.count("\n"), True)
