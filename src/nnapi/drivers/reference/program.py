"""A model as a list of steps. A step is specialized in advance if its shapes are static, else at each run."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from nnapi.codes import CONTROL_FLOW, OperationCode
from nnapi.contract.driver import Handle, OpenOptions, Outcome, Request
from nnapi.contract.prepared import EngineTimer, PerShapes, Shapes, check_deadline
from nnapi.drivers.reference.blas import limit_runs
from nnapi.drivers.reference.control_flow import Computable, Computation, Wanted, run, run_if, run_while
from nnapi.drivers.reference.forks import kernels
from nnapi.errors import MissedDeadlineTransientError, NnapiError, need
from nnapi.locks import make_lock
from nnapi.lowering.lower import KnownTypes, check_results, normalize_call
from nnapi.model.call import UNKNOWN, NotYetKnown, check_declared
from nnapi.model.memory import mappings, need_whole
from nnapi.model.model import Lifetime, Model, Operand, OperationCall
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.ops.evaluate import Step, specialize
from nnapi.ops.index_checks import BadIndexError
from nnapi.trace import Section, spans
from nnapi.trace.log import Log

log = Log("nnapi.CpuExecutor")

COMPUTED = Lifetime.TEMPORARY, Lifetime.INPUT, Lifetime.OUTPUT
PrepareNested: TypeAlias = Callable[[Model], Computable]


class Program:
    def __init__(self, model: Model, inputs: Sequence[OperandType | None]) -> None:
        self.model = model
        self.constants: list[Array | None] = [None] * len(model.operands)
        self.types = KnownTypes(model, dict(zip(model.inputs, inputs, strict=True)))
        for operand in model.operands:
            if operand.lifetime == Lifetime.CONSTANT:
                self.constants[operand.index], self.types[operand.index] = _in_order(operand.value), operand.type
            elif operand.lifetime == Lifetime.NO_VALUE:
                self.types[operand.index] = None
        known = {index: value for index, value in enumerate(self.constants) if value is not None}
        self._mapped = mappings(known.values())
        need_whole(self._mapped)
        self.steps = [(call, self._specialize_early(call, known)) for call in model.operations]
        self.dead = _last_uses(model)
        self._sections: dict[int, Section] = {}
        ahead = sum(step is not None for _, step in self.steps)
        log.debug("%s: %d of %d operations are specialized ahead of the run", model.name, ahead, len(self.steps))

    def _specialize_early(self, call: OperationCall, known: dict[int, Array]) -> Step | None:
        """Return a call's step if the types of its inputs are static, else None."""
        if call.code in CONTROL_FLOW:
            declared = {index: self.model.operands[index].type for index in call.outputs}
            self.types.update((index, type) for index, type in declared.items() if type.is_known)
            return None
        try:
            step = self._specialize(call, self.types, known)
        except NotYetKnown:
            return None
        for index, type in zip(call.outputs, step.call.requantized_results(), strict=True):
            if UNKNOWN not in type.dimensions:
                self.types[index] = type
        return step

    def _specialize(self, call: OperationCall, types: KnownTypes, known: dict[int, Array]) -> Step:
        try:
            normal = normalize_call(self.model, call, types, known.get)
            for _ in check_results(self.model, normal, lax=True):
                pass
            step = specialize(normal, known)
            is_known = all(UNKNOWN not in type.dimensions for type in normal.results)
            return step if is_known else self._check_results(step, call)
        except NnapiError as error:
            raise error.at(str(call)) from None

    def _check_results(self, step: Step, call: OperationCall) -> Step:
        """Return a step that also checks dimensions that depend on data against the declared ones."""
        declared = [self.model.operands[index].type for index in call.outputs]

        def run(*arrays: Array) -> Sequence[Array]:
            results = step.run(*arrays)
            for type, array in zip(declared, results, strict=True):
                check_declared(type.with_dimensions(array.shape), type, is_model_output=False)
            return results

        return replace(step, run=run)

    def compute(self, request: Request, prepare_nested: PrepareNested) -> Computation:
        need_whole(self._mapped)
        values, deadline = self.constants.copy(), request.deadline
        for index, array in zip(self.model.inputs, request.inputs, strict=True):
            values[index] = array
        late: KnownTypes | None = None
        traced = spans.active
        for (call, step), dead in zip(self.steps, self.dead, strict=True):
            if deadline is not None and time.monotonic_ns() > deadline:
                raise MissedDeadlineTransientError(f"the time limit passed before {call}")
            try:
                if step is None:
                    late = self.types.copy() if late is None else late
                    with self._section(call):
                        results = yield from self._run_late(call, values, late, request, prepare_nested)
                elif traced:
                    with self._section(call), kernels:
                        results = step.run(*[values[index] for index in step.inputs])
                else:
                    with kernels:
                        results = step.run(*[values[index] for index in step.inputs])
            except NnapiError as error:
                raise self._locate(error, call) from None
            for index, array in zip(call.outputs, results, strict=True):
                values[index] = array
            for index in dead:
                values[index] = None
        return [values[index] for index in self.model.outputs]  # type: ignore[misc]

    def _locate(self, error: NnapiError, call: OperationCall) -> NnapiError:
        """Return the error of a call with its location; if an index is out of range, also with the operand's name."""
        is_own = error.where is None  # else an operation of a nested model has failed
        if isinstance(error, BadIndexError) and is_own and call.match is not None:
            (position,) = call.match.inputs[error.parameter]
            error = error.of(self.model.operands[call.inputs[position]].name)
        return error.at(str(call))

    def _section(self, call: OperationCall) -> Section:
        if not spans.active:
            return spans.NOTHING
        section = self._sections.get(call.number)
        if section is None:
            from nnapi.contract.profiling import operation_section  # only for traces

            section = self._sections[call.number] = operation_section(self.model, call.number)
        return section

    def _run_late(
        self,
        call: OperationCall,
        values: list[Array | None],
        types: KnownTypes,
        request: Request,
        prepare_nested: PrepareNested,
    ) -> Generator[Wanted, Any, Sequence[Array]]:
        operands = self.model.operands
        if call.code in CONTROL_FLOW:
            return (yield from self._control_flow(call, values, request, prepare_nested))
        for index in call.inputs:
            value, declared = values[index], operands[index].type
            if index not in types and value is not None:
                types[index] = declared.with_dimensions(() if declared.is_scalar else value.shape)
        step = self._specialize(call, types, {i: v for i in call.inputs if (v := values[i]) is not None})
        with kernels:
            results = step.run()
        for index, type, array in zip(call.outputs, step.call.requantized_results(), results, strict=True):
            types[index] = type.with_dimensions(() if type.is_scalar else array.shape)
        return results

    def _control_flow(
        self, call: OperationCall, values: list[Array | None], request: Request, prepare_nested: PrepareNested
    ) -> Computation:
        references = [
            prepare_nested(self.model.operands[i].value)
            for i in call.inputs
            if self.model.operands[i].lifetime == Lifetime.SUBGRAPH
        ]
        arrays = [values[i] for i in call.inputs if self.model.operands[i].lifetime != Lifetime.SUBGRAPH]
        run_it = run_if if call.code == OperationCode.IF else run_while
        results = yield from run_it(references, arrays, len(call.outputs), request)
        for index, array in zip(call.outputs, results, strict=True):
            operand = self.model.operands[index]
            if not operand.type.is_scalar:
                check_declared(operand.type.with_dimensions(array.shape), operand.type, is_model_output=False)
        return results


def _in_order(value: Array) -> Array:
    """Return a constant as kernels read it fastest; a view of a file may be transposed, or not aligned."""
    flags = value.flags
    return value if flags.c_contiguous and flags.aligned else value.copy("C")


def _last_uses(model: Model) -> list[tuple[int, ...]]:
    """Return, for each operation, the operands that no later operation reads, whose arrays can be freed."""
    kept = {*model.outputs, *(operand.index for operand in model.operands if operand.lifetime not in COMPUTED)}
    dead: list[tuple[int, ...]] = []
    for call in reversed(model.operations):
        last = {*call.inputs, *call.outputs} - kept
        kept |= last
        dead.append(tuple(last))
    return dead[::-1]


class PreparedReference:
    """A model on the reference: one program for each set of input shapes.

    If a program cannot be made (a bad axis, shapes that do not fit), executions fail, not the preparation. The
    specification finds bad values when computing.
    """

    def __init__(self, model: Model, threads: int | None = None) -> None:
        """``threads`` limits those of a run; None leaves their number to NumPy."""
        _keep_freed_memory()
        self.model, self._limit = model, limit_runs(model, threads)
        self._lock = make_lock()
        self._programs = PerShapes(model, partial(_make_program, model))
        self._references: dict[int, PreparedReference] = {}
        declared = [model.operands[index].type for index in model.inputs]
        if all(type.is_known for type in declared):
            self._programs.get(tuple(type.dimensions for type in declared))

    def execute(self, request: Request, *, measure: bool = False) -> Outcome:
        check_deadline(request)
        timer = EngineTimer() if measure else None
        with self._limit, np.errstate(all="ignore"):
            if timer is None:
                outputs = run(self, request)  # outputs may be views of inputs or constants
            else:
                with timer:
                    outputs = run(self, request)
        taken = {id(array) for array in request.inputs}  # a loop without iterations returns its inputs
        return Outcome([_take_or_copy(array, taken) for array in outputs], timer.nanoseconds if timer else None)

    def open_handle(self, options: OpenOptions) -> Handle:
        return Handle(partial(self.execute, measure=True) if options.measure else self.execute, self.open_handle)

    def compute(self, request: Request) -> Computation:
        """Run as a computation, which yields nested models."""
        program = self._programs.get(tuple(None if array is None else array.shape for array in request.inputs))
        if isinstance(program, NnapiError):
            raise copy.copy(program)  # a copy, as each raise adds frames to the exception
        return (yield from program.compute(request, self.prepare_nested))

    def prepare_nested(self, model: Model) -> PreparedReference:
        with self._lock:
            if id(model) not in self._references:
                self._references[id(model)] = PreparedReference(model)
            return self._references[id(model)]

    def close(self) -> None:
        self._programs.close()


def _make_program(model: Model, shapes: Shapes) -> Program | NnapiError:
    operands = [model.operands[index] for index in model.inputs]
    try:
        with np.errstate(all="ignore"):
            types = [_find_type(operand, shape) for operand, shape in zip(operands, shapes, strict=True)]
            return Program(model, types)
    except NnapiError as error:
        return error.with_traceback(None)


def _find_type(operand: Operand, shape: Shape | None) -> OperandType | None:
    """Return the type of a model input for an array of this shape; OpFailedError if the shape does not fit."""
    if shape is None:
        return None
    declared = operand.type.dimensions
    fits = not declared or (
        len(shape) == len(declared)
        and all(want in (0, dimension) for want, dimension in zip(declared, shape, strict=True))
    )
    need(fits, f"{operand} is given an array of shape {list(shape)}")
    return operand.type.with_dimensions(shape)


def _keep_freed_memory() -> None:
    """Make glibc keep freed memory for reuse, up to 64 MiB: twice the largest freed block, which may have 32 MiB.

    Getting new pages in every run takes a quarter of MobileNetV2's time.
    """
    np.empty((32 << 20) - 8192, np.uint8)


def _take_or_copy(array: Array, taken: set[int]) -> Array:
    """Return an array that owns its memory and is not in ``taken``; else a copy. Add the result to ``taken``."""
    plain = array.base is None and array.flags.c_contiguous and array.flags.writeable
    owned = array if plain and id(array) not in taken else array.copy("C")
    taken.add(id(owned))
    return owned
