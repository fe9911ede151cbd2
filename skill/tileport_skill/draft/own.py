"""Which of the captured kernels are the operator's own to port: an operator's tests launch other operators' too."""

from __future__ import annotations

import dataclasses
from pathlib import PurePosixPath

from tileport_skill.capture.records import Capture
from tileport_skill.tilegym.operators import Checkout, Operator, read_operators


def own_kernels(captured: Capture, checkout: Checkout, operator: Operator) -> Capture:
    """The capture without what modules of other operators launch: that is for their ports."""
    others = {module_of(checkout, other) for other in read_operators(checkout)} - {module_of(checkout, operator)}
    kept = tuple(one for one in captured.specialisations if one.module not in others)
    ids = {one.id for one in kept}
    launches = tuple(launch for launch in captured.launches if launch.specialisation in ids)
    return dataclasses.replace(captured, specialisations=kept, launches=launches)


def module_of(checkout: Checkout, operator: Operator) -> str:
    """The name that the operator's reference is imported under."""
    path = PurePosixPath(operator.reference).relative_to(PurePosixPath(checkout.package).parent)
    return ".".join(path.with_suffix("").parts)
