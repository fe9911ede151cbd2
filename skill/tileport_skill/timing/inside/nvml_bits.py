"""NVML's reasons for clocks below their maximum, by bit."""

from __future__ import annotations

THROTTLE = {
    0x01: "idle",
    0x02: "application clocks setting",
    0x04: "software power cap",
    0x08: "hardware slowdown",
    0x10: "sync boost",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "hardware power brake",
    0x100: "display clocks setting",
}

DISTURBING = 0x08 | 0x20 | 0x40 | 0x80
"""Heat and power supply. The power cap is not among them: heavy kernels reach it on both sides alike."""
