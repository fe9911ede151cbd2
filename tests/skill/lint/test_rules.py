"""Every rule's own examples: the bad one breaks exactly this rule, the good one none."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from tests.skill.emit.test_crate_traps import INVALID, LOUD, SILENT

from tileport_skill.lint.records import Finding, Part, Port, Rule, Source
from tileport_skill.lint.registry import RULES
from tileport_skill.lint.run import findings

ELSEWHERE_TESTED = {"a store in place"}
"""Traps whose test is a function of its own."""


def port(parts: Mapping[Part, str]) -> Port:
    return Port(parts={part: Source(path=part, text=text) for part, text in parts.items()})


def found(parts: Mapping[Part, str]) -> list[Finding]:
    return findings([port(parts)])


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_the_bad_example_breaks_exactly_this_rule(rule: Rule) -> None:
    assert {one.rule for one in found(rule.bad)} == {rule.id}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_the_good_example_breaks_none(rule: Rule) -> None:
    assert found(rule.good) == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_is_one_sentence_and_has_a_reason(rule: Rule) -> None:
    for text in (rule.says, rule.because):
        assert text.endswith(".")
        assert ". " not in text
        assert len(text) < 125


def test_no_two_rules_have_one_name() -> None:
    assert len({rule.id for rule in RULES}) == len(RULES)


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.trap], ids=lambda rule: rule.id)
def test_a_rule_about_the_crate_names_the_test_that_shows_it(rule: Rule) -> None:
    assert rule.trap in {*SILENT, *INVALID, *LOUD, *ELSEWHERE_TESTED}


def test_a_comment_or_a_string_breaks_no_rule() -> None:
    assert found({"kernel": '// constant(false, x); let t = load_ptr_tko(p);\nconst S: &str = "E::ONE += 1";\n'}) == []


def test_the_launch_in_a_macro_is_read() -> None:
    text = "fn f() {\n  macro_rules! go {\n    ($E:ty) => {{\n      k::<$E>().sync_on(&s)\n    }};\n  }\n}\n"
    (one,) = found({"launcher": text})
    assert (one.rule, one.line) == ("do-not-wait", 4)


def test_a_function_of_ones_own_is_bound_before_it_goes_into_some() -> None:
    helper = "fn inside(n: i32) -> bool { n > 3i32 }"
    assert [one.rule for one in found({"kernel": f"{helper}\nfn k() {{ load(Some(inside(1i32))); }}\n"})] == [
        "bind-inferred-calls"
    ]
    assert found({"kernel": f"{helper}\nfn k() {{ let m = inside(1i32); load(Some(m)); }}\n"}) == []
