"""Budgets are decided before an exchange, on the most it may come to."""

from __future__ import annotations

from decimal import Decimal

import pytest
from anthropic.types import Usage as ApiUsage

from tileport_driver.broker.budget import ROLE_SHARES, Budget, Spent, check_budget, overspent, price_of, prices
from tileport_driver.records import Usage
from tileport_skill.errors import RequestError
from tileport_skill.pipeline.verdicts import Role


def test_an_answer_is_priced_by_kind_of_token() -> None:
    price = price_of("claude-opus-5")
    assert price is not None
    used = ApiUsage.model_validate(
        {
            "input_tokens": 1_000_000,
            "output_tokens": 100_000,
            "cache_read_input_tokens": 1_000_000,
            "cache_creation_input_tokens": 300_000,
            "cache_creation": {"ephemeral_5m_input_tokens": 200_000, "ephemeral_1h_input_tokens": 100_000},
        }
    )
    assert price.of(used) == Decimal("5") + Decimal("2.5") + Decimal("0.5") + Decimal("1.25") + Decimal("1")


def test_cache_writes_of_unknown_lifetime_count_as_the_dearer_ones() -> None:
    price = price_of("claude-opus-5")
    assert price is not None
    used = ApiUsage(input_tokens=0, output_tokens=0, cache_creation_input_tokens=100_000)
    assert price.of(used) == Decimal("1")


def test_a_family_covers_its_dated_names_and_no_other_family() -> None:
    families = [price.family for price in prices()]
    assert len(set(families)) == len(families)
    dated = price_of("claude-opus-4-5-20251101")
    assert dated is not None
    assert dated.family == "claude-opus-4-5"
    assert price_of("claude-opus-5-9") is None


def test_a_money_budget_for_a_model_without_a_price_is_refused_before_anything_starts() -> None:
    with pytest.raises(RequestError, match=r"No price is known for the model gpt.*prices\.yaml"):
        check_budget(Budget(dollars=Decimal(1)), "gpt")
    check_budget(Budget(tokens=1), "gpt")


@pytest.mark.parametrize(("spent", "fits"), [(80, True), (81, False)])
def test_an_exchange_is_let_through_when_its_longest_answer_fits(spent: int, fits: bool) -> None:
    used = Spent(usage=Usage(input_tokens=spent - 10), lost_tokens=10)
    told = overspent(Budget(tokens=100), used, tokens=20, dollars=Decimal(0))
    assert (told is None) == fits
    assert told is None or "81 of 100 tokens are spent" in told


def test_lost_answers_count_at_their_most_in_money_too() -> None:
    used = Spent(dollars=Decimal("0.5"), lost_dollars=Decimal("0.4"))
    assert overspent(Budget(dollars=Decimal(1)), used, tokens=1, dollars=Decimal("0.1")) is None
    told = overspent(Budget(dollars=Decimal(1)), used, tokens=1, dollars=Decimal("0.11"))
    assert told is not None
    assert "0.9000 of 1 US dollars" in told


def test_a_role_may_have_its_share_of_tokens_and_money_and_no_more() -> None:
    budget = Budget(tokens=1000, dollars=Decimal(10), shares={"kernel-writer": Decimal("0.5")})
    own = budget.of_role("kernel-writer")
    assert (own.tokens, own.dollars) == (500, Decimal(5))
    assert budget.of_role("somebody") == Budget(tokens=1000, dollars=Decimal(10))
    used = Spent(usage=Usage(input_tokens=450), dollars=Decimal("4.9"))
    assert overspent(own, used, tokens=50, dollars=Decimal("0.1")) is None
    assert "450 of 500 tokens" in (overspent(own, used, tokens=51, dollars=Decimal(0)) or "")
    assert "4.9000 of 5.0 US dollars" in (overspent(own, used, tokens=1, dollars=Decimal("0.2")) or "")


def test_every_role_has_a_share_and_none_may_have_all() -> None:
    assert set(ROLE_SHARES) == {role for role in Role if role is not Role.PREFLIGHT}
    assert all(0 < share < 1 for share in ROLE_SHARES.values())
