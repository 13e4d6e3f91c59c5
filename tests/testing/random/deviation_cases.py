"""Small examples whose permitted deviation is tested."""

from dataclasses import replace

import numpy as np

from nnapi.testing.example import Example, ExampleGraph, OperandSource, OperandSpec, OperationSpec
from nnapi.testing.random.deviation import Computation
from tests.testing.testing_cases import F32, given, taken, tensor


def chain(*steps: tuple[str, OperandSpec], x: OperandSpec, data: np.ndarray, shown: bool = False) -> Example:
    """One operation of one operand after the other."""
    kept = OperandSource.SUBGRAPH_OUTPUT if shown else OperandSource.TEMPORARY_VARIABLE
    results = [replace(spec, lifetime=kept, name=f"r{i}") for i, (_, spec) in enumerate(steps)]
    results[-1] = given(results[-1])
    operations = tuple(OperationSpec(name, (i,), (i + 1,)) for i, (name, _) in enumerate(steps))
    outputs = tuple(i + 1 for i, spec in enumerate(results) if spec.lifetime == OperandSource.SUBGRAPH_OUTPUT)
    return Example("chain", ExampleGraph((taken(x), *results), operations, (0,), outputs), {0: data}, {})


def computed(example: Example, *, special: bool = False) -> Computation:
    computation = Computation(example, special=special)
    for number in range(len(example.main.operations)):
        if number:
            computation.blur(number - 1)
        computation.run(number)
    return computation


FLOATS = tensor(F32, 4)
NUMBERS = np.array([-100.3, 0.0, 2.5, 99.0], np.float32)
