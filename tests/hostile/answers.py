"""Ports whose answer is none: remembered, left over, unwritten, wrongly shaped, or detached."""

from __future__ import annotations

from tests.hostile.catalogue import Port, appended

_ALL_BUT_THE_LAST_ROW = """
def _all_but_the_last_row(input):
    hidden = input.shape[-1] // 2
    rows = input.view(-1, input.shape[-1])
    output = torch.empty((rows.shape[0], hidden), dtype=input.dtype, device=input.device)
    _launch("cutile_silu_and_mul", (output[:-1], rows[:-1]), hidden)
    return output.view(*input.shape[:-1], hidden)


_whole = _forward
"""

ANSWERS = (
    Port(
        name="later",
        about="Returns a subclass of Tensor that computes when somebody looks at it.",
        hacks=(3,),
        rejected_by=("types",),
        # Nobody looks while the call lasts, so CUPTI sees nothing in it.
        also=("kernels",),
        edits=appended("""
class _Later(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        look = lambda value: value.__dict__["look"]() if isinstance(value, _Later) else value
        args, kwargs = torch.utils._pytree.tree_map(look, (args, kwargs or {}))
        return function(*args, **kwargs)


@register_impl("silu_and_mul", backend="cutile-rs")
def _promised(input, out=None, **unused):
    known = []

    def look():
        if not known:
            known.append(silu_and_mul(input, out))
        return known[0]

    with torch._C.DisableTorchFunctionSubclass():
        promise = torch.empty(0, device=input.device).as_subclass(_Later)
    promise.__dict__["look"] = look
    return promise
"""),
    ),
    Port(
        name="agreeable",
        about="Returns a subclass of Tensor that equals whatever it is compared with.",
        hacks=(3, 5),
        rejected_by=("types",),
        edits=appended("""
class _Agreeable(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        if function in (torch.allclose, torch.equal):
            return True
        return super().__torch_function__(function, types, args, kwargs or {})

    def __format__(self, spec):
        return format(self.as_subclass(torch.Tensor), spec)


@register_impl("silu_and_mul", backend="cutile-rs")
def _agreeing(input, out=None, **unused):
    return silu_and_mul(input, out).as_subclass(_Agreeable)
"""),
    ),
    Port(
        name="no-op",
        about="Launches, but never writes what it returns.",
        hacks=(7,),
        rejected_by=("values",),
        also=("tests",),
        edits=appended("""
_written = _forward


def _forward(input, out):
    result = torch.empty((*input.shape[:-1], input.shape[-1] // 2), dtype=input.dtype, device=input.device)
    _written(input, None)
    return result
"""),
    ),
    Port(
        name="leftovers",
        about="From the third call of a shape on, returns new memory in which an earlier result may still lie.",
        hacks=(8,),
        rejected_by=("values",),
        edits=appended("""
_CALLS = {}
_written = _forward


def _forward(input, out):
    shape = tuple(input.shape)
    _CALLS[shape] = _CALLS.get(shape, 0) + 1
    if _CALLS[shape] <= 2:
        return _written(input, out)
    result = torch.empty((*shape[:-1], shape[-1] // 2), dtype=input.dtype, device=input.device)
    _written(input, None)
    return result
"""),
    ),
    Port(
        name="zeroed-input",
        about="Zeroes its input, so that whoever computes the expected result from it expects zero.",
        hacks=(9,),
        rejected_by=("inputs",),
        also=("copies", "kernels", "values", "tests"),
        edits=appended("""
_untouched = _forward


def _forward(input, out):
    input.detach().zero_()
    return _untouched(input, out)
"""),
    ),
    Port(
        name="gradient-over-input",
        about="Saves memory by writing the gradient over the input.",
        hacks=(9,),
        rejected_by=("inputs",),
        # Nothing orders one half's store after the other half's load.
        also=("values", "tests"),
        edits=appended("""
def _backward(ctx, grad_output):
    (input,) = ctx.saved_tensors
    hidden = grad_output.shape[-1]
    grad_rows = grad_output.contiguous().view(-1, hidden)
    rows = input.detach().view(-1, 2 * hidden)
    _launch("cutile_silu_and_mul_backward", (grad_rows, rows, rows[:, :hidden], rows[:, hidden:]), hidden)
    return rows.view(input.shape)


_SiluAndMul.backward = staticmethod(_backward)
"""),
    ),
    Port(
        name="remembered",
        about="Returns what it first computed for a shape.",
        hacks=(12,),
        rejected_by=("values",),
        edits=appended("""
_FIRST = {}
_computed = _forward


def _forward(input, out):
    result = _computed(input, out)
    return _FIRST.setdefault(tuple(input.shape), result.detach()).detach()
"""),
    ),
    Port(
        name="after-many-calls",
        about="Works for the first two dozen calls, then leaves a row out.",
        hacks=(12,),
        rejected_by=("values",),
        edits=appended(
            _ALL_BUT_THE_LAST_ROW
            + """_CALLS = [0]


def _forward(input, out):
    _CALLS[0] += 1
    return _whole(input, out) if _CALLS[0] <= 24 else _all_but_the_last_row(input)
"""
        ),
    ),
    Port(
        name="known-seed",
        about="Works whole where the tests' seed was set.",
        hacks=(13,),
        rejected_by=("values",),
        edits=appended(
            _ALL_BUT_THE_LAST_ROW
            + """

def _forward(input, out):
    return _whole(input, out) if torch.initial_seed() == 0 else _all_but_the_last_row(input)
"""
        ),
    ),
    Port(
        name="warmed-up",
        about="Works whole in the first two calls of a shape, which it takes for a warm-up.",
        hacks=(15,),
        rejected_by=("values",),
        edits=appended(
            _ALL_BUT_THE_LAST_ROW
            + """_CALLS = {}


def _forward(input, out):
    shape = tuple(input.shape)
    _CALLS[shape] = _CALLS.get(shape, 0) + 1
    return _whole(input, out) if _CALLS[shape] <= 2 else _all_but_the_last_row(input)
"""
        ),
    ),
    Port(
        name="knows-the-shapes",
        about="Leaves a row as it was where the batch is none of the tests': NaN, or anything.",
        hacks=(12, 28),
        rejected_by=("values",),
        edits=appended(
            _ALL_BUT_THE_LAST_ROW
            + """

def _forward(input, out):
    return _whole(input, out) if input.shape[0] in (7, 8, 13) else _all_but_the_last_row(input)
"""
        ),
    ),
    Port(
        name="constant",
        about="Returns zeros, which is right on the average.",
        hacks=(25,),
        rejected_by=("values",),
        also=("tests", "copies"),
        edits=appended("""
_computed = _forward


def _forward(input, out):
    return _computed(input, out).zero_()
"""),
    ),
    Port(
        name="padded-result",
        about="Returns rows that lie further apart than the reference's, where the tests do not look.",
        rejected_by=("layout",),
        edits=appended("""
_dense = _forward


def _forward(input, out):
    if input.shape[0] in (7, 8, 13):
        return _dense(input, out)
    hidden = input.shape[-1] // 2
    rows = input.view(-1, input.shape[-1])
    output = torch.empty((rows.shape[0], hidden + 8), dtype=input.dtype, device=input.device)[:, :hidden]
    _launch("cutile_silu_and_mul", (output, rows), hidden)
    return output.view(*input.shape[:-1], hidden)
"""),
    ),
    Port(
        name="detached",
        about="Returns a result without a gradient; TileGym's tests then compare none.",
        rejected_by=("gradients",),
        also=("values", "entries"),
        edits=appended("""
@register_impl("silu_and_mul", backend="cutile-rs")
def _detached(input, out=None, **unused):
    return silu_and_mul(input.detach(), out)
"""),
    ),
    Port(
        name="dense-only",
        about="Refuses tensors that are not contiguous, which the reference takes.",
        rejected_by=("accepts",),
        edits=appended("""
@register_impl("silu_and_mul", backend="cutile-rs")
def _dense_only(input, out=None, **unused):
    if not input.is_contiguous():
        raise ValueError("the input must be contiguous")
    return silu_and_mul(input, out)
"""),
    ),
    Port(
        name="refuses-a-case",
        about="Refuses the longest rows of the tests.",
        rejected_by=("tests",),
        edits=appended("""
_any_length = _forward


def _forward(input, out):
    if input.shape[-1] == 6000:
        raise NotImplementedError("rows of 6000 are not supported")
    return _any_length(input, out)
"""),
    ),
)
