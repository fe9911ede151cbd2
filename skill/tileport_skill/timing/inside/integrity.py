"""What a port must leave alone: the functions by which it is timed and compared, which share a process with it."""

from __future__ import annotations

from tileport_skill.correctness.integrity import Snapshot

_INSIDE = "tileport_skill.timing.inside"
_WATCHED = {
    "torch.cuda": ("synchronize", "_sleep", "Event", "Event.record", "Event.elapsed_time"),
    "torch": (
        "isclose",
        "equal",
        "isfinite",
        "where",
        "Tensor.clone",
        "Tensor.copy_",
        "Tensor.zero_",
        "Tensor.data_ptr",
    ),
    "time": ("perf_counter_ns", "monotonic"),
    "random": ("SystemRandom", "SystemRandom.choice", "SystemRandom.shuffle"),
    "cupti.cupti": ("activity_flush_all", "activity_enable", "activity_disable", "activity_register_callbacks"),
    f"{_INSIDE}.cupti": ("Tracer.calls", "Tracer.spans", "Tracer._completed", "split", "spin"),
    f"{_INSIDE}.blocks": ("Runner.measure", "Runner._blocks", "Runner.discover", "_check", "host_ns", "event_ns"),
    f"{_INSIDE}.compare": ("compare", "_apart"),
}


def snapshot() -> Snapshot:
    """Each watched function as it is now; call it before anything of TileGym's is imported."""
    return Snapshot(tuple(f"{module}.{name}" for module, names in _WATCHED.items() for name in names))
