"""Bursts: repeated runs of one compilation in quick succession (``ANeuralNetworksBurst``)."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from nnapi.closeable import Closeable
from nnapi.contract.driver import Bound, Handle, Inference, OpenOptions, Request
from nnapi.contract.handles import Openable, open_handle
from nnapi.errors import BadStateError, UnexpectedNullError, need
from nnapi.locks import Turn
from nnapi.model.model import Model
from nnapi.model.operand import Array, Shape
from nnapi.runtime.executors.active_plan import ActivePlan
from nnapi.runtime.executors.fast_path import FastPath, FastPaths, find_fast_path, is_dynamic, list_shapes
from nnapi.runtime.executors.observed import observe_handle
from nnapi.runtime.executors.wrappers import execute
from nnapi.runtime.inputs import check_inputs, make_zeros
from nnapi.trace import Layer, Phase, Section, spans
from nnapi.trace.log import Log

log = Log("nnapi.BurstBuilder")

IN_USE = "the burst is in use by another thread"
COMPUTE = Section(Layer.RUNTIME, Phase.EXECUTION, "ANeuralNetworksExecution_burstCompute")


class Runnable(Protocol):
    """The part of a compilation that runs use."""

    model: Model

    @property
    def active(self) -> ActivePlan | None:
        """The active plan; None if there is none."""
        ...

    def need_active(self) -> ActivePlan:
        """Return the active plan; raise BadStateError if there is none."""
        ...


class Burst(Closeable):
    """Runs of one compilation, one at a time. Raises BadStateError if the compilation is not ready.

    With ``borrow`` the outputs of :meth:`run` may be the device's own memory, which the next run overwrites.
    """

    def __init__(self, compilation: Runnable, *, borrow: bool = False) -> None:
        need(compilation is not None, "compilation is None", UnexpectedNullError)
        self.compilation = compilation
        self._model, self._borrow = compilation.model, borrow
        self._shapes, self._is_dynamic = list_shapes(self._model), is_dynamic(self._model)
        self._turn = Turn()
        self._source: Runnable | _Closed = compilation
        """The compilation until the burst is closed."""
        self._seen: ActivePlan | None = compilation.need_active()
        """The active plan that the burst follows; each run compares it with the source's."""
        self._prepared, self._observer = self._seen.ready.prepared, self._seen.observer
        self._sessions = [self._open_session(self._prepared)]
        """The plan's session, after those of earlier plans whose memory callers may still write to."""
        self._has_bound = self._is_closed = False
        self._fast_path: FastPath | None = None
        self._fast_paths: FastPaths | None = None
        self._use_session(self._sessions[0])
        log.debug("burst of %r", compilation)

    def run(self, *inputs: Any) -> list[Array]:
        """Run on ``inputs``, as :meth:`Compilation.run`. BadStateError if another thread is using the burst."""
        try:
            self._turn.take()
        except IndexError:
            raise BadStateError(IN_USE) from None
        try:
            if self._source.active is not self._seen:
                self._follow()
            if spans.active:
                return self._run_traced(inputs)
            if self._fast_path is not None:
                outputs = self._fast_path(inputs)
                if outputs is not None:
                    return outputs
            return self._run_generally(inputs)
        finally:
            self._turn.give(None)

    def _run_generally(self, inputs: Sequence[Any]) -> list[Array]:
        arrays = check_inputs(self._model, inputs)
        if self._source.active is not self._seen:  # changed during a fast path that failed
            self._follow()
        outputs = list(execute(self._handle, Request(arrays)).outputs)
        if self._fast_paths is not None:
            self._fast_path = self._fast_paths.find(arrays)
        return outputs

    @COMPUTE
    def _run_traced(self, inputs: Sequence[Any]) -> list[Array]:
        return list(execute(self._handle, Request(check_inputs(self._model, inputs))).outputs)

    def bind(self, *shapes: Shape) -> Bound:
        """Return memory for inputs of these shapes, the device's own if possible, and a function that runs on it.

        Outputs are valid until the next run, the memory until the burst is closed. BadStateError if another thread is
        using the burst.
        """
        self.take()
        try:
            if self._source.active is not self._seen:
                self._follow()
            bound = self._session.reopen(OpenOptions(shapes, bind=True))
            inputs = make_zeros(self._model, shapes) if bound.inputs is None else bound.inputs
            request = Request(check_inputs(self._model, inputs))
            self._has_bound = True
            return Bound(inputs, self._make_bound_run(shapes, bound, inputs, request))
        finally:
            self.release()

    def _make_bound_run(
        self, shapes: Sequence[Shape], bound: Handle, inputs: list[Array], request: Request
    ) -> Callable[..., list[Array]]:
        """Return a function that runs on ``inputs``, the memory of ``bound``, with the plan that is active by then.
        Only a subclass calls it with other inputs."""
        owner = self._session

        def find_handle() -> Handle:
            if self._is_closed:
                return self._handle
            if self._session is owner:
                return observe_handle(bound, self._observer)
            try:
                return self._handle.reopen(OpenOptions(shapes, borrow=True))
            except Exception as error:
                log.debug("no fast path for bound memory: %s", error)
                return self._handle

        def run_generally(inputs: Sequence[Array]) -> list[Array]:
            return self._run_traced(inputs) if spans.active else list(execute(handle, request).outputs)

        seen, handle = self._seen, find_handle()
        call, general = handle.call and self._extend(handle.call, inputs), self._extend(run_generally, inputs)
        take, give = self._turn.take, self._turn.give

        def run(given: Sequence[Array] = inputs) -> list[Array]:
            nonlocal seen, handle, call
            try:
                take()
            except IndexError:
                raise BadStateError(IN_USE) from None
            try:
                if self._source.active is not seen:
                    self._follow()
                    seen, handle = self._seen, find_handle()
                    call = handle.call and self._extend(handle.call, inputs)
                if call is not None and not spans.active:
                    try:
                        return call(given)
                    except Exception as error:
                        log.debug("the fast path failed, running on the general path: %s", error)
                return general(given)
            finally:
                give(None)

        return run

    def _extend(self, compute: Inference, inputs: list[Array]) -> Inference:
        """Return a run on bound memory ``inputs`` with the steps that a subclass adds."""
        return compute

    # Changes of the plan, by the thread that uses the burst

    def _follow(self) -> None:
        """Switch to the compilation's active plan and its observer."""
        self._seen = active = self._source.active
        if self._is_closed:
            self._close_sessions()
        elif active is not None and self._change_session(active.ready.prepared):
            self._observer = active.observer
            self._use_session(self._session)

    def _change_session(self, prepared: Openable) -> bool:
        """Open a session of another prepared plan. If that fails, return False: the burst stays on the plan before."""
        if prepared is self._prepared:
            return True
        try:
            session = self._open_session(prepared)
        except Exception as error:
            log.warning("a burst of %r stays on the plan before: %s", self.compilation, error)
            return False
        if not self._has_bound:
            self._sessions.pop().close()
        self._sessions.append(session)
        self._prepared, self._session = prepared, session
        return True

    def _open_session(self, prepared: Openable) -> Handle:
        return open_handle(prepared, OpenOptions(self._shapes, exclusive=True, borrow=self._borrow))

    def _use_session(self, session: Handle) -> None:
        self._session, self._handle = session, observe_handle(session, self._observer)
        self._fast_path = find_fast_path(self._model, self._handle, self._shapes)
        is_open = self._is_dynamic and not self._is_closed
        self._fast_paths = FastPaths(self._model, self._handle, borrow=self._borrow) if is_open else None

    def _close_sessions(self) -> None:
        """Close all sessions. Later runs use the plan's shared handle, opened without asking for a fast path, as the
        driver may have died."""
        while self._sessions:
            self._sessions.pop().close()
            self._use_session(open_handle(self._prepared))

    # Exclusive use

    def take(self) -> None:
        """Reserve the burst until :meth:`release`; raise BadStateError if another thread is using it."""
        try:
            self._turn.take()
        except IndexError:
            raise BadStateError(IN_USE) from None

    def release(self) -> None:
        """Let other threads use the burst."""
        self._turn.give(None)

    def close(self) -> None:
        """Free the burst (``ANeuralNetworksBurst_free``). A computation in another thread ends first."""
        self._is_closed, self._source = True, _Closed()
        try:
            self._turn.take()
        except IndexError:  # another thread runs: the next run or the garbage collector closes the sessions
            return
        try:
            self._close_sessions()
        finally:
            self._turn.give(None)


class _Closed:
    """Takes the compilation's place in a closed burst, whose plan changes no more."""

    active = None
