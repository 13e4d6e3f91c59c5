"""The engine: its devices, compilation, and cache entries."""

import io
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from nnapi.codes import PreferenceCode
from nnapi.contract.driver import Prepared, PrepareOptions, Verdict
from nnapi.contract.prepared import PreparedPerShapes
from nnapi.contract.profiling import profile_engine
from nnapi.contract.winograd import is_winograd
from nnapi.drivers.openvino import byte_sums
from nnapi.drivers.openvino.api import ov
from nnapi.drivers.openvino.attention_groups import ends_search
from nnapi.drivers.openvino.computed_indices import CheckedIndices
from nnapi.drivers.openvino.consistency import need_consistent
from nnapi.drivers.openvino.context import Bounds
from nnapi.drivers.openvino.dynamic import PreparedDynamic
from nnapi.drivers.openvino.forks import LOST, engine_threads
from nnapi.drivers.openvino.lowered_graph import LoweredGraph, keep, take
from nnapi.drivers.openvino.lowering import lower_model
from nnapi.drivers.openvino.precision import HINTS, offer_precision
from nnapi.drivers.openvino.prepared import PreparedOpenVino, mark_nodes, measure
from nnapi.drivers.openvino.sizes import partial_shape
from nnapi.drivers.openvino.value import SHARED
from nnapi.errors import OpFailedError, need, need_value
from nnapi.lowering.lower import assume_shapes
from nnapi.model.borrowed_memory import hold
from nnapi.model.call import UNKNOWN
from nnapi.model.memory import mappings, release_pages
from nnapi.model.model import Model, constants
from nnapi.model.operand import Shape
from nnapi.ops.shapes import Pair

__all__ = ["dump", "list_devices", "load", "lower_model", "prepare", "prepare_dynamic", "verdicts"]

LOW_PRECISION = "LP_TRANSFORMS_MODE"
UNGROUPED = {"SNIPPETS_MODE": "DISABLE"}


@cache
def core() -> Any:
    """Return OpenVINO's Core, made once."""
    engine_threads.started = True
    return ov.Core()


def verdicts(model: Model) -> Sequence[Verdict]:
    """Return a verdict on each operation; all are refused if the engine cannot be used in this process."""
    if engine_threads.are_lost:
        return [Verdict(False, f"{call}: {LOST}") for call in model.operations]
    result = lower_model(model)
    keep(result)
    return result.verdicts


def list_devices() -> list[str]:
    """Return the kinds of devices that OpenVINO finds: CPU, GPU, NPU."""
    return sorted({name.partition(".")[0] for name in core().available_devices})


def prepare(model: Model, device: str, options: PrepareOptions, threads: int | None) -> Prepared:
    """Compile a model; raise OpFailedError if an operation is not supported or the engine fails."""
    engine_threads.need()
    hint, tiles = HINTS[offer_precision(device, model).choose(options.variant)], _find_tiles(device, model, options)

    def compile_for(shapes: Sequence[Shape | None]) -> PreparedOpenVino:
        engine_threads.need()
        given = [shape for shape in shapes if shape is not None]
        need(len(given) == len(shapes), "an input is omitted")
        return _compile(model, given, device, choose_properties(device, options, threads, hint), tiles)

    shapes = assume_shapes(model)
    if all(model.operands[index].type.is_known for index in model.inputs):
        return compile_for(shapes)
    return PreparedPerShapes(model, compile_for, tuple(shapes))


def prepare_dynamic(model: Model, device: str, options: PrepareOptions, threads: int | None) -> Prepared:
    """Compile a model whose dimensions are sizes once; raise OpFailedError with the reasons where it has to know them.

    Loops have limits that depend on shapes, and other devices than the CPU were never tried.
    """
    engine_threads.need()
    need(device == "CPU", f"openvino-{device.lower()} takes no dynamic dimensions", OpFailedError)
    with np.errstate(invalid="ignore"):  # rules compare sizes, as in imports with symbols
        result = lower_model(model)
    lowered = LoweredGraph.of(result)
    need(not lowered.turns, "a WHILE has no dynamic dimensions", OpFailedError)
    hint = HINTS[offer_precision(device, model).choose(options.variant)]
    properties = choose_properties(device, options, threads, hint)
    compiled = _compile_graph(lowered.graph, device, properties, may_fuse=lowered.may_fuse)
    prepared = PreparedDynamic(compiled, lowered.bounds, lowered.checks)
    _release(model, prepared)
    return prepared


def _release(model: Model, prepared: PreparedOpenVino | PreparedDynamic) -> None:
    """Note the mapped files in which the engine may read constants, and release their pages: it has packed most."""
    shared = [value for value in constants(model) if value.nbytes > SHARED]
    prepared.mapped = mappings(shared)
    release_pages(shared)


def _compile_graph(graph: ov.Model, device: str, properties: Mapping[str, Any], *, may_fuse: bool) -> Any:
    """Compile the ``graph`` of a lowered model.

    OpenVINO's low-precision passes take a factor of a float16 input for a dequantization, and write quantizations of
    bytes to bytes that no kernel computes. Its groups of operations may hold one that they cannot compute, such as
    MISH beside an attention. If it cannot compile its own graph, these passes and groups are left out.
    """
    if device != "CPU":  # other devices have memory of their own
        return _try_compile(graph, device, properties)
    first = {**properties, **({} if may_fuse and not ends_search(graph) else UNGROUPED)}
    last = {**properties, **UNGROUPED, LOW_PRECISION: False}
    try:
        compiled = _try_compile(graph, device, first)
    except OpFailedError:
        if first == last:
            raise
        compiled = _try_compile(graph, device, last)
    need_consistent(compiled)
    return compiled


def _try_compile(graph: ov.Model, device: str, properties: Mapping[str, Any]) -> Any:
    try:
        return core().compile_model(graph, device, properties)
    except RuntimeError as error:
        raise OpFailedError(f"OpenVINO cannot compile it: {str(error).strip().splitlines()[-1]}") from error


def _find_tiles(device: str, model: Model, options: PrepareOptions) -> Mapping[int, Pair]:
    if not is_winograd(options.variant):
        return {}
    from nnapi.drivers.openvino.timings import find_winograd_costs  # on demand: by default, convolutions are direct
    from nnapi.lowering.tile_choice import find_tiles

    return find_tiles(find_winograd_costs(), model, options.variant, offer_precision(device, model).usual)


def _compile(
    model: Model, shapes: Sequence[Shape], device: str, properties: Mapping[str, Any], tiles: Mapping[int, Pair]
) -> PreparedOpenVino:
    model.need_mapped()  # at a run, the model's files may have changed
    lower = partial(lower_model, model, shapes, tiles)
    lowered = LoweredGraph.of(lower()) if tiles or list(shapes) != assume_shapes(model) else take(model, lower)
    compiled = _compile_graph(lowered.graph, device, properties, may_fuse=lowered.may_fuse)
    outputs = zip(model.outputs, lowered.outputs, compiled.outputs, strict=False)  # after them, turns that are left
    for index, type, output in outputs:
        right = tuple(partial_shape(type.dimensions))
        given = tuple(size.get_length() if size.is_static else UNKNOWN for size in output.partial_shape)
        if UNKNOWN in (*right, *given) and len(given) == len(right):  # the engine may know more, or less
            pairs = [*zip(right, given, strict=True)]
            right = tuple(b if a == UNKNOWN else a for a, b in pairs)
            given = tuple(a if b == UNKNOWN else b for a, b in pairs)
        need(
            given == right, f"OpenVINO gives {model.operands[index]} the dimensions {given}, not {right}", OpFailedError
        )
    copy = partial(_copy, device, properties)
    checked = lowered.bounds, lowered.turns, lowered.checks
    prepared = _make_prepared(model, shapes, device, properties, compiled, copy, *checked, tiles)
    _release(model, prepared)
    return prepared


def _make_prepared(
    model: Model,
    shapes: Sequence[Shape],
    device: str,
    properties: Mapping[str, Any],
    compiled: Any,
    copy: Callable[[Any], Any],
    bounds: Sequence[Bounds],
    turns: Sequence[int],
    checks: Sequence[CheckedIndices],
    tiles: Mapping[int, Pair],
) -> PreparedOpenVino:
    def compile_with_counters() -> Any:
        held = need_value(hold(model), "the memory of its constants was freed")  # a trace is read later
        result = lower_model(held, shapes, tiles)
        counted = {**properties, "PERF_COUNT": True}
        return _compile_graph(mark_nodes(result), device, counted, may_fuse=result.may_fuse)

    traced = profile_engine(model, "OpenVINO", partial(measure, model, compile_with_counters))
    return PreparedOpenVino(shapes, compiled, bounds, traced, copy, _count_copies(device, properties), turns, checks)


def _copy(device: str, properties: Mapping[str, Any], compiled: Any) -> Any:
    return _import(_export(compiled), device, properties)


def _import(blob: bytes | memoryview, device: str, properties: Mapping[str, Any]) -> Any:
    return core().import_model(io.BytesIO(blob), device, properties)


def _count_copies(device: str, properties: Mapping[str, Any]) -> int:
    """Return how many copies of the model, each with the threads of one run, the processors suffice for."""
    if device != "CPU" or properties["NUM_STREAMS"] > 1:
        return 1
    threads: int = properties["INFERENCE_NUM_THREADS"]
    return max(len(os.sched_getaffinity(0)) // threads, 1)


def dump(prepared: Prepared) -> bytes | None:
    """Return a line with precision, turns of loops and checks of indices, then the compiled model.

    Return None for a model with dynamic inputs."""
    if not isinstance(prepared, PreparedOpenVino):
        return None
    hint = prepared.compiled.get_property("INFERENCE_PRECISION_HINT").get_type_name()
    head = json.dumps([hint, prepared.turns, prepared.checks, *prepared.bounds]).encode()
    return b"\n".join((head, _export(prepared.compiled)))


def _export(compiled: Any) -> bytes | memoryview:
    """Return a compiled model's content, which is not copied: it has all weights."""
    exported = compiled.export_model()
    content: bytes | memoryview = exported if isinstance(exported, bytes) else exported.getbuffer()
    return content


def load(
    model: Model, entry: bytes | memoryview, device: str, options: PrepareOptions, threads: int | None
) -> PreparedOpenVino:
    """Restore a model from an entry that :func:`dump` returned. Copies are made from the entry, too: the engine does
    not import what it exports of an imported model."""
    engine_threads.need()
    end = need_value(re.match(rb"[^\n]*\n", entry), "the entry has no first line").end()
    head, blob = bytes(entry[:end]), memoryview(entry)[end:]
    hint, turns, computed, *checks = json.loads(head)
    chosen = choose_properties(device, options, threads, hint)
    compiled = _import(blob, device, chosen)
    shapes = [model.operands[index].type.dimensions for index in model.inputs]
    bounds, computed = [Bounds(*values) for values in checks], [CheckedIndices(*values) for values in computed]
    tiles = _find_tiles(device, model, options)

    def copy(compiled: Any) -> Any:
        return _import(blob, device, chosen)

    return _make_prepared(model, shapes, device, chosen, compiled, copy, bounds, turns, computed, tiles)


def choose_properties(device: str, options: PrepareOptions, threads: int | None, hint: str) -> dict[str, Any]:
    """Return OpenVINO's properties for a compilation. ``hint`` is the precision; OpenVINO's default would be bfloat16.

    A fast single answer uses all processors, sustained speed one per run, low power one. Threads are not bound to
    processors, as OpenVINO would bind those of several models to the same ones. Sums of bytes are quantized only if
    they are exact (:mod:`.byte_sums`). By default, OpenVINO quantizes the rows that packed weights multiply.
    """
    chosen: dict[str, Any] = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": hint}
    if device != "CPU":
        return chosen
    chosen |= {"ENABLE_CPU_PINNING": False, "DYNAMIC_QUANTIZATION_GROUP_SIZE": 0}
    if not byte_sums.are_byte_sums_exact():
        chosen[LOW_PRECISION] = False
    processors = threads or len(os.sched_getaffinity(0))
    if options.preference == PreferenceCode.PREFER_LOW_POWER:
        return chosen | {"INFERENCE_NUM_THREADS": threads or 1, "NUM_STREAMS": 1}
    many = options.preference == PreferenceCode.PREFER_SUSTAINED_SPEED
    return chosen | {"INFERENCE_NUM_THREADS": processors, "NUM_STREAMS": processors if many else 1}
