"""Results whose quantization contradicts the declared one: strict everywhere, lax at model outputs only."""

import numpy as np
import pytest

from nnapi import OperandCode, OperationCode, tensor
from nnapi.errors import OpFailedError
from nnapi.lowering.lower import KnownTypes, check_results, normalize_call
from nnapi.model.model import Model
from nnapi.model.operand import OperandType


@pytest.mark.parametrize(
    ("is_output", "lax", "role"),
    [
        (True, True, "model output"),
        (True, False, "model output"),
        (False, True, ""),
        (False, False, "tensor between operations"),
    ],
)
def test_lax_results_may_contradict_the_quantization_between_operations(is_output: bool, lax: bool, role: str) -> None:
    """Locations of keypoints count eighths of a pixel; the model declares fourths."""
    model = Model("keypoints")
    images, boxes = tensor("uint8", (1, 2, 2, 1), 1.0), tensor("quant16_asymm", (1, 4), 0.125)
    scores, locations = tensor("uint8", (1, 1), 1.0), tensor("quant16_asymm", (1, 1, 2), 0.25)
    types = [images, boxes, OperandType(OperandCode.BOOL), scores, locations]
    operands = [model.add_operand(type) for type in types]
    model.set_operand_value(operands[2], np.asarray(False))
    model.add_operation(OperationCode.HEATMAP_MAX_KEYPOINT, operands[:3], operands[3:])
    model.identify_inputs_and_outputs(operands[:2], operands[3:] if is_output else operands[3:4])
    known = KnownTypes(model)
    known.update(enumerate(types))
    call = normalize_call(model, model.operations[0], known, {2: np.asarray(False)}.get)
    results = check_results(model, call, lax=lax)
    assert next(results)[0] is model.operands[3]
    if role:
        with pytest.raises(OpFailedError, match=f"zero point 0, but the {role} is declared with 0.25 and 0"):
            next(results)
    else:
        assert next(results) == (model.operands[4], tensor("quant16_asymm", (1, 1, 2), 0.125))
