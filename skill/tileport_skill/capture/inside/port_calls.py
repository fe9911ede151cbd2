"""What a port launches, seen at the driver: its own wrapper, its own launcher, cuTile Rust's own JIT, no GPU.

Fake tensors get addresses that name their storage, so that a pointer in a launch can be read back.
"""

from __future__ import annotations

import importlib
import struct
from pathlib import Path
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor

from tileport_skill.capture import records
from tileport_skill.correctness import untimed
from tileport_skill.tilegym.operators import PORT_BACKEND, REFERENCE_BACKEND

FIRST_ADDRESS = 1 << 44
STORAGE_SPACING = 1 << 38
"""Larger than any fake storage, and a multiple of every alignment."""


def ports_for_references() -> None:
    """After the tests were imported: whoever asks for a reference gets its port.

    A test may skip whatever backends it does not name, as TileGym's of rms_norm does; this way none knows of another.
    """
    for implementations in importlib.import_module("tilegym.backend.dispatcher")._REGISTRY.values():
        if PORT_BACKEND in implementations:
            implementations[REFERENCE_BACKEND] = implementations[PORT_BACKEND]


class PortRecorder:
    """Reads the driver's log after each step and says which test and which purpose a launch had."""

    def __init__(self, log: Path) -> None:
        self.test = ""
        self.launches: list[records.PortLaunch] = []
        self._log = log
        self._read = 0
        self._storages: list[Any] = []
        self._numbers: dict[int, int] = {}

    def install(self) -> None:
        data_ptr = torch.Tensor.data_ptr

        def address(tensor: torch.Tensor) -> int:
            return self._address(tensor) if isinstance(tensor, FakeTensor) else data_ptr(tensor)

        torch.Tensor.data_ptr = address  # type: ignore[method-assign,assignment]

    def install_tuner(self) -> None:
        """After the port was imported: TileGym's tuner runs every configuration once instead of timing it."""
        module = importlib.import_module(untimed.AUTOTUNER)

        def noted(kernel_fn: Any, cfg: Any, *_args: Any, **_options: Any) -> tuple[Any, float]:
            self.poll("launch")
            found = untimed.run_once(kernel_fn, cfg)
            self.poll("tune")
            return found

        module._bench_config_cupti = noted  # type: ignore[attr-defined]

    def start(self, test: str) -> None:
        self.test = test
        self._storages.clear()
        self._numbers.clear()

    @property
    def made(self) -> list[Any]:
        """What was launched so far, in whatever form it was seen."""
        return self.launches

    def poll(self, purpose: Any) -> None:
        """Takes in what was launched since the last call, as made for `purpose`."""
        if not self._log.exists():
            return
        with self._log.open("rb") as file:
            file.seek(self._read)
            for line in file:
                self._read += len(line)
                self.launches.append(self._launch(line.decode("ascii"), purpose))

    def _launch(self, line: str, purpose: Any) -> records.PortLaunch:
        sha256, symbol, *numbers = line.split()
        return records.PortLaunch(
            test=self.test,
            purpose=purpose,
            grid=tuple(map(int, numbers[:3])),
            parameters=tuple(_parameter(*word.split(":")) for word in numbers[3:]),
            ir=records.Bytecode(sha256=sha256, symbol=symbol),
        )

    def _address(self, tensor: torch.Tensor) -> int:
        storage = tensor.untyped_storage()
        if storage._cdata not in self._numbers:
            self._numbers[storage._cdata] = len(self._storages)
            self._storages.append(storage)  # kept, so that no other storage gets its number
        base = FIRST_ADDRESS + self._numbers[storage._cdata] * STORAGE_SPACING
        return base + int(tensor.storage_offset()) * tensor.element_size()


def pointer_text(address: int) -> str:
    """Which storage an address given out here points into, and how many bytes from its beginning."""
    storage, offset = divmod(address - FIRST_ADDRESS, STORAGE_SPACING)
    return f"storage {storage} + {offset}"


def _parameter(type: str, word: str) -> records.PortParameter:
    bits = int(word, 16)
    if type == "ptr":
        return records.PortParameter(type=type, value=pointer_text(bits))
    if type.startswith("f"):
        width, code = {"f32": (4, "<f"), "f64": (8, "<d"), "f16": (2, "<e")}.get(type, (8, "<q"))
        return records.PortParameter(type=type, value=repr(struct.unpack(code, bits.to_bytes(8, "little")[:width])[0]))
    width = int("".join(filter(str.isdigit, type)) or 64)
    return records.PortParameter(
        type=type, value=str(bits - (1 << width) if bits >> (width - 1) and width > 1 else bits)
    )
