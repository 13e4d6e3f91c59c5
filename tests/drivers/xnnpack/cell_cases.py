"""Random operands of recurrent cells, by the names that the operations declare."""

from typing import Any

import numpy as np

from nnapi.codes import OperandCode
from nnapi.model.operand import OperandType, tensor
from nnapi.model.operation import REGISTRY
from nnapi.model.parameter import ScalarParameter
from nnapi.ops.lstm_parameters import GATES

FEATURES = ("coupled", "peephole", "norm", "projection", "projection_bias")
BATCH, SIZE, UNITS, OUTPUTS, TIME = 3, 5, 4, 2, 7
INPUT, OUTPUT, STATE, HIDDEN = (1 / 64, 5), (1 / 100, -7), (2.0**-11, 0), (1 / 110, 3)
"""Scale and zero point; HIDDEN before projection, and without one."""
NORM, WEIGHTS = (2.0**-15, 0), (1 / 128, 0)
INTEGER_GATE = 2.0**-9


def inputs_of(code: Any, values: Any, quantized: Any = None) -> list[Any]:
    """The argument list of an operation; None omits an operand, ``quantized`` gives scale and zero point by name."""
    return [_given(slot, values[slot.name], quantized) for slot in REGISTRY[code].overloads[0].inputs]


def _given(slot: Any, value: Any, quantized: Any) -> tuple[Any, ...]:
    if isinstance(slot, ScalarParameter):
        code = OperandCode.FLOAT32 if slot.via else next(iter(slot.types))
        return OperandType(code), value
    code = next(iter(slot.types)) if slot.types else OperandCode.TENSOR_FLOAT32
    if code == OperandCode.TENSOR_FLOAT16 or not quantized:
        code = OperandCode.TENSOR_FLOAT32
    plain = code in (OperandCode.TENSOR_INT32, OperandCode.TENSOR_FLOAT32)
    scale, zero_point = (0.0, 0) if plain else quantized(slot.name)
    return OperandType(code, (0,) if value is None else np.shape(value), scale, zero_point), value


def features(*names: str) -> Any:
    return dict.fromkeys(FEATURES, False) | dict.fromkeys(names, True)


def shapes(kind: Any, size: Any = SIZE, prefix: str = "", aux: Any = 0) -> Any:
    """Dimensions of a cell's learnt operands, those of omitted ones None."""
    outputs = OUTPUTS if kind["projection"] else UNITS
    found = {}
    for gate in GATES:
        present = gate != "input" or not kind["coupled"]
        bias = "cell_bias" if gate == "cell" else f"{gate}_gate_bias"
        found[f"input_to_{gate}_weights"] = (UNITS, size) if present else None
        found[f"recurrent_to_{gate}_weights"] = (UNITS, outputs) if present else None
        found[f"aux_input_to_{gate}_weights"] = (UNITS, aux) if present and aux else None
        found[bias] = (UNITS,) if present else None  # type: ignore[assignment]
        found[f"{gate}_layer_norm_weights"] = (UNITS,) if present and kind["norm"] else None  # type: ignore[assignment]
        found[f"cell_to_{gate}_weights"] = (UNITS,) if present and kind["peephole"] else None  # type: ignore[assignment]
    found["projection_weights"] = (outputs, UNITS) if kind["projection"] else None
    found["projection_bias"] = (outputs,) if kind["projection"] and kind["projection_bias"] else None  # type: ignore[assignment]
    return {prefix + name: shape for name, shape in found.items()}


def reals(found: Any, random: Any) -> Any:
    """Numbers for those dimensions."""
    return {
        name: None if shape is None else random.uniform(-0.8, 0.8, shape).astype(np.float32)
        for name, shape in found.items()
    }


def quant_of(kind: Any) -> Any:
    """Scale and zero point of an operand of QUANTIZED_LSTM by its name."""

    def given(name: Any) -> Any:
        if name in ("input", "output_in", "cell_state_in"):
            return {"input": INPUT, "output_in": OUTPUT if kind["projection"] else HIDDEN}.get(name, STATE)
        return NORM if name.startswith("cell_to") or "norm" in name else WEIGHTS

    return given


def integers(kind: Any, random: Any, batch: int = BATCH, reach: int = 127) -> Any:
    """Operands of QUANTIZED_LSTM, codes over the whole range; ``reach`` is the largest weight."""
    high = {"projection_bias": 9000}
    values = {}
    for name, shape in shapes(kind).items():
        is_bias = name.endswith("bias")
        is_state = "norm" in name or name.startswith("cell_to")
        limit = high.get(name, 20000) if is_bias else 32767 if is_state else reach
        values[name] = None if shape is None else random.integers(-limit, limit + 1, shape)
    outputs = OUTPUTS if kind["projection"] else UNITS
    values["input"] = random.integers(-128, 128, (batch, SIZE))
    values["output_in"] = random.integers(-128, 128, (batch, outputs))
    values["cell_state_in"] = random.integers(-32768, 32768, (batch, UNITS))
    values |= {f"{gate}_intermediate_scale": INTEGER_GATE for gate in GATES}
    values |= {"hidden_state_zero_point": HIDDEN[1], "hidden_state_scale": HIDDEN[0]}
    return values | {"cell_clip": None, "proj_clip": None}


def integer_results(kind: Any) -> list[Any]:
    out = tensor("int8", (), *(OUTPUT if kind["projection"] else HIDDEN))
    return [out, tensor("quant16_symm", (), *STATE), out]
