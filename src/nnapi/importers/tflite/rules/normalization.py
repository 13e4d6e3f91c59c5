"""LOCAL_RESPONSE_NORMALIZATION, L2_NORMALIZATION, SOFTMAX and LOG_SOFTMAX."""

from nnapi.codes import OperationCode
from nnapi.importers.refusals import expressible
from nnapi.importers.terms import Term
from nnapi.importers.tflite.node import TfliteNode
from nnapi.importers.tflite.rules import rule


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


@rule("SOFTMAX")
def softmax(node: TfliteNode) -> None:
    """Lower SOFTMAX. NNAPI's beta is above 0; any other one scales the input."""
    x, beta = node.input(0), node.options.beta
    if beta <= 0:
        x, beta = (Term(node, node.graph.real(x)) * beta).value, 1.0
    node.emit(OperationCode.SOFTMAX, x, node.real(beta, x))


@rule("LOG_SOFTMAX")
def log_softmax(node: TfliteNode) -> None:
    x = node.input(0)
    node.emit(OperationCode.LOG_SOFTMAX, x, node.real(1.0, x), node.i32(-1))
