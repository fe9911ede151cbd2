"""Ports as honest engineers may write them: other structure, other caches, other allocations, the same work."""

from __future__ import annotations

from tests.hostile.catalogue import Edit, Port, appended

_BIND = '    ffi, library = bind_kernel_function_cffi("silu_and_mul", _CDEF)\n'
_ROWS = "    rows = input.view(-1, input.shape[-1])\n    output = out\n"
_ALLOCATION = "        output = torch.empty((rows.shape[0], hidden), dtype=input.dtype, device=input.device)\n"
_CONTIGUOUS = "    input = input.contiguous()\n    if input.requires_grad:\n"
_CAT = "        return torch.cat([grad_a.view(grad_output.shape), grad_b.view(grad_output.shape)], dim=-1)\n"
_GRADIENTS = "        grad_a, grad_b = torch.empty_like(grad_rows), torch.empty_like(grad_rows)\n"
_STREAM = "        torch.cuda.current_stream(device).cuda_stream,\n"
_OUT = (
    "    if out.is_contiguous():\n        return _forward(input, out)\n"
    "    out.copy_(_forward(input, None))\n    return out\n"
)
_REFUSAL = (
    "    if input.dtype not in _DTYPES:\n"
    '        raise NotImplementedError(f"cutile-rs silu_and_mul: {input.dtype} is not supported")\n'
)
_TUNED = """    dtype, device = tensors[0].dtype, tensors[0].device

    def run("""
_IMPORTS = "from types import SimpleNamespace\n"


def _variant(name: str, about: str, *edits: tuple[str, str]) -> Port:
    return Port(name=name, about=about, gate=None, edits=tuple(Edit(old=old, new=new) for old, new in edits))


HONEST = (
    Port(name="as-written", about="The port itself.", gate=None, edits=()),
    _variant(
        "cached-library",
        "Binds the library once, with lru_cache.",
        (_IMPORTS, "from functools import lru_cache\n" + _IMPORTS),
        (
            "def _call(function",
            '@lru_cache(maxsize=1)\ndef _library():\n    return bind_kernel_function_cffi("silu_and_mul", _CDEF)\n\n\n'
            "def _call(function",
        ),
        (_BIND, "    ffi, library = _library()\n"),
    ),
    _variant(
        "locked-library",
        "Binds the library once, under a lock.",
        (_IMPORTS, "import threading\n" + _IMPORTS),
        ("_AUTO = -1\n", "_AUTO = -1\n_LOCK = threading.Lock()\n_BOUND = None\n"),
        (
            _BIND,
            "    global _BOUND\n    with _LOCK:\n        if _BOUND is None:\n"
            '            _BOUND = bind_kernel_function_cffi("silu_and_mul", _CDEF)\n    ffi, library = _BOUND\n',
        ),
    ),
    _variant(
        "library-per-thread",
        "Keeps the handle in a thread's own storage.",
        (_IMPORTS, "import threading\n" + _IMPORTS),
        ("_AUTO = -1\n", "_AUTO = -1\n_MINE = threading.local()\n"),
        (
            _BIND,
            '    if not hasattr(_MINE, "bound"):\n'
            '        _MINE.bound = bind_kernel_function_cffi("silu_and_mul", _CDEF)\n'
            "    ffi, library = _MINE.bound\n",
        ),
    ),
    _variant(
        "dataclass-configurations",
        "Configurations of a class of their own.",
        (_IMPORTS, "from dataclasses import dataclass\n"),
        (
            "def _configurations(tile_bytes: int, device: torch.device) -> list[SimpleNamespace]:\n",
            "@dataclass(frozen=True)\nclass _Configuration:\n    num_ctas: int\n    occupancy: int\n\n\n"
            "def _configurations(tile_bytes: int, device: torch.device) -> list[_Configuration]:\n",
        ),
        ("return [SimpleNamespace(", "return [_Configuration("),
        ("def run(configuration: SimpleNamespace)", "def run(configuration: _Configuration)"),
    ),
    _variant(
        "named-tuple-configurations",
        "Configurations as named tuples.",
        (_IMPORTS, "from collections import namedtuple\n"),
        ("_AUTO = -1\n", '_AUTO = -1\n_Configuration = namedtuple("_Configuration", ("num_ctas", "occupancy"))\n'),
        ("-> list[SimpleNamespace]:", "-> list[_Configuration]:"),
        ("return [SimpleNamespace(", "return [_Configuration("),
        ("def run(configuration: SimpleNamespace)", "def run(configuration: _Configuration)"),
    ),
    _variant(
        "never-tuned",
        "Leaves every choice to the compiler.",
        ("    if is_autotune_disabled():\n", "    if True:\n"),
    ),
    _variant(
        "reshape",
        "Reshapes where the port views.",
        (_ROWS, _ROWS.replace("view", "reshape")),
        (
            "    return output.view(*input.shape[:-1], hidden)\n",
            "    return output.reshape(*input.shape[:-1], hidden)\n",
        ),
    ),
    _variant(
        "flatten",
        "Flattens the leading dimensions.",
        (_ROWS, _ROWS.replace("view(-1, input.shape[-1])", "flatten(0, -2)")),
    ),
    _variant(
        "new-empty",
        "Allocates from the input.",
        (_ALLOCATION, "        output = input.new_empty((rows.shape[0], hidden))\n"),
    ),
    _variant(
        "empty-like",
        "Allocates like a part of the input.",
        (_ALLOCATION, "        output = torch.empty_like(rows[:, :hidden], memory_format=torch.contiguous_format)\n"),
    ),
    _variant(
        "shaped-allocation",
        "Allocates in the final shape.",
        (
            _ALLOCATION,
            "        output = torch.empty((*input.shape[:-1], hidden), dtype=input.dtype, device=input.device)\n",
        ),
    ),
    _variant(
        "asks-before-copying",
        "Copies only what is not contiguous, and says so.",
        (_CONTIGUOUS, _CONTIGUOUS.replace("    input =", "    if not input.is_contiguous():\n        input =", 1)),
    ),
    _variant(
        "one-gradient",
        "Writes both gradients into the halves of one tensor, which saves a kernel.",
        (
            _GRADIENTS,
            "        grad = torch.empty_like(rows)\n        grad_a, grad_b = grad[:, :hidden], grad[:, hidden:]\n",
        ),
        (_CAT, "        return grad.view(input.shape)\n"),
    ),
    _variant(
        "gradient-only-if-asked",
        "Asks autograd whether the gradient is wanted.",
        (
            "        (input,) = ctx.saved_tensors\n",
            "        if not ctx.needs_input_grad[0]:\n            return None\n        (input,) = ctx.saved_tensors\n",
        ),
    ),
    _variant(
        "once-differentiable",
        "Says that there is no second derivative.",
        (
            "    @staticmethod\n    def backward(",
            "    @staticmethod\n    @torch.autograd.function.once_differentiable\n    def backward(",
        ),
    ),
    _variant(
        "context-attribute",
        "Keeps the row length in the context.",
        (
            "        ctx.save_for_backward(input)\n",
            "        ctx.save_for_backward(input)\n        ctx.hidden = input.shape[-1] // 2\n",
        ),
        ("        hidden = grad_output.shape[-1]\n", "        hidden = ctx.hidden\n"),
    ),
    _variant(
        "grad-mode",
        "Takes the path with a gradient only where one can be asked for.",
        ("    if input.requires_grad:\n", "    if torch.is_grad_enabled() and input.requires_grad:\n"),
    ),
    _variant("no-grad", "Launches under no_grad.", ("def _forward(input", "@torch.no_grad()\ndef _forward(input")),
    _variant(
        "device-guard",
        "Makes the tensor's device current while it launches.",
        (
            "    code = getattr(library, function)(",
            "    with torch.cuda.device(device):\n      code = getattr(library, function)(",
        ),
    ),
    _variant(
        "validates",
        "Checks more than the reference does.",
        (
            _REFUSAL,
            _REFUSAL + "    if input.dim() < 1 or input.shape[-1] % 2:\n"
            '        raise ValueError(f"the last dimension must be even: {tuple(input.shape)}")\n'
            "    if out is not None and (out.dtype, out.device) != (input.dtype, input.device):\n"
            '        raise ValueError("out must have the type and the device of the input")\n',
        ),
    ),
    _variant(
        "logs",
        "Logs its launches.",
        (_IMPORTS, "import logging\n" + _IMPORTS),
        ("_AUTO = -1\n", "_AUTO = -1\n_LOG = logging.getLogger(__name__)\n"),
        (
            "    tile_size = next_power_of_2(hidden)\n",
            '    tile_size = next_power_of_2(hidden)\n    _LOG.debug("%s of %d", function, hidden)\n',
        ),
    ),
    _variant(
        "remembers-tile-sizes",
        "Computes the tile size once for each length.",
        (_IMPORTS, "from functools import lru_cache\n" + _IMPORTS),
        ("_AUTO = -1\n", "_AUTO = -1\n_tile_size = lru_cache(maxsize=None)(next_power_of_2)\n"),
        ("    tile_size = next_power_of_2(hidden)\n", "    tile_size = _tile_size(hidden)\n"),
    ),
    _variant(
        "remembers-streams",
        "Takes the stream's handle from a helper of its own.",
        (
            "def _call(function",
            "def _handle(device):\n    return torch.cuda.current_stream(device).cuda_stream\n\n\ndef _call(function",
        ),
        (_STREAM, "        _handle(device),\n"),
    ),
    _variant(
        "match-on-type",
        "Chooses by a match statement.",
        (
            _REFUSAL,
            "    match input.dtype:\n        case torch.float32 | torch.float16 | torch.bfloat16:\n            pass\n"
            "        case other:\n"
            '            raise NotImplementedError(f"cutile-rs silu_and_mul: {other} is not supported")\n',
        ),
    ),
    _variant(
        "own-result-for-out",
        "Always writes a tensor of its own where `out` is strided, in another order.",
        (
            _OUT,
            "    if not out.is_contiguous():\n        return out.copy_(_forward(input, None))\n"
            "    return _forward(input, out)\n",
        ),
    ),
    _variant(
        "keyword-launch",
        "Launches through a partial function.",
        (_IMPORTS, "from functools import partial\n" + _IMPORTS),
        (
            '    _launch("cutile_silu_and_mul", (output.view(-1, hidden), rows), hidden)\n',
            '    partial(_launch, "cutile_silu_and_mul")(tensors=(output.view(-1, hidden), rows), hidden=hidden)\n',
        ),
    ),
    _variant(
        "descriptors-first",
        "Builds the descriptors before the call and keeps them until after it.",
        (
            "    code = getattr(library, function)(\n        *[make_tensor_desc(ffi, tensor) for tensor in tensors],\n",
            "    descriptors = [make_tensor_desc(ffi, tensor) for tensor in tensors]\n"
            "    code = getattr(library, function)(\n        *descriptors,\n",
        ),
    ),
    Port(
        name="a-class",
        about="The operator as an object.",
        gate=None,
        edits=appended("""
class _Operator:
    def __init__(self, function):
        self._function = function

    def __call__(self, input, out=None, **unused):
        return self._function(input, out, **unused)


_operator = _Operator(silu_and_mul)


@register_impl("silu_and_mul", backend="cutile-rs")
def _through_the_object(input, out=None, **unused):
    return _operator(input, out, **unused)
"""),
    ),
    _variant(
        "tuning-key",
        "Tunes by tile size too.",
        (
            "        key=(function, hidden, dtype, str(device)),\n",
            "        key=(function, tile_size, hidden, dtype, device.index),\n",
        ),
    ),
    _variant(
        "returns-early",
        "Answers an empty input without a launch.",
        (
            '    _launch("cutile_silu_and_mul", (output.view(-1, hidden), rows), hidden)\n',
            '    if rows.shape[0]:\n        _launch("cutile_silu_and_mul", (output.view(-1, hidden), rows), hidden)\n',
        ),
    ),
    _variant(
        "size-method",
        "Other words for the same sizes.",
        ("    hidden = input.shape[-1] // 2\n    rows", "    hidden = input.size(-1) >> 1\n    rows"),
        (
            "    shape = (*input.shape[:-1], input.shape[-1] // 2)\n",
            "    *leading, width = input.shape\n    shape = (*leading, width // 2)\n",
        ),
    ),
    _variant(
        "chunked",
        "Finds the length of a row by splitting one.",
        ("    hidden = input.shape[-1] // 2\n    rows", "    hidden = input.chunk(2, dim=-1)[0].shape[-1]\n    rows"),
    ),
    _variant(
        "future-annotations",
        "Names what it exports, and types as text.",
        (_IMPORTS, "from __future__ import annotations\n\n" + _IMPORTS),
        ("_AUTO = -1\n", '_AUTO = -1\n__all__ = ["silu_and_mul"]\n'),
    ),
    _variant(
        "device-index",
        "Looks up the device's number once.",
        (
            "        torch.cuda.current_device() if device.index is None else device.index,\n",
            "        device.index if device.index is not None else torch.cuda.current_device(),\n",
        ),
    ),
    _variant(
        "keeps-its-type",
        "Reads type and device where it tunes, through one helper.",
        (_TUNED, "    dtype, device = _kind(tensors[0])\n\n    def run("),
        (
            "def _launch(function",
            "def _kind(tensor):\n    return tensor.dtype, tensor.device\n\n\ndef _launch(function",
        ),
    ),
)
