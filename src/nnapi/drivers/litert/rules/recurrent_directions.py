"""Sequences: their last step, and two directions as two sequences, one of them reversed.

The engine's bidirectional operators are avoided: they overwrite rows when merging, and read the wrong backward input.
"""

from collections.abc import Sequence

from nnapi.drivers.litert.context import Context
from nnapi.formats.tflite.graph import Tensor, constant


def step_of(context: Context, sequence: Tensor, time_major: bool) -> Tensor:
    """Return the last output as a state [batch, size]."""
    axis = _time(time_major)
    begin = [0, 0, 0]
    begin[axis] = sequence.shape[axis] - 1
    shape = tuple(1 if i == axis else dimension for i, dimension in enumerate(sequence.shape))
    return context.reshape(context.cut(sequence, begin, shape), (*shape[:axis], *shape[axis + 1 :]))


def link(
    context: Context, input: Tensor, aux: Tensor | None, weighted: bool, time_major: bool
) -> tuple[Tensor, Tensor]:
    """Return the input of each direction, in the order of its time.

    An auxiliary input without weights is the backward cell's; one with weights is concatenated with the input.
    """
    backward = input
    if aux is not None and weighted:
        input = backward = context.join([input, aux], 2)
    elif aux is not None:
        backward = aux
    return input, reverse_in_time(context, backward, time_major)


def reverse_in_time(context: Context, sequence: Tensor, time_major: bool) -> Tensor:
    return context.emit("REVERSE_V2", [sequence, constant([_time(time_major)])], sequence.like())


def both_outputs(context: Context, outputs: Sequence[Tensor], merge: bool, time_major: bool) -> list[Tensor]:
    """Return the outputs of both directions, the backward one reversed; one tensor if merged."""
    forward, backward = outputs[0], reverse_in_time(context, outputs[1], time_major)
    if not merge:
        return [forward, backward]
    return [context.emit("CONCATENATION", [forward, backward], context.result(), axis=2, activation=0)]


def _time(time_major: bool) -> int:
    return 0 if time_major else 1
