"""Reasons of refusals, read from logs of ONNX Runtime."""

from nnapi.drivers.qualcomm.log import read_refusals

LOG = """
[V:onnxruntime:, e.cc:1 GetCapabilityImpl] GetCapability pass 1 (before)
[V:onnxruntime:, e.cc:1 LogNodeSupport] Validation FAILED for 1 nodes in OrtNodeUnit (Conv) :
\tOperator type: Conv Node name: op1_2 Node index: 1
\tREASON : Failed to add node.
[V:onnxruntime:, e.cc:1 GetCapabilityImpl] GetCapability pass 2 (after)
QNN.backendValidateOpConfig() failed for node `op12_1` of type `Reshape` with error code 3110
[V:onnxruntime:, e.cc:1 LogNodeSupport] Validation FAILED for 2 nodes in OrtNodeUnit (Reshape) :
\tOperator type: DequantizeLinear Node name: op12 Node index: 58
\tOperator type: Reshape Node name: op12_1 Node index: 59
\tREASON : Failed to add node.
[V:onnxruntime:, e.cc:1 LogNodeSupport] Validation PASSED for 1 nodes in OrtNodeUnit (Relu) :
\tOperator type: Relu Node name: op3 Node index: 60
[V:onnxruntime:, e.cc:1 LogNodeSupport] Validation FAILED for 1 nodes in OrtNodeUnit (LSTM) :
\tOperator type: LSTM Node name: scores Node index: 61
\tREASON : the direction is not supported
QNN.backendValidateOpConfig() failed for node `op5` of type `Tile` with error code 7
[V:onnxruntime:, e.cc:1 LogNodeSupport] Validation FAILED for 1 nodes in OrtNodeUnit (Tile) :
\tOperator type: Tile Node name: op5 Node index: 62
\tREASON : Failed to add node.
"""


def test_reasons_by_operation() -> None:
    assert read_refusals(LOG, {"scores": 4}) == {
        12: "QNN refuses Reshape: it has no kernel for these types, shapes or parameters (QNN error 3110)",
        4: "QNN refuses LSTM: the direction is not supported",
        5: "QNN refuses Tile: QNN error 7",
    }


def test_a_single_judgment_counts() -> None:
    assert list(read_refusals(LOG.partition("pass 2")[0].replace("GetCapability pass 2", ""), {})) == [1]
