"""Estimate the precision that an engine may lose by its order of computation."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nnapi.model.operand import Array
from nnapi.model.operation import REGISTRY
from nnapi.operation_codes import CODES
from nnapi.ops.lstm_cell import ACTIVATIONS, gate, lstm_step
from nnapi.ops.lstm_parameters import Cell, cell_of
from nnapi.ops.recurrent_sequence import by_time, link, over_time

EXPONENTS = {"fp32": 126.0, "fp16": 14.0}
"""Values between 2**-N and 2**N have all their digits; N by precision."""
ROUNDING = {"fp32": 2.0**-24, "fp16": 2.0**-11}
"""Half of the last digit, relative to the value."""

CELLS = frozenset({"LSTM", "UNIDIRECTIONAL_SEQUENCE_LSTM", "BIDIRECTIONAL_SEQUENCE_LSTM"})
APART = 2
"""Permitted difference of two devices' forget gates in units of the last digit; each may be one unit off."""


def estimate_losses(name: str, inputs: Sequence[Any], outputs: Sequence[Any], precision: str) -> list[Array]:
    """Return the loss of each element of the first results, infinite if no digit may be left; [] if none is known."""
    if any(array is None for array in (*inputs[:1], *outputs)) or inputs[0].dtype.kind != "f":
        return []
    with np.errstate(all="ignore"):
        if name in CELLS:
            operation = REGISTRY[CODES[name]]
            given = dict(zip((slot.name for slot in operation.overloads[0].inputs), inputs, strict=False))
            results = dict(zip((slot.name for slot in operation.outputs), outputs, strict=False))
            return by_coupled_gates(given, results, ROUNDING[precision])
        if name == "LOCAL_RESPONSE_NORMALIZATION":
            return [by_running_sums(*inputs, rounding=ROUNDING[precision])]
        if name == "INSTANCE_NORMALIZATION":
            x, gamma, _, epsilon, *layout = inputs
            return [by_means(x, gamma, epsilon, is_nchw=any(layout), rounding=ROUNDING[precision])]
        if name == "RESIZE_BILINEAR":
            return [by_interpolation(inputs[0], outputs[0], is_nchw=len(inputs) > 3 and bool(inputs[3]))]
        if name == "REDUCE_PROD":
            return [by_products(inputs[0], inputs[1], outputs[0], EXPONENTS[precision])]
        return []


def by_running_sums(
    x: Array, radius: Array, bias: Array, alpha: Array, beta: Array, axis: Array | None = None, *, rounding: float
) -> Array:
    """Return LRN's loss with running sums of squares: an error in the largest sum remains in all later sums."""
    squares = np.moveaxis(np.square(x.astype(np.float64)), int(-1 if axis is None else axis), -1)
    count, reach = squares.shape[-1], min(int(radius), squares.shape[-1])
    sums = np.concatenate([np.zeros((*squares.shape[:-1], 1)), np.cumsum(squares, -1)], -1)
    positions = np.arange(count)
    window = sums[..., np.minimum(positions + reach + 1, count)] - sums[..., np.maximum(positions - reach, 0)]
    rounded = np.maximum.accumulate(window, -1) * rounding * 2 * (positions + 1)
    exact, power = float(bias) + float(alpha) * window, float(beta)
    with np.errstate(all="ignore"):
        sides = [np.maximum(exact + sign * abs(float(alpha)) * rounded, 0.0) ** -power for sign in (-1, 1)]
        size = np.sqrt(squares)
        moved = np.maximum(*(np.abs(side - exact**-power) * size for side in sides))
    moved = np.where(size == 0, 0.0, np.where(np.isfinite(moved), moved, np.inf))
    return np.moveaxis(moved, -1, int(-1 if axis is None else axis))


def by_means(x: Array, gamma: Array, epsilon: Array, *, is_nchw: bool, rounding: float) -> Array:
    """Return INSTANCE_NORMALIZATION's loss if an image's mean is summed one by one: all results shift alike."""
    image = (2, 3) if is_nchw else (1, 2)
    numbers = x.astype(np.float64)
    count = numbers.shape[image[0]] * numbers.shape[image[1]]
    moved = np.abs(numbers).mean(image, keepdims=True) * rounding * count
    factor = np.abs(float(gamma)) / np.sqrt(numbers.var(image, keepdims=True) + float(epsilon))
    return np.broadcast_to(moved * factor, x.shape)


def by_interpolation(x: Array, result: Array, *, is_nchw: bool) -> Array:
    """Return RESIZE_BILINEAR's loss by float32 positions, which grows with the difference of neighbors."""
    numbers = x.astype(np.float64)
    steps = [
        np.abs(np.diff(numbers, axis=axis)).max(initial=0) * x.shape[axis] for axis in ((2, 3) if is_nchw else (1, 2))
    ]
    return np.full(result.shape, 4 * ROUNDING["fp32"] * sum(steps))


def by_products(factors: Array, axes: Array, result: Array, exponents: float) -> Array:
    """Return REDUCE_PROD's loss: infinite where the factors above 1 alone, or below 1 alone, exceed the exponents."""
    rank = factors.ndim
    along = tuple({int(axis) % rank for axis in np.asarray(axes).reshape(-1)})
    with np.errstate(all="ignore"):
        powers = np.where(factors == 0, 0.0, np.log2(np.abs(factors.astype(np.float64))))
    up, down = (np.where(sign * powers > 0, sign * powers, 0).sum(along) for sign in (1, -1))
    return np.where((up > exponents) | (down > exponents), np.inf, 0.0).reshape(result.shape)


def by_coupled_gates(given: Mapping[str, Any], results: Mapping[str, Array | None], rounding: float) -> list[Array]:
    """Return the loss of LSTM cells whose input gate is 1 minus the forget gate, which cancels digits near 1."""
    moved = dict.fromkeys(results, 0.0)
    for direction in ("fw_", "bw_") if "fw_cell_bias" in given else ("",):
        cell = _in_float64(cell_of(given, direction))
        if not cell.is_coupled:
            continue
        state, output = _lose(cell, direction, given, rounding)
        for name in results:
            if name.startswith(direction) or (direction == "bw_" and name == "fw_output"):
                moved[name] = max(moved[name], state if "cell_state" in name else output)
    if not any(moved.values()):
        return []
    return [np.full(() if array is None else array.shape, moved[name]) for name, array in results.items()]


def _in_float64(cell: Cell[Array]) -> Cell[Array]:
    def convert(role: Any) -> Any:
        if isinstance(role, dict):
            return {name: array.astype(np.float64) for name, array in role.items()}
        if isinstance(role, np.ndarray):
            return role.astype(np.float64) if role.ndim else role.item()
        return role

    return Cell(**{name: convert(role) for name, role in vars(cell).items()})


def _lose(cell: Cell[Array], direction: str, given: Mapping[str, Any], rounding: float) -> tuple[float, float]:
    """Return the largest loss of any element of a cell's state, and of its output."""

    def step(x: Array, aux: Array | None, h: Array, c: Array, lost: Array) -> tuple[Array, ...]:
        lets_in = gate(cell, "cell", ACTIVATIONS[cell.activation], x, aux, h, c)
        return *lstm_step(cell, x, aux, h, c), lost + APART * rounding * np.abs(lets_in)

    x, aux = _inputs(cell, direction, given)
    output_state = f"{direction}activation_state_in" if direction else "output_state_in"
    h, c = (given[name].astype(np.float64) for name in (output_state, f"{direction}cell_state_in"))
    _, (_, _, lost) = over_time(step, x, aux, (h, c, np.zeros_like(c)))
    state = _clip(lost, cell.cell_clip)
    output = state if cell.projection is None else _clip(state @ np.abs(cell.projection).T, cell.proj_clip)
    return float(state.max(initial=0)), float(output.max(initial=0))


def _clip(lost: Array, limit: float) -> Array:
    return np.minimum(lost, 2 * limit) if limit > 0 else lost


def _inputs(cell: Cell[Array], direction: str, given: Mapping[str, Any]) -> tuple[Array, Array | None]:
    """Return a cell's input and auxiliary input in the order in which it reads them: [time, batch, size]."""
    x, aux = given["input"], given.get("aux_input")
    if x.ndim == 2:
        return x[np.newaxis].astype(np.float64), None
    x = by_time(x, given["time_major"]).astype(np.float64)
    if aux is not None:
        aux = by_time(aux, given["time_major"]).astype(np.float64)
    other, aux = link(x, aux, bool(cell.aux))
    if direction != "bw_":
        return x, aux
    return other[::-1], None if aux is None else aux[::-1]
