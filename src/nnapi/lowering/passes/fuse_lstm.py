"""Fuse the time steps of an LSTM into one operator over time, which the engine runs in one kernel.

Models with single-step cells split the sequence, compute the steps in order, and pack their outputs.
"""

from nnapi.formats.tflite.graph import Graph, Operator, Tensor, constant
from nnapi.rewriting.dataflow import find_makers, find_readers

STEP, SEQUENCE = "LSTM", "UNIDIRECTIONAL_SEQUENCE_LSTM"
HIDDEN, CELL = 18, 19


def fuse_lstm_steps(graph: Graph) -> Graph:
    """Return the graph with consecutive steps fused; operators that only split and packed for them are removed."""
    if not any(operator.kind == STEP for operator in graph.operators):
        return graph
    joining = _Joining(graph)
    for chain in joining.find_chains():
        joining.join(chain)
    return graph.rewrite(joining.instead.get)


class _Joining:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.position = {operator: position for position, operator in enumerate(graph.operators)}
        self.maker = find_makers(graph.operators)
        self.readers = find_readers(graph.operators)
        self.outside = set(graph.outputs)
        self.instead: dict[Operator, list[Operator]] = {}

    def find_chains(self) -> list[list[Operator]]:
        chains: dict[Operator | None, list[Operator]] = {}  # by their last step
        for operator in self.graph.operators:
            if operator.kind == STEP:
                chain = chains.pop(self._find_before(operator), [])
                chain.append(operator)
                chains[operator] = chain
        return list(chains.values())

    def _find_before(self, operator: Operator) -> Operator | None:
        """Return the step before a step of the same cell, unless its cell state is read elsewhere."""
        hidden = operator.inputs[HIDDEN]
        before = self.maker.get(hidden) if hidden is not None else None
        if before is None or before.kind != STEP or before.outputs != [hidden, operator.inputs[CELL]]:
            return None
        cell = before.outputs[1]
        same = all(
            ours is theirs
            for position, (ours, theirs) in enumerate(zip(operator.inputs, before.inputs, strict=True))
            if position not in (0, HIDDEN, CELL)
        )
        is_private = self.readers[cell] == [operator] and cell not in self.outside
        return before if same and is_private and operator.options == before.options else None

    def join(self, chain: list[Operator]) -> None:
        source = self._find_source(chain)
        if source is None:
            return
        whole, axis = source
        first, last = chain[0], chain[-1]
        packed = self._find_packing(chain, axis)
        steps = [step.outputs[0] for step in chain]
        out = packed.outputs[0] if packed else steps[0].like(shape=_shape(steps[0], len(chain), axis))
        out.origin = steps[0].origin
        inputs = [whole, *first.inputs[1:]]
        options = {**first.options, "time_major": axis == 0}
        new = [Operator(SEQUENCE, inputs, [out, last.outputs[1]], options, first.intermediates)]
        for time, step in enumerate(steps):
            if step in self.outside or any(reader not in (packed, *chain) for reader in self.readers[step]):
                new += _slice_step(out, step, time, axis)
        for gone in (*chain, packed):
            if gone is not None:
                self.instead[gone] = []
        self.instead[first] = new

    def _find_source(self, chain: list[Operator]) -> tuple[Tensor, int] | None:
        """Return the sequence whose steps a chain reads in order, and its time axis (0 or 1); None unless the sequence
        is computed before the chain begins."""
        steps = [step.input(0) for step in chain]
        makers = [self.maker.get(step) for step in steps]
        pieces = [op.input(0) for op in makers if op is not None and op.kind == "RESHAPE"]
        if len(pieces) < len(chain):
            return None
        whole = pieces[0]
        if len(chain) > 1:
            split = self.maker.get(whole)
            if split is None or split.kind != "SPLIT" or split.outputs != pieces:
                return None
            whole = split.input(1)
            axis: int | None = int(split.input(0).value)
        else:
            axis = next((axis for axis in (1, 0) if whole.shape == _shape(steps[0], 1, axis)), None)
        if axis not in (0, 1) or len(whole.shape) != 3 or self._position_of(whole) >= self.position[chain[0]]:
            return None
        return whole, axis

    def _position_of(self, tensor: Tensor) -> int:
        maker = self.maker.get(tensor)
        return -1 if maker is None else self.position[maker]

    def _find_packing(self, chain: list[Operator], axis: int) -> Operator | None:
        steps = [step.outputs[0] for step in chain]
        for reader in self.readers[steps[0]]:
            if reader.kind == "PACK" and reader.inputs == steps and reader.options["axis"] == axis:
                return reader
        return None


def _shape(step: Tensor, count: int, axis: int) -> tuple[int, ...]:
    return (*step.shape[:axis], count, *step.shape[axis:])


def _slice_step(whole: Tensor, step: Tensor, time: int, axis: int) -> list[Operator]:
    begin = [0, 0, 0]
    begin[axis] = time
    piece = step.like(shape=_shape(step, 1, axis))
    return [
        Operator("SLICE", [whole, constant(begin), constant(piece.shape)], [piece]),
        Operator("RESHAPE", [piece, constant(step.shape)], [step]),
    ]
