"""What the engine writes and raises, as messages."""

import pytest

pytest.importorskip("ai_edge_litert")
from nnapi.drivers.webgpu.engine import explain

pytestmark = pytest.mark.engine
RAISED = "ERROR: [./litert/cc/litert_compiled_model.h:1961]\n└ Some ops are not accelerated."


def test_operators_that_are_not_taken_are_named() -> None:
    said = (
        "INFO: made\nERROR: Following operations are not supported by GPU delegate:\n"
        "ABS: Tensor dimensions must be less than 5. i00\nNEG: Operation is not supported.\n"
        "No operations will run on the GPU, and all 2 operations will run on the CPU.\n"
    )
    assert explain(RAISED, said) == (
        "the accelerator does not take the whole model: ABS: Tensor dimensions must be less than 5. i00; "
        "NEG: Operation is not supported."
    )


def test_what_was_written_last_is_the_reason_otherwise() -> None:
    said = "ERROR: [model_load.cc:316] Variable tensors not yet supported.\nINFO: unloaded\n"
    assert explain(RAISED, said) == "the accelerator refuses the model: Variable tensors not yet supported."


def test_what_was_raised_is_the_reason_where_nothing_was_written() -> None:
    assert explain(RAISED, "") == "the accelerator refuses the model: Some ops are not accelerated."
