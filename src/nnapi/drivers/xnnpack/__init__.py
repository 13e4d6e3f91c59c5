"""The device ``xnnpack-cpu``: XNNPACK through LiteRT, which loads each model as a .tflite file from memory."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from nnapi.codes import DeviceTypeCode, PreferenceCode
from nnapi.contract.driver import (
    COMPOSITE_OPERATIONS,
    ENGINE,
    Capabilities,
    DeviceInfo,
    Performance,
    PrepareOptions,
    Verdict,
)
from nnapi.contract.precision import Offer, offer_permitted, refuse_precision
from nnapi.contract.prepared import Shapes
from nnapi.contract.winograd import is_winograd
from nnapi.drivers.litert.artifact import SerializedGraph
from nnapi.drivers.litert.driver import GraphDriver
from nnapi.errors import OpFailedError
from nnapi.host.installed_packages import version
from nnapi.model.graph import constants
from nnapi.model.memory import release_pages
from nnapi.model.model import Model
from nnapi.model.precision import Precision
from nnapi.trace.log import Log

if TYPE_CHECKING:
    from nnapi.contract.timings import Timings
    from nnapi.drivers.litert.lowering import Lowered
    from nnapi.drivers.xnnpack.prepared import PreparedGraph
    from nnapi.formats.tflite.graph import Graph

log = Log("nnapi.ExecutionPlan")

LITERT = "ai_edge_litert"
"""The package, imported with the first model that the driver prepares."""
CONTROL_FLOW = Performance(0.1, 0.1)
"""The cost of an IF, or of a turn of a WHILE, without the operations inside: measured."""
LARGE = 1024
"""Minimum bytes of a constant whose memory pages are released after compilation."""
WORTH_SHARING = 10_000_000
"""MACs of a run; below this, more threads cost more than they save."""
SQUARING = frozenset({"L2_POOL_2D", "LOCAL_RESPONSE_NORMALIZATION", "INSTANCE_NORMALIZATION"})
"""Operations whose lowering squares values, which overflow float16."""
UNSIGNED = "unsigned as stored"
"""The variant with all quantized values unsigned, as the model stores them."""
MIXED = "types by the processor"
"""The variant in which each sum is computed on signed values, unsigned values or floats, by predicted time."""
IN_FLOAT = "sums in float32"
"""The variant of a quantized model in which sums are computed on dequantized values."""
FLOAT_WEIGHTS = "float weights"
"""The variant with dequantized weights, for models that permit quantized weights with float inputs."""


class XnnpackDriver(GraphDriver["PreparedGraph"]):
    """The driver of xnnpack-cpu. ``threads`` is the number per run; if None, the preference decides."""

    def __init__(self, threads: int | None = None) -> None:
        if find_spec(LITERT) is None:
            raise ModuleNotFoundError(f"No module named {LITERT!r}", name=LITERT)
        self.info = DeviceInfo(
            "xnnpack-cpu",
            f"LiteRT {version('ai-edge-litert')}",
            DeviceTypeCode.DEVICE_ACCELERATOR,
            8,
            (COMPOSITE_OPERATIONS,),
        )
        self._threads = threads
        self._asked: WeakKeyDictionary[Model, Lowered] = WeakKeyDictionary()
        """The model of the last verdicts with its lowered graph, if fully supported, as it is usually prepared next."""

    def capabilities(self) -> Capabilities:
        return ENGINE._replace(if_=CONTROL_FLOW, while_=CONTROL_FLOW)

    def lower(self, model: Model, shapes: Shapes | None = None) -> Lowered:
        from nnapi.drivers.litert.lowering import assume_shapes  # on demand: restoring from the cache saves 1 MB
        from nnapi.drivers.xnnpack.lowering import lower_model

        asked = self._asked.get(model) if shapes == tuple(assume_shapes(model)) else None
        self._asked = WeakKeyDictionary()
        return asked or lower_model(model, shapes)

    def verdicts(self, model: Model) -> Sequence[Verdict]:
        result = self.lower(model)
        whole = all(verdict.supported for verdict in result.verdicts)
        self._asked = WeakKeyDictionary({model: result} if whole else {})
        return result.verdicts

    def list_variants(self, model: Model) -> Sequence[str]:
        """Return other variants: another precision, unsigned values, mixed types, sums or weights in float32."""
        from nnapi.drivers.litert.unsigned_values import can_be_unsigned, has_unsigned_filters
        from nnapi.drivers.xnnpack.passes.cost_model import find_kernel_timings
        from nnapi.drivers.xnnpack.passes.float_weights import is_dynamic_range
        from nnapi.formats.tflite.operators import row_of
        from nnapi.lowering.lower import find_omissible

        if find_omissible(model):
            return []
        graph = (self._asked.get(model) or self.lower(model)).graph
        variants = [*self.offer_precision(model).variants]
        is_float = any(map(is_dynamic_range, graph.operators))
        is_plain = not is_float and not graph.subgraphs
        variants += [UNSIGNED] if is_plain and has_unsigned_filters(graph) and can_be_unsigned(graph) else []
        if any(row_of(operator.kind).sums and operator.input(0).type == "i8" for operator in graph.operators):
            variants += [MIXED, IN_FLOAT] if find_kernel_timings().is_measured else [IN_FLOAT]
        variants += self.predict_savings(model)
        return [*variants, FLOAT_WEIGHTS] if is_float else variants

    def predict_variant(self, model: Model) -> str:
        return MIXED if MIXED in self.list_variants(model) else ""

    def predict_savings(self, model: Model) -> Mapping[str, float]:
        from nnapi.drivers.xnnpack.timings import find_winograd_costs  # on demand, as timings
        from nnapi.lowering.tile_choice import predict_savings

        return predict_savings(find_winograd_costs(), model, self.offer_precision(model).usual)

    def lower_variant(self, model: Model, shapes: Shapes, options: PrepareOptions) -> Lowered:
        if not is_winograd(options.variant):
            return self.lower(model, shapes)
        from nnapi.drivers.xnnpack.lowering import lower_model  # on demand, as in lower
        from nnapi.drivers.xnnpack.timings import find_winograd_costs
        from nnapi.lowering.tile_choice import find_tiles

        tiles = find_tiles(find_winograd_costs(), model, options.variant, self.offer_precision(model).usual)
        return lower_model(model, shapes, tiles=tiles)

    def offer_precision(self, model: Model) -> Offer:
        if model.precision is Precision.BFLOAT16:
            return refuse_precision("XNNPACK computes no networks in bfloat16")
        if model.precision is Precision.FLOAT16:
            from nnapi.operation_codes import FAMILIES  # on demand: few models permit it

            names = {call.name for call in model.operations}
            if not names.isdisjoint(FAMILIES["recurrent"].split()):
                return refuse_precision("LiteRT takes no recurrent operations in float16")
            if squaring := sorted(names & SQUARING):
                return refuse_precision(f"{squaring[0]} squares values, which float16 holds up to 255")
        return offer_permitted(model)

    def timings(self) -> Timings:
        from nnapi.drivers.xnnpack.timings import find_timings  # on demand: only predictions need it

        return find_timings()

    def compile(self, model: Model, graph: Graph, assumed: Shapes, options: PrepareOptions) -> SerializedGraph:
        from nnapi.drivers.litert.compile import compile_graph
        from nnapi.drivers.xnnpack.passes.cost_model import ALL_FLOAT, ALL_SIGNED, find_kernel_timings
        from nnapi.drivers.xnnpack.rewriting import FLOAT_PASSES, PASSES, UNSIGNED_PASSES, rewrite

        passes = {UNSIGNED: UNSIGNED_PASSES, FLOAT_WEIGHTS: FLOAT_PASSES}.get(options.variant, PASSES)
        timings = {MIXED: find_kernel_timings(), IN_FLOAT: ALL_FLOAT}.get(options.variant, ALL_SIGNED)
        in_float16 = self.offer_precision(model).choose(options.variant) is Precision.FLOAT16
        found = compile_graph(model, rewrite(model, graph, passes, timings), assumed, in_float16=in_float16)
        release_pages([value for value in constants(model) if value.nbytes >= LARGE])
        return found

    def open_graph(self, model: Model, options: PrepareOptions, compiled: SerializedGraph) -> PreparedGraph:
        try:
            from nnapi.drivers.xnnpack.prepared import PreparedGraph  # on demand: it loads LiteRT, 10 MB
        except ImportError as error:
            raise OpFailedError(f"LiteRT cannot be loaded: {error}") from error
        return PreparedGraph(model, compiled, self._choose_threads(options, compiled.work))

    def _choose_threads(self, options: PrepareOptions, work: int) -> int:
        chosen = self._threads or options.threads
        if chosen is not None:
            return chosen
        fast = options.preference == PreferenceCode.PREFER_FAST_SINGLE_ANSWER
        return len(os.sched_getaffinity(0)) if fast and work >= WORTH_SHARING else 1


driver = XnnpackDriver
