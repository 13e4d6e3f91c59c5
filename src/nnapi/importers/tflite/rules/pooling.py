"""Pooling: one value for each window of an image."""

from nnapi.importers.tflite.node import TfliteNode
from nnapi.importers.tflite.rules import rule
from nnapi.importers.tflite.rules.convolution import padding_and_strides


@rule("AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D")
def pool(node: TfliteNode) -> None:
    o = node.options
    act = node.activation(o.activation)
    node.emit(node.code, node.input(0), *padding_and_strides(node), node.i32(o.filter_w), node.i32(o.filter_h), act)
