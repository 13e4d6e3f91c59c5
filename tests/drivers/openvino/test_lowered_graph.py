"""The graph of the last verdicts, which is kept for the compilation of the same model."""

import gc

import numpy as np
import pytest

import nnapi

pytest.importorskip("openvino", reason="openvino is not installed")

from nnapi.contract.driver import PrepareOptions, Request
from nnapi.drivers.openvino import engine, lowered_graph
from nnapi.drivers.openvino.lowering import Lowered

pytestmark = pytest.mark.engine
X = np.array([[1.0, -2.0]], np.float32)


def relu(type: nnapi.OperandType) -> nnapi.Model:
    builder = nnapi.Builder()
    builder.output(builder.relu(builder.input(type)))
    return builder.finish()


@pytest.fixture
def lowered(monkeypatch: pytest.MonkeyPatch) -> list[nnapi.Model]:
    """The models that are lowered, in order."""
    models, lower = list[nnapi.Model](), engine.lower_model

    def note(model: nnapi.Model, *others: object) -> Lowered:
        models.append(model)
        return lower(model, *others)  # type: ignore[arg-type]

    monkeypatch.setattr(engine, "lower_model", note)
    return models


def run(model: nnapi.Model, given: np.ndarray) -> np.ndarray:
    prepared = engine.prepare(model, "CPU", PrepareOptions(), 1)
    (result,) = prepared.execute(Request([given])).outputs
    return np.asarray(result)


def test_a_model_is_lowered_once_for_verdicts_and_compilation(lowered: list[nnapi.Model]) -> None:
    model = relu(nnapi.tensor("float32", X.shape))
    assert all(verdict.supported for verdict in engine.verdicts(model))
    np.testing.assert_array_equal(run(model, X), [[1, 0]])
    assert lowered == [model]
    np.testing.assert_array_equal(run(model, X), [[1, 0]])
    assert lowered == [model, model]  # the graph was taken


def test_verdicts_on_another_model_replace_the_graph(lowered: list[nnapi.Model]) -> None:
    first, second = (relu(nnapi.tensor("float32", X.shape)) for _ in range(2))
    for model in (first, second):
        engine.verdicts(model)
    np.testing.assert_array_equal(run(first, X), [[1, 0]])
    assert lowered == [first, second, first]


def test_other_shapes_than_those_of_the_verdicts_are_lowered(lowered: list[nnapi.Model]) -> None:
    model = relu(nnapi.tensor("float32", (0, 2)))
    engine.verdicts(model)
    np.testing.assert_array_equal(run(model, np.repeat(X, 3, 0)), [[1, 0]] * 3)
    assert lowered == [model, model]


def test_the_weights_of_quantized_models_are_not_kept_as_floats() -> None:
    model = relu(nnapi.tensor("uint8", X.shape, 0.5, 128))
    assert all(verdict.supported for verdict in engine.verdicts(model))
    assert model not in lowered_graph._asked


def test_the_graph_does_not_outlive_its_model() -> None:
    model = relu(nnapi.tensor("float32", X.shape))
    engine.verdicts(model)
    assert len(lowered_graph._asked) == 1
    del model
    gc.collect()
    assert not len(lowered_graph._asked)
