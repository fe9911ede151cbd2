"""Secrets are masked plain, in base64 at every alignment, wrapped, and in hexadecimal."""

from __future__ import annotations

import base64
import textwrap

import pytest

from tileport_driver.broker.masking import MASK, Masks

SECRET = "sk-ant-api03-" + "Zq9_x-7" * 12


def test_the_plain_value_is_masked_everywhere_in_a_document() -> None:
    document = {"a": [f"key={SECRET};", {SECRET: 1}], "n": 3, "none": None}
    assert Masks([SECRET]).json(document) == {"a": [f"key={MASK};", {MASK: 1}], "n": 3, "none": None}


@pytest.mark.parametrize("lead", [b"", b"a", b"ab", b"abc"])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_base64_is_masked_whatever_stands_before_it(lead: bytes, encode: object) -> None:
    encoded = encode(lead + SECRET.encode() + b" and more").decode()  # type: ignore[operator]
    masked = Masks([SECRET]).text(encoded)
    assert MASK in masked
    assert len(masked) < 40


def test_wrapped_base64_and_hex_are_masked() -> None:
    lines = base64.encodebytes(SECRET.encode()).decode()
    assert "\n" in lines.strip()
    assert Masks([SECRET]).text(lines).startswith(MASK)
    assert Masks([SECRET]).text(lines.replace("\n", "\\n")).startswith(MASK)
    assert Masks([SECRET]).text(SECRET.encode().hex()) == MASK
    assert Masks([SECRET]).text("\n".join(textwrap.wrap(SECRET, 20))) == MASK


def test_an_empty_secret_masks_nothing() -> None:
    assert Masks(["", SECRET]).text("hello") == "hello"
