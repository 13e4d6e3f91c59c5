"""Bursts that keep a model's states between their runs.

The compiled model is a pure function: each state is an input and, if runs change it, an output, behind the model's own.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, cast

import numpy as np

from nnapi.contract.driver import Bound, Inference
from nnapi.model.model import Model
from nnapi.model.operand import Array, Shape
from nnapi.model.pickling import build, describe_with_states
from nnapi.restarting import copy_to
from nnapi.runtime.burst import Burst, Runnable
from nnapi.runtime.by_name import order_inputs
from nnapi.runtime.executors.fast_path import FastPath, find_fast_path, list_shapes
from nnapi.runtime.feedback import Feedback
from nnapi.trace import spans

VARIANT = b"states"
"""The name by which the model with its states is cached, beside the model itself."""


class Closing(Runnable, Protocol):
    """A compilation that can be closed."""

    def close(self) -> None: ...


class States:
    """The values of states, by name. Several bursts may share them. ``owner`` is the bound memory that the values lie
    in, None if they lie elsewhere."""

    def __init__(self) -> None:
        self.values: dict[str, Array] = {}
        self.owner: object = None


class Stateful:
    """A model whose states are inputs and outputs, behind those of ``source``."""

    def __init__(self, source: Model) -> None:
        source.need_mapped()
        self.source = source
        self.model = build(Model, describe_with_states(source))
        initial = [source.operands[state.initial] for state in source.states]
        self.initial: dict[str, Array] = {operand.name: operand.value for operand in initial}
        """The values of states before the first run, by name."""
        finals = [state.final for state in source.states]
        self.changed = [name for name, final in zip(self.initial, finals, strict=True) if final is not None]
        """The names of states that runs change, in the order of their outputs."""


class StatefulBursts:
    """Opens bursts of a model with states. They share one compilation."""

    def __init__(self, model: Model, compile: Callable[[Model, bytes], Closing]) -> None:
        """``compile`` gets the model with its states as inputs and outputs, and the name of this variant."""
        self._stateful = Stateful(model)
        self._compilation = compile(self._stateful.model, VARIANT)

    def open(self, borrow: bool) -> "StatefulBurst":
        return StatefulBurst(self._stateful, self._compilation, borrow=borrow)

    def close(self) -> None:
        self._compilation.close()


class StatefulBurst(Burst):
    """Runs that continue from the states of the run before, one at a time. ``compilation`` is that of the model whose
    states are inputs and outputs."""

    def __init__(
        self, stateful: Stateful, compilation: Runnable, states: States | None = None, *, borrow: bool = False
    ) -> None:
        """With ``states``, the burst shares its states with other bursts, which may have made them already."""
        super().__init__(compilation, borrow=borrow)
        self._stateful, self._states = stateful, States() if states is None else states
        self._count = len(stateful.source.outputs)
        self._direct: FastPath | None = None
        """The fast path of :meth:`run`, on bound memory; None before the first run, and if there is none."""
        self._has_run = False
        for name, value in stateful.initial.items():
            self._states.values.setdefault(name, value)

    def run(self, *inputs: Any) -> list[Array]:
        """Run on ``inputs``, as :meth:`Burst.run`, and keep the new states."""
        outputs = None if self._direct is None else self._direct(inputs)
        if outputs is not None:
            return outputs
        outputs = self._run_on(inputs)
        if not (self._has_run or self._has_bound):
            self._direct = self._make_direct()
        self._has_run = True
        return outputs

    def _run_on(self, inputs: Sequence[Any]) -> list[Array]:
        """Run on inputs that may need conversion. The states are copied to the device and back."""
        if len(inputs) == 1 and isinstance(inputs[0], Mapping):
            inputs = tuple(order_inputs(self._stateful.source, inputs[0]))
        self.take()
        try:
            if self._source.active is not self._seen:
                self._follow()
            values = self._states.values
            outputs = self._run_whole((*inputs, *(values[name] for name in self._stateful.initial)))
            new = outputs[self._count :]
            values.update(zip(self._stateful.changed, map(np.copy, new) if self._borrow else new, strict=True))
            self._states.owner = None
            return outputs[: self._count]
        finally:
            self.release()

    def _make_direct(self) -> FastPath | None:
        """Return the fast path of runs on inputs of the declared shapes; None if those are dynamic."""
        source = self._stateful.source
        shapes = list_shapes(source)
        if shapes is None:
            return None
        run = self.bind(*shapes).run  # on other inputs, which it copies to the bound memory
        return find_fast_path(source, self._handle._replace(call=cast("Inference", run)), shapes)

    def _run_whole(self, inputs: Sequence[Any]) -> list[Array]:
        if spans.active:
            return self._run_traced(inputs)
        outputs = None if self._fast_path is None else self._fast_path(inputs)
        return self._run_generally(inputs) if outputs is None else outputs

    def bind(self, *shapes: Shape) -> Bound:
        """Bind memory for inputs of these shapes, as :meth:`Burst.bind`. The states have memory of their own."""
        self._save()  # binding clears the device's memory
        bound = super().bind(*shapes, *(value.shape for value in self._stateful.initial.values()))
        return Bound(bound.inputs[: len(shapes)], bound.run)

    def close(self) -> None:
        """Free the burst, as :meth:`Burst.close`. States that it shares stay."""
        self._save()
        super().close()

    def _save(self) -> None:
        """Copy the states from bound memory to arrays of their own."""
        values = self._states.values
        values.update({name: values[name].copy() for name in self._stateful.initial})
        self._states.owner = None

    def _extend(self, compute: Inference, inputs: list[Array]) -> Inference:
        """Return a run on bound memory ``inputs`` that reads the states from it and writes the new ones to it. It
        copies other inputs to the memory first, and then copies its results unless they are borrowed."""
        states, initial, borrow = self._states, self._stateful.initial, self._borrow
        memory = dict(zip(initial, inputs[-len(initial) :], strict=True))
        feedback = Feedback([memory[name] for name in self._stateful.changed])

        def run(given: Sequence[Array]) -> list[Array]:
            is_bound = given is inputs
            if not is_bound:
                for array, value in zip(inputs, given):  # noqa: B905  # states follow
                    array[...] = value
            if states.owner is not memory:
                copy_to(memory.values(), map(states.values.__getitem__, memory))
                states.values.update(memory)
                states.owner = memory
            results = compute(inputs)
            if results is feedback.seen:
                feedback.copy()
                results = feedback.others
            else:
                results = feedback.take(results)
            return results if is_bound or borrow else [array.copy() for array in results]

        return run
