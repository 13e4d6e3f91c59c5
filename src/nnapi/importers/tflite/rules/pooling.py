"""Pooling, normalization and resizing of images."""

from nnapi.codes import OperationCode
from nnapi.importers.refusals import expressible
from nnapi.importers.tflite.node import TfliteNode
from nnapi.importers.tflite.rules import rule
from nnapi.importers.tflite.rules.convolution import windows


@rule("AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D")
def pool(node: TfliteNode) -> None:
    o = node.options
    act = node.activation(o.activation)
    node.emit(node.code, node.input(0), *windows(node), node.i32(o.filter_w), node.i32(o.filter_h), act)


@rule("LOCAL_RESPONSE_NORMALIZATION")
def local_response_normalization(node: TfliteNode) -> None:
    o, x = node.options, node.input(0)
    factors = (node.real(value, x) for value in (o.bias, o.alpha, o.beta))
    node.emit(OperationCode.LOCAL_RESPONSE_NORMALIZATION, x, node.i32(o.radius), *factors)


@rule("L2_NORMALIZATION")
def l2_normalization(node: TfliteNode) -> None:
    act = node.options.activation
    expressible(act == 0, f"NNAPI's L2_NORMALIZATION has no fused activation, the file wants {act}")
    node.emit(OperationCode.L2_NORMALIZATION, node.input(0))


@rule("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR")
def resize(node: TfliteNode) -> None:
    height, width = node.numbers(1)
    flags = (node.options.align_corners, node.options.half_pixel_centers)
    tail = [False, *flags] if any(flags) else [False] if node.kind == "RESIZE_NEAREST_NEIGHBOR" else []
    node.emit(node.code, node.input(0), node.i32(width), node.i32(height), *map(node.flag, tail))


@rule("SPACE_TO_DEPTH", "DEPTH_TO_SPACE")
def move_blocks(node: TfliteNode) -> None:
    node.emit(node.code, node.input(0), node.i32(node.options.block_size))


@rule("SPACE_TO_BATCH_ND")
def space_to_batch(node: TfliteNode) -> None:
    x, block, pads = node.input(0), node.numbers(1), node.numbers(2)
    if x.rank == 4:
        node.emit(OperationCode.SPACE_TO_BATCH_ND, x, node.input(1), node.input(2))
        return
    expressible(x.rank == 3 and len(block) == 1, f"NNAPI has it for images, the input is of rank {x.rank}")
    n, h, c = node.static_shape_of(x)
    image = node.reshape(x, (n, h, 1, c))
    paddings = node.graph.ints([pads, [0, 0]])
    sizes = node.graph.ints([*block, 1])
    wide = node.apply(OperationCode.SPACE_TO_BATCH_ND, image, sizes, paddings, shape=())
    node.reshape(wide, (wide.shape[0], wide.shape[1], c), to=node.output)


@rule("BATCH_TO_SPACE_ND")
def batch_to_space(node: TfliteNode) -> None:
    """Lower BATCH_TO_SPACE_ND; NNAPI does not crop, SLICE does."""
    x, block, crops = node.input(0), node.numbers(1), node.numbers(2)
    if x.rank == 4 and not any(crops):
        node.emit(OperationCode.BATCH_TO_SPACE_ND, x, node.input(1))
        return
    expressible(x.rank in (3, 4) and len(block) == x.rank - 2, f"NNAPI has it for images, the input has rank {x.rank}")
    node.static_shape_of(x)
    image = x if x.rank == 4 else node.reshape(x, (x.shape[0], x.shape[1], 1, x.shape[2]))
    sizes = block if x.rank == 4 else [*block, 1]
    cuts = crops if x.rank == 4 else [*crops, 0, 0]
    whole = node.apply(OperationCode.BATCH_TO_SPACE_ND, image, node.graph.ints(sizes), shape=())
    n, h, w, c = whole.shape
    begin = [0, cuts[0], cuts[2], 0]
    size = [n, h - cuts[0] - cuts[1], w - cuts[2] - cuts[3], c]
    if x.rank == 4:
        node.emit(OperationCode.SLICE, whole, node.graph.ints(begin), node.graph.ints(size))
    else:
        cut = node.apply(OperationCode.SLICE, whole, node.graph.ints(begin), node.graph.ints(size), shape=())
        node.reshape(cut, (size[0], size[1], size[3]), to=node.output)
