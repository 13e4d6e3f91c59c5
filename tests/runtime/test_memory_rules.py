"""Rules 146 to 156 of validation.md: descriptors of memories, copies between memories, hardware buffers."""

import gc
import mmap
import weakref
from pathlib import Path

import numpy as np
import pytest

from nnapi import (
    Builder,
    Compilation,
    Device,
    Execution,
    HardwareBuffer,
    Memory,
    MemoryDesc,
    Model,
    OperandCode,
    OperandType,
    OperationCode,
    compile,
    copy_memory,
    tensor,
)
from nnapi.errors import (
    BadDataError,
    BadStateError,
    OpFailedError,
    UnexpectedNullError,
    UnmappableError,
)
from nnapi.runtime.memory import HardwareBufferFormat
from tests.graphs import FLOATS, finished_sum, on_reference, sum_with
from tests.runtime.control_cases import counting
from tests.runtime.device_cases import GIVEN, REFERENCE, SQUARE, chain, chained
from tests.runtime.execution_cases import ONES, SUM, blank, prepared
from tests.runtime.memory_cases import Allocating, described, opaque

OPEN = on_reference(finished_sum(tensor("float32", (0, 2))))


def scalar_sum() -> Compilation:
    """A model whose second input is a scalar."""
    b = Builder()
    x, beta = b.input(FLOATS), b.input(OperandType(OperandCode.FLOAT32))
    b.output(b.softmax(x, beta))
    return on_reference(b.finish())


def test_rule_146_a_hardware_buffer_is_memory_of_its_width() -> None:
    left, result = HardwareBuffer(16), HardwareBuffer(16)
    left.lock()[:] = (2 * ONES).tobytes()
    left.unlock()
    execution = Execution(on_reference(sum_with(ONES.tobytes())))
    execution.set_input_from_memory(0, left.memory(), 0, 16)
    execution.set_output_from_memory(0, result.memory(), 0, 16)
    execution.compute()
    assert bytes(result.lock()) == (3 * ONES).tobytes()
    for wrong in ({"format": 2}, {"height": 2}, {"layers": 2}):
        with pytest.raises(BadDataError, match="BLOB"):
            HardwareBuffer(16, **wrong)
    with pytest.raises(BadDataError):
        HardwareBuffer(0)


def test_rule_146_an_image_is_a_whole_input_or_output_that_the_cpu_cannot_map() -> None:
    image = HardwareBuffer(2, 3, 4, HardwareBufferFormat.R8G8B8A8_UNORM)
    assert len(image.lock()) == 2 * 3 * 4 * 4
    assert image.stride == 2
    image.unlock()
    for wrong in ((0, 3, 4), (2, 0, 4), (2, 3, 0), (1 << 16, 1 << 16, 1)):
        with pytest.raises(BadDataError):
            HardwareBuffer(*wrong, HardwareBufferFormat.R8G8B8A8_UNORM)
    model = Model()
    with pytest.raises(BadDataError, match="holds no constants"):
        model.set_operand_value_from_memory(model.add_operand(FLOATS), image.memory(), 0, 16)
    for role in ("input", "output"):
        execution = prepared()
        if role == "input":
            execution = Execution(SUM)
            execution.set_input(1, ONES)
            execution.set_output(0, blank())
        for offset, length in ((0, 16), (4, 0)):
            with pytest.raises(BadDataError, match="an image is used as a whole"):
                getattr(execution, f"set_{role}_from_memory")(0, image.memory(), offset, length)
        getattr(execution, f"set_{role}_from_memory")(0, image.memory(), 0, 0)
        with pytest.raises(UnmappableError, match="is an image"):
            execution.compute()
    with pytest.raises(UnmappableError):
        copy_memory(image.memory(), plain(image.memory().size))


def test_rule_146_a_hardware_buffer_holds_constants_too() -> None:
    buffer = HardwareBuffer(16)
    buffer.lock()[:] = (2 * ONES).tobytes()
    buffer.unlock()
    compilation = on_reference(sum_with((buffer.memory(), 0, 16)))
    assert compilation.run(ONES)[0].tolist() == (3 * ONES).tolist()


def test_a_hardware_buffer_is_locked_once() -> None:
    buffer = HardwareBuffer(4)
    with pytest.raises(BadStateError, match="is not locked"):
        buffer.unlock()
    buffer.lock()
    with pytest.raises(BadStateError, match="is locked already"):
        buffer.lock()
    buffer.unlock()
    buffer.lock()


def test_rule_147_a_descriptor_is_frozen_once() -> None:
    desc = described((SUM, "input", 0))
    desc.finish()
    for change in (
        lambda: desc.add_input_role(SUM, 1, 1.0),
        lambda: desc.add_output_role(SUM, 0, 1.0),
        lambda: desc.set_dimensions((2, 2)),
        desc.finish,
    ):
        with pytest.raises(BadStateError, match="the descriptor is finished"):
            change()


def test_rule_148_roles() -> None:
    desc = described((SUM, "input", 0))
    unfinished = Compilation(finished_sum())
    other = on_reference(finished_sum(tensor("quant8_asymm", (2, 2), 0.5, 3)))
    for compilation, index, frequency, message in (
        (SUM, 0, 1.0, "input 0 was added already"),
        (unfinished, 0, 1.0, "is not ready"),
        (SUM, 2, 1.0, "input 2 does not exist"),
        (other, 0, 1.0, "differs from TENSOR_FLOAT32"),
        (on_reference(finished_sum(tensor("float32", (3, 2)))), 0, 1.0, "contradict"),
        (SUM, 1, 0.0, "frequency is 0.0"),
        (SUM, 1, 1.5, "frequency is 1.5"),
        (SUM, 1, float("nan"), "frequency is nan"),
    ):
        with pytest.raises(BadDataError, match=message):
            desc.add_input_role(compilation, index, frequency)
    with pytest.raises(UnexpectedNullError):
        desc.add_input_role(None, 0, 1.0)
    desc.add_input_role(SUM, 1, 1.0)
    desc.add_output_role(SUM, 0, 0.5)


def test_rule_148_quantization_is_part_of_the_type() -> None:
    first = on_reference(finished_sum(tensor("quant8_asymm", (2, 2), 0.5, 3)))
    second = on_reference(finished_sum(tensor("quant8_asymm", (2, 2), 0.5, 4)))
    desc = described((first, "input", 0))
    with pytest.raises(BadDataError, match="differs from"):
        desc.add_input_role(second, 0, 1.0)


def test_rule_148_a_scalar_has_no_dimensions() -> None:
    desc = MemoryDesc()
    desc.set_dimensions((1,))
    with pytest.raises(BadDataError, match="is a scalar, dimensions have been set"):
        desc.add_input_role(scalar_sum(), 1, 1.0)


def test_rule_149_dimensions() -> None:
    desc = described((OPEN, "input", 0))
    with pytest.raises(UnexpectedNullError):
        desc.set_dimensions(None)
    desc.set_dimensions(())
    for wrong in ((3, 3), (3,), (3, 2, 1)):
        with pytest.raises(BadDataError, match="contradict"):
            desc.set_dimensions(wrong)
    desc.set_dimensions((3, 0))
    with pytest.raises(BadDataError, match="contradict"):
        desc.set_dimensions((4, 2))
    desc.finish()
    assert desc.create_memory().dimensions == (3, 2)
    scalar = described((scalar_sum(), "input", 1))
    scalar.set_dimensions(())
    with pytest.raises(BadDataError, match="scalars, which have no dimensions"):
        scalar.set_dimensions((1,))


def test_rule_150_a_descriptor_has_a_role() -> None:
    desc = MemoryDesc()
    with pytest.raises(BadDataError, match="has no role"):
        desc.finish()
    desc.add_input_role(SUM, 0, 1.0)
    with pytest.raises(BadStateError, match="the descriptor is open, not finished"):
        desc.create_memory()
    desc.finish()
    desc.create_memory()


def test_rule_151_the_one_device_allocates() -> None:
    driver = Allocating()
    compilation = compile(chain(), Device(driver))
    memory = opaque((compilation, "input", 0), (compilation, "output", 0))
    assert len(driver.buffers) == 1
    copy_memory(Memory.from_array(GIVEN), memory)
    assert driver.buffers[0].has_data


def test_rule_151_shared_memory_where_there_are_several_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = Allocating()
    chosen = compile(chain(), Device(driver))
    automatic = compile(chain())
    with pytest.raises(OpFailedError, match="no device allocates the memory: its roles are on several devices"):
        opaque((chosen, "output", 0), (automatic, "input", 0))
    monkeypatch.setattr("nnapi.runtime.device.devices", lambda: [Device(driver), REFERENCE])
    shared = opaque((compile(chain()), "output", 0), (automatic, "input", 0))
    assert not driver.buffers
    copy_memory(Memory.from_array(GIVEN), shared)
    assert shared.has_data


def test_rule_151_the_devices_of_the_steps_that_touch_the_role_are_asked() -> None:
    first, last = Allocating("first", takes=OperationCode.ABS), Allocating("last", takes=OperationCode.NEG)
    compilation = compile(chain(2), [Device(first), Device(last)])
    assert compilation.plan.devices == ("first", "last")
    opaque((compilation, "input", 0))
    assert (len(first.buffers), len(last.buffers)) == (1, 0)
    memory = opaque((compilation, "output", 0))
    assert (len(first.buffers), len(last.buffers)) == (1, 1)
    execution = Execution(compilation)
    execution.set_input(0, GIVEN)
    execution.set_output_from_memory(0, memory)
    execution.compute()
    assert np.array_equal(memory.load(), chained(2))
    with pytest.raises(OpFailedError, match="its roles are on several devices"):
        opaque((compilation, "input", 0), (compilation, "output", 0))


def test_rule_151_steps_within_control_flow_are_asked_too() -> None:
    first, last = Allocating("first", takes=OperationCode.ABS), Allocating("last", takes=OperationCode.NEG)
    compilation = compile(one_of(OperationCode.ABS, OperationCode.NEG), [Device(first), Device(last), REFERENCE])
    assert set(compilation.plan.devices) == {"first", "last"}
    assert opaque((compilation, "input", 0)).declared.code == OperandCode.TENSOR_BOOL8
    compilation = compile(counting(3.0, states=1), [Device(Allocating("last", takes=OperationCode.NEG)), REFERENCE])
    with pytest.raises(OpFailedError, match="its roles are on several devices"):
        opaque((compilation, "input", 1))


@pytest.mark.parametrize("fault", ["fails", "lies"])
@pytest.mark.parametrize("explicit", [False, True])
def test_rule_151_a_device_that_cannot(explicit: bool, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    full = Device(Allocating(**{fault: True}))  # type: ignore[arg-type]
    monkeypatch.setattr("nnapi.runtime.device.devices", lambda: [full, REFERENCE])
    compilation = compile(chain(), full if explicit else None)
    assert compilation.plan.devices == ("allocating",)
    if explicit:
        with pytest.raises(OpFailedError, match=r"no memory left on the device|allocating returned None for a buffer"):
            opaque((compilation, "output", 0))
    else:
        assert not opaque((compilation, "output", 0)).has_data


def test_rule_151_unknown_dimensions_cannot_be_shared() -> None:
    with pytest.raises(OpFailedError, match="unknown dimensions"):
        opaque((OPEN, "input", 0))


def test_rule_152_opaque_memories_hold_no_constants_and_have_no_regions() -> None:
    memory = opaque((SUM, "input", 0))
    model = Model()
    with pytest.raises(BadDataError, match="it has no regions and holds no constants"):
        model.set_operand_value_from_memory(model.add_operand(FLOATS), memory, 0, 16)
    with pytest.raises(BadDataError, match="offset and length must be 0"):
        Execution(SUM).set_input_from_memory(0, memory, 0, 16)
    with pytest.raises(BadDataError, match="was not made to be input 1"):
        Execution(SUM).set_input_from_memory(1, memory)
    with pytest.raises(BadDataError, match="opaque"):
        memory.view()


def one_of(then: OperationCode, otherwise: OperationCode) -> Model:
    """IF over two models of one operation."""
    branches = []
    for code in (then, otherwise):
        branch = Model(code.name)
        x, y = branch.add_operand(SQUARE), branch.add_operand(SQUARE)
        branch.add_operation(code, [x], [y])
        branch.identify_inputs_and_outputs([x], [y])
        branch.finish()
        branches.append(branch)
    model = Model("one of")
    condition, x, y = (model.add_operand(type) for type in (tensor("bool8", (1,)), SQUARE, SQUARE))
    references = [model.add_operand(OperandType(OperandCode.MODEL)) for _ in branches]
    for index, branch in zip(references, branches, strict=True):
        model.set_operand_value_from_model(index, branch)
    model.add_operation(OperationCode.IF, [condition, *references, x], [y])
    model.identify_inputs_and_outputs([condition, x], [y])
    model.finish()
    return model


def plain(size: int = 16) -> Memory:
    return Memory.from_array(np.zeros(size, np.uint8))


def test_rule_153_copies() -> None:
    empty, memory = opaque((SUM, "input", 0)), opaque((SUM, "input", 1))
    with pytest.raises(BadDataError, match="the source holds no data"):
        copy_memory(empty, plain())
    for wrong in (15, 17):
        with pytest.raises(BadDataError, match=f"the source has {wrong} bytes, which do not fit"):
            copy_memory(plain(wrong), memory)
    copy_memory(Memory.from_array(ONES), memory)
    with pytest.raises(BadDataError, match="the source has 16 bytes, the target 15"):
        copy_memory(memory, plain(15))
    with pytest.raises(BadDataError, match="the source has 16 bytes, the target 17"):
        copy_memory(plain(16), plain(17))
    back = blank()
    copy_memory(memory, Memory.from_array(back))
    assert np.array_equal(back, ONES)
    copy_memory(memory, memory)
    copy_memory(empty, empty)
    for source, target in ((None, memory), (memory, None)):
        with pytest.raises(UnexpectedNullError):
            copy_memory(source, target)


def test_rule_153_descriptions_of_opaque_memories_must_agree() -> None:
    source = opaque((SUM, "output", 0))
    copy_memory(Memory.from_array(ONES), source)
    coded = on_reference(finished_sum(tensor("quant8_asymm", (2, 2), 0.5)))
    with pytest.raises(BadDataError, match="cannot be copied into"):
        copy_memory(source, opaque((coded, "input", 0)))
    longer = on_reference(finished_sum(tensor("float32", (3, 2))))
    with pytest.raises(BadDataError, match=r"dimensions \[2, 2\] do not fit \[3, 2\]"):
        copy_memory(source, opaque((longer, "input", 0)))


def test_rule_153_what_cannot_be_mapped(tmp_path: Path) -> None:
    (tmp_path / "short").write_bytes(bytes(8))
    with (tmp_path / "short").open("rb") as file:
        short = Memory.from_fd(16, mmap.PROT_READ, file.fileno())
        read_only = Memory.from_fd(8, mmap.PROT_READ, file.fileno())
    with pytest.raises(UnmappableError):
        copy_memory(short, plain())
    with pytest.raises(UnmappableError, match="cannot be written to"):
        copy_memory(plain(8), read_only)
    source = opaque((SUM, "output", 0))
    copy_memory(Memory.from_array(ONES), source)
    with (tmp_path / "short").open("rb") as file:
        read_only = Memory.from_fd(source.declared.nbytes, mmap.PROT_READ, file.fileno())
    with pytest.raises(UnmappableError, match="cannot be written to"):
        copy_memory(source, read_only)


def test_rule_154_what_a_copy_leaves_behind() -> None:
    driver = Allocating()
    compilation = compile(finished_sum(tensor("float32", (0, 2))), Device(driver))
    target = opaque((compilation, "input", 0))
    source = opaque((SUM, "output", 0))
    copy_memory(Memory.from_array(ONES), source)
    copy_memory(source, target)
    assert (target.has_data, target.dimensions) == (True, (2, 2))
    with pytest.raises(BadDataError):
        copy_memory(plain(15), target)
    assert (target.has_data, target.dimensions) == (False, (0, 2))
    copy_memory(source, target)
    source.invalidate()
    with pytest.raises(BadDataError):
        copy_memory(source, target)
    assert not target.has_data


def test_copies_are_copies() -> None:
    source, target = opaque((SUM, "output", 0)), opaque((SUM, "input", 0))
    given = ONES.copy()
    copy_memory(Memory.from_array(given), source)
    copy_memory(source, target)
    given[:] = 5
    assert np.array_equal(target.load(), ONES)
    assert target.load() is not source.load()


def test_rule_155_ordinary_memory_always_holds_data() -> None:
    execution, result = Execution(SUM), blank()
    execution.set_input_from_memory(0, plain(), 0, 16)
    execution.set_input_from_memory(1, HardwareBuffer(16).memory(), 0, 16)
    execution.set_output(0, result)
    execution.compute()
    assert result.tolist() == [[0, 0], [0, 0]]


def test_rule_156_what_a_memory_needs_outlives_it() -> None:
    compilation = on_reference(finished_sum())
    desc = described((compilation, "output", 0))
    desc.finish()
    memory = desc.create_memory()
    kept = weakref.ref(compilation)
    del desc, compilation
    gc.collect()
    assert kept() is not None  # the memory's role refers to it
    del memory
    gc.collect()
    assert kept() is None
