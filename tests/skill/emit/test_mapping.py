"""Which value each parameter of a port's entry receives, and when that cannot be told."""

from __future__ import annotations

import dataclasses

import pytest

from tileport_skill.capture.records import (
    Array,
    Constant,
    Hints,
    Launch,
    Scalar,
    Specialisation,
    TensorArgument,
    ValueArgument,
)
from tileport_skill.emit.entries import (
    ConstGeneric,
    Entry,
    EntryParameter,
    Generic,
    KernelModule,
    PointerParameter,
    ScalarParameter,
    TensorParameter,
    TypeGeneric,
)
from tileport_skill.emit.mapping import Unmapped, choose_entry, request_for


def array(name: str) -> Array:
    return Array(
        name=name,
        dtype="float16",
        ndim=1,
        index_dtype="int32",
        stride_constant=(1,),
        shape_constant=(None,),
        stride_divisible_by=(1,),
        shape_divisible_by=(16,),
        base_divisible_by=16,
        may_alias_internally=False,
    )


SPECIALISATION = Specialisation(
    id="one",
    kernel="_scale_kernel",
    module="ours",
    parameters=(array("x"), Scalar(name="n", dtype="int32"), Constant(name="TILE_SIZE", type="int", text="128")),
    hints=Hints(occupancy=2, num_ctas=1),
    calling_convention="t1",
    ir=None,
)
LAUNCH = Launch(
    test="t",
    purpose="launch",
    specialisation="one",
    kernel="_scale_kernel",
    grid=(8,),
    arguments=(
        TensorArgument(dtype="float16", shape=(1000,), strides=(1,), offset=4, storage=0),
        ValueArgument(type="int", text="12"),
        ValueArgument(type="int", text="128"),
    ),
    backward=False,
)
GENERICS: tuple[Generic, ...] = (TypeGeneric(name="E"), ConstGeneric(name="TILE_SIZE", dtype="i32"))
POINTER = PointerParameter(name="x", element="E")
TENSOR = TensorParameter(name="x", element="E", shape=("-1",), mutable=False)


def scalars(*names: str) -> tuple[ScalarParameter, ...]:
    return tuple(ScalarParameter(name=name, dtype="i32") for name in names)


def entry(*parameters: EntryParameter, name: str = "scale", generics: tuple[Generic, ...] = GENERICS) -> Entry:
    return Entry(name=name, generics=generics, parameters=parameters)


def test_a_pointer_is_followed_by_sizes_and_strides_each_with_its_divisor() -> None:
    request = request_for(entry(POINTER, *scalars("size", "stride", "n")), LAUNCH, SPECIALISATION, "sm_90", "k")
    assert request.scalars == (("x", 8), ("size", 8), ("stride", 1), ("n", 4))
    assert request.generics == ("f16", "128")
    assert (request.occupancy, request.num_cta_in_cga, request.tensors) == (2, 1, ())


def test_a_tensor_takes_pointer_sizes_and_strides_at_once() -> None:
    request = request_for(entry(TENSOR, *scalars("n")), LAUNCH, SPECIALISATION, "sm_90", "k")
    (facts,) = request.tensors
    assert (facts.strides, facts.shape_div, facts.stride_one, facts.base_div) == ((1,), (8,), (True,), 8)
    assert request.scalars == (("n", 4),)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (entry(POINTER, *scalars("size", "stride")), "no parameter left for 'n'"),
        (entry(POINTER, *scalars("size", "stride", "n", "more")), "takes 'more', which the reference does not"),
        (entry(*scalars("x", "size", "stride", "n")), "'x' is no pointer, but 'x' is an array"),
        (entry(POINTER, POINTER), "expected an integer for a size or stride of 'x'"),
        (
            entry(TENSOR, *scalars("n"), generics=(ConstGeneric(name="BLOCK", dtype="i32"),)),
            "E is E, but an argument of it is f16",
        ),
        (
            entry(TENSOR, *scalars("n"), generics=(TypeGeneric(name="E"), ConstGeneric(name="BLOCK", dtype="i32"))),
            "no constant of the reference is named BLOCK; it has TILE_SIZE",
        ),
        (
            entry(TENSOR, *scalars("n"), generics=(*GENERICS, TypeGeneric(name="F"))),
            "no argument says what F is",
        ),
    ],
)
def test_an_entry_that_takes_other_parameters_is_not_guessed_at(found: Entry, words: str) -> None:
    with pytest.raises(Unmapped, match=words):
        request_for(found, LAUNCH, SPECIALISATION, "sm_90", "k")


def test_of_several_entries_that_fit_the_name_decides_and_otherwise_nothing_does() -> None:
    fit = entry(TENSOR, *scalars("n"))
    other = entry(TENSOR, *scalars("n"), name="halve")
    module = KernelModule(name="m", entries=(fit, other))
    assert choose_entry([(module, other), (module, fit)], LAUNCH, SPECIALISATION) == (module, fit)
    third = entry(TENSOR, *scalars("n"), name="third")
    with pytest.raises(Unmapped, match="could be any of halve, third"):
        choose_entry([(module, other), (module, third)], LAUNCH, SPECIALISATION)
    with pytest.raises(Unmapped, match="no entry takes the parameters of _scale_kernel"):
        choose_entry([(module, entry(TENSOR))], LAUNCH, SPECIALISATION)


def test_an_array_whose_last_stride_may_be_another_goes_to_the_entry_named_for_that() -> None:
    fit, strided = entry(TENSOR, *scalars("n")), entry(TENSOR, *scalars("n"), name="scale_kernel_strided")
    both = [(KernelModule(name="m", entries=(fit, strided)), one) for one in (fit, strided)]
    array, *others = SPECIALISATION.parameters
    assert isinstance(array, Array)
    loose = dataclasses.replace(
        SPECIALISATION, parameters=(dataclasses.replace(array, stride_constant=(None,)), *others)
    )
    assert choose_entry(both, LAUNCH, SPECIALISATION)[1] is fit
    assert choose_entry(both, LAUNCH, loose)[1] is strided


def test_a_constant_of_type_float_goes_as_its_bits() -> None:
    eps = Constant(name="eps", type="float", text="0.5")
    specialisation = dataclasses.replace(SPECIALISATION, parameters=(*SPECIALISATION.parameters[:2], eps))
    generics = (TypeGeneric(name="E"), ConstGeneric(name="EPS_BITS", dtype="i32"))
    found = request_for(entry(TENSOR, *scalars("n"), generics=generics), LAUNCH, specialisation, "sm_90", "entry")
    assert found.generics == ("f16", str(0x3F000000))


@pytest.mark.parametrize(("dtype", "told"), [("float32", ("f32", "tf32")), ("float16", ("f16", "f16"))])
def test_what_an_element_type_becomes_on_tensor_cores_needs_no_argument(dtype: str, told: tuple[str, str]) -> None:
    first = TensorArgument(dtype=dtype, shape=(1000,), strides=(1,), offset=4, storage=0)
    launch = dataclasses.replace(LAUNCH, arguments=(first, *LAUNCH.arguments[1:]))
    generics = (TypeGeneric(name="E"), TypeGeneric(name="EMma"))
    found = request_for(entry(TENSOR, *scalars("n"), generics=generics), launch, SPECIALISATION, "sm_90", "entry")
    assert found.generics == told
