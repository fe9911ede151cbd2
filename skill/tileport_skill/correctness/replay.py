"""One call made on a GPU, watched: what it returned, changed, launched and left running."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from tileport_skill.correctness.calls import map_tensors, tensors_in
from tileport_skill.correctness.integrity import python_threads, thread_count
from tileport_skill.correctness.records import Kernel, Observation, Value
from tileport_skill.correctness.tracing import Trace

SAVED_ELEMENTS = 1 << 26
"""A tensor of more elements is kept as samples and a checksum of each of its stretches."""
_SAMPLES = 1 << 20
_MESSAGE = 500


@dataclass(slots=True)
class Returned:
    """What a call gave back, before anything is said of it."""

    outputs: list[Any] = field(default_factory=list)
    gradients: list[torch.Tensor | None] = field(default_factory=list)


def observe(
    item: str, function: Callable[..., Any], arguments: Any, seed: int, trace: Trace | None
) -> tuple[Observation, Any]:
    """Makes the call; returns what was seen, and its values for comparing elsewhere, on the CPU."""
    args, kwargs = arguments
    inputs = tensors_in(arguments)
    before = [_bytes_of(tensor).clone() for tensor in inputs]
    _poison(inputs)
    threads, stream = thread_count(), torch.cuda.current_stream()
    work: list[Kernel] = []
    try:
        if trace is None:
            returned = _run(function, args, kwargs, inputs, seed)
        else:
            with trace.window() as work:
                _mark()
                returned = _run(function, args, kwargs, inputs, seed)
        stream.synchronize()
    except Exception as error:
        _raise_if_lost(error)
        return Observation(item=item, error=f"{type(error).__name__}: {str(error)[:_MESSAGE]}"), None
    changed = tuple(n for n, tensor in enumerate(inputs) if not torch.equal(_bytes_of(tensor), before[n]))
    observation = Observation(
        item=item,
        error=None,
        outputs=tuple(_value(output, inputs) for output in returned.outputs),
        gradients=tuple(None if grad is None else _value(grad, inputs) for grad in returned.gradients),
        changed=changed,
        work=tuple(work[1:]),
        stream=work[0].stream if work else -1,
        threads=python_threads() + max(0, thread_count() - threads),
    )
    return observation, _values(returned)


def on_two_streams(function: Callable[..., Any], arguments: Any, seed: int) -> Any:
    """The same call on two streams at once; both results must be the one result."""
    copies = _copies(arguments)
    streams = [torch.cuda.Stream(), torch.cuda.Stream()]  # type: ignore[no-untyped-call]
    found: list[Returned] = []
    for (args, kwargs), stream in zip(copies, streams, strict=True):
        with torch.cuda.stream(stream):
            found.append(_run(function, args, kwargs, tensors_in((args, kwargs)), seed))
    for stream in streams:
        stream.synchronize()
    return [_values(returned) for returned in found]


def on_two_threads(function: Callable[..., Any], arguments: Any, seed: int) -> Any:
    """The same call from two threads at once, each on a stream of its own."""
    copies = _copies(arguments)
    found: dict[int, Any] = {}

    def work(number: int) -> None:
        try:
            args, kwargs = copies[number]
            with torch.cuda.stream(torch.cuda.Stream()):  # type: ignore[no-untyped-call]
                found[number] = _values(_run(function, args, kwargs, tensors_in((args, kwargs)), seed))
        except Exception as error:
            found[number] = error

    threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for value in found.values():
        if isinstance(value, Exception):
            raise value
    return [found[0], found[1]]


def on_second_device(function: Callable[..., Any], arguments: Any, seed: int) -> Any:
    """The call with everything on another device than the first, which the process has used so far."""
    args, kwargs = _moved(arguments, "cuda:1")
    with torch.cuda.device(1):
        returned = _run(function, args, kwargs, tensors_in((args, kwargs)), seed)
        torch.cuda.synchronize(1)
        return _values(returned)


def in_graph(function: Callable[..., Any], arguments: Any, seed: int) -> Any:
    """The forward pass captured in a CUDA graph and replayed over poisoned results: a launch may not wait or copy."""
    warm, (args, kwargs) = _copies(arguments)
    stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()  # type: ignore[no-untyped-call]
    torch.manual_seed(seed)
    with torch.no_grad():
        with torch.cuda.stream(stream):
            function(*warm[0], **warm[1])
        stream.synchronize()
        with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
            result = function(*args, **kwargs)
        outputs = list(result) if isinstance(result, (list, tuple)) else [result]
        given = {tensor.untyped_storage().data_ptr() for tensor in tensors_in((args, kwargs))}
        for output in tensors_in(outputs):
            if output.untyped_storage().data_ptr() not in given:
                _bytes_of(output).fill_(0xFF)
        torch.cuda.synchronize()
        graph.replay()
        torch.cuda.synchronize()
    return _values(Returned(outputs=outputs))


def _copies(arguments: Any) -> list[Any]:
    """Two of them, written to the end: no other stream waits for the one that copies."""
    copies = [_moved(arguments), _moved(arguments)]
    torch.cuda.synchronize()
    return copies


def _moved(arguments: Any, device: str = "cuda") -> Any:
    return map_tensors(arguments, lambda t: t.detach().to(device, copy=True).requires_grad_(t.requires_grad))


def _run(function: Callable[..., Any], args: Any, kwargs: Any, inputs: list[torch.Tensor], seed: int) -> Returned:
    """Forward, and backward where inputs ask for it and the result takes part."""
    torch.manual_seed(seed)
    result = function(*args, **kwargs)
    outputs = list(result) if isinstance(result, (list, tuple)) else [result]
    wanted = [tensor for tensor in inputs if tensor.requires_grad]
    roots = [output for output in outputs if isinstance(output, torch.Tensor) and output.requires_grad]
    gradients: list[torch.Tensor | None] = []
    if wanted and roots:
        source = torch.Generator(device="cuda").manual_seed(seed)
        directions = [_direction(root, source) for root in roots]
        gradients = list(torch.autograd.grad(roots, wanted, directions, allow_unused=True))
    return Returned(outputs=outputs, gradients=gradients)


def _direction(root: torch.Tensor, source: torch.Generator) -> torch.Tensor:
    noise = torch.randn(root.shape, generator=source, device=root.device, dtype=torch.float32)
    return (0.1 * noise).to(root.dtype)


def _mark() -> None:
    """One fill on the current stream: the first record of a window says which stream the call was made on."""
    torch.empty(1, device="cuda").fill_(0.0)


def _poison(inputs: list[torch.Tensor]) -> None:
    """Leaves NaN bytes where the call's own allocations are likely to land."""
    sizes = {max(512, tensor.untyped_storage().nbytes()) for tensor in inputs if tensor.is_cuda}
    blocks = [torch.full((size,), 0xFF, dtype=torch.uint8, device="cuda") for size in sizes for _ in range(3)]
    blocks += [torch.full((size // 2,), 0xFF, dtype=torch.uint8, device="cuda") for size in sizes for _ in range(3)]
    del blocks


def _bytes_of(tensor: torch.Tensor) -> torch.Tensor:
    """The whole storage, padding included, as bytes."""
    room = torch.empty(0, dtype=torch.uint8, device=tensor.device)
    storage = tensor.untyped_storage()
    return room.set_(storage, 0, (storage.nbytes(),), (1,))


def _value(value: Any, inputs: list[torch.Tensor]) -> Value:
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    if not isinstance(value, torch.Tensor):
        return Value(type=kind)
    try:
        address = value.untyped_storage().data_ptr()
    except Exception:
        address = 0
    storages = [tensor.untyped_storage().data_ptr() for tensor in inputs]
    return Value(
        type=kind,
        dtype=str(value.dtype),
        shape=tuple(value.shape),
        stride=tuple(value.stride()),
        device=str(value.device),
        requires_grad=value.requires_grad,
        alias=storages.index(address) if address and address in storages else -1,
        storage=bool(address) or value.numel() == 0,
    )


def _values(returned: Returned) -> dict[str, Any]:
    return {"outputs": [_kept(v) for v in returned.outputs], "gradients": [_kept(v) for v in returned.gradients]}


def _kept(value: Any) -> Any:
    """A tensor's values on the CPU; of a very large one, samples and checksums. Anything else as its text."""
    if not isinstance(value, torch.Tensor):
        return None if value is None else repr(value)[:_MESSAGE]
    value = value.detach()
    with torch._C.DisableTorchFunctionSubclass():
        # The port's own class has no meaning, and must have none, where the values are compared.
        value = value.as_subclass(torch.Tensor)
    if value.numel() <= SAVED_ELEMENTS:
        return value.contiguous().cpu()
    flat = value.reshape(-1)
    places = torch.linspace(0, flat.numel() - 1, _SAMPLES, dtype=torch.float64, device=flat.device).long()
    sums = [part.view(torch.uint8).sum(dtype=torch.int64) for part in flat.split(1 << 26)]
    return {"shape": tuple(value.shape), "samples": flat[places].cpu(), "sums": torch.stack(sums).cpu()}


def _raise_if_lost(error: Exception) -> None:
    """A device that answers nothing any more cannot be judged further."""
    text = str(error)
    if "CUDA error" in text or "illegal memory access" in text or "unspecified launch failure" in text:
        raise error
