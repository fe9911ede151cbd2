"""What an attempt may spend, in tokens and in money, and the decision whether the next exchange still
fits."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, ClassVar

import yaml
from pydantic import TypeAdapter

from tileport_driver.records import Usage
from tileport_skill.errors import RequestError
from tileport_skill.pipeline.verdicts import Role

if TYPE_CHECKING:  # a third of a command's start, which most commands can do without
    from anthropic.types import Usage as ApiUsage

LIVE_MODEL = "claude-opus-4-6"
"""Whom `--live` asks."""
_MILLION = Decimal(1_000_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """None is no limit. Tokens are all that an answer's usage counts, cache reads included."""

    tokens: int | None = None
    dollars: Decimal | None = None
    shares: Mapping[str, Decimal] = field(default_factory=dict)
    """The part of both that one role may have, all its runs together; a role that is not named may have all."""
    __pydantic_config__: ClassVar = {"extra": "forbid"}

    def of_role(self, role: str) -> Budget:
        share = self.shares.get(role, Decimal(1))
        tokens = None if self.tokens is None else int(self.tokens * share)
        return Budget(tokens=tokens, dollars=None if self.dollars is None else self.dollars * share)


ROLE_SHARES: Mapping[str, Decimal] = {
    Role.ANALYZER: Decimal("0.15"),
    Role.KERNEL_WRITER: Decimal("0.5"),
    Role.HOST_BUILDER: Decimal("0.4"),
    Role.IR_ANALYST: Decimal("0.2"),
    Role.PERFORMANCE_VERIFIER: Decimal("0.1"),
    Role.PERFORMANCE_INVESTIGATOR: Decimal("0.15"),
}
"""More than one in all: they bound a role that runs away, and the run's own budget bounds the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """US dollars per million tokens of one model family."""

    family: str
    input: Decimal
    cache_write_5m: Decimal
    cache_write_1h: Decimal
    cache_read: Decimal
    output: Decimal
    __pydantic_config__: ClassVar = {"extra": "forbid"}

    def of(self, usage: ApiUsage) -> Decimal:
        """What one answer cost. Cache writes whose lifetime the API does not tell count as the dearer
        ones."""
        written = usage.cache_creation_input_tokens or 0
        short = usage.cache_creation.ephemeral_5m_input_tokens if usage.cache_creation else 0
        total = (
            usage.input_tokens * self.input
            + min(short, written) * self.cache_write_5m
            + (written - min(short, written)) * self.cache_write_1h
            + (usage.cache_read_input_tokens or 0) * self.cache_read
            + usage.output_tokens * self.output
        )
        return total / _MILLION


@cache
def prices() -> tuple[Price, ...]:
    """The table that comes with the package."""
    text = resources.files(__package__).joinpath("prices.yaml").read_text(encoding="utf-8")
    return TypeAdapter(tuple[Price, ...]).validate_python(yaml.safe_load(text))


def price_of(model: str) -> Price | None:
    """None for a model whose family the table does not have."""
    for price in prices():
        if re.fullmatch(re.escape(price.family) + r"(-\d{8}|-latest)?", model):
            return price
    return None


def check_budget(budget: Budget, model: str) -> None:
    """Raises `RequestError` for a budget that could not be kept; for the driver, before anything is
    started."""
    if budget.dollars is not None and price_of(model) is None:
        raise RequestError(no_price(model))


def no_price(model: str) -> str:
    return (
        f"No price is known for the model {model}, so a money budget cannot be kept. Add its family to "
        "driver/tileport_driver/broker/prices.yaml, or give a budget in tokens."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What an attempt has used so far, by its transcript."""

    usage: Usage = field(default_factory=Usage)
    dollars: Decimal = Decimal(0)
    """0 for a scripted model, whose tokens are made up."""
    lost_tokens: int = 0
    lost_dollars: Decimal = Decimal(0)
    """The most that questions may have cost whose answers were lost, as the driver died in between."""

    @property
    def tokens(self) -> int:
        used = self.usage
        return used.input_tokens + used.output_tokens + used.cache_creation_input_tokens + used.cache_read_input_tokens


def overspent(budget: Budget, spent: Spent, *, tokens: int, dollars: Decimal) -> str | None:
    """Why the next exchange would not fit, or None.

    `tokens` and `dollars` are the most its answer may come to. The length of its question in tokens is known
    only afterwards, so the last exchange that is let through may pass the limit by that much and no more.
    """
    would = spent.tokens + spent.lost_tokens + tokens
    if budget.tokens is not None and would > budget.tokens:
        return (
            f"{spent.tokens + spent.lost_tokens} of {budget.tokens} tokens are spent and the next answer "
            f"may take {tokens}"
        )
    cost = spent.dollars + spent.lost_dollars + dollars
    if budget.dollars is not None and cost > budget.dollars:
        return (
            f"{spent.dollars + spent.lost_dollars:.4f} of {budget.dollars} US dollars are spent and the next "
            f"answer may cost {dollars:.4f}"
        )
    return None
