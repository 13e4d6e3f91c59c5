"""The ONNX operators with a rule, by family.

A rule appends NNAPI operations for a :class:`~nnapi.importers.onnx.node.Node` and returns its outputs, or raises
Refused. An operator without a rule is replaced by its function, if ONNX defines one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from nnapi.importers.graph import Value
from nnapi.importers.onnx.tensors import Tensor
from nnapi.importers.rule_table import RuleTable

if TYPE_CHECKING:
    from nnapi.importers.onnx.node import Node

Result: TypeAlias = "Value | Tensor"
Rule: TypeAlias = "Callable[[Node], Result | Sequence[Result | None]]"


class ByFunctionError(Exception):
    """Raised by a rule, before it appends operations, for a node that ONNX's function of the operator converts."""


def kind_of(domain: str, kind: str) -> str:
    return f"{domain}:{kind}" if domain else kind


def reason_without_rule(kind: str, domain: str) -> str:
    return RULES.reason(kind) if domain in ("", "ai.onnx.ml") else f"operators of the domain {domain} are not read"


_NAMES = {
    "attention": "com.microsoft:Attention com.microsoft:MultiHeadAttention com.microsoft:GroupQueryAttention "
    "com.microsoft:RotaryEmbedding com.microsoft:EmbedLayerNormalization com.microsoft:QEmbedLayerNormalization "
    "Attention RotaryEmbedding",
    "control_flow": "If Loop Scan",
    "binary": "Add And Div Equal Greater GreaterOrEqual Less LessOrEqual Max Mean Min Mod Mul Or Pow Sub Sum Xor",
    "convolution": "Conv ConvTranspose",
    "activation": "Celu Clip Elu HardSwish LeakyRelu PRelu Relu Sigmoid Tanh ThresholdedRelu Selu Gelu Softplus Erf",
    "indexing": "ArgMax ArgMin Gather GatherElements GatherND Slice TopK OneHot Where",
    "matmul": "Gemm MatMul Einsum",
    "normalization": "BatchNormalization InstanceNormalization LRN LogSoftmax LpNormalization Softmax "
    "Hardmax LayerNormalization RMSNormalization SimplifiedLayerNormalization "
    "com.microsoft:SimplifiedLayerNormalization GroupNormalization",
    "pooling": "AveragePool GlobalAveragePool GlobalMaxPool LpPool MaxPool",
    "quantization": "Cast QuantizeLinear DequantizeLinear",
    "quantized_operators": "QLinearConv QLinearMatMul MatMulInteger ConvInteger com.microsoft:QLinearAdd "
    "com.microsoft:QLinearMul com.microsoft:QLinearSigmoid com.microsoft:QLinearLeakyRelu com.microsoft:QLinearSoftmax "
    "com.microsoft:QLinearAveragePool com.microsoft:QLinearGlobalAveragePool com.microsoft:QLinearConcat "
    "com.microsoft:QGemm com.microsoft:QLinearWhere DynamicQuantizeLinear",
    "composed": "com.microsoft:FusedMatMul com.microsoft:TransposeMatMul "
    "com.microsoft:SkipLayerNormalization com.microsoft:SkipSimplifiedLayerNormalization "
    "com.microsoft:BiasGelu com.microsoft:Gelu com.microsoft:FastGelu "
    "com.microsoft:QuickGelu com.microsoft:FusedConv com.microsoft:FusedGemm com.microsoft:QuantizeLinear "
    "com.microsoft:DequantizeLinear com.microsoft:MatMulNBits com.microsoft:MatMulBnb4 "
    "com.microsoft:DynamicQuantizeMatMul com.microsoft:DynamicQuantizeConv com.microsoft:MatMulIntegerToFloat "
    "com.microsoft:DynamicQuantizeLSTM",
    "recurrent": "LSTM GRU RNN",
    "reduction": "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum "
    "ReduceSumSquare CumSum CumProd",
    "estimators": "ai.onnx.ml:ArrayFeatureExtractor ai.onnx.ml:LabelEncoder ai.onnx.ml:ZipMap ai.onnx.ml:Scaler "
    "ai.onnx.ml:Normalizer ai.onnx.ml:Binarizer ai.onnx.ml:LinearRegressor ai.onnx.ml:LinearClassifier",
    "support_vectors": "ai.onnx.ml:SVMRegressor ai.onnx.ml:SVMClassifier",
    "trees": "ai.onnx.ml:TreeEnsemble ai.onnx.ml:TreeEnsembleRegressor ai.onnx.ml:TreeEnsembleClassifier",
    "scatter": "Scatter ScatterElements ScatterND",
    "unary": "Abs Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Dropout Exp Floor Identity IsInf IsNaN Log Neg Not "
    "Reciprocal Round Sign Sin Sinh Sqrt Tan",
    "selection": "Compress NonZero Unique",
    "detection": "NonMaxSuppression",
    "resize": "Resize Upsample GridSample",
    "movement": "Concat ConstantOfShape DepthToSpace Expand EyeLike Flatten Pad Reshape ReverseSequence "
    "SpaceToDepth Split Squeeze Tile Transpose Trilu Unsqueeze",
}
FAMILIES = {module: names.split() for module, names in _NAMES.items()}
"""The operators with a rule by its module; ``domain:`` precedes names outside the default domain."""

RULES: RuleTable[Rule] = RuleTable(f"{__package__}.rules", FAMILIES)
rule = RULES.rule
