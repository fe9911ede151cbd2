"""What a Python wrapper may do besides calling its launcher: what the reference's host code does, and no more."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from tileport_skill.lint.records import Hit, Part, Port, Rule, Source
from tileport_skill.tilegym.direct_tests import direct_calls

_BACKENDS = ("tilegym.ops.cutile", "tilegym.ops.triton", "tilegym.ops.tilecpp", "tilegym.suites", "triton", "cuda")
_ALLOWED_WORDS = """
    Tensor Size device dtype float32 float16 bfloat16 float64 int8 int16 int32 int64 uint8 bool
    float8_e5m2 float8_e4m3fn strided contiguous_format preserve_format is_tensor is_grad_enabled
    no_grad enable_grad inference_mode finfo iinfo autograd cuda nn Generator is_floating_point
    promote_types result_type numel empty empty_like empty_strided zeros zeros_like ones ones_like full
    full_like tensor as_tensor as_strided reshape view_as_real view_as_complex flatten unflatten squeeze
    unsqueeze transpose permute movedim t split chunk unbind select narrow broadcast_shapes broadcast_to
    broadcast_tensors get_default_dtype
"""
_ALLOWED = frozenset(_ALLOWED_WORDS.split())
"""Of torch: types, questions, allocations and views."""
_COMPUTES_WORDS = """
    matmul mm bmm addmm baddbmm mv dot einsum softmax log_softmax sigmoid tanh relu gelu silu exp exp2
    log log2 sqrt rsqrt pow sum mean prod amax amin max min argmax argmin std var norm cumsum cumprod
    sort topk where masked_fill masked_fill_ clamp clamp_ add add_ sub sub_ mul mul_ div div_ neg abs
    erf cos sin gather scatter scatter_ scatter_add_ index_select index_add_ repeat repeat_interleave
    tile roll flip layer_norm dropout
"""
_COMPUTES = frozenset(_COMPUTES_WORDS.split())
"""Methods of tensors that compute; a name such as `max` counts only where the reference has no such call."""
_MOVES = ("transpose", "permute", "t", "mT", "T", "movedim", "swapaxes")
_COPIES = ("contiguous", "clone")


def _calls(tree: ast.AST) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def _dotted(node: ast.expr) -> str:
    """`torch.cuda.Stream`; empty for what is not names alone."""
    if isinstance(node, ast.Name):
        return node.id
    inner = _dotted(node.value) if isinstance(node, ast.Attribute) else ""
    return f"{inner}.{node.attr}" if inner and isinstance(node, ast.Attribute) else ""


def _hit(node: ast.AST, what: str, part: Part = "wrapper") -> Hit:
    return Hit(part=part, line=getattr(node, "lineno", 1), what=what)


def _other_backends(port: Port) -> Iterator[Hit]:
    source = port.part("wrapper")
    for node in ast.walk(source.module) if source else ():
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            if any(f"{name}.".startswith(f"{backend}.") for backend in _BACKENDS):
                yield _hit(node, f"imports `{name}`")
        if isinstance(node, ast.Call) and _dotted(node.func).rpartition(".")[2] in {
            "set_backend",
            "get_impl",
            "get_backend_impl",
        }:
            yield _hit(node, f"`{_dotted(node.func)}(...)`")


def _computing(tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    """Calls of torch that compute, and products by `@`, each with the name by which it is counted."""
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            yield node, "@"
        if not isinstance(node, ast.Call):
            continue
        dotted = _dotted(node.func)
        if dotted.startswith("torch."):
            first = dotted.split(".")[1]
            if first not in _ALLOWED or dotted.startswith("torch.nn.functional."):
                yield node, dotted.rpartition(".")[2]
        elif dotted.startswith("F."):
            yield node, dotted[2:]
        elif (
            isinstance(node.func, ast.Attribute) and node.func.attr in _COMPUTES and dotted.partition(".")[0] != "math"
        ):
            yield node, node.func.attr


def _fallback(port: Port) -> Iterator[Hit]:
    source, reference = port.part("wrapper"), port.part("reference")
    if source is None:
        return
    known = Counter(name for _, name in _computing(reference.module)) if reference else Counter[str]()
    for node, name in _computing(source.module):
        if known[name] > 0:
            known[name] -= 1
            continue
        yield _hit(node, f"computes by `{ast.unparse(node)[:60]}`")


def _detaches(port: Port) -> Iterator[Hit]:
    """Not where the reference has no gradient either, nor where the port has one of its own."""
    source, reference = port.part("wrapper"), port.part("reference")
    if source is None or _differentiates(source) or (reference is not None and not _differentiates(reference)):
        return
    for call in _calls(source.module):
        if _is_method(call, "detach"):
            yield _hit(call, f"`{ast.unparse(call)}`")


def _differentiates(source: Source) -> bool:
    return any(
        isinstance(node, ast.Attribute) and _dotted(node).endswith("autograd.Function")
        for node in ast.walk(source.module)
    )


def _is_method(call: ast.Call, *names: str) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr in names


def _moved_copies(tree: ast.Module) -> list[ast.Call]:
    found = []
    for call in _calls(tree):
        inner = call.func.value if isinstance(call.func, ast.Attribute) and _is_method(call, *_COPIES) else None
        while isinstance(inner, (ast.Call, ast.Attribute)):
            name = inner.func if isinstance(inner, ast.Call) else inner
            if isinstance(name, ast.Attribute) and name.attr in _MOVES:
                found.append(call)
                break
            inner = name.value if isinstance(name, ast.Attribute) else None
    return found


def _transposes(port: Port) -> Iterator[Hit]:
    source, reference = port.part("wrapper"), port.part("reference")
    if source is not None:
        known = len(_moved_copies(reference.module)) if reference else 0
        for call in _moved_copies(source.module)[known:]:
            yield _hit(call, f"`{ast.unparse(call)[:70]}`")


def _copies(port: Port) -> Iterator[Hit]:
    """Only beside a reference: whether a copy is one too many shows against it."""
    source, reference = port.part("wrapper"), port.part("reference")
    if source is None or reference is None:
        return
    moved = _moved_copies(source.module)
    mine = [call for call in _calls(source.module) if _is_method(call, *_COPIES) and call not in moved]
    known = sum(_is_method(call, *_COPIES) for call in _calls(reference.module))
    for call in mine[known:]:
        yield _hit(call, f"`{ast.unparse(call)[:70]}`, and the reference has {known or 'no'} such calls")


def _direct_tests(port: Port) -> Iterator[Hit]:
    """Tests that get the port's backend and call the reference's module by name."""
    source = port.part("test")
    if source is None:
        return
    classes = [node for node in source.module.body if isinstance(node, ast.ClassDef)]
    scopes: list[ast.AST] = [*classes] or [source.module]
    for scope in scopes:
        if not any(isinstance(node, ast.Constant) and node.value == "cutile-rs" for node in ast.walk(scope)):
            continue
        for call in direct_calls(source.module, scope):
            yield Hit(part="test", line=call.line, what=f"`{call.name}(...)` in `{call.test}`")


_REGISTERED = 'import torch\n\n\n@register_impl("k", backend="cutile-rs")\ndef k(a):\n'
_TEST = (
    'class Test_K:\n    _backends = ["cutile"]\n    if is_backend_available("cutile-rs"):\n'
    '        _backends = _backends + ["cutile-rs"]\n\n    def test_op(self, backend):\n'
)

RULES = (
    Rule(
        id="no-other-backend",
        says="Call the port's own launcher, never another backend.",
        because="A port that hands the work on passes every test of values and is no port.",
        check=_other_backends,
        bad={"wrapper": "from tilegym.backend import get_impl\n\nrun = get_impl('k')\n"},
        good={"wrapper": "from tilegym.backend import register_impl\n"},
    ),
    Rule(
        id="no-computing-in-torch",
        says="Compute in the kernel; in Python allocate, view and ask, and compute only as the reference does.",
        because="What torch computes is neither compared with the reference's Tile IR nor part of the port.",
        check=_fallback,
        bad={"wrapper": f"{_REGISTERED}    return torch.softmax(a, -1)\n"},
        good={"wrapper": f"{_REGISTERED}    return torch.empty_like(a).view(-1)\n"},
    ),
    Rule(
        id="no-silent-detach",
        says="Port the gradient or refuse an argument that needs one; do not detach it.",
        because="The caller gets a result without a gradient and is not told; the reference gives one.",
        check=_detaches,
        bad={"wrapper": f"{_REGISTERED}    return _launch(a.detach())\n"},
        good={"wrapper": f"{_REGISTERED}    assert not a.requires_grad\n    return _launch(a)\n"},
        upstream=(37,),
    ),
    Rule(
        id="no-transposed-copies",
        says="Let the kernel or its view transpose, and copy no transposed array in Python unless the reference does.",
        because="The copy is timed with the kernel, and the reference needs none.",
        check=_transposes,
        bad={"wrapper": f"{_REGISTERED}    return _launch(a.transpose(0, 1).contiguous())\n"},
        good={"wrapper": f"{_REGISTERED}    return _launch(a.transpose(0, 1))\n"},
        upstream=(27,),
    ),
    Rule(
        id="no-more-copies",
        says="Make arrays contiguous, or clone them, as often as the reference does and no more.",
        because="Every further copy is timed, and a strided argument need not be copied at all.",
        check=_copies,
        severity="warning",
        bad={"wrapper": f"{_REGISTERED}    return _launch(a.contiguous())\n", "reference": "def k(a):\n    return a\n"},
        good={
            "wrapper": f"{_REGISTERED}    return _launch(a.contiguous())\n",
            "reference": "def k(a):\n    return a.contiguous()\n",
        },
        upstream=(41,),
    ),
    Rule(
        id="test-through-the-dispatcher",
        says="Give the port's backend only to tests that call the operator through its dispatcher.",
        because="A test that calls the reference's module passes whatever the port does.",
        check=_direct_tests,
        bad={"test": f"{_TEST}        tilegym.ops.cutile.k.k(1)\n"},
        good={"test": f"{_TEST}        tilegym.ops.k(1)\n"},
        upstream=(40,),
    ),
)
