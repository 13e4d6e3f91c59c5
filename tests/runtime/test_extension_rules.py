"""Rules 30, 105 and 168 to 173 of validation.md: operand and operation types of vendors."""

import itertools
from collections.abc import Sequence

import numpy as np
import pytest

import nnapi.runtime.device
from nnapi import Device, DeviceTypeCode, Execution, Model, OperandType, compile, device, tensor
from nnapi.codes import OEM_OPERATION, OperandCode
from nnapi.contract.driver import (
    Capabilities,
    DeviceInfo,
    Extension,
    ExtensionType,
    Outcome,
    PrepareOptions,
    Request,
    Verdict,
)
from nnapi.drivers.limited import Limited
from nnapi.errors import BadDataError, BadStateError, OpFailedError, UnexpectedNullError
from nnapi.host.installed_packages import Entry
from nnapi.model.content_hash import hash_content
from nnapi.model.extension import Extensions
from nnapi.model.pickling import describe
from tests.discovery import find_devices_anew

numbered = itertools.count()


class Vendor:
    """Takes every operation; each output is the first input's bytes, turned around."""

    def __init__(self, *extensions: Extension, name: str = "vendor", fails: bool = False) -> None:
        self.info = DeviceInfo(name, "1", DeviceTypeCode.DEVICE_ACCELERATOR, 8, extensions)
        self.fails = fails
        self.models: list[Model] = []

    def capabilities(self) -> Capabilities:
        return Capabilities()

    def verdicts(self, model: Model) -> Sequence[Verdict]:
        return [Verdict(True)] * len(model.operations)

    def prepare(self, model: Model, options: PrepareOptions) -> "Vendor":
        self.models.append(model)
        return self

    def execute(self, request: Request) -> Outcome:
        if self.fails:
            raise OpFailedError("the vendor's fault")
        assert request.inputs[0] is not None
        return Outcome([request.inputs[0].reshape(-1)[::-1].copy()])

    def close(self) -> None: ...


def fresh() -> str:
    """A name that no other test uses: what is said of an extension holds for the whole process."""
    return f"com.example.test{next(numbered)}"


def pairs(name: str) -> Extension:
    """Type 0 is a tensor of 6-byte elements, type 1 a scalar of 3 bytes."""
    return Extension(name, {0: ExtensionType(6), 1: ExtensionType(3, is_tensor=False)})


def described() -> tuple[str, Device]:
    name = fresh()
    return name, Device(Vendor(pairs(name)))


def turning(name: str, dimensions: tuple[int, ...] = (3,)) -> Model:
    """One operation of the extension on a tensor of its type 0."""
    model = Model("turning")
    type = OperandType(model.extension_operand_type(name, 0), dimensions)
    x, y = model.add_operand(type, "x"), model.add_operand(type, "y")
    model.add_operation(model.extension_operation_type(name, 7), [x], [y])
    model.identify_inputs_and_outputs([x], [y])
    model.finish()
    return model


SIX = np.frombuffer(b"aaaaaabbbbbbcccccc", "V6")


def test_rule_030_extension_data() -> None:
    name, _chosen = described()
    model = Model()
    own = model.add_operand(OperandType(model.extension_operand_type(name, 0), (3,)))
    other = model.add_operand(tensor("float32", (3,)))
    with pytest.raises(BadDataError, match="is not of an extension's type"):
        model.set_operand_extension_data(other, b"1")
    with pytest.raises(BadDataError, match="operand 2 does not exist"):
        model.set_operand_extension_data(2, b"1")
    with pytest.raises(BadDataError, match="empty extension data"):
        model.set_operand_extension_data(own, b"")
    data = bytearray(b"scale")
    model.set_operand_extension_data(own, data)  # type: ignore[arg-type]
    data[:] = b"other"
    assert model.operands[own].type.data == b"scale"
    model.set_operand_extension_data(own, None)
    assert model.operands[own].type.data == b""
    finished = turning(name)
    with pytest.raises(BadStateError):
        finished.set_operand_extension_data(0, b"1")


def test_extension_data_reaches_the_driver_also_in_a_part() -> None:
    name, chosen = described()
    model = Model()
    type = OperandType(model.extension_operand_type(name, 0), (3,))
    x, y, a, b = (model.add_operand(t) for t in (type, type, tensor("float32", (2,)), tensor("float32", (2,))))
    model.set_operand_extension_data(x, b"scale")
    model.add_operation(model.extension_operation_type(name, 7), [x], [y])
    model.add_operation(nnapi.OperationCode.ABS, [a], [b])
    model.identify_inputs_and_outputs([x, a], [y, b])
    model.finish()
    code = model.extension_operation_type(name, 7)
    only = Limited(chosen.driver, "only", lambda _, call: None if call.code == code else f"{call}: no")
    compilation = compile(model, [device("nnapi-reference"), Device(only)])
    assert set(compilation.plan.devices) == {"nnapi-reference", "only"}
    (part,) = chosen.driver.models  # type: ignore[attr-defined]
    assert part.operands[part.inputs[0]].type.data == b"scale"
    turned, magnitude = compilation.run(SIX, np.array([-1, 2], np.float32))
    assert turned.tobytes() == SIX[::-1].tobytes()
    assert magnitude.tolist() == [1, 2]


def test_rule_105_sizes_are_those_the_driver_gives() -> None:
    name, chosen = described()
    compilation = compile(turning(name), chosen)
    execution = Execution(compilation)
    with pytest.raises(BadDataError, match="takes 18 bytes, got 12"):
        execution.set_input(0, bytes(12))
    result = bytearray(18)
    execution.set_input(0, bytes(SIX.tobytes()))
    execution.set_output(0, result)
    execution.compute()
    assert result == b"ccccccbbbbbbaaaaaa"


def test_rule_168_numbers_are_prefix_and_code() -> None:
    table = Extensions()
    assert table.type("com.example.first", 5) == 2 << 16 | 5  # composites have prefix 1
    assert table.type("com.example.second", 0xFFFF) == 3 << 16 | 0xFFFF
    assert table.type("com.example.first", 6) == 2 << 16 | 6
    assert (table.name(2 << 16 | 9), table.name(5), table.name(4 << 16)) == ("com.example.first", None, None)
    for code in (-1, 1 << 16):
        with pytest.raises(BadDataError, match=r"is not in 0\.\.65535"):
            table.type("com.example.first", code)


@pytest.mark.parametrize("name", ["nodot", "com.Example", "com.exa-mple", "", "com exa.mple"])
def test_rule_169_drivers_with_other_names_are_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadDataError, match="an extension's name has lower-case letters"):
        Device(Vendor(Extension(name)))
    monkeypatch.delenv("DEBUG_NN_CPUONLY", raising=False)
    monkeypatch.delenv("DEBUG_NN_ENABLED_DEVICES", raising=False)
    find_devices_anew(monkeypatch)
    entry = Entry("misnamed", f"{__name__}:MISNAMED")
    monkeypatch.setattr("nnapi.runtime.device.find_entries", lambda group: [entry])
    monkeypatch.setattr(Entry, "load", lambda self: Vendor(Extension(name)))
    assert nnapi.devices() == []
    (broken,) = nnapi.unavailable_devices()
    assert "an extension's name has lower-case letters" in broken.reason


def test_rule_169_ill_formed_descriptions() -> None:
    for types, message in (
        ({1 << 16: ExtensionType(1)}, r"operand code 65536 of .* is not in 0\.\.65535"),
        ({0: ExtensionType(0)}, "has 0 bytes"),
    ):
        with pytest.raises(BadDataError, match=message):
            Device(Vendor(Extension(fresh(), types)))


def test_rule_170_devices_that_contradict_one_another_disable_the_extension() -> None:
    name, first = described()
    Device(Vendor(pairs(name), name="agrees"))
    turning(name)
    Device(Vendor(Extension(name, {0: ExtensionType(6)}), name="differs"))
    with pytest.raises(BadDataError, match=f"{name} is disabled: vendor and differs describe it differently"):
        turning(name)
    assert first.supports_extension(name)


def test_rule_171_an_extension_that_no_driver_describes() -> None:
    name = fresh()
    model = Model()
    with pytest.raises(BadDataError, match=f"no driver describes the extension {name}"):
        model.add_operand(OperandType(model.extension_operand_type(name, 0), (1,)))
    x, y = (model.add_operand(tensor("float32", (1,))) for _ in "xy")
    model.add_operation(model.extension_operation_type(name, 0), [x], [y])
    model.identify_inputs_and_outputs([x], [y])
    model.finish()
    with pytest.raises(BadDataError, match="no device supports operation 0 of"):
        compile(model)


def test_rule_171_a_code_that_the_extension_does_not_define() -> None:
    name, _ = described()
    model = Model()
    with pytest.raises(BadDataError, match=f"{name} has no operand type 2"):
        model.add_operand(OperandType(model.extension_operand_type(name, 2), (1,)))


def test_rule_172_nothing_falls_back_to_a_cpu_that_does_not_know_the_operation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = fresh()
    failing = Device(Vendor(pairs(name), fails=True))
    found = [failing, device("nnapi-reference")]
    monkeypatch.setattr("nnapi.runtime.device.devices", lambda: found)
    with pytest.raises(OpFailedError, match="the vendor's fault"):
        compile(turning(name)).run(SIX)


def test_rule_172_the_reference_takes_neither_extensions_nor_oem_operations() -> None:
    name, chosen = described()
    assert turning(name).supported_operations([device("nnapi-reference")]) == [False]
    assert turning(name).supported_operations([device("nnapi-reference"), chosen]) == [True]
    model = Model()
    x, y = (model.add_operand(OperandType(OperandCode.TENSOR_FLOAT32, (1,))) for _ in "xy")
    model.add_operation(OEM_OPERATION, [x], [y])
    model.identify_inputs_and_outputs([x], [y])
    model.finish()
    with pytest.raises(BadDataError, match="the reference knows no extension or OEM operation"):
        compile(model, "nnapi-reference")


def test_rule_173_types_as_the_driver_describes_them() -> None:
    name, _chosen = described()
    model = Model()
    tensor_code, scalar_code = (model.extension_operand_type(name, code) for code in (0, 1))
    scalar = OperandType(scalar_code)
    model.set_operand_value(model.add_operand(scalar), b"abc")
    assert (scalar.is_scalar, scalar.nbytes) == (True, 3)
    for type, message in (
        (OperandType(scalar_code, (1,)), "is a scalar and has no dimensions"),
        (OperandType(tensor_code, (1,), 0.5), "has no scale"),
        (OperandType(tensor_code, (1,), 0, 1), "has no zero point"),
        (OperandType(tensor_code, (1 << 16, 1 << 14)), "more than 4294967295"),
    ):
        with pytest.raises(BadDataError, match=message):
            model.add_operand(type)
    values = model.add_operand(OperandType(tensor_code, (3,)))
    with pytest.raises(BadDataError, match="takes 18 bytes, got 17"):
        model.set_operand_value(values, bytes(17))
    model.set_operand_value(values, SIX.tobytes())


def test_arrays_of_the_right_size_are_taken_whatever_their_type() -> None:
    name, chosen = described()
    compilation = compile(turning(name), chosen)
    (turned,) = compilation.run(SIX)
    assert turned.dtype == np.dtype("V6")
    given = np.arange(9, dtype=np.uint16).view("u2,u2,u2")
    assert compilation.run(given)[0].tobytes() == given[::-1].tobytes()
    with pytest.raises(BadDataError, match=r"stores \|V6, got an array of int64"):
        compilation.run(np.arange(3))


def test_the_level_of_a_model_with_an_extension_is_3() -> None:
    name, _ = described()
    assert turning(name).feature_level == 3


def test_support_is_asked_by_name() -> None:
    name, chosen = described()
    assert chosen.supports_extension(name)
    assert not device("nnapi-reference").supports_extension(name)
    assert not chosen.supports_extension("com.example.never")
    with pytest.raises(UnexpectedNullError):
        chosen.supports_extension(None)


def test_the_digest_of_a_model_does_not_depend_on_prefixes(monkeypatch: pytest.MonkeyPatch) -> None:
    name, _chosen = described()
    before = hash_content(turning(name))
    table = Extensions()
    table.type("com.example.another", 0)
    table.describe("vendor", pairs(name))
    for place in ("extension", "model", "operand", "validation"):
        monkeypatch.setattr(f"nnapi.model.{place}.EXTENSIONS", table)
    monkeypatch.setattr("nnapi.model.content_hash.EXTENSIONS", table)
    assert turning(name).operations[0].code >> 16 == 3
    assert hash_content(turning(name)) == before


def test_a_pickled_model_names_its_extension_as_prefixes_differ_between_processes() -> None:
    name, _chosen = described()
    (description,) = describe(turning(name))
    assert [code for _, code, *_ in description.operands] == [(name, 0)] * 2
    assert [code for code, *_ in description.operations] == [(name, 7)]
