"""Device facts by architecture. A capture asks these, never the machine it runs on."""

from __future__ import annotations

from dataclasses import dataclass

from tileport_skill.errors import RequestError


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What host code may ask of a device, as the vendor's data sheets give it."""

    name: str
    device_name: str
    capability: tuple[int, int]
    sms: int
    memory: int
    """Bytes of device memory."""
    shared_memory: int = 232_448
    """Bytes of shared memory a block may ask for."""
    l2_cache: int = 50 << 20

    @property
    def arch(self) -> str:
        return f"sm_{self.capability[0]}{self.capability[1]}"


PROFILES = {
    profile.name: profile
    for profile in (
        Profile(name="h200", device_name="NVIDIA H200", capability=(9, 0), sms=132, memory=141 << 30),
        Profile(name="b200", device_name="NVIDIA B200", capability=(10, 0), sms=148, memory=180 << 30),
        Profile(
            name="rtx-pro-6000",
            device_name="NVIDIA RTX PRO 6000 Blackwell",
            capability=(12, 0),
            sms=188,
            memory=96 << 30,
            shared_memory=101_376,
        ),
    )
}


def profile_of(arch_or_name: str) -> Profile:
    """The profile of that name, or the one of that architecture (`sm_90`)."""
    for profile in PROFILES.values():
        if arch_or_name in (profile.name, profile.arch):
            return profile
    known = ", ".join(f"{p.arch} ({p.name})" for p in PROFILES.values())
    raise RequestError(f"No device profile for {arch_or_name!r}. Known: {known}.")
