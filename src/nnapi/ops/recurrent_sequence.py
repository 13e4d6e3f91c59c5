"""Recurrent operations: loops over time, linking of an auxiliary input, results of two directions."""

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from nnapi.errors import need
from nnapi.model.operand import Array, OperandType, Shape

T = TypeVar("T")
Step = Callable[..., tuple[Array, ...]]
"""One time step: takes input, auxiliary input or None, and states; returns the next states, the output first."""


def dimensions(input: OperandType, time_major: int) -> tuple[int, int, int]:
    first, second, size = input.shape
    return (first, second, size) if time_major else (second, first, size)


def by_time(x: Array, time_major: int) -> Array:
    return x if time_major else x.swapaxes(0, 1)


def over_time(
    step: Step,
    x: Array,
    aux: Array | None,
    states: tuple[Array, ...],
    backward: bool = False,
    lengths: Array | None = None,
) -> tuple[Array, tuple[Array, ...]]:
    """Run a cell along the first axis. Return all outputs, in the order of the input, and the last states.

    From its length on, a row of the batch keeps its states, and its outputs are 0. The last states of a row of length 0
    are 0.
    """
    times = range(len(x))
    outputs = []
    for t in reversed(times) if backward else times:
        after = step(x[t], None if aux is None else aux[t], *states)
        if lengths is None:
            outputs.append(after[0])
        else:
            is_within = (t < lengths)[:, np.newaxis]
            after = tuple([np.where(is_within, new, old) for new, old in zip(after, states, strict=True)])
            outputs.append(np.where(is_within, after[0], 0))
        states = after
    if lengths is not None:
        states = tuple([np.where(lengths[:, np.newaxis] > 0, state, 0) for state in states])
    return np.stack(outputs[::-1] if backward else outputs), states


def link(input: T, aux: T | None, weighted: bool) -> tuple[T, T | None]:
    """Return the input of the backward cell, and the auxiliary input of both cells.

    An auxiliary input without weights is the backward cell's input (parallel linking); one with weights in both
    directions is read by both cells (cross linking).
    """
    return (input, aux) if weighted or aux is None else (aux, None)


def check_aux(input: OperandType, aux: OperandType | None, fw: str | None, bw: str | None) -> None:
    """Raise OpFailedError unless an auxiliary input can be linked and has the input's time and batch.

    ``fw`` and ``bw`` name the auxiliary input's weights in each direction, without prefix; None if they are omitted.
    """
    given, omitted = ("fw", "bw") if fw else ("bw", "fw")
    weights = fw or bw
    need(
        bool(fw) == bool(bw),
        f"{given}_{weights} is given, {omitted}_{weights} is omitted, must be given in both directions or none",
    )
    need(aux or not weights, f"fw_{weights} and bw_{weights} are given, but aux_input is omitted")
    need(
        aux is None or aux.shape[:2] == input.shape[:2],
        f"aux_input has shape {list(aux.shape if aux else ())}, must begin with {list(input.shape[:2])}",
    )


def shapes_of_directions(outer: Shape, fw_size: int, bw_size: int, merge: bool) -> list[Shape]:
    return [(*outer, fw_size + bw_size)] if merge else [(*outer, fw_size), (*outer, bw_size)]


def run_both(
    cells: tuple[Step, Step],
    states: tuple[tuple[Array, ...], tuple[Array, ...]],
    x: Array,
    aux: Array | None,
    weighted: bool,
    time_major: int,
    merge: bool,
) -> list[Array]:
    """Run a forward and a backward cell. Return outputs as stored, concatenated if ``merge``, and all last states."""
    aux = None if aux is None else by_time(aux, time_major)
    x = by_time(x, time_major)
    bw_x, aux = link(x, aux, weighted)
    fw, fw_states = over_time(cells[0], x, aux, states[0])
    bw, bw_states = over_time(cells[1], bw_x, aux, states[1], backward=True)
    outputs = [np.concatenate((fw, bw), -1)] if merge else [fw, bw]
    return [*(by_time(output, time_major) for output in outputs), *fw_states, *bw_states]
