"""Compilations: models prepared on devices (``ANeuralNetworksCompilation``)."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nnapi.closeable import Closeable
from nnapi.codes import PreferenceCode, PriorityCode
from nnapi.contract.driver import Attribute, PrepareOptions, Request
from nnapi.errors import (
    BadDataError,
    BadStateError,
    MissedDeadlinePersistentError,
    UnexpectedNullError,
    need,
    need_instance,
    need_value,
    translate_errors,
)
from nnapi.locks import make_lock
from nnapi.model.graph import find_computed, need_distinct
from nnapi.model.lifecycle import State
from nnapi.model.model import LOADS, Model
from nnapi.model.operand import Array
from nnapi.notebook_display import NotebookDisplay
from nnapi.runtime.by_name import Outputs, Preference, Priority, order_inputs, read_preference, read_priority
from nnapi.runtime.cache.compilation_cache import Cache, CacheLocation, locate_variant, open_cache
from nnapi.runtime.choice.first_runs import FirstRuns
from nnapi.runtime.choice.knowledge import Predicted, Unknown
from nnapi.runtime.choice.preparation import prepare
from nnapi.runtime.choice.question import Question
from nnapi.runtime.choice.spare import Spare
from nnapi.runtime.device import PADDED_LEVEL, Device, Devices, list_candidates, prefer_bytes
from nnapi.runtime.executors.active_plan import ActivePlan
from nnapi.runtime.executors.deadline import deadline_after, read_nanoseconds
from nnapi.runtime.executors.observed import Observer
from nnapi.runtime.executors.prepared_partitions import ReadyPlan
from nnapi.runtime.executors.wrappers import execute
from nnapi.runtime.extension_attributes import add_attribute
from nnapi.runtime.further_compilations import FurtherCompilations
from nnapi.runtime.inputs import check_inputs
from nnapi.runtime.planning.explain import add_notes, as_data, as_text, describe_wait, summary
from nnapi.runtime.planning.plan import Plan
from nnapi.runtime.settings import Partitioning, partitioning, waits_for_trials
from nnapi.runtime.thread_counts import read_threads
from nnapi.trace import Layer, Phase, Section, spans
from nnapi.trace.log import Log

if TYPE_CHECKING:
    from nnapi.runtime.burst import Burst
    from nnapi.runtime.choice.trial import Trial
    from nnapi.runtime.event import Result
    from nnapi.runtime.run_many import Progress, RunMany, Single

log = Log("nnapi.CompilationBuilder")

COMPUTE = Section(Layer.RUNTIME, Phase.EXECUTION, "ANeuralNetworksExecution_compute")
START = Section(Layer.RUNTIME, Phase.EXECUTION, "ANeuralNetworksExecution_startCompute")

Options = tuple[PreferenceCode | None, PriorityCode | None, int | None, int | None]
"""Preference, priority, time limit in ns, and threads; None for the default."""


class Compilation(Closeable, NotebookDisplay):
    """A model prepared for devices. Any number of threads may share a finished compilation.

    Without ``devices`` the runtime chooses devices (``ANeuralNetworksCompilation_create``). With ``devices`` nothing
    falls back to the CPU (``ANeuralNetworksCompilation_createForDevices``). Raises BadStateError if the model is not
    finished. ``index`` is a position in the model's inputs or outputs.
    """

    def __init__(self, model: Model, devices: Devices | None = None) -> None:
        need_instance(model, Model, "model", LOADS)
        self.is_explicit = devices is not None
        candidates = list_candidates(devices)
        need(candidates, "no devices are listed", BadDataError)
        need_distinct(candidates)
        if not model.is_finished:
            raise BadStateError(f"{model!r} is not finished: finish() it first")
        self.model = model
        self.candidates = candidates
        self._preference = PreferenceCode.PREFER_FAST_SINGLE_ANSWER
        self._priority = PriorityCode.PRIORITY_MEDIUM
        self._timeout = 0
        self._threads: int | None = None
        self._cache: Cache | None = None
        self._attributes: tuple[Attribute, ...] = ()
        self.state = State("the compilation is", "preparing", preparing="finish() it first")
        self.active: ActivePlan | None = None
        """The plan of the next runs; None before finish has succeeded, and after close."""
        self._changing = make_lock()
        """Held while the active plan, the trial and the state change together."""
        self._is_pinned = False
        self._further = FurtherCompilations(model)
        self._single: Single | None = None
        self._preparing = make_lock()
        """Held while ``_single`` is prepared."""
        self._trial: Trial | None = None
        self._waited = 0.0  # seconds that finish took

    def set_preference(self, preference: Preference) -> None:
        """Set the ``preference``: a fast single answer by default (``..._setPreference``)."""
        self.state.need("preparing", to="set the preference")
        self._preference = read_preference(preference)

    def set_priority(self, priority: Priority) -> None:
        """Set the ``priority`` among runs that wait for the same device: medium by default (``..._setPriority``)."""
        self.state.need("preparing", to="set the priority")
        self._priority = read_priority(priority)

    def set_timeout(self, duration: int) -> None:
        """Limit :meth:`finish` to a ``duration`` in ns, 0 for none (``..._setTimeout``); for one chosen device."""
        self.state.need("preparing", to="set the time limit")
        self.need_one_device("a time limit is set")
        self._timeout = read_nanoseconds(duration)

    def set_caching(self, directory: str | os.PathLike[str], token: bytes) -> None:
        """Cache prepared models in a directory, under a 32-byte token (``..._setCaching``).

        A directory that cannot be used does not fail the compilation.
        """
        need(directory is not None and token is not None, "directory or token is None", UnexpectedNullError)
        self.state.need("preparing", to="set caching")
        self._cache = Cache(directory, token)

    def set_threads(self, threads: int | None) -> None:
        """Set the number of threads per run, up to 1024. With None, the runtime chooses by the preference."""
        self.state.need("preparing", to="set the number of threads")
        self._threads = read_threads(threads)

    def add_extension_attribute(self, extension: str, code: int, data: bytes | None) -> None:
        """Add ``data`` under a ``code`` of a vendor's ``extension`` (``..._addExtensionAttribute``).

        BadDataError unless the compilation is for exactly one chosen device.
        """
        need(extension is not None, "the extension's name is None", UnexpectedNullError)
        self.state.need("preparing", to="add an attribute")
        self.need_one_device("attributes are added")
        owner = f"{self.model.name}'s compilation"
        self._attributes = add_attribute(self._attributes, extension, code, data, owner)

    @Section(Layer.RUNTIME, Phase.COMPILATION, "ANeuralNetworksCompilation_finish")
    def finish(self) -> None:
        """Plan the model over the devices and prepare it (``ANeuralNetworksCompilation_finish``).

        BadDataError, with the reasons, if no device supports an operation; MissedDeadline* after the time limit. A
        failed finish cannot be repeated.
        """
        self.state.need("preparing", to="finish")
        self.state.value = "failed"
        begin, deadline = time.perf_counter(), deadline_after(self._timeout)
        self.model.need_mapped()
        mode = Partitioning.WITHOUT_FALLBACK if self.is_explicit else partitioning()
        if self._cache is not None:
            self._cache.threads = self._threads
        self.options = PrepareOptions(self._preference, self._priority, deadline, self._threads, self._attributes)
        question = Question(self.model, self.candidates, self.options, self._cache)
        with translate_errors(f"{self.model.name} cannot be prepared"):
            spare = Spare(question, mode)
            ready, knowledge = prepare(question, spare)
            if isinstance(knowledge, Unknown | Predicted):
                from nnapi.runtime.choice import tuner  # on demand: known models need no trial

                ready, self._trial = tuner.begin(question, ready, knowledge, self, spare)
            self._waited = time.perf_counter() - begin
        first_runs = FirstRuns(self, question, ready, spare) if ready.plan.measured and not waits_for_trials() else None
        watching = self._trial or first_runs
        if deadline is not None and time.monotonic_ns() > deadline:
            raise MissedDeadlinePersistentError(f"preparing took longer than {self._timeout} ns")
        self.use(ready, watching)
        self.state.value = "ready"
        if log.is_verbose:
            log.info("%s", summary(ready.plan))

    def use(self, ready: ReadyPlan, observer: Observer | None, trial: Trial | None = None) -> None:
        """Switch to a plan at the next run, also in bursts; report runs to ``observer``; keep ``trial`` alive. Do
        nothing if the compilation is closed or its plan is pinned."""
        active = ActivePlan(self.model, ready, observer)
        with self._changing:
            if self.state.value == "closed" or self._is_pinned:
                return
            before, self.active = self.active, active
            self._trial = trial or self._trial
        if before is not None and before.ready.plan is not ready.plan:
            self._change_single()

    def _change_single(self) -> None:
        with self._preparing:
            single, active = self._single, self.active
            if single is not None and active is not None:
                single.change(active.ready, self.candidates)

    def pin(self) -> None:
        """Keep the active plan from now on: end its trial."""
        while not self._is_pinned:
            active = self.need_active()
            unobserved = ActivePlan(self.model, active.ready)
            with self._changing:
                if self.active is active:  # else another plan has taken over meanwhile
                    self.active, self._is_pinned = unobserved, True
        with self._changing:
            trial, self._trial = self._trial, None
        if trial is not None:
            trial.close()

    def run(self, *inputs: Any, keep: Sequence[str | int] = ()) -> list[Array]:
        """Run on arrays of the inputs' storage types; return new arrays, in the order of ``model.outputs``.

        A dictionary of inputs by name gives :class:`Outputs`. An optional input may be None. ``keep`` lists operands
        inside the model, by name or index; their values follow the outputs. For this, the model is compiled again
        with those operands as outputs, so that nothing is fused across them.
        """
        if keep:
            self.need_active()
            return self._further.run(inputs, find_computed(self.model, keep), self.compile_again)
        active = self.active
        if active is not None and active.fast_path is not None and not spans.active:
            outputs = active.fast_path(inputs)
            if outputs is not None:
                return outputs
        if len(inputs) == 1 and isinstance(inputs[0], Mapping):
            return self(inputs[0])
        with COMPUTE:
            active, arrays = active or self.need_active(), check_inputs(self.model, inputs)
            outputs = list(execute(active.handle, Request(arrays)).outputs)
        if active.fast_paths is not None:
            active.fast_path = active.fast_paths.find(arrays)
        return outputs

    def __call__(self, *inputs: Any, **named: Any) -> Outputs:
        """Run on ``inputs`` in order, or ``named``: ``compilation(image=x)``, ``compilation({"image": x})``.

        ``model.input_info`` lists the names. BadDataError for an unknown or missing name.
        """
        by_name = {**inputs[0], **named} if len(inputs) == 1 and isinstance(inputs[0], Mapping) else named
        is_one_way = by_name is not named or not (inputs and named)
        need(is_one_way, "inputs are given either in order or by name", BadDataError)
        given = order_inputs(self.model, by_name) if by_name else inputs
        return Outputs(self.run(*given), tuple(info.name for info in self.model.output_info))

    def compile_again(self, model: Model, variant: bytes = b"") -> Compilation:
        """Compile another model with the same devices and options. It is cached if it is a ``variant`` with a name."""
        devices = self.candidates if self.is_explicit else None
        return compile_with(model, devices, self._options, locate_variant(self._cache, variant), self._attributes)

    def run_many(
        self, inputs: Iterable[Any], *, requests: int | None = None, progress: Progress | None = None
    ) -> RunMany:
        """Run on each of many inputs, several at a time; yield the results of :meth:`run` in order.

        Each of the ``inputs`` is an array, or a tuple or list with one array per model input. Do not change it before
        its result has come. ``requests`` is the number of concurrent runs, by default enough for all cores. If the
        number of threads is not set, the plan is prepared again with one thread per run. An input that fails raises an
        error with its number; iteration may continue. ``progress`` is called with the number of results, and of inputs,
        None if unknown.
        """
        from nnapi.runtime.run_many import count_requests, prepare_single, start

        self.need_active()
        single, count = None, count_requests(self._threads, requests)
        if count > 1:
            with self._preparing:
                if self._threads is None and self._single is None:
                    options = PrepareOptions(self._preference, self._priority, None, 1, self._attributes)
                    self._single = prepare_single(self.need_active().ready, self.candidates, options)
                single = self._single
        return start(inputs, single or self, self.run if single else None, count, progress)

    def start(self, *inputs: Any) -> Result:
        """Run on ``inputs`` in the background. Call ``result()`` of the returned :class:`Result`, or ``await`` it."""
        with START, translate_errors("the run cannot be begun"):
            from nnapi.runtime.event import Result  # on demand

            return Result(self, inputs)

    def burst(self, *, borrow: bool = False) -> Burst:
        """Return a :class:`Burst` with its option ``borrow`` (``ANeuralNetworksBurst_create``). It keeps states."""
        with translate_errors("the burst cannot be made"):
            from nnapi.runtime.burst import Burst

            return (self._further.open_burst if self.model.states else Burst)(self, borrow=borrow)

    def close(self) -> None:
        """Free the prepared plan (``ANeuralNetworksCompilation_free``) after running executions and bursts."""
        with self._changing:
            self.state.value, self.active, self._single = "closed", None, None
            trial = self._trial
        self._further.clear()
        if trial is not None:
            trial.close()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the model, the names of chosen devices and the options; unpickling compiles again."""
        self.need_active()
        names = [device.name for device in self.candidates] if self.is_explicit else None
        cache = False if self._cache is None or self._cache.is_own else (self._cache.directory, self._cache.token)
        return compile_with, (self.model, names, self._options, cache, self._attributes)

    @property
    def _options(self) -> Options:
        return self._preference, self._priority, self._timeout or None, self._threads

    @property
    def is_ready(self) -> bool:
        return self.state.value == "ready"

    @property
    def plan(self) -> Plan:
        """The plan; BadStateError before finish has succeeded."""
        return self.need_active().ready.plan

    @property
    def devices(self) -> list[Device]:
        """The devices in the plan; empty before finish has succeeded."""
        names = self.active.ready.plan.devices if self.active else ()
        return [device for device in self.candidates if device.name in names]

    def devices_of(self, role: str, index: int) -> list[Device]:
        """Return the devices whose steps use an operand, by ``role`` (``"input"`` or ``"output"``) and index."""
        indices = self.model.inputs if role == "input" else self.model.outputs
        names = self.plan.devices_of(indices[index])
        return [device for device in self.candidates if device.name in names]

    def preferred_memory_alignment_for_input(self, index: int) -> int:
        """Alignment in bytes for the address of an input (``..._getPreferredMemoryAlignmentForInput``)."""
        return self._prefer_bytes("input", index)

    def preferred_memory_padding_for_input(self, index: int) -> int:
        """Bytes to a multiple of which the length of an input should be rounded up."""
        return self._prefer_bytes("input", index, least_level=PADDED_LEVEL)

    def preferred_memory_alignment_for_output(self, index: int) -> int:
        """Alignment in bytes for the address of an output."""
        return self._prefer_bytes("output", index)

    def preferred_memory_padding_for_output(self, index: int) -> int:
        """Bytes to a multiple of which the length of an output should be rounded up."""
        return self._prefer_bytes("output", index, least_level=PADDED_LEVEL)

    def _prefer_bytes(self, role: str, index: int, least_level: int = 1) -> int:
        self.state.need("ready")
        count = len(self.model.inputs if role == "input" else self.model.outputs)
        need(0 <= index < count, f"{role} {index} does not exist, the model has {count}", BadDataError)
        return prefer_bytes(self.devices, least_level)

    def noted_plan(self, trial: str | None = None) -> Plan:
        """Return the plan with notes on ``trial`` and on each device's precision."""
        return add_notes(self.plan, self.devices, self.need_active().ready.find_precision_refusals(), trial)

    def explain(self) -> str:
        """Explain each operation's device, refusals and cost, the trial, and the seconds that finish took."""
        trial = self._trial
        plan = self.noted_plan(trial.describe() if trial else None)
        return f"{as_text(plan)}\n\n{describe_wait(plan, self._waited)}"

    def explanation(self) -> dict[str, Any]:
        """Return the content of :meth:`explain` as values for JSON."""
        trial, plan = self._trial, self.noted_plan()
        return as_data(plan) | {"waited_seconds": self._waited, "trial": (trial and trial.describe()) or None}

    def need_one_device(self, what: str) -> None:
        """Raise BadDataError unless the compilation is for exactly one chosen device; ``what`` begins the message."""
        one = self.is_explicit and len(self.candidates) == 1
        need(one, f"{what} only for a compilation for exactly one chosen device: name it", BadDataError)

    def need_active(self) -> ActivePlan:
        """Return the active plan; BadStateError before finish has succeeded, and after close."""
        self.state.need("ready")
        return need_value(self.active, "the compilation is closed", BadStateError)

    def __repr__(self) -> str:
        where = f" on {', '.join(active.ready.plan.devices)}" if (active := self.active) else ""
        return f"<nnapi.Compilation of {self.model.name!r}{where}, {self.state}>"


def compile_with(
    model: Model,
    devices: Devices | None,
    options: Options,
    cache: CacheLocation | None = None,
    attributes: Sequence[Attribute] = (),
) -> Compilation:
    """Return a finished compilation with options; None leaves an option at its default."""
    compilation = Compilation(model, devices)
    preference, priority, timeout, threads = options
    if preference is not None:
        compilation.set_preference(preference)
    if priority is not None:
        compilation.set_priority(priority)
    if timeout is not None:
        compilation.set_timeout(timeout)
    compilation.set_threads(threads)
    for attribute in attributes:
        compilation.add_extension_attribute(*attribute)
    compilation._cache = open_cache(model, cache)
    compilation.finish()
    return compilation
