"""Every port there is, and the hacks of the list that have none, with the reason."""

from __future__ import annotations

from tests.hostile.answers import ANSWERS
from tests.hostile.detours import DETOURS
from tests.hostile.honest import HONEST
from tests.hostile.kernels import KERNELS
from tests.hostile.tampering import TAMPERING

HOSTILE = DETOURS + ANSWERS + TAMPERING + KERNELS
PORTS = HOSTILE + HONEST

NOT_APPLICABLE = {
    10: "not in the list",
    11: "not in the list",
    14: "not in the list",
    16: "not in the list",
    18: "not in the list",
    22: "not in the list",
    24: "not in the list",
    26: "not in the list",
    32: "no log of the port's is read: times are taken and ratios computed by the judge; the nearest deed, a forged "
    "test report, is there as forged-report",
}
"""By number. A gap in the list's own numbering is named too, so that a reader need not wonder."""
