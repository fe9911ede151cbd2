# ruff: noqa: E501 - the kernels are spelled as tileirdisasm prints them
"""The interpreter: what each operation computes, what is poison, and what is a finding."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tileport_skill.tileir.assemble import disassemble
from tileport_skill.tileir.interpret import Limits, TooLong, blocks_of, run
from tileport_skill.tileir.launch import Buffer, Launch
from tileport_skill.tileir.machine import Unsupported
from tileport_skill.tileir.parse import parse

DTYPES = {
    "i1": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "f16": np.float16,
    "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64, "f8E4M3FN": ml_dtypes.float8_e4m3fn,
}  # fmt: skip


def computed(body: str, element: str, *inputs: list, result: str | None = None, size: int | None = None) -> np.ndarray:
    """Runs `body`, which defines `%r` from `%a`, `%b`, … (tiles loaded from `inputs`), and gives what it stores."""
    result = result or element
    count = len(inputs[0])
    size = size or count
    names = "abc"[: len(inputs)]
    arguments = ", ".join([*(f"%{n}0: tile<ptr<{element}>>" for n in names), f"%r0: tile<ptr<{result}>>"])
    lines = [f"%at = iota : tile<{count}xi32>", f"%rat = iota : tile<{size}xi32>"]
    for name, kind, n in [*((n, element, count) for n in names), ("r", result, size)]:
        at = "%rat" if name == "r" else "%at"
        lines += [
            f"%{name}1 = reshape %{name}0 : tile<ptr<{kind}>> -> tile<1xptr<{kind}>>",
            f"%{name}2 = broadcast %{name}1 : tile<1xptr<{kind}>> -> tile<{n}xptr<{kind}>>",
            f"%{name}p = offset %{name}2, {at} : tile<{n}xptr<{kind}>>, tile<{n}xi32> -> tile<{n}xptr<{kind}>>",
        ]
    lines += [
        f"%{n}, %{n}tok = load_ptr_tko weak %{n}p : tile<{count}xptr<{element}>> -> tile<{count}x{element}>, token"
        for n in names
    ]
    lines += [body, f"%done = store_ptr_tko weak %rp, %r : tile<{size}xptr<{result}>>, tile<{size}x{result}> -> token"]
    (entry,) = parse(f"entry @k({arguments}) {{\n" + "\n".join(lines) + "\nreturn\n}\n").entries
    with np.errstate(all="ignore"):
        buffers = [Buffer(n, np.array(v).astype(DTYPES[element])) for n, v in zip(names, inputs, strict=True)]
    outcome = run(entry, Launch((1, 1, 1), (*buffers, Buffer("r", np.zeros(size, DTYPES[result])))))
    assert not outcome.findings, outcome.findings
    return outcome.buffers[-1].data


def f32(expression: str, *inputs: list) -> list[float]:
    return computed(f"%r = {expression} : tile<{len(inputs[0])}xf32>", "f32", *inputs).tolist()


INF, NAN = float("inf"), float("nan")
TINY = 2.0**-140


@pytest.mark.parametrize(
    ("expression", "inputs", "expected"),
    [
        ("addf %a, %b ", ([1.0, 1.0], [2.0**-24, -(2.0**-25)]), [1.0, 1.0]),
        ("addf %a, %b rounding<positive_inf>", ([1.0, 1.0], [2.0**-30, -(2.0**-30)]), [1.0000001192092896, 1.0]),
        ("addf %a, %b rounding<zero>", ([1.0, -1.0], [-(2.0**-30), 2.0**-30]), [0.9999999403953552, -0.9999999403953552]),
        ("addf %a, %b rounding<negative_inf>", ([1.0, 1.0], [2.0**-30, -(2.0**-30)]), [1.0, 0.9999999403953552]),
        ("mulf %a, %b  flush_to_zero", ([TINY, 1.0], [1.0, -TINY]), [0.0, -0.0]),
        ("mulf %a, %b ", ([TINY, 3.0], [1.0, 4.0]), [TINY, 12.0]),
        ("divf %a, %b ", ([1.0, -1.0, 0.0, 6.0], [0.0, 0.0, 5.0, 2.0]), [INF, -INF, 0.0, 3.0]),
        ("maxf %a, %b", ([0.0, -0.0, 1.0, NAN], [-0.0, 0.0, NAN, 2.0]), [0.0, 0.0, 1.0, 2.0]),
        ("maxf %a, %b propagate_nan", ([1.0, NAN], [NAN, 2.0]), [NAN, NAN]),
        ("minf %a, %b", ([0.0, -0.0], [-0.0, 0.0]), [-0.0, -0.0]),
        ("remf %a, %b", ([7.0, -7.0, 1.0, 5.0], [4.0, 4.0, 0.0, INF]), [3.0, -3.0, NAN, 5.0]),
    ],
)  # fmt: skip
def test_floating_arithmetic(expression, inputs, expected):
    got = f32(expression, *inputs)
    np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(np.signbit(np.nan_to_num(got)), np.signbit(np.nan_to_num(np.array(expected))))


def test_a_fused_multiply_add_rounds_once():
    a, c = 1.0 + 2.0**-12, -(1.0 + 2.0**-11)
    assert f32("fma %a, %b, %c ", [a], [a], [c]) == [2.0**-24]
    assert computed("%m = mulf %a, %b  : tile<1xf32>\n%r = addf %m, %c  : tile<1xf32>", "f32", [a], [a], [c]) == [0.0]


def test_half_precision_is_rounded_after_every_operation():
    assert computed("%r = addf %a, %b  : tile<1xf16>", "f16", [2048.0], [1.0]) == [2048.0]
    assert computed("%r = mulf %a, %b  : tile<1xbf16>", "bf16", [1.0078125], [1.0078125]) == [1.015625]


@pytest.mark.parametrize(
    ("expression", "inputs", "expected"),
    [
        ("addi %a, %b", ([2**31 - 1], [1]), [-(2**31)]),
        ("divi %a, %b signed", ([7, -7, 7, -7], [2, 2, -2, -2]), [3, -3, -3, 3]),
        ("divi %a, %b signed rounding<negative_inf>", ([7, -7], [2, 2]), [3, -4]),
        ("divi %a, %b signed rounding<positive_inf>", ([7, -7], [2, 2]), [4, -3]),
        ("divi %a, %b unsigned", ([-1], [2]), [2**31 - 1]),
        ("remi %a, %b signed", ([7, 7, -7, -7], [3, -3, 3, -3]), [1, 1, -1, -1]),
        ("shri %a, %b signed", ([-8, 8], [1, 1]), [-4, 4]),
        ("shri %a, %b unsigned", ([-8], [1]), [2**31 - 4]),
        ("shli %a, %b", ([1, 1], [31, 33]), [-(2**31), 0]),
        ("mulhii %a, %b", ([-1, 2**16], [-1, 2**16]), [-2, 1]),
        ("maxi %a, %b unsigned", ([-1], [1]), [-1]),
        ("mini %a, %b signed", ([-1], [1]), [-1]),
        ("xori %a, %b", ([12], [10]), [6]),
    ],
)
def test_integer_arithmetic(expression, inputs, expected):
    assert computed(f"%r = {expression} : tile<{len(inputs[0])}xi32>", "i32", *inputs).tolist() == expected


@pytest.mark.parametrize(
    ("body", "element", "result", "inputs", "expected"),
    [
        ("%r = ftof %a  : tile<2xf32> -> tile<2xbf16>", "f32", "bf16", [1.00390625, 1.01171875], [1.0, 1.015625]),
        ("%r = ftof %a  : tile<2xf32> -> tile<2xf8E4M3FN>", "f32", "f8E4M3FN", [17.0, 19.0], [16.0, 20.0]),
        ("%r = itof %a unsigned  : tile<1xi32> -> tile<1xf32>", "i32", "f32", [-1], [2.0**32]),
        ("%r = ftoi %a signed  : tile<2xf32> -> tile<2xi32>", "f32", "i32", [2.9, -2.9], [2, -2]),
        ("%r = exti %a unsigned : tile<1xi8> -> tile<1xi32>", "i8", "i32", [-1], [255]),
        ("%r = exti %a signed : tile<1xi8> -> tile<1xi32>", "i8", "i32", [-1], [-1]),
        ("%r = trunci %a : tile<1xi32> -> tile<1xi8>", "i32", "i8", [511], [-1]),
        ("%r = bitcast %a : tile<1xf32> -> tile<1xi32>", "f32", "i32", [1.0], [0x3F800000]),
    ],
)
def test_conversions(body, element, result, inputs, expected):
    assert computed(body, element, inputs, result=result).tolist() == expected


def test_reduce_starts_from_its_identity_and_scan_can_run_backwards():
    fold = (
        "{0} dim=0 {1}identities=[1.000000e+00 : f32] : tile<4xf32> -> tile<{2}f32> \n"
        "(%x: tile<f32>, %y: tile<f32>) {{\n%s = addf %x, %y  : tile<f32>\nyield %s : tile<f32>\n}}"
    )
    reduced = "%q = reduce %a " + fold.format("", "", "").lstrip() + "\n%r = reshape %q : tile<f32> -> tile<1xf32>"
    assert computed(reduced, "f32", [1, 2, 3, 4], size=1).tolist() == [11.0]
    for reverse, expected in (("false", [2, 4, 7, 11]), ("true", [11, 10, 8, 5])):
        scan = "%r = scan %a " + fold.format("", f"reverse={reverse} ", "4x").lstrip()
        assert computed(scan, "f32", [1, 2, 3, 4]).tolist() == expected


def test_loops_carry_values_and_can_be_left_early():
    body = (
        "%z = constant <i32: 0> : tile<i32>\n%n = constant <i32: 5> : tile<i32>\n%one = constant <i32: 1> : tile<i32>\n"
        "%s = for %i in (%z to %n, step %one) : tile<i32> iter_values(%c = %a) -> (tile<2xi32>) {\n"
        "%e = cmpi equal %i, %one, signed : tile<i32> -> tile<i1>\n"
        "if %e {\ncontinue %c : tile<2xi32>\n} else {\n}\n"
        "%t = addi %c, %b : tile<2xi32>\ncontinue %t : tile<2xi32>\n}\n"
        "%r = loop iter_values(%d = %s) : tile<2xi32> -> tile<2xi32> {\n"
        "%u = addi %d, %d : tile<2xi32>\n%q = extract %u[%z] : tile<2xi32> -> tile<1xi32>\n"
        "%w = reshape %q : tile<1xi32> -> tile<i32>\n%big = constant <i32: 100> : tile<i32>\n"
        "%g = cmpi greater_than %w, %big, signed : tile<i32> -> tile<i1>\n"
        "if %g {\nbreak %u : tile<2xi32>\n} else {\n}\ncontinue %u : tile<2xi32>\n}"
    )
    assert computed(body, "i32", [1, 2], [10, 20]).tolist() == [164, 328]  # 1 + 4 · 10, doubled past 100


VIEW = "tensor_view<?xf32, strides=[1]>"


def outcome_of(body: str, *arguments, grid=(1, 1, 1), padding: str = "", operations: int = 10_000):
    """Runs a kernel over `%v`, a view of tiles of 4 over `%n` elements at `%p`; `%w` is one over `%q`."""
    view = f"partition_view<tile=(4), {padding}{VIEW}>"
    head = (
        "entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>, %n: tile<i32>) {\n%z = constant <i32: 0> : tile<i32>\n"
        "%bx, %by, %bz = get_tile_block_id : tile<i32>\n%t0 = make_token : token\n"
        f"%tv = make_tensor_view %p, shape = [%n], strides = [1] : tile<i32> -> {VIEW}\n"
        f"%tw = make_tensor_view %q, shape = [%n], strides = [1] : tile<i32> -> {VIEW}\n"
        f"%v = make_partition_view %tv : {view}\n%w = make_partition_view %tw : {view}\n"
    )
    body = body.replace("LOAD", "load_view_tko weak").replace("STORE", "store_view_tko weak")
    body = body.replace("IN", f": {view}, tile<i32> -> tile<4xf32>, token")
    body = body.replace("OUT", f": tile<4xf32>, {view}, tile<i32> -> token")
    (entry,) = parse(head + body + "\nreturn\n}\n").entries
    p, q, n = arguments
    return run(entry, Launch(grid, (Buffer("p", np.array(p, np.float32)), Buffer("q", np.array(q, np.float32)), n)),
               Limits(operations=operations))  # fmt: skip


COPY = "%x, %xt = LOAD %v[%bx] IN\n%d = STORE %x, %w[%bx] OUT"


def kinds(outcome) -> set[str]:
    return {finding.kind for finding in outcome.findings}


def test_a_store_past_the_end_is_dropped_and_a_load_past_it_gives_the_padding():
    body = "%x, %xt = LOAD %v[%z] IN\n%y = addf %x, %x  : tile<4xf32>\n%d = STORE %y, %w[%z] OUT"
    done = outcome_of(body, [1, 2, 3], [0, 0, 0], 3, padding="padding_value = nan, ")
    assert done.buffers[1].data.tolist() == [2, 4, 6]
    assert not done.findings


def test_without_padding_what_lies_outside_is_poison_and_spreads():
    fold = (
        "%x, %xt = LOAD %v[%z] IN\n%s = reduce %x dim=0 identities=[0.000000e+00 : f32] : tile<4xf32> -> tile<f32> \n"
        "(%l: tile<f32>, %h: tile<f32>) {\n%m = addf %l, %h  : tile<f32>\nyield %m : tile<f32>\n}\n"
        "%s1 = reshape %s : tile<f32> -> tile<1xf32>\n%y = broadcast %s1 : tile<1xf32> -> tile<4xf32>\n"
        "%d = STORE %y, %w[%z] OUT"
    )
    assert outcome_of(fold, [1, 2, 3], [0, 0, 0], 3).buffers[1].poison.all()
    assert not outcome_of(fold, [1, 2, 3, 4], [0, 0, 0, 0], 4).buffers[1].poison.any()
    assert not outcome_of(fold, [1, 2, 3], [0, 0, 0], 3, padding="padding_value = zero, ").buffers[1].poison.any()


def test_a_tile_outside_the_index_space_is_a_finding_with_block_operation_and_line():
    done = outcome_of(COPY, range(8), range(8), 8, grid=(3, 1, 1))
    (first, *_) = done.findings
    assert (first.kind, first.block, first.operation) == ("index space", (2, 0, 0), "load_view_tko")
    assert first.line == 9


def test_a_view_longer_than_its_memory_is_out_of_bounds():
    assert "out of bounds" in kinds(outcome_of(COPY, range(4), range(8), 8, grid=(2, 1, 1)))


def test_two_blocks_that_write_one_element_race():
    assert "race" in kinds(
        outcome_of("%x, %xt = LOAD %v[%z] IN\n%d = STORE %x, %w[%z] OUT", range(4), range(4), 4, grid=(2, 1, 1))
    )
    assert not outcome_of(COPY, range(8), range(8), 8, grid=(2, 1, 1)).findings


def test_only_a_token_orders_a_load_after_a_store():
    body = "%x, %xt = LOAD %w[%z] token = %t0 IN\n%d = STORE %x, %v[%z] token = %t0 OUT\n%y, %yt = LOAD %v[%z] token = TOKEN IN\n%e = STORE %y, %w[%z] token = JOINED OUT"
    ordered = (
        body.replace("%e = ", "%j = join_tokens %yt, %xt : token\n%e = ").replace("TOKEN", "%d").replace("JOINED", "%j")
    )
    assert not outcome_of(ordered, range(4), range(4), 4).findings
    assert "unordered" in kinds(outcome_of(ordered.replace("token = %d ", "token = %t0 "), range(4), range(4), 4))


def test_a_promise_that_does_not_hold_is_a_finding():
    body = "%m = assume div_by<8>, %n : tile<i32>\n" + COPY
    assert kinds(outcome_of(body, range(4), range(4), 4)) == {"assume"}
    assert not outcome_of(body, range(8), range(8), 8).findings


def test_division_by_zero_and_a_wrap_that_was_ruled_out_are_findings():
    assert kinds(outcome_of("%d = divi %n, %z signed : tile<i32>", [0], [0], 1)) == {"division"}
    assert kinds(outcome_of("%d = muli %n, %n overflow<no_signed_wrap> : tile<i32>", [0], [0], 2**20)) == {"overflow"}


def test_a_loop_without_end_is_given_up():
    with pytest.raises(TooLong):
        outcome_of("loop {\n}", [0], [0], 1, operations=1000)


def test_what_the_interpreter_does_not_know_is_named():
    with pytest.raises(Unsupported, match="memory_fence_alias_tko"):
        outcome_of("%f = memory_fence_alias_tko %t0", [0], [0], 1)
    with pytest.raises(Unsupported, match=str(2**40)):
        outcome_of(f"%c = constant <f32: 0.0> : tile<{2**40}xf32>", [0], [0], 1)


def test_a_sample_of_a_large_grid_holds_all_its_corners():
    sample = blocks_of((100, 50, 1), 64)
    assert len(sample) <= 64
    assert {(0, 0, 0), (99, 0, 0), (0, 49, 0), (99, 49, 0)} <= set(sample)
    assert blocks_of((2, 2, 1), 64) == [(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)]


# --- whole kernels, exported by cuTile, against NumPy


def _softmax(x, y):
    e = np.exp(x.astype(np.float32) - x.max(1, keepdims=True).astype(np.float32))
    return e / e.sum(1, keepdims=True)


def _gated(x, y):
    a, b = x[:, :48].astype(np.float32), x[:, 48:].astype(np.float32)
    return a / (1 + np.exp(-a)) * b


def _rms_norm(x, w, y, eps):
    x = x.astype(np.float32)
    return x / np.sqrt((x * x).mean(1, keepdims=True) + eps) * w.astype(np.float32)


def _attention(q, k, v, o, scale):
    s = (q.astype(np.float32) @ k.astype(np.float32).T) * scale
    s[np.triu_indices(len(q), 1)] = -np.inf
    p = np.exp2(s - s.max(1, keepdims=True))
    return p / p.sum(1, keepdims=True) @ v.astype(np.float32)


def _embedding(i, t, y):
    x = np.where(t[i] > 0, t[i], t[i] * 0.25)
    return np.pad(x, ((0, 0), (0, 8)))


def _guarded(x, y, limit):
    out = x * x + x
    out[limit * 32 :] = -1.0
    return out


def _layer_norm(x, w, b, y, eps):
    centred = x - x.mean(1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(1, keepdims=True) + eps) * w + b


def _blend(a, b, m, y, n):
    at, back = np.arange(48), b[::-1]
    return np.where(m[at % 8] > 2, a - back, np.maximum(a, back)) * 0.5


MODELS = {
    "layer_norm": _layer_norm,
    "best": lambda x, y, i: x.argmax(1),
    "blend": _blend,
    "gemm": lambda a, b, c: a.astype(np.float32) @ b.astype(np.float32),
    "softmax": _softmax,
    "gated": _gated,
    "rms_norm": _rms_norm,
    "attention": _attention,
    "transpose": lambda x, y: x.T * 2,
    "running_sum": lambda x, y: np.cumsum(x, axis=1),
    "embedding": _embedding,
    "persistent": lambda x, y: np.clip(x, -1.5, 1.5) - x,
    "guarded": _guarded,
    "histogram": lambda x, h: np.bincount(np.pad(x, (0, 6)) % 8, minlength=8),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_kernel_computes_what_numpy_computes(name, soak):
    kernels = soak("tileir_kernels")
    (entry,) = parse(disassemble(kernels.exported(name))).entries
    for seed, launch in enumerate(kernels.launches(name, 3)):
        _, given = kernels.KERNELS[name].launch(np.random.default_rng(1000 + seed))
        outcome = run(entry, launch)
        assert not outcome.findings
        written = outcome.buffers[-1]
        assert written.touched.all()
        assert not written.poison.any()
        expected = MODELS[name](*given)
        np.testing.assert_allclose(
            written.data.astype(np.float32), expected.reshape(-1).astype(np.float32), rtol=2e-3, atol=2e-3
        )


def test_a_store_may_write_an_element_twice_but_not_with_two_values():
    twice = "tensor_view<?xf32, strides=[1]>"
    body = (
        f"%o = make_tensor_view %q, shape = [%n], strides = [%z] : tile<i32> -> {twice.replace('[1]', '[?]')}\n"
        f"%ow = make_partition_view %o : partition_view<tile=(4), {twice.replace('[1]', '[?]')}>\n"
        "%x, %xt = LOAD %v[%z] IN\n"
        f"%d = STORE %x, %ow[%z] : tile<4xf32>, partition_view<tile=(4), {twice.replace('[1]', '[?]')}>, tile<i32> -> token"
    )
    assert not outcome_of(body, [5, 5, 5, 5], [0, 0, 0, 0], 4).findings
    assert kinds(outcome_of(body, [5, 5, 6, 5], [0, 0, 0, 0], 4)) == {"race"}
