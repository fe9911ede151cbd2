"""Global memory while a kernel runs: buffers far apart, each element knowing who touched it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tileport_skill.tileir.elements import Array, bits_of
from tileport_skill.tileir.launch import Buffer

SPACING = 40
"""Bits between the addresses of two buffers, so that no wrong index reaches from one into another."""

Report = Callable[[str, str], None]


class Region:
    """One buffer. Elements remember the last block and access that wrote and read them."""

    def __init__(self, name: str, data: Array, *, initialised: bool, tracked: bool) -> None:
        count = data.size
        self.name, self.data = name, data.copy().reshape(-1)
        # Zeros cost nothing until they are touched, so blocks are noted by their number plus one.
        self.poison = np.zeros(count, bool) if initialised else np.ones(count, bool)
        self.touched = np.zeros(count, bool)
        self.tracked = tracked
        self.read = self.written = False
        self.writer_block = np.zeros(count, np.int32)
        self.writer_access = np.zeros(count, np.int32)
        self.reader_block = np.zeros(count, np.int32)
        self.reader_access = np.zeros(count, np.int32)


class Memory:
    """All buffers of a launch. Each block announces itself by `begin` before it runs."""

    def __init__(self, buffers: list[Buffer], tracked: frozenset[int] = frozenset()) -> None:
        self.regions = [Region(b.name, b.data, initialised=True, tracked=i in tracked) for i, b in enumerate(buffers)]
        self.block = 0
        self.access = 0

    def begin(self, block: int) -> None:
        """The next block runs; its accesses are counted from 1."""
        self.block, self.access = block, 0

    def address(self, index: int) -> int:
        return (index + 1) << SPACING

    def owner(self, address: int) -> int:
        """The place among the buffers of the one `address` lies in."""
        return (address >> SPACING) - 1

    def allocate(self, name: str, dtype: np.dtype[Any], count: int) -> int:
        """Memory of one block, uninitialised; its address."""
        self.regions.append(Region(name, np.zeros(count, dtype), initialised=False, tracked=True))
        return self.address(len(self.regions) - 1)

    def both_read_and_written(self) -> frozenset[int]:
        return frozenset(i for i, region in enumerate(self.regions) if region.read and region.written)

    def load(
        self, addresses: Array, wanted: Array, dtype: np.dtype[Any], before: int, report: Report
    ) -> tuple[Array, Array]:
        """The elements at `addresses` where `wanted`, and which of them are unspecified."""
        data = np.zeros(addresses.shape, dtype)
        poison = np.zeros(addresses.shape, bool)
        for region, where, index in self._places(addresses, wanted, dtype, report):
            region.read = True
            data[where] = region.data.view(dtype)[index]
            poison[where] = region.poison[index]
            if region.tracked:
                self._check(region.writer_block, region.writer_access, index, before, "read", report)
                region.reader_block[index] = self.block + 1
                region.reader_access[index] = self.access
                if region.poison[index].any() and not region.touched[index].all():
                    report("uninitialised", f"reads elements of {region.name} that nothing has written")
        return data, poison

    def store(
        self, addresses: Array, wanted: Array, data: Array, poison: Array | None, before: int, report: Report
    ) -> None:
        """Writes `data` where `wanted`."""
        for region, where, index in self._places(addresses, wanted, data.dtype, report):
            region.written = True
            self._check(region.writer_block, region.writer_access, index, before, "written", report)
            if region.tracked:
                self._check(region.reader_block, region.reader_access, index, before, "overwritten", report)
            values = data[where]
            view = region.data.view(data.dtype)
            view[index] = values
            if (view[index].view(bits_of(data.dtype)) != values.view(bits_of(data.dtype))).any():
                report("race", f"one store gives an element of {region.name} two values")
            region.poison[index] = False if poison is None else poison[where]
            region.touched[index] = True
            region.writer_block[index] = self.block + 1
            region.writer_access[index] = self.access

    def modify(
        self,
        addresses: Array,
        wanted: Array,
        dtype: np.dtype[Any],
        change: Callable[[Any, Any], Any],
        arguments: Array,
        report: Report,
    ) -> Array:
        """Atomically replaces each element by `change(element, argument)`; the old elements."""
        old = np.zeros(addresses.shape, dtype)
        for region, where, index in self._places(addresses, wanted, dtype, report):
            region.read = region.written = True
            view, given, seen = region.data.view(dtype), arguments[where], np.zeros(index.size, dtype)
            for lane in range(index.size):
                seen[lane] = view[index[lane]]
                view[index[lane]] = change(seen[lane], given[lane])
            old[where] = seen
            region.touched[index] = True
        return old

    def _places(
        self, addresses: Array, wanted: Array, dtype: np.dtype[Any], report: Report
    ) -> list[tuple[Region, Array, Array]]:
        """For each buffer hit: which lanes, and the elements' places in it. Lanes outside are reported."""
        if not wanted.any():
            return []
        found = []
        numbers = (addresses >> SPACING) - 1
        for number in np.unique(numbers[wanted]):
            here = wanted & (numbers == number)
            offsets = addresses[here] - self.address(int(number))
            region = self.regions[number] if 0 <= number < len(self.regions) else None
            if region is None or region.data.dtype.itemsize != dtype.itemsize:
                report("out of bounds", "an address that is no element of any buffer")
                continue
            index, rest = offsets // dtype.itemsize, offsets % dtype.itemsize
            inside = (index >= 0) & (index < region.data.size) & (rest == 0)
            if not inside.all():
                worst = index[~inside][0]
                report("out of bounds", f"element {worst} of {region.name}, which has {region.data.size}")
                lanes = np.zeros(addresses.shape, bool)
                lanes[here] = inside
                here, index = lanes, index[inside]
            found.append((region, here, index))
        return found

    def _check(self, blocks: Array, accesses: Array, index: Array, before: int, doing: str, report: Report) -> None:
        """Reports an earlier access to the same elements that nothing orders before this one."""
        owners = blocks[index]
        if ((owners > 0) & (owners != self.block + 1)).any():
            report("race", f"an element is {doing} that another block touches")
        mine = np.unique(accesses[index][owners == self.block + 1])
        if any(not before >> int(access) & 1 for access in mine):
            report("unordered", f"an element is {doing} by an access no token orders after an earlier one")
