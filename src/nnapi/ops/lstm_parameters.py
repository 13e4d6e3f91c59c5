"""Operands of LSTM cells: names, declarations, grouping, checks.

The bidirectional operation has two sets of operands, with the prefixes ``fw_`` and ``bw_``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, TypeVar

from nnapi.codes import OperandCode
from nnapi.errors import need
from nnapi.model.operand import OperandType, Shape
from nnapi.model.parameter import REQUIRED, Levels, Scalar, Slot, Tensor, not_negative, one_of
from nnapi.ops.shapes import need_shape
from nnapi.ops.signature_types import FLOAT_SCALAR

T = TypeVar("T")
GATES = ("input", "forget", "cell", "output")
SQUASHED = ("input", "forget", "output")
"""The gates with values between 0 and 1; only these may have a peephole."""
OPTIONS = ("activation", "cell_clip", "proj_clip")


@dataclass(frozen=True)
class Cell(Generic[T]):
    """The options, and the weights and biases of one cell, by role and gate; omitted ones are absent.

    ``input`` [units, input_size], ``recurrent`` [units, output_size], ``aux`` [units, aux_size], ``peephole``, ``norm``
    and ``bias`` [units], ``projection`` [output_size, units], ``projection_bias`` [output_size].
    """

    input: dict[str, T]
    recurrent: dict[str, T]
    aux: dict[str, T]
    peephole: dict[str, T]
    norm: dict[str, T]
    bias: dict[str, T]
    projection: T | None
    projection_bias: T | None
    activation: int = 0
    cell_clip: float = 0.0
    proj_clip: float = 0.0

    @property
    def is_coupled(self) -> bool:
        """Return whether the input gate is 1 - forget gate (CIFG)."""
        return "input" not in self.input


@cache
def operand_name(role: str, gate: str) -> str:
    """Return the specification's name of an operand of a cell: ``operand_name("peephole", "input")``."""
    if role == "bias":
        return "cell_bias" if gate == "cell" else f"{gate}_gate_bias"
    pattern = {
        "input": "input_to_{}_weights",
        "recurrent": "recurrent_to_{}_weights",
        "aux": "aux_input_to_{}_weights",
        "peephole": "cell_to_{}_weights",
        "norm": "{}_layer_norm_weights",
    }[role]
    return pattern.format(gate)


def cell_of(operands: Mapping[str, Any], prefix: str = "") -> Cell[Any]:
    """Return the cell whose operands have this prefix; both directions share their options."""

    def role(name: str) -> dict[str, Any]:
        found = [(gate, operands.get(prefix + operand_name(name, gate))) for gate in GATES]
        return {gate: operand for gate, operand in found if operand is not None}

    return Cell(
        input=role("input"),
        recurrent=role("recurrent"),
        aux=role("aux"),
        peephole=role("peephole"),
        norm=role("norm"),
        bias=role("bias"),
        projection=operands.get(f"{prefix}projection_weights"),
        projection_bias=operands.get(f"{prefix}projection_bias"),
        **{name: operands[name] for name in OPTIONS if name in operands},
    )


def list_operands(operands: Mapping[str, T | None]) -> list[T | None]:
    """Return a cell's operands in the order of NNAPI and TFLite; None for the peephole of an omitted input gate."""
    is_coupled = operands.get(operand_name("input", "input")) is None
    names = [slot.name for slot in cell_parameters()]
    unused = operand_name("peephole", "input") if is_coupled else ""
    return [None if name == unused else operands[name] for name in names]


def list_norms(operands: Mapping[str, T | None]) -> list[T | None]:
    return [operands.get(operand_name("norm", gate)) for gate in GATES]


# Declarations; a type of None means the input's type.


def cell_parameters(
    prefix: str = "",
    *,
    since: int = 1,
    weights: Levels | None = None,
    peephole: Levels | None = None,
    bias: Levels | None = None,
) -> tuple[Slot, ...]:
    """Declare weights, peepholes, biases and projection: the first 17 operands of a cell."""

    def tensor(name: str, types: Levels | None, rank: int, optional: bool) -> Slot:
        return _tensor(prefix + name, types, rank, since, optional)

    return (
        *(tensor(operand_name("input", gate), weights, 2, gate == "input") for gate in GATES),
        *(tensor(operand_name("recurrent", gate), weights, 2, gate == "input") for gate in GATES),
        *(tensor(operand_name("peephole", gate), peephole, 1, True) for gate in SQUASHED),
        *(tensor(operand_name("bias", gate), bias, 1, gate == "input") for gate in GATES),
        tensor("projection_weights", weights, 2, True),
        tensor("projection_bias", bias, 1, True),
    )


def aux_parameters(prefix: str, *, since: int = 1) -> tuple[Slot, ...]:
    return tuple(_tensor(prefix + operand_name("aux", gate), None, 2, since, True) for gate in GATES)


def norm_parameters(
    prefix: str = "", *, since: int = 1, types: Levels | None = None, default: Any = REQUIRED
) -> tuple[Slot, ...]:
    """Declare the weights of layer normalization; with a ``default`` of None they may be omitted."""
    return tuple(_tensor(prefix + operand_name("norm", gate), types, 1, since, True, default) for gate in GATES)


def state_parameters(*names: str, since: int = 1) -> tuple[Slot, ...]:
    return tuple(_tensor(name, None, 2, since, False) for name in names)


def option_parameters(*, since: int = 1) -> tuple[Slot, ...]:
    return (
        Scalar("activation", OperandCode.INT32, since=since, check=one_of(0, 1, 3, 4, 6)),
        Scalar("cell_clip", like="input", via=FLOAT_SCALAR, since=since, check=not_negative),
        Scalar("proj_clip", like="input", via=FLOAT_SCALAR, since=since, check=not_negative),
    )


def _tensor(name: str, types: Levels | None, rank: int, since: int, optional: bool, default: Any = REQUIRED) -> Slot:
    like = None if types else "input"
    return Tensor(name, types, like=like, rank=rank, late_rank=True, optional=optional, since=since, default=default)


# Checks


def check_cell(operands: Mapping[str, Any], input_size: int, prefix: str = "", aux_size: int = 0) -> tuple[int, int]:
    """Return (units, output_size) of a cell; raise OpFailedError if its operands do not fit together."""
    cell: Cell[OperandType] = cell_of(operands, prefix)
    units, output_size = cell.input["output"].shape[0], cell.recurrent["output"].shape[1]
    matrices = {"input": input_size, "recurrent": output_size, "aux": aux_size}
    for role in ("input", "recurrent", "aux", "peephole", "norm", "bias"):
        want = (units, matrices[role]) if role in matrices else (units,)
        for gate, type in getattr(cell, role).items():
            need_shape(prefix + operand_name(role, gate), type, want)
    need_shape(f"{prefix}projection_weights", cell.projection, (output_size, units))
    need_shape(f"{prefix}projection_bias", cell.projection_bias, (output_size,))
    _check_presence(cell, prefix)
    need(
        cell.projection is not None or units == output_size,
        f"{prefix}recurrent_to_output_weights is for {output_size} outputs, {units} units without "
        f"{prefix}projection_weights give {units}",
    )
    return units, output_size


def check_step(
    operands: Mapping[str, Any], batch: int, input_size: int, output_name: str = "output_state_in"
) -> tuple[Shape, Shape]:
    """Return the shapes of output and cell state of one step; raise OpFailedError if operands do not fit together."""
    units, output_size = check_cell(operands, input_size)
    output, cell = (batch, output_size), (batch, units)
    need_shape(output_name, operands[output_name], output)
    need_shape("cell_state_in", operands["cell_state_in"], cell)
    return output, cell


def _check_presence(cell: Cell[OperandType], prefix: str) -> None:
    coupled, first = cell.is_coupled, prefix + operand_name("input", "input")
    for role in ("recurrent", "bias"):
        name, given = prefix + operand_name(role, "input"), "input" in getattr(cell, role)
        need(given != coupled, f"{name} is {_words(given)}, but {first} is {_words(not coupled)}")
    for role, gates in (("norm", GATES), ("aux", GATES), ("peephole", SQUASHED)):
        given = getattr(cell, role)
        for gate in gates:
            name = prefix + operand_name(role, gate)
            if coupled and gate == "input":
                # A peephole into an omitted input gate is permitted; it has no effect.
                need(gate not in given or role == "peephole", f"{name} is given, but {first} is omitted")
            else:
                need(gate in given or not given, f"{name} is omitted, but others of its kind are given")
    need(
        cell.projection is not None or cell.projection_bias is None,
        f"{prefix}projection_bias is given, but {prefix}projection_weights is omitted",
    )


def _words(given: bool) -> str:
    return "given" if given else "omitted"
