"""The table of rules: for every ONNX operator, how NNAPI expresses it.

A rule is a function of one :class:`~nnapi.importers.onnx.node.Node` that appends NNAPI operations and gives back what
the node's outputs are, or raises Refused with the reason why they cannot be expressed. Rules register themselves by
name when their module is imported, which happens when a file first has one of its operators. Operators without a rule
that ONNX defines by others are replaced by those (``functions``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, TypeAlias

from nnapi.importers.graph import Value
from nnapi.importers.onnx.tensors import Tensor

if TYPE_CHECKING:
    from nnapi.importers.onnx.node import Node

Result: TypeAlias = "Value | Tensor"
Apply: TypeAlias = "Callable[[Node], Result | Sequence[Result | None]]"


@dataclass(frozen=True)
class Rule:
    """``fuses``: the rule asks the node for an activation and a quantisation that follow it in the file."""

    function: Apply
    fuses: bool = False


RULES: dict[str, Rule] = {}


def rule(*kinds: str, fuses: bool = False) -> Callable[[Apply], Apply]:
    """Register the decorated function as the rule of these operators."""

    def register(function: Apply) -> Apply:
        for kind in kinds:
            assert kind not in RULES, kind
            RULES[kind] = Rule(function, fuses)
        return function

    return register


def rule_for(kind: str) -> Rule | None:
    """The rule of an operator of the default domain, None where there is none."""
    return _imported(kind) if kind in HOMES else None


@cache
def _imported(kind: str) -> Rule:
    import_module(f"{__name__}.{HOMES[kind]}")  # waits where another thread is at it
    return RULES[kind]


def kind_of(domain: str, kind: str) -> str:
    """What an operator is called here: one outside the default domain by both names."""
    return f"{domain}:{kind}" if domain else kind


def reason_without_rule(kind: str, domain: str) -> str:
    """Why an operator has no rule."""
    from nnapi.importers.onnx.rules.inexpressible import REASONS

    if domain:
        return f"operators of the domain {domain} are not read"
    return REASONS.get(kind, "NNAPI has no such operation")


FAMILIES = {
    "control_flow": "If Loop Scan",
    "comparison": "And Equal Greater GreaterOrEqual Less LessOrEqual Not Or Where Xor IsInf IsNaN Max Min",
    "convolution": "Conv ConvTranspose",
    "elementwise": "Abs Add Cast Div Dropout Exp Floor Identity Log Mul Neg Pow Sin Sqrt Sub",
    "activation": "Clip Elu HardSwish LeakyRelu PRelu Relu Sigmoid Tanh ThresholdedRelu Selu Gelu Softplus Erf",
    "arithmetic": "Ceil Cos Cosh Mean Mod Reciprocal Round Sign Sinh Sum Tan Asin Acos Atan Asinh Acosh Atanh",
    "indexing": "ArgMax ArgMin Gather GatherElements GatherND Slice TopK OneHot",
    "matrices": "Gemm MatMul Einsum",
    "normalization": "BatchNormalization InstanceNormalization LRN LogSoftmax LpNormalization Softmax "
    "Hardmax LayerNormalization",
    "padding": "Pad",
    "pooling": "AveragePool GlobalAveragePool GlobalMaxPool LpPool MaxPool DepthToSpace SpaceToDepth",
    "quantization": "QuantizeLinear DequantizeLinear",
    "quantized_operators": "QLinearConv QLinearMatMul MatMulInteger ConvInteger com.microsoft:QLinearAdd "
    "com.microsoft:QLinearMul com.microsoft:QLinearSigmoid com.microsoft:QLinearLeakyRelu com.microsoft:QLinearSoftmax "
    "com.microsoft:QLinearAveragePool com.microsoft:QLinearGlobalAveragePool com.microsoft:QLinearConcat "
    "com.microsoft:QGemm",
    "recurrent": "LSTM GRU RNN",
    "reduction": "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum "
    "ReduceSumSquare CumSum",
    "resizing": "Resize Upsample",
    "shape": "Concat ConstantOfShape Expand EyeLike Flatten Reshape Split Squeeze Tile Transpose Trilu Unsqueeze "
    "ReverseSequence",
}
"""The operators that have a rule, by the module in which it stands."""

HOMES = {kind: module for module, kinds in FAMILIES.items() for kind in kinds.split()}
"""The module of each of them."""
