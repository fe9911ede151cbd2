"""Which of the captured kernels are the operator's own to port: an operator's tests launch other operators' too."""

from __future__ import annotations

import dataclasses
from pathlib import PurePosixPath

from tileport_skill.capture.records import AGAIN, Capture
from tileport_skill.tilegym.operators import Checkout, Operator, read_operators


def own_kernels(captured: Capture, checkout: Checkout, operator: Operator) -> Capture:
    """The capture without what modules of other operators launch, which is for their ports, and without calls made
    again that cuTile's compiler turns out to refuse: nobody can make them.
    """
    others = {module_of(checkout, other) for other in read_operators(checkout)} - {module_of(checkout, operator)}
    refused = {one.id for one in captured.specialisations if one.refused is not None}
    impossible = {one.test for one in captured.launches if AGAIN in one.test and one.specialisation in refused}
    own = {one.id for one in captured.specialisations if one.module not in others}
    launches = tuple(one for one in captured.launches if one.specialisation in own and one.test not in impossible)
    ids = {launch.specialisation for launch in launches}
    return dataclasses.replace(captured, launches=launches).only(ids)


def module_of(checkout: Checkout, operator: Operator) -> str:
    """The name that the operator's reference is imported under."""
    path = PurePosixPath(operator.reference).relative_to(PurePosixPath(checkout.package).parent)
    return ".".join(path.with_suffix("").parts)
