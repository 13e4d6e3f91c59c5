"""Arguments to call each function of the C library correctly, and to break each of its rules.

A case is the arguments of a call that succeeds, by parameter name, and for each rule of the specification, by its
position there, a change to them that breaks it. Changes to different arguments can be combined.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from nnapi.capi.client import ADDRESS, call, make_handle
from nnapi.codes import OperandCode, OperationCode
from nnapi.model.c_structures import ChannelStruct, OperandTypeStruct, uint32s
from tests.capi.capi_world import SIZE, P, World

Arguments = dict[str, Any]
Break = Callable[[World, Arguments], Any]


@dataclass(frozen=True)
class Case:
    """``breaks`` maps the position of a rule to what breaks it."""

    arguments: Callable[[World], Arguments]
    breaks: dict[int, Break] = field(default_factory=dict)


def put(**values: Any) -> Break:
    """Replace arguments; a function is called with the world for the value."""

    def change(world: World, arguments: Arguments) -> None:
        for name, value in values.items():
            arguments[name] = value(world) if callable(value) else value

    return change


FINISHED = put(model=World.finished)
INVALID = put(model=World.invalid)
RUN = put(execution=lambda world: world.execution(run=True))
AUTOMATIC = put(execution=lambda world: world.execution(explicit=False))
LONG = 1 << 32


def scalar_after_dimensions(world: World, given: Arguments) -> None:
    call(f"{P}MemoryDesc_setDimensions", given["desc"], 1, uint32s([2]))
    given.update(compilation=world.ints(), index=2)


def role(kind: str) -> Case:
    breaks: dict[int, Break] = {6: scalar_after_dimensions} if kind == "Input" else {}
    return Case(
        lambda world: {
            "desc": make_handle(f"{P}MemoryDesc_create"),
            "compilation": world.compilation(),
            "index": 0,
            "frequency": 1.0,
        },
        breaks
        | {
            1: put(desc=lambda world: world.desc(finish=True)),
            5: put(desc=lambda world: world.desc(world.ints())),
            2: lambda world, given: given.update(desc=world.desc(given["compilation"], role=kind), index=0),
            3: put(compilation=lambda world: world.compilation(finish=False)),
            4: put(index=9),
            7: lambda world, given: call(f"{P}MemoryDesc_setDimensions", given["desc"], 1, uint32s([3])),
            8: put(frequency=0.0),
        },
    )


def preferred() -> Case:
    return Case(
        lambda world: {"compilation": world.compilation(), "index": 0},
        {1: put(compilation=lambda world: world.compilation(finish=False)), 2: put(index=9)},
    )


def binding(kind: str) -> Case:
    """setInput or setOutput; an output's dimensions may stay unknown, so it has a rule less."""
    later = 0 if kind == "Input" else -1
    breaks: dict[int, Break] = {
        1: RUN,
        2: put(index=-1),
        3: put(type=lambda world: world.type(dimensions=(3,))),
        5 + later: put(length=LONG),
        6 + later: put(execution=lambda world: world.execution(bind=True)),
        7 + later: put(length=0),
        8 + later: put(length=4),
    }
    if kind == "Input":
        breaks |= {4: put(execution=lambda world: world.execution(bind=False, dimensions=(0,))), 9: put(length=12)}
    return Case(
        lambda world: {
            "execution": world.execution(bind=False),
            "index": 0,
            "type": None,
            "buffer": world.bytes(16),
            "length": SIZE,
        },
        breaks,
    )


def memory_binding(kind: str) -> Case:
    later = 0 if kind == "Input" else -1
    breaks: dict[int, Break] = {
        1: RUN,
        2: put(index=-1),
        3: put(type=lambda world: world.type(dimensions=(3,))),
        5 + later: put(offset=4),
        6 + later: put(memory=World.opaque),
        8 + later: put(execution=lambda world: world.execution(bind=True)),
        9 + later: put(length=4),
    }
    if kind == "Input":
        breaks |= {4: put(execution=lambda world: world.execution(bind=False, dimensions=(0,)))}
    return Case(
        lambda world: {
            "execution": world.execution(bind=False),
            "index": 0,
            "type": None,
            "memory": world.memory(),
            "offset": 0,
            "length": SIZE,
        },
        breaks,
    )


def computing(**more: Any) -> Case:
    """The rules that all ways to compute begin with; ``more`` are arguments besides the execution."""
    return Case(
        lambda world: {
            "execution": world.execution(),
            **{name: value(world) if callable(value) else value for name, value in more.items()},
        },
        {1: RUN, 2: put(execution=lambda world: world.execution(bind=False))},
    )


def without_data(world: World, given: Arguments) -> None:
    compilation = world.compilation()
    execution = world.execution(compilation, bind=False)
    call(f"{P}Execution_setInputFromMemory", execution, 0, None, world.opaque(compilation), 0, 0)
    call(f"{P}Execution_setInput", execution, 1, None, world.bytes(), SIZE)
    call(f"{P}Execution_setOutput", execution, 0, None, world.bytes(), SIZE)
    given["execution"] = execution


def unmappable(world: World, given: Arguments) -> None:
    execution = world.execution(bind=False)
    call(f"{P}Execution_setInputFromMemory", execution, 0, None, world.memory(protect=0), 0, SIZE)
    call(f"{P}Execution_setInput", execution, 1, None, world.bytes(), SIZE)
    call(f"{P}Execution_setOutput", execution, 0, None, world.bytes(), SIZE)
    given["execution"] = execution


def late(world: World, given: Arguments) -> None:
    given["execution"] = world.execution()
    call(f"{P}Execution_setTimeout", given["execution"], 1)


def small_output(world: World) -> int:
    return world.execution(size=4, dimensions=(0,))


def measured(world: World) -> int:
    execution = world.execution()
    call(f"{P}Execution_setMeasureTiming", execution, True)
    call(f"{P}Execution_compute", execution)
    return execution


def scales(world: World, dimension: int, *values: float) -> Any:
    array = (ctypes.c_float * len(values))(*values)
    return ctypes.byref(world.keep(ChannelStruct(dimension, len(values), array)))


def in_burst(change: Break) -> Break:
    """The same with a burst of the compilation that the execution then belongs to."""

    def changed(world: World, given: Arguments) -> None:
        change(world, given)
        given["burst"] = make_handle(f"{P}Burst_create", world.compilation_of[given["execution"]])

    return changed


def burst_case(computing: Case) -> Case:
    """The rules of compute, one further down, for burstCompute."""

    def arguments(world: World) -> Arguments:
        compilation = world.compilation()
        return {"execution": world.execution(compilation), "burst": make_handle(f"{P}Burst_create", compilation)}

    later = {number + 2: in_burst(change) for number, change in computing.breaks.items()}
    return Case(arguments, {1: put(burst=lambda world: make_handle(f"{P}Burst_create", world.compilation()))} | later)


def unmapped_constant(world: World) -> int:
    model = make_handle(f"{P}Model_create")
    for type in (world.type(), world.type(), world.type(OperandCode.INT32, ()), world.type()):
        call(f"{P}Model_addOperand", model, type)
    activation(model)
    call(f"{P}Model_setOperandValueFromMemory", model, 1, world.memory(protect=0), 0, SIZE)
    add(model)
    identify(model, (0,))
    call(f"{P}Model_finish", model)
    return world.compilation(model=model, finish=False)


def hurried(world: World) -> int:
    compilation = world.compilation(finish=False)
    call(f"{P}Compilation_setTimeout", compilation, 1)
    return compilation


def graph(change: Callable[[World, int], Any]) -> Break:
    """A model made wrong before finish."""

    def made_wrong(world: World, given: Arguments) -> None:
        model = make_handle(f"{P}Model_create")
        for type in (world.type(), world.type(), world.type(OperandCode.INT32, ()), world.type()):
            call(f"{P}Model_addOperand", model, type)
        change(world, model)
        given["model"] = model

    return made_wrong


def add(model: int, inputs: tuple[int, int, int] = (0, 1, 2), output: int = 3) -> None:
    call(f"{P}Model_addOperation", model, OperationCode.ADD, 3, uint32s(inputs), 1, uint32s([output]))


def activation(model: int) -> None:
    call(f"{P}Model_setOperandValue", model, 2, bytes(4), 4)


def identify(model: int, inputs: tuple[int, ...] = (0, 1), outputs: tuple[int, ...] = (3,)) -> None:
    call(f"{P}Model_identifyInputsAndOutputs", model, len(inputs), uint32s(inputs), len(outputs), uint32s(outputs))


def unwritten(world: World, model: int) -> None:
    activation(model)
    add(model)
    identify(model, (0,))


def written_twice(world: World, model: int) -> None:
    activation(model)
    add(model)
    add(model)
    identify(model)


def no_operations(world: World, model: int) -> None:
    activation(model)
    identify(model)


def no_value(world: World, model: int) -> None:
    call(f"{P}Model_addOperand", model, world.type(OperandCode.TENSOR_QUANT8_SYMM_PER_CHANNEL, (2, 3)))
    activation(model)
    add(model)
    identify(model, (0, 1, 4))


def protected(world: World, model: int) -> None:
    activation(model)
    add(model)
    call(f"{P}Model_setOperandValueFromMemory", model, 1, world.memory(protect=4), 0, SIZE)
    identify(model, (0,))


def unused(world: World) -> int:
    """A model with an operand that nothing gives a value."""
    model = made_right(world)
    call(f"{P}Model_addOperand", model, world.type())
    return model


def made_right(world: World) -> int:
    model = make_handle(f"{P}Model_create")
    for type in (world.type(), world.type(), world.type(OperandCode.INT32, ()), world.type()):
        call(f"{P}Model_addOperand", model, type)
    activation(model)
    add(model)
    identify(model)
    return model


COMPUTE = Case(
    computing().arguments,
    computing().breaks
    | {
        3: without_data,
        4: late,
        7: put(execution=small_output),
        8: unmappable,
        9: put(execution=World.bad_activation),
    },
)

CASES: dict[str, Case] = {
    "MemoryDesc_create": Case(lambda world: {}),
    "MemoryDesc_addInputRole": role("Input"),
    "MemoryDesc_addOutputRole": role("Output"),
    "MemoryDesc_setDimensions": Case(
        lambda world: {"desc": world.desc(), "rank": 1, "dimensions": uint32s([2])},
        {
            1: put(desc=lambda world: world.desc(finish=True)),
            2: put(desc=lambda world: world.desc(world.ints(), index=2)),
            3: put(dimensions=uint32s([3])),
        },
    ),
    "MemoryDesc_finish": Case(
        lambda world: {"desc": world.desc()},
        {
            1: put(desc=lambda world: world.desc(finish=True)),
            2: put(desc=lambda world: make_handle(f"{P}MemoryDesc_create")),
        },
    ),
    "Memory_createFromDesc": Case(
        lambda world: {"desc": world.desc(finish=True)}, {1: put(desc=lambda world: world.desc())}
    ),
    "Memory_copy": Case(
        lambda world: {"src": world.memory(), "dst": world.memory()},
        {1: put(src=World.opaque), 2: put(dst=lambda world: world.memory(4)), 3: put(src=lambda w: w.memory(8, 0))},
    ),
    "Memory_createFromFd": Case(
        lambda world: {"size": 4, "protect": 3, "fd": world.keep(os.memfd_create("rules")), "offset": 0},
        {1: put(fd=-1)},
    ),
    "Memory_createFromAHardwareBuffer": Case(lambda world: {"ahwb": world.hardware_buffer()}),
    "_getDeviceCount": Case(lambda world: {}),
    "_getDevice": Case(lambda world: {"devIndex": 0}, {1: put(devIndex=99)}),
    **{
        f"Device_{name}": Case(lambda world: {"device": world.devices(0)[0]})
        for name in ("getName", "getType", "getVersion", "getFeatureLevel", "wait")
    },
    "Device_getExtensionSupport": Case(lambda world: {"device": world.devices(0)[0], "extensionName": b"com.x"}),
    "Model_create": Case(lambda world: {}),
    "Model_finish": Case(
        lambda world: {"model": made_right(world)},
        {
            1: FINISHED,
            3: graph(unwritten),
            4: graph(no_operations),
            5: graph(no_value),
            7: graph(written_twice),
            8: put(model=lambda world: unused(world)),
            9: graph(protected),
        },
    ),
    "Model_addOperand": Case(
        lambda world: {"model": world.model(), "type": world.type()},
        {
            1: FINISHED,
            2: put(type=lambda world: world.type(99)),
            3: put(type=lambda w: ctypes.byref(w.keep(OperandTypeStruct(OperandCode.TENSOR_FLOAT32, 2, None, 0, 0)))),
            4: put(type=lambda world: world.type(OperandCode.FLOAT32, (1,))),
            5: put(type=lambda world: world.type(scale=1.0)),
            6: put(type=lambda world: world.type(dimensions=(65536, 65536))),
        },
    ),
    "Model_setOperandValue": Case(
        lambda world: {"model": world.model(), "index": 1, "buffer": world.bytes(), "length": SIZE},
        {
            1: FINISHED,
            2: put(index=-1),
            3: put(length=0),
            4: put(index=7),
            5: put(length=LONG),
            6: put(length=4),
        },
    ),
    "Model_setOperandSymmPerChannelQuantParams": Case(
        lambda world: {"model": world.model(), "index": 4, "channelQuant": scales(world, 0, 1, 1)},
        {
            1: FINISHED,
            2: put(index=99),
            3: put(channelQuant=lambda world: ctypes.byref(world.keep(ChannelStruct(0, 2, None)))),
            4: put(index=0),
            5: put(channelQuant=lambda world: scales(world, 2, 1, 1)),
            6: put(channelQuant=lambda world: scales(world, 0, 1)),
            7: put(index=6),
            8: put(channelQuant=lambda world: scales(world, 0, 1, -1)),
        },
    ),
    "Model_setOperandValueFromMemory": Case(
        lambda world: {"model": world.model(), "index": 1, "memory": world.memory(), "offset": 0, "length": SIZE},
        {
            1: FINISHED,
            2: put(index=99),
            3: put(index=7),
            4: put(length=4),
            5: put(memory=World.opaque),
            6: put(offset=4),
            7: put(offset=0, length=0),
        },
    ),
    "Model_setOperandValueFromModel": Case(
        lambda world: {"model": world.model(), "index": 5, "value": world.finished()},
        {1: FINISHED, 2: put(value=World.model), 3: put(index=99)},
    ),
    "Model_setOperandExtensionData": Case(
        lambda world: {"model": world.model(), "index": 0, "data": world.bytes(), "length": SIZE},
        {1: FINISHED, 2: put(index=99), 3: put(index=0), 4: put(length=0)},
    ),
    "Model_addOperation": Case(
        lambda world: {
            "model": world.model(add=False),
            "type": OperationCode.ADD,
            "inputCount": 3,
            "inputs": uint32s([0, 1, 2]),
            "outputCount": 1,
            "outputs": uint32s([3]),
        },
        {
            1: FINISHED,
            2: put(type=106),
            3: put(inputCount=0),
            4: put(outputs=uint32s([99])),
            5: put(inputCount=2),
        },
    ),
    "Model_identifyInputsAndOutputs": Case(
        lambda world: {
            "model": world.model(add=False),
            "inputCount": 2,
            "inputs": uint32s([0, 1]),
            "outputCount": 1,
            "outputs": uint32s([3]),
        },
        {1: FINISHED, 2: put(inputCount=0), 3: put(outputs=uint32s([99])), 4: put(inputs=uint32s([0, 0]))},
    ),
    "Model_relaxComputationFloat32toFloat16": Case(
        lambda world: {"model": world.model(), "allow": True}, {1: FINISHED}
    ),
    "Model_getSupportedOperationsForDevices": Case(
        lambda world: {"model": world.finished(), "devices": world.devices(0), "numDevices": 1},
        {
            1: put(numDevices=0),
            2: INVALID,
            3: put(devices=lambda world: world.devices(None), numDevices=1),
            4: put(devices=lambda world: world.devices(0, 0), numDevices=2),
        },
    ),
    **{
        f"Model_getExtension{kind}Type": Case(
            lambda world, kind=kind: {  # type: ignore[misc]
                "model": world.model(),
                "extensionName": b"com.example.test",
                f"{kind.lower()}CodeWithinExtension": 1,
            }
        )
        for kind in ("Operand", "Operation")
    },
    "Compilation_create": Case(lambda world: {"model": world.finished()}, {1: put(model=World.model)}),
    "Compilation_createForDevices": Case(
        lambda world: {"model": world.finished(), "devices": world.devices(0), "numDevices": 1},
        {
            1: put(numDevices=0),
            2: put(devices=lambda world: world.devices(None), numDevices=1),
            3: put(devices=lambda world: world.devices(0, 0), numDevices=2),
            4: put(devices=lambda world: world.keep((ADDRESS * 1)(12345)), numDevices=1),
            5: INVALID,
        },
    ),
    "Compilation_setCaching": Case(
        lambda world: {"compilation": world.compilation(finish=False), "cacheDir": b"/tmp", "token": bytes(32)},
        {1: put(compilation=World.compilation)},
    ),
    "Compilation_setPreference": Case(
        lambda world: {"compilation": world.compilation(finish=False), "preference": 1},
        {1: put(compilation=World.compilation), 2: put(preference=3)},
    ),
    "Compilation_setPriority": Case(
        lambda world: {"compilation": world.compilation(finish=False), "priority": 110},
        {1: put(compilation=World.compilation), 2: put(priority=1)},
    ),
    "Compilation_setTimeout": Case(
        lambda world: {"compilation": world.compilation(finish=False), "duration": 10**12},
        {
            1: put(compilation=World.compilation),
            2: put(compilation=lambda world: world.compilation(finish=False, explicit=False)),
        },
    ),
    "Compilation_addExtensionAttribute": Case(
        lambda world: {
            "compilation": world.compilation(finish=False),
            "extensionName": b"com.example.test",
            "attributeCodeWithinExtension": 1,
            "data": b"hint",
            "length": 4,
        },
        {
            1: put(compilation=World.compilation),
            2: put(compilation=lambda world: world.compilation(finish=False, explicit=False)),
            4: lambda world, given: call(
                f"{P}Compilation_addExtensionAttribute", given["compilation"], b"com.example.test", 1, b"hint", 4
            ),
        },
    ),
    "Compilation_finish": Case(
        lambda world: {"compilation": world.compilation(finish=False)},
        {1: put(compilation=World.compilation), 3: put(compilation=hurried), 4: put(compilation=unmapped_constant)},
    ),
    **{
        f"Compilation_getPreferredMemory{what}For{role}": preferred()
        for what in ("Alignment", "Padding")
        for role in ("Input", "Output")
    },
    "Execution_create": Case(
        lambda world: {"compilation": world.compilation()},
        {1: put(compilation=lambda world: world.compilation(finish=False))},
    ),
    "Execution_setInput": binding("Input"),
    "Execution_setOutput": binding("Output"),
    "Execution_setInputFromMemory": memory_binding("Input"),
    "Execution_setOutputFromMemory": memory_binding("Output"),
    "Execution_setTimeout": Case(
        lambda world: {"execution": world.execution(), "duration": 10**12}, {1: AUTOMATIC, 2: RUN}
    ),
    "Execution_setMeasureTiming": Case(
        lambda world: {"execution": world.execution(), "measure": True}, {1: AUTOMATIC, 2: RUN}
    ),
    "Execution_setLoopTimeout": Case(lambda world: {"execution": world.execution(), "duration": 1}, {1: RUN}),
    "Execution_setReusable": Case(lambda world: {"execution": world.execution(), "reusable": True}, {1: RUN}),
    "Execution_enableInputAndOutputPadding": Case(
        lambda world: {"execution": world.execution(bind=False), "enable": True},
        {1: RUN, 2: put(execution=World.execution)},
    ),
    "Execution_addExtensionAttribute": Case(
        lambda world: {
            "execution": world.execution(),
            "extensionName": b"com.example.test",
            "attributeCodeWithinExtension": 1,
            "data": b"hint",
            "length": 4,
        },
        {
            1: AUTOMATIC,
            2: RUN,
            4: lambda world, given: call(
                f"{P}Execution_addExtensionAttribute", given["execution"], b"com.example.test", 1, b"hint", 4
            ),
        },
    ),
    "Execution_compute": COMPUTE,
    "Execution_startCompute": Case(computing().arguments, computing().breaks | {3: without_data}),
    "Execution_startComputeWithDependencies": Case(
        computing(dependencies=None, num_dependencies=0, duration=0).arguments,
        computing().breaks
        | {
            3: lambda world, given: given.update(execution=world.execution(explicit=False), duration=1),
            4: put(execution=lambda world: world.execution(dimensions=(0,))),
            5: lambda world, given: given.update(
                dependencies=world.keep((ADDRESS * 1)(world.broken_fence())), num_dependencies=1
            ),
            6: late,
        },
    ),
    "Execution_burstCompute": burst_case(COMPUTE),
    "Burst_create": Case(
        lambda world: {"compilation": world.compilation()},
        {1: put(compilation=lambda world: world.compilation(finish=False))},
    ),
    "Execution_getOutputOperandRank": Case(
        lambda world: {"execution": world.execution(run=True), "index": 0},
        {1: put(execution=World.execution), 2: put(index=9), 3: put(execution=World.too_small)},
    ),
    "Execution_getOutputOperandDimensions": Case(
        lambda world: {"execution": world.execution(run=True), "index": 0},
        {
            1: put(execution=World.execution),
            2: put(index=9),
            3: put(execution=World.scalar_result),
            4: put(execution=World.too_small),
        },
    ),
    "Execution_getDuration": Case(
        lambda world: {"execution": measured(world), "durationCode": 0},
        {
            1: put(durationCode=4),
            2: put(execution=World.execution),
            3: put(execution=World.too_small),
            4: RUN,
        },
    ),
    "Event_wait": Case(lambda world: {"event": world.event()}),
    "Event_createFromSyncFenceFd": Case(lambda world: {"sync_fence_fd": 1}, {1: put(sync_fence_fd=0)}),
    "Event_getSyncFenceFd": Case(
        lambda world: {"event": make_handle(f"{P}Event_createFromSyncFenceFd", 1)}, {1: put(event=World.event)}
    ),
}
