"""The variants in which an example can run: plain, in a burst, with a cache and others."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from importlib import import_module
from typing import Any

import numpy as np

from nnapi.contract.driver import DEFAULT_LOOP_TIMEOUT
from nnapi.errors import MissedDeadlineError, NnapiError, OpFailedError
from nnapi.model.memory import Memory
from nnapi.model.model import Model
from nnapi.model.operand import Array
from nnapi.runtime.compilation import Compilation
from nnapi.runtime.device import Device
from nnapi.runtime.execution import Execution
from nnapi.runtime.memory import MemoryDesc
from nnapi.runtime.verdicts.verdicts import need_verdicts
from nnapi.store.temporary import temporary_folder
from nnapi.testing.build import build, describe
from nnapi.testing.compare import judge
from nnapi.testing.example import Example, Harness, as_signed, with_dynamic_outputs
from nnapi.testing.runtime_classes import HERE

LOOP_TIMEOUT = DEFAULT_LOOP_TIMEOUT // 20
"""Timeout in nanoseconds of a loop that never ends."""
BURST_RUNS = 2
CACHE_TOKEN = bytes(range(32))


class Skip(Exception):
    """An example cannot run in this variant on these devices, for this reason; this is not a failure."""


@dataclass(frozen=True)
class Setting:
    """The devices of a run (None: the runtime chooses), the strictness, and the name of the module of API classes."""

    devices: tuple[Device, ...] | None = None
    strict: bool = False
    runtime: str = HERE

    @property
    def classes(self) -> Any:
        """Return the module whose Model, Compilation, Execution… are used."""
        return import_module(self.runtime)


@dataclass(frozen=True)
class Variant:
    """A way to run an example. ``applies`` selects examples by their harness. ``check`` runs one and describes a fault,
    if there is any; it raises Skip, or the errors of a run."""

    name: str
    applies: Callable[[Harness], bool]
    check: Callable[[Example, Setting], str | None]


def plain(example: Example, setting: Setting) -> str | None:
    """Compile, bind buffers of exactly the expected sizes, and compute. An infinite loop must miss its deadline."""
    execution = setting.classes.Execution(_compile_supported(example, setting))
    if not example.harness.infinite_loop_timeout:
        return _execute(execution, example, setting, execution.compute)
    execution.set_loop_timeout(LOOP_TIMEOUT)
    _bind(execution, example)
    try:
        execution.compute()
    except MissedDeadlineError:
        return None
    return "the loop never ends, but the execution succeeded"


def in_background(example: Example, setting: Setting) -> str | None:
    execution = setting.classes.Execution(_compile_supported(example, setting))
    return _execute(execution, example, setting, lambda: execution.start_compute().wait())


def in_burst(example: Example, setting: Setting) -> str | None:
    """Run several times in one burst; each run must be right."""
    compilation = _compile_supported(example, setting)
    with compilation.burst() as burst:
        for _ in range(BURST_RUNS):
            execution = setting.classes.Execution(compilation)
            difference = _execute(execution, example, setting, partial(execution.burst_compute, burst))
            if difference:
                return difference
    return None


def with_fence(example: Example, setting: Setting) -> str | None:
    execution = setting.classes.Execution(_compile_supported(example, setting))

    def run() -> None:
        with execution.start_compute_with_dependencies([]) as event:
            event.wait()

    return _execute(execution, example, setting, run)


def with_cache(example: Example, setting: Setting) -> str | None:
    """Compile twice with one token and run the second compilation; its 8-bit values may differ by 3 steps."""
    lenient = replace(example, tolerance=replace(example.tolerance, quant8_atol=3))
    with temporary_folder("cache") as folder:
        for _ in range(2):
            compilation = _compile_supported(example, setting, cache=folder)
        execution = setting.classes.Execution(compilation)
        return _execute(execution, lenient, setting, execution.compute)


def in_device_memory(example: Example, setting: Setting) -> str | None:
    """Run with each input and output in an opaque memory that was created for this role only."""
    classes = setting.classes
    execution = classes.Execution(_compile_supported(example, setting))
    for position, index in enumerate(example.main.inputs):
        array = example.inputs[index]
        if array is None:
            execution.set_input(position, None)
        else:
            memory = _opaque(execution, setting, "input", position)
            classes.copy_memory(classes.Memory.from_array(np.ascontiguousarray(array)), memory)
            execution.set_input_from_memory(position, memory, 0, 0)
    results = [_opaque(execution, setting, "output", position) for position in range(len(example.main.outputs))]
    for position, memory in enumerate(results):
        execution.set_output_from_memory(position, memory, 0, 0)
    execution.compute()
    buffers = [bytearray(length) for length in example.output_buffer_bytes]
    for memory, buffer in zip(results, buffers, strict=True):
        classes.copy_memory(memory, classes.Memory.from_array(np.frombuffer(buffer, np.uint8)))
    return judge(example, _results(execution, buffers), strict=setting.strict)


def complies(example: Example, setting: Setting) -> str | None:
    """Check that the model needs exactly the example's feature level."""
    model = _model(example, setting.runtime)
    level = model.feature_level
    if level == example.level:
        return None
    forces = next((facet.reason for facet in model.facets if facet.level == level), "nothing needs more")
    return f"needs feature level {level} ({forces}), stated is {example.min_feature}, level {example.level}"


def is_refused(example: Example, setting: Setting) -> str | None:
    """Check an intentionally wrong model: describing, compiling or running it must fail, but ``finish`` must not."""
    try:
        model = describe(example, setting.classes)
    except NnapiError:
        return None
    try:
        model.finish()
    except NnapiError as error:
        return f"finish refused the model, which only earlier or later calls may: {error}"
    try:
        execution = setting.classes.Execution(_compile(model, setting))
        _bind(execution, example)
        execution.compute()
    except NnapiError:
        return None
    return "the execution succeeded, but the model is wrong on purpose"


VARIANTS = {
    variant.name: variant
    for variant in (
        Variant("plain", lambda harness: harness.generated or harness.infinite_loop_timeout, plain),
        Variant(
            "dynamic",
            lambda harness: harness.dynamic_output_shape,
            lambda each, on: plain(with_dynamic_outputs(each), on),
        ),
        Variant("signed", lambda harness: harness.quantization_coupling, lambda each, on: plain(as_signed(each), on)),
        Variant("memory", lambda harness: harness.device_memory, in_device_memory),
        Variant("fenced", lambda harness: harness.fenced, with_fence),
        Variant("async", lambda harness: harness.generated, in_background),
        Variant("burst", lambda harness: harness.generated, in_burst),
        Variant("cached", lambda harness: harness.generated, with_cache),
        Variant("compliance", lambda harness: harness.compliance, complies),
        Variant("validation", lambda harness: harness.validation, is_refused),
    )
}


@lru_cache(maxsize=4)
def _model(example: Example, calls: str) -> Model:
    return build(example, import_module(calls))


def _compile_supported(example: Example, setting: Setting, cache: str | None = None) -> Compilation:
    """Return a finished compilation; raise Skip if the devices do not support the whole model."""
    model = _model(example, setting.runtime)
    for reason in _refusals(model, setting.devices or ()):
        raise Skip(reason)
    return _compile(model, setting, cache)


def _compile(model: Model, setting: Setting, cache: str | None = None) -> Compilation:
    compilation: Compilation = setting.classes.Compilation(model, setting.devices)
    if cache is not None:
        compilation.set_caching(cache, CACHE_TOKEN)
    compilation.finish()
    return compilation


def _refusals(model: Model, devices: Sequence[Device]) -> list[str]:
    """Return the last device's reasons for the operations that no device supports."""
    verdicts = [need_verdicts(device.driver, model) for device in devices]
    return [
        answers[-1].reason
        for answers in zip(*verdicts, strict=True)
        if not any(verdict.supported for verdict in answers)
    ]


def _opaque(execution: Execution, setting: Setting, role: str, position: int) -> Memory:
    """Create a memory for one input or output; raise Skip if it cannot be allocated."""
    desc: MemoryDesc = setting.classes.MemoryDesc()
    add_role = desc.add_input_role if role == "input" else desc.add_output_role
    add_role(execution.compilation, position)
    desc.finish()
    try:
        return desc.create_memory()
    except OpFailedError as error:
        raise Skip(f"no memory for {role} {position}: {error}") from error


def _bind(execution: Execution, example: Example) -> list[bytearray]:
    """Bind the example's inputs, and new buffers for its outputs; return these buffers."""
    for position, index in enumerate(example.main.inputs):
        array = example.inputs[index]
        execution.set_input(position, None if array is None else np.ascontiguousarray(array))
    buffers = [bytearray(b"\xa5" * length) for length in example.output_buffer_bytes]
    for position, buffer in enumerate(buffers):
        execution.set_output(position, buffer)
    return buffers


def _execute(execution: Execution, example: Example, setting: Setting, run: Callable[[], None]) -> str | None:
    buffers = _bind(execution, example)
    run()
    return judge(example, _results(execution, buffers), strict=setting.strict)


def _results(execution: Execution, buffers: Sequence[bytearray]) -> list[Array]:
    """Return the buffers as arrays, in the shapes that the execution reports."""
    results = []
    for position, buffer in enumerate(buffers):
        rank = execution.output_operand_rank(position)
        dimensions = execution.output_operand_dimensions(position) if rank else ()
        type = execution.model.operands[execution.model.outputs[position]].type
        count = int(np.prod(dimensions))
        results.append(np.frombuffer(buffer, type.dtype, count).reshape(dimensions) if count else np.empty(dimensions))
    return results
