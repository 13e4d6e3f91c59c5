"""Sequences in two directions, as two sequences, one of them reversed.

LiteRT's bidirectional operators overwrite rows when merging, and read the wrong backward input.
"""

from collections.abc import Callable, Sequence

from nnapi.drivers.litert.context import LitertContext
from nnapi.formats.tflite.graph import Tensor
from nnapi.lowering.tflite.recurrent import step_of, turn


def run_both(
    context: LitertContext,
    input: Tensor,
    aux: Tensor | None,
    is_weighted: bool,
    time_major: bool,
    merges: bool,
    compute: Callable[[str, Tensor], Sequence[Tensor]],
) -> list[Tensor]:
    """Return the results of an operation in both directions.

    ``compute`` takes a direction's prefix and input, and returns the output and states other than the last output.
    Without weights, ``aux`` is the backward input; with weights, it is concatenated with the input.
    """
    backward = input if aux is None else aux
    if aux is not None and is_weighted:
        input = backward = context.concatenate([input, aux], 2)
    outputs, states = [], []
    for prefix, x in (("fw_", input), ("bw_", turn(context, backward, True, time_major))):
        output, *others = compute(prefix, x)
        outputs.append(output)
        states += [step_of(context, output, time_major), *others]
    results = [outputs[0], turn(context, outputs[1], True, time_major)]
    if merges:
        results = [context.emit("CONCATENATION", results, context.result(), axis=2, activation=0)]
    return results if len(context.call.results) == len(results) else [*results, *states]
