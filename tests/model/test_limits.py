"""The first and last legal values of operand types and extensions, and paths to nested models."""

from typing import Any

import numpy as np
import pytest

from nnapi import Builder, Model, OperandCode, OperandType, OperationCode, tensor
from nnapi.codes import OEM_SCALAR, TENSOR_OEM_BYTE
from nnapi.errors import BadDataError
from nnapi.model.content_hash import _describe_code
from nnapi.model.extension import COMPOSITES, EXTENSIONS, Extension, Extensions, ExtensionType, operation_name
from nnapi.model.graph import Lifetime, Operand, find_computed
from nnapi.model.nesting import depths, paths
from nnapi.model.operand import (
    ChannelQuantization,
    as_float32,
    check_type,
    stores,
)
from nnapi.model.pickling import _local, _portable
from tests.rows import each_row

# Operand types


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("TENSOR_QUANT8_ASYMM", 0, 255),
        ("TENSOR_QUANT8_ASYMM_SIGNED", -128, 127),
        ("TENSOR_QUANT8_SYMM", 0, 0),
        ("TENSOR_QUANT16_SYMM", 0, 0),
        ("TENSOR_QUANT16_ASYMM", 0, 65535),
    ],
)
def test_the_zero_points_of_a_type(name: str, low: int, high: int) -> None:
    code = OperandCode[name]
    for zero_point in (low, high):
        check_type(OperandType(code, (2,), 0.5, zero_point))
    for zero_point in (low - 1, high + 1):
        with pytest.raises(BadDataError, match=f"{name} needs a zero point in {low}..{high}, got {zero_point}"):
            check_type(OperandType(code, (2,), 0.5, zero_point))
    for scale in (0.0, -0.5, float("nan")):
        with pytest.raises(BadDataError, match=f"{name} needs a scale above 0"):
            check_type(OperandType(code, (2,), scale, low))


@pytest.mark.parametrize("zero_point", [-1, 1])
def test_types_without_quantization(zero_point: int) -> None:
    with pytest.raises(BadDataError, match=f"TENSOR_FLOAT32 has no zero point, got {zero_point}"):
        check_type(OperandType(OperandCode.TENSOR_FLOAT32, (2,), 0.0, zero_point))
    with pytest.raises(BadDataError, match="TENSOR_FLOAT32 has no scale, got 0.5"):
        check_type(OperandType(OperandCode.TENSOR_FLOAT32, (2,), 0.5))
    check_type(OperandType(OperandCode.TENSOR_INT32, (2,), 0.5, zero_point))  # a bias, whose scale is checked later


QUANTIZED = {"QUANT8_ASYMM", "QUANT8_ASYMM_SIGNED", "QUANT8_SYMM", "QUANT16_SYMM", "QUANT16_ASYMM"}


@each_row("code", OperandCode, ids=lambda code: code.name)
def test_the_kinds_of_types(code: OperandCode) -> None:
    type = OperandType(code, (2,) if code.name.startswith("TENSOR") else ())
    name = code.name.removeprefix("TENSOR_")
    assert type.is_quantized is (name in QUANTIZED | {"QUANT8_SYMM_PER_CHANNEL"})
    assert type.is_scalar is not code.name.startswith("TENSOR")
    assert not type.is_extension


@pytest.mark.parametrize(
    ("type", "nbytes"),
    [
        (tensor("float32", (0x3FFFFFFF,)), None),
        (tensor("float32", (0x40000000,)), 1 << 32),
        (tensor("float32", (0, 0x40000000)), 1 << 32),  # whatever the first dimension becomes
        (tensor("quant8_asymm", (0xFFFFFFFF,), 0.5), None),
        (tensor("quant8_asymm", (0x10000, 0x10000), 0.5), 1 << 32),
        (tensor("int16", (3, 0x7FFFFFFF), 0.5), 6 * 0x7FFFFFFF),
        (tensor("float32", (0, 0)), None),
    ],
)
def test_a_tensor_is_below_4_gib(type: OperandType, nbytes: int | None) -> None:
    if nbytes is None:
        check_type(type)
    else:
        with pytest.raises(BadDataError, match=f"takes {nbytes} bytes, more than 4294967295"):
            check_type(type)


@pytest.mark.parametrize("code", [16, -1, 6000, 0xFFFF])
def test_other_codes_are_not_types(code: int) -> None:
    with pytest.raises(BadDataError, match=f"operand type {code} is not one of NeuralNetworks.h"):
        check_type(OperandType(code))
    for known in (OEM_SCALAR, TENSOR_OEM_BYTE):
        check_type(OperandType(known))


@pytest.mark.parametrize(
    ("value", "rounded"),
    [(1e39, float("inf")), (-1e39, float("-inf")), (0.1, 0.10000000149011612), (-2.5, -2.5), (1e-50, 0.0)],
)
def test_scales_have_the_precision_of_a_c_float(value: float, rounded: float) -> None:
    assert as_float32(value) == rounded


@pytest.mark.parametrize(
    ("type", "text"),
    [
        (tensor("float32", (2, 0, 3)), "TENSOR_FLOAT32[2, ?, 3]"),
        (tensor("float32"), "TENSOR_FLOAT32[]"),
        (OperandType(OperandCode.INT32), "INT32"),
        (tensor("uint8", (1,), 0.5, 3), "TENSOR_QUANT8_ASYMM[1] (scale 0.5, zero point 3)"),
        (
            tensor("quant8_symm_per_channel", (2, 1), channel=ChannelQuantization(1, (0.5,))),
            "TENSOR_QUANT8_SYMM_PER_CHANNEL[2, 1] (per channel 1)",
        ),
        (OperandType(0x10007), "extension type 0x10007[]"),
    ],
)
def test_types_as_text(type: OperandType, text: str) -> None:
    assert str(type) == text


def test_scales_along_a_dimension() -> None:
    found = ChannelQuantization(1, (0.5, 0.25, 2.0)).broadcast(3)
    assert (found.shape, found.dtype, found.ravel().tolist()) == ((1, 3, 1), np.float32, [0.5, 0.25, 2.0])


# Extensions


@pytest.mark.parametrize(
    ("name", "is_legal"),
    [("com.example_1", True), (".", True), ("example", False), ("com.Example", False), ("com.ex ample", False)],
)
def test_the_name_of_an_extension(name: str, is_legal: bool) -> None:
    if is_legal:
        Extension(name).check()
    else:
        with pytest.raises(BadDataError, match="an extension's name has lower-case letters"):
            Extension(name).check()


@pytest.mark.parametrize(
    ("code", "size", "message"),
    [
        (0, 1, None),
        (0xFFFF, 1, None),
        (-1, 1, "operand code -1 of a.b is not in 0..65535"),
        (0x10000, 1, "operand code 65536 of a.b is not in 0..65535"),
        (5, 0, "operand type 5 of a.b has 0 bytes"),
    ],
)
def test_the_types_of_an_extension(code: int, size: int, message: str | None) -> None:
    extension = Extension("a.b", {code: ExtensionType(size)})
    if message is None:
        extension.check()
    else:
        with pytest.raises(BadDataError, match=message):
            extension.check()


def test_prefixes_are_given_in_order() -> None:
    found = Extensions()
    assert [found.type(name, code) for name, code in (("a.a", 0), ("a.b", 0xFFFF), ("a.a", 7))] == [
        0x20000,
        0x3FFFF,
        0x20007,
    ]
    names = [found.name(code) for code in (0x10000, 0x20000, 0x3FFFF, 0x40000, 0xFFFF, 9)]
    assert names == [COMPOSITES, "a.a", "a.b", None, None, None]
    for code in (-1, 0x10000):
        with pytest.raises(BadDataError, match=f"code {code} within a.a is not in 0..65535"):
            found.type("a.a", code)


def test_there_are_65535_prefixes() -> None:
    found = Extensions()
    found._names = [f"a.{number}" for number in range(0xFFFE)]
    assert found.type("last.one", 0) >> 16 == 0xFFFF
    with pytest.raises(BadDataError, match="no prefix is left for the extension one.more"):
        found.type("one.more", 0)


def test_types_are_searched_for_until_a_driver_describes_them() -> None:
    found, searched = Extensions(), list[int]()
    code = found.type("a.a", 3)

    def discover() -> None:
        searched.append(1)
        found.describe("chip", Extension("a.a", {3: ExtensionType(12, False)}))

    found.discover = discover
    assert found.find("a.a") is None
    assert found.operand_type(code) == found.operand_type(code) == ExtensionType(12, False)
    assert len(searched) == 1
    assert found.find("a.a") == Extension("a.a", {3: ExtensionType(12, False)})
    with pytest.raises(BadDataError, match="a.a has no operand type 4"):
        found.operand_type(code + 1)
    with pytest.raises(BadDataError, match="no driver describes the extension b.b"):
        found.operand_type(found.type("b.b", 3))
    found.describe("same", Extension("a.a", {3: ExtensionType(12, False)}))
    assert found.operand_type(code)
    found.describe("other", Extension("a.a", {3: ExtensionType(13, False)}))
    with pytest.raises(BadDataError, match="a.a is disabled: chip and other describe it differently"):
        found.operand_type(code)


def test_codes_of_extensions_are_stored_by_name() -> None:
    code = EXTENSIONS.type("com.example.limits", 0xABCD)
    assert _portable(code) == ("com.example.limits", 0xABCD)
    assert _local(("com.example.limits", 0xABCD)) == code
    assert (_portable(OperandCode.TENSOR_INT32), _local((None, 4))) == ((None, 4), 4)
    assert _describe_code(code) == (b"com.example.limits", 0xABCD)
    assert _describe_code(OperandCode.TENSOR_INT32) == (b"", 4)
    assert operation_name(code) == "operation 43981 of com.example.limits"
    assert [operation_name(each) for each in (0, 10000, 9999)] == ["ADD", "OEM_OPERATION", "operation 9999"]


def test_stored_values_of_an_extension_have_its_size() -> None:
    EXTENSIONS.describe("chip", Extension("com.example.sizes", {1: ExtensionType(4)}))
    type = OperandType(EXTENSIONS.type("com.example.sizes", 1), (2,))
    check_type(type)
    assert type.is_extension
    assert [stores(type, np.dtype(name)) for name in ("float32", "int32", "int16", "float64")] == [
        True,
        True,
        False,
        False,
    ]
    floats = tensor("float32", (2,))
    assert [stores(floats, np.dtype(name)) for name in ("float32", "int32")] == [True, False]


# Graphs


def test_computed_operands_are_found_by_index_or_name() -> None:
    b = Builder("two")
    x = b.input(tensor("float32", (2,)), name="x")
    first, second = b.abs(x, name="first"), b.neg(x, name="same")
    b.output(b.add(first, second, name="same"))
    model = b.finish()
    index, other, _ = (operand.index for operand in model.operands if operand.name in ("first", "same"))
    assert find_computed(model, ["first", other]) == [index, other]
    for wanted, message in (
        ("x", "no operation of two computes an operand 'x'"),
        (99, "no operation of two computes an operand 99"),
        ("same", r"'same' names several operands: \[\d, \d\]; give an index"),
    ):
        with pytest.raises(BadDataError, match=message):
            find_computed(model, [wanted])


def test_operands_are_equal_by_their_values() -> None:
    def made(name: str = "x", size: int = 2) -> Operand:
        return Operand(0, tensor("float32", (size,)), name)

    assert made() == made()
    assert made() != made("y")
    assert made() != made(size=3)
    assert made() != "x"
    assert made().__eq__("x") is NotImplemented
    assert (str(made()), str(made(""))) == ("x (0): TENSOR_FLOAT32[2]", "operand (0): TENSOR_FLOAT32[2]")


class Named:
    """A model whose references have names."""

    def __init__(self, *references: tuple[str, "Named"]) -> None:
        self.operands = [
            Operand(i, tensor("float32"), name, Lifetime.SUBGRAPH) for i, (name, _) in enumerate(references)
        ]
        for each, (_, model) in zip(self.operands, references, strict=True):
            each.value = model


def test_a_path_shows_its_first_and_last_operand() -> None:
    fifth = Named()
    fourth = Named(("e", fifth))
    third = Named(("d", fourth))
    second = Named(("b", third), ("c", fourth))
    first: Any = Named(("a", second))

    def path(*names: str) -> str:
        return "".join("… → " if name == "…" else f"{name} (0): TENSOR_FLOAT32[] → " for name in names)

    found = paths(first)
    assert found[first] == ""
    assert found[second] == path("a")
    assert found[third] == path("a", "b")
    assert found[fourth] == "a (0): TENSOR_FLOAT32[] → c (1): TENSOR_FLOAT32[] → "
    assert found[fifth] == path("a", "…", "e")
    assert [depths(first)[each] for each in (first, second, third, fourth, fifth)] == [4, 3, 2, 1, 0]


def test_a_model_of_level_1_needs_no_other() -> None:
    def made(type: OperandType) -> Model:
        model = Model()
        x, y = model.add_operand(type), model.add_operand(type)
        model.add_operation(OperationCode.RELU, [x], [y])
        model.identify_inputs_and_outputs([x], [y])
        model.finish()
        return model

    assert made(tensor("float32", (2,))).feature_level == 1
    assert made(tensor("float16", (2,))).feature_level == 3
    assert made(tensor("int8", (2,), 0.5)).feature_level == 4
