"""Random numbers."""

from nnapi.codes import OperationCode
from nnapi.importers.tflite.node import TfliteNode
from nnapi.importers.tflite.rules import rule


@rule("MULTINOMIAL")
def multinomial(node: TfliteNode) -> None:
    seeds = [int(seed) & 0x7FFFFFFF for seed in (node.options.seed, node.options.seed2)]
    count = node.i32(node.number(1))
    node.emit(OperationCode.RANDOM_MULTINOMIAL, node.input(0), count, node.graph.ints(seeds))
