"""What TileGym's test files expect of `tests/common.py`, as far as our own cases use it. Valid on a real GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

TOLERANCES = {
    torch.float32: (1e-5, 1e-6),
    torch.float16: (1e-2, 1e-2),
    torch.bfloat16: (1e-2, 2e-2),
}


class PyTestCase:
    """Base of the cases: seeds once a test, and compares an operator with a plain torch function."""

    def setUp(self) -> None:
        torch.manual_seed(0)

    def assertCorrectness(
        self,
        test_fn: Callable[..., Any],
        ref_fn: Callable[..., Any],
        kwargs: dict[str, Any],
        gradient: torch.Tensor | None = None,
        rtol: float | None = None,
        atol: float | None = None,
    ) -> None:
        """Runs both on clones of `kwargs`; compares the output and, where asked, every input's gradient."""
        ours, theirs = _cloned(kwargs), _cloned(kwargs)
        actual, expected = test_fn(**ours), ref_fn(**theirs)
        assert actual.shape == expected.shape
        assert actual.dtype == expected.dtype
        relative, absolute = TOLERANCES.get(actual.dtype, (0.0, 0.0))
        rtol, atol = relative if rtol is None else rtol, absolute if atol is None else atol
        _close(actual, expected, rtol, atol)
        if gradient is None:
            return
        actual.backward(gradient)
        expected.backward(gradient)
        for name, value in ours.items():
            if isinstance(value, torch.Tensor) and value.requires_grad:
                _close(value.grad, theirs[name].grad, rtol, atol)

    def assertRuns(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        """For operators without a short reference: the call ends, and every float it returns is finite."""
        found = fn(*args, **kwargs)
        for value in found if isinstance(found, (tuple, list)) else (found,):
            if isinstance(value, torch.Tensor) and value.is_floating_point():
                assert torch.isfinite(value.float()).all()


def _cloned(kwargs: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value.detach().clone().requires_grad_(value.requires_grad) if isinstance(value, torch.Tensor) else value
        for name, value in kwargs.items()
    }


def _close(actual: torch.Tensor, expected: torch.Tensor, rtol: float, atol: float) -> None:
    torch.testing.assert_close(actual.float(), expected.float(), rtol=rtol, atol=atol)
