"""Ports that let somebody else do the work: another stream, a thread, torch, or the reference itself."""

from __future__ import annotations

from tests.hostile.catalogue import Port, appended

_REFERENCE = """
import importlib

_reference = importlib.import_module("tilegym.ops.cutile.silu_and_mul")
"""

DETOURS = (
    Port(
        name="side-stream",
        about="Launches on a stream of its own, which a timer of the caller's stream does not see.",
        hacks=(1,),
        rejected_by=("stream",),
        edits=appended("""
_SIDES = {}
_on_callers_stream = _launch


def _launch(function, tensors, hidden):
    device = tensors[0].device
    caller = torch.cuda.current_stream(device)
    side = _SIDES.setdefault(device, torch.cuda.Stream(device))
    side.wait_stream(caller)
    with torch.cuda.stream(side):
        _on_callers_stream(function, tensors, hidden)
    caller.wait_stream(side)
"""),
    ),
    Port(
        name="worker-thread",
        about="Launches from a thread that outlives the call.",
        hacks=(2,),
        rejected_by=("threads",),
        edits=appended("""
from concurrent.futures import ThreadPoolExecutor

_WORKER = ThreadPoolExecutor(1)
_in_this_thread = _launch


def _launch(function, tensors, hidden):
    stream = torch.cuda.current_stream(tensors[0].device)

    def work():
        with torch.cuda.stream(stream):
            _in_this_thread(function, tensors, hidden)

    _WORKER.submit(work).result()
"""),
    ),
    Port(
        name="raw-thread",
        about="The same, with a thread that Python's threading knows nothing of.",
        hacks=(2,),
        rejected_by=("threads",),
        edits=appended("""
import _thread
import queue

_ASKED = queue.SimpleQueue()
_in_this_thread = _launch


def _serve():
    while True:
        work, done = _ASKED.get()
        try:
            work()
            done.put(None)
        except Exception as error:
            done.put(error)


_thread.start_new_thread(_serve, ())


def _launch(function, tensors, hidden):
    stream = torch.cuda.current_stream(tensors[0].device)

    def work():
        with torch.cuda.stream(stream):
            _in_this_thread(function, tensors, hidden)

    done = queue.SimpleQueue()
    _ASKED.put((work, done))
    if error := done.get():
        raise error
"""),
    ),
    Port(
        name="torch-does-it",
        about="Calls torch's own kernels.",
        hacks=(19,),
        rejected_by=("kernels",),
        also=("entries",),
        edits=appended("""
def _forward(input, out):
    hidden = input.shape[-1] // 2
    result = torch.nn.functional.silu(input[..., :hidden]) * input[..., hidden:]
    return result if out is None else out.copy_(result)
"""),
    ),
    Port(
        name="one-row-by-the-port",
        about="Torch computes everything, and the port's kernel the first row once more.",
        hacks=(23,),
        rejected_by=("kernels",),
        edits=appended("""
def _forward(input, out):
    hidden = input.shape[-1] // 2
    rows = input.view(-1, input.shape[-1])
    output = torch.nn.functional.silu(rows[:, :hidden]) * rows[:, hidden:]
    _launch("cutile_silu_and_mul", (output[:1], rows[:1]), hidden)
    return output.view(*input.shape[:-1], hidden)
"""),
    ),
    Port(
        name="backward-by-torch",
        about="Declares a backward kernel that never runs: torch computes the gradient.",
        hacks=(19, 23),
        rejected_by=("entries",),
        also=("kernels",),
        edits=appended("""
def _backward(ctx, grad_output):
    (input,) = ctx.saved_tensors
    hidden = grad_output.shape[-1]
    gate, value = input[..., :hidden], input[..., hidden:]
    sigmoid = torch.sigmoid(gate)
    grad_gate = grad_output * value * sigmoid * (1 + gate * (1 - sigmoid))
    return torch.cat([grad_gate, grad_output * gate * sigmoid], dim=-1)


_SiluAndMul.backward = staticmethod(_backward)
"""),
    ),
    Port(
        name="falls-back",
        about="Asks the reference whenever rows are long.",
        hacks=(20,),
        rejected_by=("bypass",),
        also=("kernels",),
        edits=appended("""
from tilegym.ops.cutile.silu_and_mul import silu_and_mul as _reference


@register_impl("silu_and_mul", backend="cutile-rs")
def _guarded(input, out=None, **unused):
    try:
        if input.shape[-1] > 4096:
            raise NotImplementedError("too long")
        return silu_and_mul(input, out)
    except NotImplementedError:
        return _reference(input, out)
"""),
    ),
    Port(
        name="reference-behind-a-launch",
        about="The port's kernel writes where nobody looks; the result is the reference's.",
        hacks=(20, 34),
        rejected_by=("bypass",),
        edits=appended(
            _REFERENCE
            + """

def _forward(input, out):
    hidden = input.shape[-1] // 2
    rows = input.view(-1, input.shape[-1])
    output = torch.empty((rows.shape[0], hidden), dtype=input.dtype, device=input.device)
    _launch("cutile_silu_and_mul", (torch.empty_like(output), rows), hidden)
    _reference._silu_and_mul_forward(rows, output, hidden)
    return output.view(*input.shape[:-1], hidden)
"""
        ),
    ),
    Port(
        name="uncounted-launch",
        about="The same, with cuTile's launch function taken before anybody could count its calls.",
        hacks=(20, 34),
        rejected_by=("bypass",),
        edits=appended(
            _REFERENCE
            + """
_ct_launch = _reference.ct.launch


def _forward(input, out):
    hidden = input.shape[-1] // 2
    rows = input.view(-1, input.shape[-1])
    output = torch.empty((rows.shape[0], hidden), dtype=input.dtype, device=input.device)
    _launch("cutile_silu_and_mul", (torch.empty_like(output), rows), hidden)
    arguments = (rows, output, next_power_of_2(hidden), hidden)
    stream = torch.cuda.current_stream(input.device)
    _ct_launch(stream, (rows.shape[0],), _reference._silu_and_mul_kernel_row_wise, arguments)
    return output.view(*input.shape[:-1], hidden)
"""
        ),
    ),
    Port(
        name="inherits-the-reference",
        about="A class of the reference's with a new forward: the backward pass is inherited.",
        hacks=(21,),
        rejected_by=("bypass",),
        also=("entries",),
        edits=appended(
            _REFERENCE
            + """

class _Inherited(_reference._SiLUAndMulFunction):
    forward = staticmethod(_SiluAndMul.forward)


_SiluAndMul = _Inherited
"""
        ),
    ),
    Port(
        name="fallback-backend",
        about="Takes its registration back, so that the dispatcher falls back to a version in torch.",
        hacks=(29,),
        rejected_by=("bypass",),
        also=("process", "entries"),
        edits=appended("""
import importlib
import os

os.environ["DISABLE_FALLBACK"] = "0"
importlib.import_module("tilegym.backend.dispatcher")._REGISTRY["silu_and_mul"].pop("cutile-rs")


@register_impl("silu_and_mul", backend="pytorch")
def _in_torch(input, out=None, **unused):
    hidden = input.shape[-1] // 2
    return torch.nn.functional.silu(input[..., :hidden]) * input[..., hidden:]
"""),
    ),
    Port(
        name="switched-backend",
        about="Tells the dispatcher that the reference's backend was asked for.",
        hacks=(20, 29),
        rejected_by=("bypass",),
        edits=appended("""
import importlib

importlib.import_module("tilegym.backend.dispatcher").get_current_backend = lambda: "cutile"
"""),
    ),
    Port(
        name="needless-copy",
        about="Copies its input before every launch.",
        rejected_by=("copies",),
        edits=appended("""
_without_copy = _forward


def _forward(input, out):
    return _without_copy(input.clone(), out)
"""),
    ),
    Port(
        name="half-precision",
        about="Halves the traffic by computing in float16.",
        hacks=(6,),
        rejected_by=("copies",),
        also=("tests", "values"),
        edits=appended("""
_in_full = _forward


def _forward(input, out):
    return _in_full(input.half(), None).to(input.dtype)
"""),
    ),
)
