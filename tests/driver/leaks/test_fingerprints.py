"""What a port's text is known again by, and what it is not."""

from __future__ import annotations

import pytest

from tests.driver.ported import PORT, kernel_text
from tileport_driver.leaks.fingerprints import SHINGLE, WINDOW, fingerprints, shared, shingles, trace, words_of

REMOVED = {"k/kernel.rs": kernel_text().encode(), "w.py": (PORT / "silu_and_mul.py").read_bytes()}
PRINTS = fingerprints("silu_and_mul", REMOVED, {})
CODE = "\n".join(kernel_text().splitlines()[60:110])


@pytest.mark.parametrize(
    "disguise",
    [
        lambda text: "\n".join(f"// {line}" for line in text.splitlines()),
        lambda text: "\n".join(f"#   {line.strip()}" for line in text.splitlines()),
        lambda text: " ".join(text.split()),
        lambda text: text.replace("\n", "\\n").replace('"', '\\"'),
        lambda text: text.replace("(", " ( ").replace(";", "\n;"),
    ],
    ids=["comment", "another comment", "one line", "JSON string", "another layout"],
)
def test_another_layout_changes_nothing(disguise: object) -> None:
    assert callable(disguise)
    assert trace(disguise(CODE).encode(), PRINTS) is not None


def test_so_many_words_in_a_row_share_at_least_one_fingerprint() -> None:
    words = [f"w{number}" for number in range(200)]
    whole = set(shingles([word.encode() for word in words]).tolist())
    need = SHINGLE + WINDOW - 1
    for start in range(0, 200 - need):
        part = shingles([word.encode() for word in words[start : start + need]])
        assert whole & set(part.tolist())


def test_a_text_of_another_kind_has_no_trace() -> None:
    from tileport_driver import attempt

    assert attempt.__file__ is not None
    with open(attempt.__file__, "rb") as file:  # noqa: PTH123 - bytes of any module
        assert trace(file.read(), PRINTS) is None


def test_what_is_known_to_stay_is_no_trace_but_the_ports_code_in_its_comments_is() -> None:
    other = b"fn other() { let shared_by_both = load(a, b, c, d, e, f, g, h, i, j, k, l, m, n); }\n"
    removed = {"kernel.rs": other + CODE.encode()}
    known = {"other.rs": other + b"\n".join(b"// " + line for line in CODE.encode().splitlines())}
    prints = fingerprints("silu_and_mul", removed, known)
    assert shared(other, prints) == 0
    assert trace(known["other.rs"], prints) is not None


def test_one_name_with_the_operators_in_it_is_enough_and_of_others_it_takes_three() -> None:
    removed = {"k.rs": b"fn launch_my_op() {}\nfn first_one() {}\nfn second_one() {}\nfn third_one() {}\n" * 3}
    prints = fingerprints("my_op", removed, {})
    assert trace(b"nm: launch_my_op\n", prints) == "the port's own name launch_my_op"
    assert trace(b"first_one second_one\n", prints) is None
    assert trace(b"first_one second_one third_one\n", prints) is not None
    public = fingerprints("my_op", removed, {}, frozenset({b"launch_my_op"}))
    assert trace(b"nm: launch_my_op\n", public) is None


def test_a_hidden_file_is_known_whole_even_if_it_is_no_text() -> None:
    product = bytes(range(256)) * 4
    prints = fingerprints("x", {"lib.so": product}, {})
    assert trace(product, prints) == "one of the hidden files, whole"
    assert trace(product[:-1], prints) is None


def test_escaped_line_ends_belong_to_no_word() -> None:
    assert words_of(b"a\\nb\\tc") == [b"a", b"b", b"c"]
