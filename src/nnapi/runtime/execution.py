"""Executions: computations of a compilation on given buffers (``ANeuralNetworksExecution``)."""

import threading
from collections.abc import Sequence
from typing import Any

from nnapi.closeable import Closeable
from nnapi.codes import DurationCode
from nnapi.contract.driver import DEFAULT_LOOP_TIMEOUT, MAXIMUM_LOOP_TIMEOUT, Attribute, Outcome, Request
from nnapi.contract.handles import MEASURED
from nnapi.errors import (
    BadDataError,
    BadStateError,
    NnapiError,
    OpFailedError,
    OutputInsufficientSizeError,
    UnexpectedNullError,
    need,
    need_instance,
)
from nnapi.exits import resting
from nnapi.model.lifecycle import State
from nnapi.model.memory import Memory, need_memory
from nnapi.model.operand import Array, OperandType, Shape, combine
from nnapi.runtime.binding import Binding
from nnapi.runtime.burst import Burst
from nnapi.runtime.compilation import Compilation
from nnapi.runtime.device import describe_substitutes
from nnapi.runtime.event import Event
from nnapi.runtime.executors.deadline import deadline_after, pick_earlier, read_nanoseconds
from nnapi.runtime.executors.wrappers import execute
from nnapi.runtime.extension_attributes import add_attribute
from nnapi.trace import Layer, Phase, Section, spans

COMPLETED = "make another, or set_reusable(True) before the first computation"


class Execution(Closeable):
    """One computation or, after :meth:`set_reusable`, several in sequence, on the same buffers.

    The caller's buffers must stay valid and unchanged until the computation of the ``compilation`` completes. States
    are preparation, computation, completed. ``index`` is a position in the model's inputs or outputs; ``length`` and
    ``offset`` are bytes; a ``duration`` is in nanoseconds.
    """

    state: State

    @Section(Layer.RUNTIME, Phase.EXECUTION, "ANeuralNetworksExecution_create")
    def __init__(self, compilation: Compilation) -> None:
        need_instance(compilation, Compilation, "compilation", "nnapi.compile() makes it")
        self._active = compilation.need_active()
        self.compilation = compilation
        self.model = compilation.model
        self._inputs = Binding(compilation, "input")
        self._outputs = Binding(compilation, "output")
        self._attributes: tuple[Attribute, ...] = ()
        self.state = State("the execution is in", "preparation", completed=COMPLETED)
        self._startable: tuple[str, ...] = ("preparation",)
        self._lock = threading.Lock()
        self._measured = self._is_closed = False
        self._timeout = 0
        self._loop_timeout = DEFAULT_LOOP_TIMEOUT
        self._missing: str | None = None
        self._forget()

    # Binding

    @Section(Layer.RUNTIME, Phase.INPUTS_AND_OUTPUTS, "ANeuralNetworksExecution_setInput")
    def set_input(self, index: int, buffer: Any, type: OperandType | None = None, length: int | None = None) -> None:
        """Bind a buffer to an input; None omits it (``ANeuralNetworksExecution_setInput``).

        ``type`` or the array's shape sets dynamic dimensions. ``length`` defaults to the buffer's bytes.
        """
        self._set(self._inputs, index, buffer, type, length)

    @Section(Layer.RUNTIME, Phase.INPUTS_AND_OUTPUTS, "ANeuralNetworksExecution_setOutput")
    def set_output(self, index: int, buffer: Any, type: OperandType | None = None, length: int | None = None) -> None:
        """Bind a writable buffer to an output; None omits it (``ANeuralNetworksExecution_setOutput``)."""
        self._set(self._outputs, index, buffer, type, length)

    @Section(Layer.RUNTIME, Phase.INPUTS_AND_OUTPUTS, "ANeuralNetworksExecution_setInputFromMemory")
    def set_input_from_memory(
        self, index: int, memory: Memory, offset: int = 0, length: int = 0, type: OperandType | None = None
    ) -> None:
        """Bind a region of a memory to an input (``ANeuralNetworksExecution_setInputFromMemory``).

        An opaque memory is bound as a whole: offset and length are 0.
        """
        self._set_from_memory(self._inputs, index, memory, offset, length, type)

    @Section(Layer.RUNTIME, Phase.INPUTS_AND_OUTPUTS, "ANeuralNetworksExecution_setOutputFromMemory")
    def set_output_from_memory(
        self, index: int, memory: Memory, offset: int = 0, length: int = 0, type: OperandType | None = None
    ) -> None:
        """Bind a region of a memory to an output (``ANeuralNetworksExecution_setOutputFromMemory``)."""
        self._set_from_memory(self._outputs, index, memory, offset, length, type)

    # Options

    def set_measure_timing(self, measure: bool) -> None:
        """Measure :meth:`duration` if ``measure`` (``..._setMeasureTiming``); only for one explicitly chosen device."""
        self.compilation.need_one_device("timing is measured")
        self.state.need("preparation", to="measure timing")
        self._measured = bool(measure)

    def set_timeout(self, duration: int) -> None:
        """Limit a computation to a ``duration``, 0 for none (``..._setTimeout``); for one explicitly chosen device."""
        self.compilation.need_one_device("a time limit is set")
        self.state.need("preparation", to="set the time limit")
        self._timeout = read_nanoseconds(duration)

    def set_loop_timeout(self, duration: int) -> None:
        """Limit each WHILE to a ``duration`` (``..._setLoopTimeout``), at most 15 s; 2 s by default."""
        self.state.need("preparation", to="set the loop timeout")
        self._loop_timeout = min(read_nanoseconds(duration), MAXIMUM_LOOP_TIMEOUT)

    def set_reusable(self, reusable: bool) -> None:
        """Permit several computations in sequence, if ``reusable`` (``..._setReusable``)."""
        self.state.need("preparation", to="change reusability")
        self._startable = ("preparation", "completed") if reusable else ("preparation",)

    def enable_input_and_output_padding(self, enable: bool) -> None:
        """With ``enable``, permit buffers longer than the value in them (``..._enableInputAndOutputPadding``).

        BadStateError once an input or output has been set.
        """
        self.state.need("preparation", to="change padding")
        for binding in (self._inputs, self._outputs):
            need(not binding.is_touched, f"cannot change padding: an {binding.role} has been set", BadStateError)
        self._inputs.padded = self._outputs.padded = bool(enable)

    def add_extension_attribute(self, extension: str, code: int, data: bytes | None) -> None:
        """Add ``data`` under a ``code`` of a vendor's ``extension`` (``..._addExtensionAttribute``).

        BadDataError unless the compilation is for exactly one chosen device.
        """
        need(extension is not None, "the extension's name is None", UnexpectedNullError)
        self.compilation.need_one_device("attributes are added")
        self.state.need("preparation", to="add an attribute")
        owner = f"{self.model.name}'s execution"
        self._attributes = add_attribute(self._attributes, extension, code, data, owner)

    # Running

    @Section(Layer.RUNTIME, Phase.EXECUTION, "ANeuralNetworksExecution_compute")
    def compute(self) -> None:
        """Run and wait (``ANeuralNetworksExecution_compute``)."""
        self._compute()

    @Section(Layer.RUNTIME, Phase.EXECUTION, "ANeuralNetworksExecution_burstCompute")
    def burst_compute(self, burst: Burst) -> None:
        """Run and wait, in a burst (``ANeuralNetworksExecution_burstCompute``).

        BadDataError for the burst of another compilation, BadStateError if another thread is using the burst.
        """
        need(burst is not None, "burst is None", UnexpectedNullError)
        need(burst.compilation is self.compilation, "the burst belongs to another compilation", BadDataError)
        burst.take()
        try:
            self._compute()
        finally:
            burst.release()

    @Section(Layer.RUNTIME, Phase.EXECUTION, "ANeuralNetworksExecution_startCompute")
    def start_compute(self) -> Event:
        """Run in the background (``ANeuralNetworksExecution_startCompute``); the event reports the outcome."""
        self._begin()
        try:  # refused at once, not through the event: opaque memories without an input's data
            for argument in self._inputs.arguments:
                if argument is not None and argument.opaque is not None:
                    argument.array()
        except NnapiError as error:
            self._abort(error)
            raise
        deadline = deadline_after(self._timeout)
        return Event(lambda: self._run_to_end(deadline))

    @Section(Layer.RUNTIME, Phase.EXECUTION, "ANeuralNetworksExecution_startComputeWithDependencies")
    def start_compute_with_dependencies(self, dependencies: Sequence[Event] = (), duration: int = 0) -> Event:
        """Run after the events ``dependencies`` (``ANeuralNetworksExecution_startComputeWithDependencies``).

        ``duration`` limits the time after all fences have signalled; it needs one explicitly chosen device. This call
        waits for events without a fence and ignores their outcome; a failed fence fails the computation. The returned
        event has a fence. The execution counts as running until the event is waited for or closed.
        """
        need(dependencies is not None, "dependencies are None", UnexpectedNullError)
        need(not isinstance(dependencies, Event), "dependencies are a list of events, got one event", BadDataError)
        need(all(event is not None for event in dependencies), "a dependency is None", UnexpectedNullError)
        self._begin()
        try:
            if read_nanoseconds(duration):
                self.compilation.need_one_device("a duration is given")
            for operand, argument in zip(self._outputs.operands, self._outputs.arguments, strict=True):
                known = argument is None or argument.is_omitted or argument.opaque or argument.type.is_known
                need(known, f"{operand} has unknown dimensions, a fenced computation needs them", BadDataError)
        except NnapiError as error:
            self._abort(error)
            raise
        for event in dependencies:
            if not event.has_fence:
                event.close()
        fences = [event for event in dependencies if event.has_fence]
        return Event(lambda: self._run_fenced(fences, duration), fenced=True, observed=self._complete)

    # Results

    def output_operand_rank(self, index: int) -> int:
        """Return an output's rank after the run (``ANeuralNetworksExecution_getOutputOperandRank``); 0 for a scalar.

        OutputInsufficientSizeError, with the required ``dimensions``, if the buffer was too small.
        """
        return len(self._need_output_shape(index))

    def output_operand_dimensions(self, index: int) -> Shape:
        """Return an output's dimensions after the run (``ANeuralNetworksExecution_getOutputOperandDimensions``).

        Errors are those of :meth:`output_operand_rank`, and BadDataError for a scalar.
        """
        shape = self._need_output_shape(index)
        need(shape, f"output {index} has no dimensions", BadDataError)
        return shape

    def duration(self, code: DurationCode) -> int | None:
        """Return the nanoseconds of the phase ``code`` (``ANeuralNetworksExecution_getDuration``).

        None if the device does not measure it, or has a substitute. BadStateError if timing was not set or the run
        failed.
        """
        need(code in [*DurationCode], f"duration code is {code}, must be 0..3, of DurationCode", BadDataError)
        self.state.need("completed")
        outcome = self._outcome
        if self._error is not None or outcome is None:
            raise BadStateError(f"the execution failed: {self._error}")
        remedy = "call set_measure_timing(True) before the computation"
        need(self._measured, f"timing was not asked for: {remedy}", BadStateError)
        if describe_substitutes(self.compilation.devices):
            return None
        in_driver = code in (DurationCode.DURATION_IN_DRIVER, DurationCode.FENCED_DURATION_IN_DRIVER)
        return outcome.driver_ns if in_driver else outcome.hardware_ns

    # Within

    def _set(self, binding: Binding, index: int, buffer: Any, type: OperandType | None, length: int | None) -> None:
        is_given = buffer is not None or not length
        need(is_given, f"no buffer, but a length of {length}, for {binding.role} {index}", UnexpectedNullError)
        self.state.need("preparation", to=f"set {binding.role} {index}")
        binding.set(index, buffer, type, length)

    def _set_from_memory(
        self, binding: Binding, index: int, memory: Memory, offset: int, length: int, type: OperandType | None
    ) -> None:
        need_memory(memory, f"{binding.role} {index}")
        self.state.need("preparation", to=f"set {binding.role} {index}")
        binding.set_from_memory(index, memory, offset, length, type)

    def _begin(self) -> None:
        with self._lock:
            self.state.need(*self._startable, to="compute")
            if self.state.value == "preparation":
                self._missing = self._inputs.find_missing() or self._outputs.find_missing()
            self.state.value = "computation"
        self._forget()
        if self._missing:
            error = BadDataError(self._missing)
            self._abort(error)
            raise error

    def _compute(self) -> None:
        self._begin()
        self._run_to_end(deadline_after(self._timeout))

    def _forget(self) -> None:
        self._error: NnapiError | None = None
        self._outcome: Outcome | None = None
        self._shapes = [operand.type.dimensions for operand in self._outputs.operands]
        self._insufficient = [False] * len(self._shapes)

    def _complete(self) -> None:
        with self._lock:
            self.state.value = "completed"
            if self._is_closed:
                self._give_back()

    def _run_to_end(self, deadline: int | None) -> None:
        try:
            self._run(deadline)
        finally:
            self._complete()

    def _run_fenced(self, fences: Sequence[Event], duration: int) -> None:
        limit = deadline_after(self._timeout)
        for event in fences:
            try:
                with resting():
                    event.wait()
            except NnapiError as error:
                failure = OpFailedError(f"a fence that the computation waited for failed: {error}")
                self._fail(failure)
                raise failure from None
        self._run(pick_earlier(limit, deadline_after(duration)))

    def _run(self, deadline: int | None) -> None:
        try:
            arrays = [argument.array() for argument in self._inputs.arguments if argument is not None]
            self._active = self.compilation.active or self._active  # a trial may have changed the plan
            handle = self._active.handle.reopen(MEASURED) if self._measured else self._active.handle
            self._outcome = self._run_fast_path(arrays, deadline) or execute(
                handle, Request(arrays, deadline, self._loop_timeout, attributes=self._attributes)
            )
            self._deliver(self._outcome.outputs)
        except NnapiError as error:
            self._fail(error)
            raise

    def _run_fast_path(self, arrays: Sequence[Array | None], deadline: int | None) -> Outcome | None:
        """Run on the plan's fast path; return None if it has none, or if an option needs the general path."""
        run = self._active.fast_path
        if run is None or deadline is not None or spans.active or self._measured or self._attributes:
            return None
        outputs = run(arrays)
        return None if outputs is None else Outcome(outputs)

    def _abort(self, error: NnapiError) -> None:
        self._fail(error)
        self._complete()

    def _fail(self, error: NnapiError) -> None:
        """Store the error, and clear the opaque memories bound to outputs."""
        self._error = error
        for argument in self._outputs.arguments:
            if argument is not None and argument.opaque is not None:
                argument.opaque.invalidate()

    def _deliver(self, arrays: Sequence[Array]) -> None:
        """Copy results to the caller's buffers; after the last one, raise an error if any buffer was too small."""
        for index, (array, argument) in enumerate(zip(arrays, self._outputs.arguments, strict=True)):
            assert argument is not None
            shape = self._shapes[index] = () if argument.type.is_scalar else array.shape
            if argument.dimensions != shape and combine(argument.dimensions, shape) is None:
                operand = self._outputs.operands[index]
                raise OpFailedError(f"{operand} came out as {list(shape)}, set as {list(argument.dimensions)}")
            self._insufficient[index] = not argument.fill(array)
        if any(self._insufficient):
            index = self._insufficient.index(True)
            raise _make_size_error(f"{self._outputs.operands[index]}", self._shapes[index])

    def _need_output_shape(self, index: int) -> Shape:
        self.state.need("completed")
        failed = self._error is not None and not isinstance(self._error, OutputInsufficientSizeError)
        need(not failed, f"the execution failed: {self._error}", BadStateError)
        self._outputs.operand(index)
        if self._insufficient[index]:
            raise _make_size_error(f"output {index}", self._shapes[index])
        return self._shapes[index]

    def close(self) -> None:
        """Release the buffers (``ANeuralNetworksExecution_free``), now or when the computation ends."""
        with self._lock:
            self._is_closed = True
            if self.state.value != "computation":
                self._give_back()

    def _give_back(self) -> None:
        self.state.value, self._outcome = "closed", None
        self._inputs, self._outputs = Binding(self.compilation, "input"), Binding(self.compilation, "output")

    def __repr__(self) -> str:
        return f"<nnapi.Execution of {self.model.name!r}, {self.state}>"


def _make_size_error(what: str, shape: Shape) -> OutputInsufficientSizeError:
    error = OutputInsufficientSizeError(f"{what} came out as {list(shape)}, more than its buffer holds")
    error.dimensions = shape
    return error
