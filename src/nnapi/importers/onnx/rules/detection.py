"""NonMaxSuppression and RoiAlign."""

from nnapi.errors import BadDataError, need
from nnapi.importers.graph import INT32
from nnapi.importers.graph_emitter import REAL
from nnapi.importers.onnx.layout import image
from nnapi.importers.onnx.node import OnnxNode
from nnapi.importers.onnx.operators import rule
from nnapi.importers.onnx.tensors import DYNAMIC, INT64, OnnxTensor
from nnapi.importers.refusals import expressible
from nnapi.model.operand import OperandType
from nnapi.operation_codes import CompositeCode

LARGEST = 2**31 - 1
LOWEST = -3.4e38
"""Below every score: without a threshold, no box is dropped."""


@rule("NonMaxSuppression")
def non_max_suppression(node: OnnxNode) -> OnnxTensor:
    limit = int(min(max(_read_number(node, 2, 0), 0), LARGEST))
    thresholds = (node.graph.scalar(REAL, _read_number(node, i, default)) for i, default in ((3, 0.0), (4, LOWEST)))
    scalars = (node.i32(limit), *thresholds)
    centered = node.flag(node.attribute("center_point_box", 0))
    type = OperandType(INT32, (DYNAMIC, 3))
    found = node.apply(
        CompositeCode.NON_MAX_SUPPRESSION,
        node.input(0),
        node.input(1),
        *scalars,
        centered,
        type=type,
        shape=type.dimensions,
    )
    return node.result(found, (DYNAMIC, 3), elem=INT64)


@rule("RoiAlign")
def roi_align(node: OnnxNode) -> OnnxTensor:
    mode, layout = node.attribute("mode"), node.attribute("coordinate_transformation_mode", "output_half_pixel")
    expressible(mode in ("avg", "max"), f"its mode is {mode}, must be avg or max")
    legal = layout in ("half_pixel", "output_half_pixel")
    expressible(legal, f"its coordinate_transformation_mode is {layout}, must be half_pixel or output_half_pixel")
    sizes = [int(node.attribute(name)) for name in ("output_height", "output_width")]
    x, rois = image(node, 0), node.input(1)
    found = node.apply(
        CompositeCode.ROI_ALIGN_V2,
        x,
        rois,
        node.cast(node.input(2), INT32),
        *map(node.i32, sizes),
        node.graph.scalar(REAL, float(node.attribute("spatial_scale"))),
        node.i32(int(node.attribute("sampling_ratio"))),
        node.flag(layout == "half_pixel"),
        node.flag(mode == "max"),
        shape=(rois.shape[0], *sizes, x.shape[3]),
    )
    return node.result(found, (node.shape(1)[0], node.shape(0)[1], *sizes), elem=node.tensor(0).elem, is_nhwc=True)


def _read_number(node: OnnxNode, i: int, default: float) -> float:
    """Return the number in constant input ``i``, if that is given."""
    if not node.has(i):
        return default
    array = node.array(i)
    need(array.size == 1, f"{node.tensor(i).name} holds {array.size} numbers, must be 1", BadDataError)
    return float(array.item())
