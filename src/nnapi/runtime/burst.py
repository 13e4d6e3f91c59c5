"""Bursts: repeated runs of one compilation in quick succession (``ANeuralNetworksBurst``)."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol
from weakref import WeakSet

from nnapi.closeable import Closeable
from nnapi.contract.driver import Bound, Prepared, Request
from nnapi.contract.wrapping import find_bound, find_direct, open_session
from nnapi.errors import BadStateError, UnexpectedNullError, need
from nnapi.locks import make_lock
from nnapi.model.model import Model
from nnapi.model.operand import Array, Shape
from nnapi.runtime.executors.fast_path import find_fast_path, is_dynamic
from nnapi.runtime.executors.observed import Observed, Observer, report_runs, unwrap
from nnapi.runtime.executors.wrappers import execute
from nnapi.runtime.inputs import check_inputs, make_zeros
from nnapi.trace import Layer, Phase, Section, spans
from nnapi.trace.log import Log

log = Log("nnapi.BurstBuilder")

IN_USE = "the burst is in use by another thread"
COMPUTE = Section(Layer.RUNTIME, Phase.EXECUTION, "ANeuralNetworksExecution_burstCompute")


class Runnable(Protocol):
    """The part of a compilation that a burst uses."""

    @property
    def prepared(self) -> Prepared:
        """The prepared plan; raise BadStateError if there is none."""
        ...

    model: Model
    bursts: "WeakSet[Burst]"
    """The open bursts; :meth:`Burst.use` changes the plan of each."""


class Burst(Closeable):
    """Runs of one compilation, one at a time. Raises BadStateError if the compilation is not ready.

    With ``borrow`` the outputs of :meth:`run` may be the device's own memory, which the next run overwrites.
    """

    def __init__(self, compilation: Runnable, *, borrow: bool = False) -> None:
        need(compilation is not None, "compilation is None", UnexpectedNullError)
        self.compilation = compilation
        self._shared = compilation.prepared
        self._prepared = open_session(self._shared)
        self._outlived: list[Prepared] = []
        """Sessions of earlier plans, kept open because callers hold their bound memory."""
        self._has_bound = False
        self._current = object()
        """Replaced by a new object at every change of plan: bound runs compare it to notice the change."""
        self._wanted: tuple[Prepared, Observer | None] | None = None
        self._observer: Observer | None = getattr(self._shared, "observer", None)
        self._is_closed = False
        self._borrow = borrow
        self._model = compilation.model
        self._lock = make_lock()
        self._is_dynamic = is_dynamic(self._model)
        self._fast_path = find_fast_path(self._model, self._prepared, borrow)
        compilation.bursts.add(self)
        if (prepared := compilation.prepared) is not self._shared:  # the plan has changed since
            self.use(unwrap(prepared), getattr(prepared, "observer", None))
        log.debug("burst of %r", compilation)

    def use(self, shared: Prepared, observer: Observer | None) -> None:
        """Use a prepared plan and ``observer`` from the next run on; that run's thread makes the change."""
        if not self._is_closed:
            self._wanted = shared, observer
            self._fast_path, self._current = self._run_renewed, object()

    def _run_renewed(self, inputs: Sequence[Any]) -> list[Array] | None:
        self._renew()
        return self._fast_path(inputs) if self._fast_path is not None else None

    def _renew(self) -> None:
        """Switch to the requested plan. The caller holds the lock."""
        while (wanted := self._wanted) is not None:
            self._wanted = None
            shared, observer = wanted
            session = unwrap(self._prepared)
            if shared is not unwrap(self._shared):
                before, session = session, open_session(shared)
                if self._has_bound:
                    self._outlived.append(before)  # callers may still use its bound memory
                else:
                    before.close()
            self._shared, self._observer = shared, observer
            self._prepared = Observed(session, observer) if observer else session
            self._fast_path = find_fast_path(self._model, self._prepared, self._borrow)

    def run(self, *inputs: Any) -> list[Array]:
        """Run on ``inputs``, as :meth:`Compilation.run`. BadStateError if another thread is using the burst."""
        self.take()
        try:
            if spans.active:
                return self._run_traced(inputs)
            if self._fast_path is not None:
                outputs = self._fast_path(inputs)
                if outputs is not None:
                    return outputs
            arrays = check_inputs(self._model, inputs)
            if self._wanted:
                self._renew()
            outputs = list(execute(self._prepared, Request(arrays, borrow=self._borrow)).outputs)
            if self._is_dynamic and not self._wanted:
                self._fast_path = find_fast_path(self._model, self._prepared, self._borrow, arrays)
            return outputs
        finally:
            self._lock.release()

    def bind(self, *shapes: Shape) -> Bound:
        """Return memory for inputs of these shapes, the device's own if possible, and a function that runs on it.

        Outputs are valid until the next run, the memory until the burst is closed.
        """
        session = unwrap(self._prepared)
        bound = find_bound(session, shapes)
        inputs = bound.inputs if bound else make_zeros(self._model, shapes)
        arrays = check_inputs(self._model, inputs)

        def find_run() -> Callable[[], list[Array]] | None:
            """Return the active plan's fast path on the bound memory; None if it has none."""
            if bound and unwrap(self._prepared) is session:
                return report_runs(bound.run, inputs, self._observer) if self._observer else bound.run
            direct = find_direct(self._prepared, shapes, True) if all(shapes) else None
            return direct and partial(direct, inputs)

        self._has_bound = True
        current, compute = self._current, find_run()

        def renew() -> None:
            nonlocal current, compute
            current, compute = self._current, None
            if not self._is_closed:
                self._renew()
                compute = find_run()

        request = Request(arrays, borrow=True)
        take, release = self._lock.acquire, self._lock.release

        def run() -> list[Array]:
            if not take(False):
                raise BadStateError(IN_USE)
            try:
                if spans.active:
                    return self._run_traced(inputs)
                try:
                    if current is not self._current:
                        renew()
                    if compute:
                        return compute()
                except Exception as error:
                    log.debug("the fast path failed, running on the general path: %s", error)
                return list(execute(self._prepared, request).outputs)
            finally:
                release()

        return Bound(inputs, run)

    @COMPUTE
    def _run_traced(self, inputs: Sequence[Any]) -> list[Array]:
        return list(execute(self._prepared, Request(check_inputs(self._model, inputs), borrow=self._borrow)).outputs)

    def take(self) -> None:
        """Lock the burst until :meth:`release`; raise BadStateError if another thread is using it."""
        if not self._lock.acquire(False):
            raise BadStateError(IN_USE)

    def release(self) -> None:
        """Unlock the burst."""
        self._lock.release()

    def close(self) -> None:
        """Free the burst (``ANeuralNetworksBurst_free``)."""
        if not self._is_closed:
            self._is_closed, self._current = True, object()
            for each in (*self._outlived, self._prepared):
                each.close()
            self._prepared = self._shared
            self._fast_path = None  # a search would ask the device, whose driver may have died
