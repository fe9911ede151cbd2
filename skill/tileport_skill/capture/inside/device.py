"""A GPU that is not there: torch's CUDA module answering from a named profile."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch

from tileport_skill.capture.profiles import Profile


class FakeStream:
    """The one stream, idle at all times."""

    cuda_stream = 0
    device_index = 0

    def __init__(self, *_args: object, **_options: object) -> None:
        self.device = torch.device("cuda:0")

    def __enter__(self) -> FakeStream:
        return self

    def __exit__(self, *_error: object) -> None:
        return None

    def synchronize(self) -> None: ...
    def wait_stream(self, _other: object) -> None: ...
    def wait_event(self, _event: object) -> None: ...

    def query(self) -> bool:
        return True

    def record_event(self, _event: object = None) -> FakeEvent:
        return FakeEvent()


class FakeEvent:
    """An event that has always happened."""

    def __init__(self, *_args: object, **_options: object) -> None: ...
    def record(self, _stream: object = None) -> None: ...
    def synchronize(self) -> None: ...
    def wait(self, _stream: object = None) -> None: ...

    def query(self) -> bool:
        return True

    def elapsed_time(self, _other: object) -> float:
        return 1.0


class FakeProperties:
    """What `torch.cuda.get_device_properties` tells about the profile's device."""

    def __init__(self, profile: Profile) -> None:
        self.name = profile.device_name
        self.major, self.minor = profile.capability
        self.multi_processor_count = profile.sms
        self.total_memory = profile.memory
        self.shared_memory_per_block = 49_152
        self.shared_memory_per_block_optin = profile.shared_memory
        self.shared_memory_per_multiprocessor = profile.shared_memory + 1024
        self.L2_cache_size = profile.l2_cache
        self.warp_size = 32
        self.max_threads_per_multi_processor = 2048
        self.regs_per_multiprocessor = 65_536
        self.gcnArchName = ""


@contextlib.contextmanager
def _entered(*_args: object) -> Iterator[None]:
    yield


def install(profile: Profile) -> None:
    """Replaces the parts of `torch.cuda` that would ask a driver."""
    properties = FakeProperties(profile)
    stream = FakeStream()
    answers: dict[str, object] = {
        "is_available": True,
        "is_initialized": True,
        "is_bf16_supported": True,
        "device_count": 1,
        "current_device": 0,
        "get_device_capability": profile.capability,
        "get_device_properties": properties,
        "get_device_name": profile.device_name,
        "current_stream": stream,
        "default_stream": stream,
        "mem_get_info": (profile.memory, profile.memory),
        "memory_allocated": 0,
        "max_memory_allocated": 0,
        "memory_reserved": 0,
        "max_memory_reserved": 0,
    }
    silent = (
        "init _lazy_init set_device synchronize empty_cache reset_peak_memory_stats reset_max_memory_allocated "
        "manual_seed manual_seed_all ipc_collect"
    )
    for name, answer in [*answers.items(), *((name, None) for name in silent.split())]:
        setattr(torch.cuda, name, _answering(answer))
    for name, replacement in {
        "Stream": FakeStream,
        "Event": FakeEvent,
        "stream": _entered,
        "device": _entered,
        "device_of": _entered,
    }.items():
        setattr(torch.cuda, name, replacement)


def _answering(answer: object) -> Any:
    return lambda *_args, **_options: answer
