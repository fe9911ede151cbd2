"""The GPU's state by NVML, through ctypes: no package is needed on the machine. What it does not answer is None."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

_SM, _MEMORY = 1, 2
_GRAPHICS_TEMPERATURE = 0
_BUFFER = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuState:
    """One look at the GPU."""

    sm_mhz: int | None
    memory_mhz: int | None
    throttle: int | None
    """The bits that `nvml_bits.py` names."""
    celsius: int | None
    milliwatts: int | None
    processes: int | None
    """Compute processes NVML sees on it."""


class _Process(ctypes.Structure):
    _fields_ = (
        ("pid", ctypes.c_uint),
        ("memory", ctypes.c_ulonglong),
        ("instance", ctypes.c_uint),
        ("compute_instance", ctypes.c_uint),
    )


class Nvml:
    """One GPU, by its UUID; without NVML on the machine every state is None."""

    def __init__(self, uuid: str) -> None:
        self.missing: str | None = None
        self._device = ctypes.c_void_p()
        try:
            self._library = ctypes.CDLL("libnvidia-ml.so.1")
        except OSError as error:
            self.missing = str(error)
            return
        handle = self._library.nvmlDeviceGetHandleByUUID
        name = (uuid if uuid.startswith("GPU-") else f"GPU-{uuid}").encode()
        for step, code in (
            ("nvmlInit_v2", self._library.nvmlInit_v2()),
            ("nvmlDeviceGetHandleByUUID", handle(ctypes.c_char_p(name), ctypes.byref(self._device))),
        ):
            if code != 0:
                self.missing = f"{step} answered {code}"
                return

    def state(self) -> GpuState:
        return GpuState(
            sm_mhz=self._number("nvmlDeviceGetClockInfo", _SM),
            memory_mhz=self._number("nvmlDeviceGetClockInfo", _MEMORY),
            throttle=self.throttle(),
            celsius=self._number("nvmlDeviceGetTemperature", _GRAPHICS_TEMPERATURE),
            milliwatts=self._number("nvmlDeviceGetPowerUsage"),
            processes=self._processes(),
        )

    def throttle(self) -> int | None:
        """Cheap enough to be asked before and after every block."""
        if self.missing:
            return None
        value = ctypes.c_ulonglong()
        code = self._library.nvmlDeviceGetCurrentClocksThrottleReasons(self._device, ctypes.byref(value))
        return None if code else value.value

    def driver(self) -> str | None:
        if self.missing:
            return None
        text = ctypes.create_string_buffer(_BUFFER)
        return None if self._library.nvmlSystemGetDriverVersion(text, _BUFFER) else text.value.decode()

    def _number(self, function: str, *which: int) -> int | None:
        if self.missing:
            return None
        value = ctypes.c_uint()
        code = getattr(self._library, function)(self._device, *which, ctypes.byref(value))
        return None if code else value.value

    def _processes(self) -> int | None:
        if self.missing:
            return None
        count = ctypes.c_uint(_BUFFER)
        found = (_Process * _BUFFER)()
        code = self._library.nvmlDeviceGetComputeRunningProcesses_v3(self._device, ctypes.byref(count), found)
        return None if code else count.value
