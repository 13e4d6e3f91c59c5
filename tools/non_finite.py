"""Run every operation on NaN and infinities, and write the page docs/non-finite.md.

    python -m tools.non_finite > docs/non-finite.md

The page has the devices that this machine has.
"""

from __future__ import annotations

import math
import platform
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from functools import cache
from pathlib import Path

import numpy as np

from nnapi.codes import OperandCode, OperationCode
from nnapi.errors import NnapiError
from nnapi.model.facts import Trait
from nnapi.model.operand import Array
from nnapi.model.operation import REGISTRY, Operation
from nnapi.model.parameter import ModelParameter, Several
from nnapi.runtime.compilation import Compilation
from nnapi.runtime.device import Device, device
from nnapi.testing.build import build
from nnapi.testing.example import Example
from nnapi.testing.random.calls import NoCall, random_call

DEVICES = ("nnapi-reference", "xnnpack-cpu", "openvino-cpu")
EXAMPLES, CALLS, DRAWS, ATTEMPTS = 3, 6, 40, 300
"""For each operation: calls that run on each device, calls to choose them from, seeds that are tried for these calls,
and attempts for each seed."""
NAN, INFINITIES = (math.nan,), (math.inf, -math.inf)
SIMD = ("avx", "avx2", "fma", "avx512f", "avx512_bf16", "avx512_fp16", "amx_tile", "asimd", "sve", "rvv")
"""Features of processors that decide which kernels engines use."""

INTRODUCTION = """\
# NaN, infinities and the limits of float32

<!-- Written by `python -m tools.non_finite > docs/non-finite.md`; a test compares it with the devices. -->

The specification does not define the results of an operation on NaN. The table at the end shows the outputs of each
device if one element of one float32 input is NaN or infinite. All other elements are finite. Each cell covers up to
three random calls and all float32 inputs of the operation.

| word | meaning |
| --- | --- |
| NaN | at least one output element is NaN |
| inf | no output element is NaN, but at least one is infinite |
| number | all output elements are finite: the device replaced, compared or ignored the NaN or infinity |
| true, false | the results of comparisons of NaN or an infinity with numbers |
| – | the device refuses the operation, or accepted none of the random calls |

Several words in a cell mean that the result depends on the call, mostly on the input that has the NaN or infinity. For
example, on some devices MAXIMUM of a NaN and a number is the number if the NaN is the first input. If an operation
takes a minimum or a maximum, an engine's result for NaN also depends on the processor.

{made}

## Finite numbers

If all inputs are finite, a device returns the results of `nnapi-reference` or refuses the operation with a reason.
There are five exceptions:

- *Denormal numbers* (below 2⁻¹²⁶, about 1.2e-38) count as 0 on xnnpack-cpu in sums, products, quotients, minima,
  maxima, roots and convolutions. So 1e-40 / 1e-40 is NaN on xnnpack-cpu, like 0/0. FLOOR, LOG, POW, RSQRT, SIN and
  comparisons use the exact values. xnnpack-cpu refuses a constant divisor or an epsilon that would count as 0.
- *Sums*: each device adds in its own order. The results of two devices differ if large terms cancel and small terms
  remain. They also differ if a partial sum is infinite although the sum is finite. In RESIZE_BILINEAR, a difference can
  overflow: neighbors that are more than 3.4e38 apart give NaN on xnnpack-cpu.
- *Convolutions with fewer multiplications* ([precision.md](precision.md#convolutions-with-fewer-multiplications)): an
  infinity or a NaN makes results NaN up to seven rows or columns from it, in all tiles that read it. Finite values
  above 7e36 can give infinities or NaN. Errors are relative to the largest value in a tile: a pixel of 1e4 takes digits
  from its neighbors. The table is the same with each variant forced: its calls of CONV_2D stay direct.
- *Convolutions with a computed filter*: xnnpack-cpu returns ±3.4e38 instead of an infinity.
- *A NaN that an operation computes*, for example LOG of -1, can get lost in the next operation on openvino-cpu. RELU,
  RELU1 and RELU6, fused or not, return a number for this NaN. EXP returns an infinity. An exception is the NaN of 0/0,
  which stays NaN.

## Operations

"""


class Seen(StrEnum):
    """The observed effect of one element that is not finite."""

    NAN = "NaN"
    INFINITE = "inf"
    NUMBER = "number"
    TRUE = "true"
    FALSE = "false"


Finding = tuple[frozenset[Seen], frozenset[Seen]]
"""The observed effects of NaN and of infinities; empty if the device refuses the operation."""


def float_operations() -> list[Operation]:
    """Return the operations with a float32 tensor among their inputs, sorted by name."""
    return sorted(filter(_takes_floats, REGISTRY.values()), key=lambda operation: operation.name)


def _takes_floats(operation: Operation) -> bool:
    slots = [slot for overload in operation.overloads for slot in overload.inputs]
    parameters = [slot.parameter if isinstance(slot, Several) else slot for slot in slots]
    if operation.does(Trait.DRAWS) or any(isinstance(parameter, ModelParameter) for parameter in parameters):
        return False
    return any(OperandCode.TENSOR_FLOAT32 in (parameter.types or {}) for parameter in parameters)


def observe(operation: Operation, device: Device) -> Finding:
    """Observe the effect of elements that are not finite in the first random calls that the device accepts."""
    nans: set[Seen] = set()
    infinities: set[Seen] = set()
    taken = 0
    for drawn in _examples(operation):
        compilation = _compile(drawn, device)
        example = drawn if compilation is None else _finite(drawn, compilation)
        if compilation is None or example is None:
            continue
        nans |= _observe(example, compilation, NAN)
        infinities |= _observe(example, compilation, INFINITIES)
        taken += 1
        if taken == EXAMPLES:
            break
    return frozenset(nans), frozenset(infinities)


@cache
def _examples(operation: Operation) -> list[Example]:
    """Return random calls with a float32 tensor that is an input of the model."""
    examples = []
    for seed in range(DRAWS):
        try:
            example = random_call(operation, np.random.default_rng([int(operation.code), seed]), ATTEMPTS)
        except NoCall:
            continue
        if _float_inputs(example):
            examples.append(example)
        if len(examples) == CALLS:
            break
    return examples


def _float_inputs(example: Example) -> dict[int, Array]:
    operands, inputs = example.main.operands, example.inputs
    floats = [index for index in example.main.inputs if operands[index].type == "TENSOR_FLOAT32"]
    return {index: array for index in floats if (array := inputs[index]) is not None}


def _compile(example: Example, device: Device) -> Compilation | None:
    try:
        model = build(example)
        if not all(verdict.supported for verdict in device.driver.verdicts(model)):
            return None
        compilation = Compilation(model, [device])
        compilation.finish()
    except NnapiError:
        return None
    return compilation


def _finite(example: Example, compilation: Compilation) -> Example | None:
    """Return the example, or the same with positive floats, if its outputs are finite, so that later NaN and infinities
    are an effect of the inputs; otherwise None."""
    floats = _float_inputs(example)
    positive = {**example.inputs, **{index: abs(array) for index, array in floats.items()}}
    for one in (example, replace(example, inputs=positive)):
        try:
            outputs = _outputs(one, compilation)
        except NnapiError:
            continue
        if all(np.isfinite(array).all() for array in outputs if array.dtype.kind == "f"):
            return one
    return None


def _observe(example: Example, compilation: Compilation, values: Sequence[float]) -> set[Seen]:
    """Return the effects of the values in the first and in the last element of each input."""
    seen: set[Seen] = set()
    for index, given in _float_inputs(example).items():
        for value in values:
            for position in (0, given.size - 1):
                poisoned = given.copy()
                if _compares(example):
                    poisoned[...] = value
                else:
                    poisoned.flat[position] = value
                try:
                    results = _outputs(replace(example, inputs={**example.inputs, index: poisoned}), compilation)
                except NnapiError:
                    continue
                seen |= _classify(results, _compares(example))
    return seen


def _compares(example: Example) -> bool:
    """Return whether the outputs are Boolean; then all elements get the value, as the effect of one is not visible."""
    return any(example.main.operands[index].type == "TENSOR_BOOL8" for index in example.main.outputs)


def _outputs(example: Example, compilation: Compilation) -> list[Array]:
    """Return the outputs that the specification defines."""
    with np.errstate(all="ignore"):
        results = compilation.run(*(example.inputs[index] for index in example.main.inputs))
    operands = example.main.operands
    return [
        result for index, result in zip(example.main.outputs, results, strict=True) if not operands[index].is_ignored
    ]


def _classify(outputs: Iterable[Array], compares: bool) -> set[Seen]:
    if compares:
        return {Seen.TRUE if truth else Seen.FALSE for array in outputs for truth in np.unique(array.astype(bool))}
    floats = [array for array in outputs if array.dtype.kind == "f"]
    if any(np.isnan(array).any() for array in floats):
        return {Seen.NAN}
    return {Seen.INFINITE if any(np.isinf(array).any() for array in floats) else Seen.NUMBER}


def cells(operation: Operation, device: Device | None) -> list[str]:
    """Return the page's cells for an operation on a device: for NaN, and for infinities."""
    return ["", ""] if device is None else [_text(seen) for seen in observe(operation, device)]


def _text(seen: frozenset[Seen]) -> str:
    return ", ".join(word for word in Seen if word in seen) or "–"


def page(devices: Mapping[str, Device | None]) -> str:
    """Return the page as Markdown."""
    names = [f"{name}: {kind}" for name in devices for kind in ("NaN", "±inf")]
    lines = [["operation", *names], ["---"] * (1 + len(names))]
    for operation in float_operations():
        effects = [cell for one in devices.values() for cell in cells(operation, one)]
        page = "operations" if isinstance(operation.code, OperationCode) else "composites"
        lines.append([f"[{operation.name}]({page}.md#{operation.name.lower()})", *effects])
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    made = textwrap.fill(f"{describe_makers(devices)}.", 120, break_on_hyphens=False)
    return INTRODUCTION.format(made=made) + table + "\n"


def describe_makers(devices: Mapping[str, Device | None]) -> str:
    """Return the sentence with the versions of the engines and the processor, on which the results depend."""
    engines = ", ".join(f"{one.name} ({one.version})" for one in devices.values() if one is not None)
    return f"The table was made with {engines} on {_processor()}"


def _processor() -> str:
    try:
        flags = re.search(r"^(?:flags|Features)\s*:(.*)", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        flags = None
    known = set(flags[1].split()) if flags else set()
    features = ", ".join(name for name in SIMD if name in known)
    return f"{platform.machine()} with {features}" if features else platform.machine()


def find_devices() -> dict[str, Device | None]:
    """Return the devices of the page by name, None for those that this machine lacks."""
    return {name: _device(name) for name in DEVICES}


def _device(name: str) -> Device | None:
    try:
        return device(name)
    except NnapiError:
        return None


if __name__ == "__main__":
    print(page(find_devices()), end="")
