"""AXIS_ALIGNED_BBOX_TRANSFORM: bounding boxes moved and scaled by deltas, clipped to their images."""

from nnapi.codes import OperationCode
from nnapi.errors import need
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import Tensor
from nnapi.model.proposal import Draw, Proposal
from nnapi.ops.boxes import EIGHTHS, check_eighths, check_images, check_upright, transform
from nnapi.ops.signature_types import FLOAT16, FLOAT32, INT32, QUANT8, QUANT8_SIGNED, QUANT16, floats

AXIS_ALIGNED_BBOX_TRANSFORM = Operation(
    OperationCode.AXIS_ALIGNED_BBOX_TRANSFORM,
    inputs=(
        Tensor("rois", floats(3) | {QUANT16: 3}, rank=2, late_rank=True),
        Tensor(
            "deltas",
            like="rois",
            via={FLOAT32: FLOAT32, FLOAT16: FLOAT16, QUANT16: {QUANT8: 3, QUANT8_SIGNED: 4}},
            rank=2,
            late_rank=True,
            since=3,
        ),
        Tensor("batch_index", INT32, rank=1, late_rank=True, since=3),
        Tensor("image_info", like="rois", rank=2, late_rank=True, since=3),
    ),
    outputs=(Tensor("boxes", like="rois", quant=EIGHTHS, since=3),),
    zero_sized=True,
)


@AXIS_ALIGNED_BBOX_TRANSFORM.shape
def infer_shape(rois: OperandType, deltas: OperandType, batch_index: OperandType, image_info: OperandType) -> Shape:
    (count, corners), (rows, columns) = rois.shape, deltas.shape
    need(corners == 4, f"rois has {corners} columns, must have 4")
    need(rows == count and columns % 4 == 0, f"deltas has shape {list(deltas.shape)}, must be [{count}, classes × 4]")
    need(batch_index.shape == (count,), f"batch_index has shape {list(batch_index.shape)}, must be [{count}]")
    need(image_info.shape[1] == 2, f"image_info has {image_info.shape[1]} columns, must have 2")
    check_eighths(rois=rois, image_info=image_info)
    return deltas.shape


@AXIS_ALIGNED_BBOX_TRANSFORM.kernel
def axis_aligned_bbox_transform(rois: Array, deltas: Array, batch_index: Array, image_info: Array) -> Array:
    image = check_images(batch_index, len(image_info))
    check_upright("rois", rois)
    by_class = deltas.reshape(*deltas.shape[:1], deltas.shape[1] // 4, 4)
    return transform(rois[:, None], by_class, image_info[image][:, None]).reshape(deltas.shape)


@AXIS_ALIGNED_BBOX_TRANSFORM.proposal
def propose_bbox_transform(draw: Draw) -> Proposal:
    count, images = draw.dimension(17), draw.pick(1, 2, 3)
    shapes: dict[str, Shape] = {
        "rois": (count, 4),
        "deltas": (count, 4 * draw.pick(1, 2, 5)),
        "image_info": (images, 2),
    }
    return Proposal(shapes, numbers={"batch_index": sorted(draw.upto(images - 1) for _ in range(count))})
