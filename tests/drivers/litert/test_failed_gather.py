"""An index out of range, named in the error of a run by xnnpack-cpu."""

from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi.codes import OperandCode
from nnapi.codes import OperationCode as O
from nnapi.errors import OpFailedError
from nnapi.model.operand import tensor
from nnapi.ops.index_checks import BadIndexError
from tests.engines import find_device
from tests.single import scalar, single

pytestmark = pytest.mark.engine
pytest.importorskip("ai_edge_litert", reason="ai-edge-litert is not installed")

from nnapi.drivers.litert.failed_gather import find_bad_index  # noqa: E402

TABLE = tensor("float32", (3, 4))
ROWS = np.arange(12, dtype=np.float32).reshape(3, 4)
INDICES = tensor("int32", (2,)), np.zeros(2, np.int32)


def gather(axis: int) -> nnapi.Model:
    shape = (2, 4) if axis == 0 else (3, 2)
    inputs = [(TABLE, ROWS), scalar(OperandCode.INT32, axis), INDICES]
    return single(O.GATHER, inputs, [tensor("float32", shape)])


def look_up() -> nnapi.Model:
    return single(O.EMBEDDING_LOOKUP, [INDICES, (TABLE, ROWS)], [tensor("float32", (2, 4))])


@pytest.mark.parametrize(
    ("model", "indices", "message"),
    [
        (gather(0), [0, 3], "GATHER (#0): indices input2 are in 0..3, must be in 0..2"),
        (gather(1), [-1, 9], "GATHER (#0): indices input2 are in -1..9, must be in 0..3"),
        (look_up(), [7, 5], "EMBEDDING_LOOKUP (#0): lookups input0 are in 5..7, must be in 0..2"),
    ],
)
def test_the_error_names_operation_operand_indices_and_range(model: Any, indices: list[int], message: str) -> None:
    """As on nnapi-reference, on the fast path and with a burst too."""
    array = np.array(indices, np.int32)
    given = [array, ROWS] if "LOOKUP" in message else [ROWS, array]
    for device in ("xnnpack-cpu", "nnapi-reference"):
        compilation = nnapi.compile(model, find_device(device), cache=False)
        for _ in range(2):
            with pytest.raises(OpFailedError) as caught:
                compilation.run(*given)
            assert str(caught.value) == message
        with compilation.burst() as burst, pytest.raises(BadIndexError, match="must be in"):
            burst.run(*given)


def test_other_failures_are_not_of_an_index() -> None:
    model = gather(0)
    for said in ("LiteRT failed", "Node number 0 (ADD) failed to invoke", "Node number 9 (GATHER) failed to invoke"):
        assert find_bad_index(said, None, model, (0,)) is None
    assert find_bad_index("Node number 0 (GATHER) failed to invoke", None, model, (None,)) is None
