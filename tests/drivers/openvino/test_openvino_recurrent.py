"""LSTM and GRU as the engine's sequences, against the reference: whole sequences only, and only plain cells."""

from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi.codes import OperationCode as Op
from nnapi.model.model import Model
from nnapi.model.operand import tensor
from nnapi.runtime.device import Device, device
from tests.drivers.xnnpack.cell_cases import BATCH, SIZE, TIME, UNITS, features, inputs_of, reals, shapes
from tests.single import run_single, single

pytest.importorskip("nnapi.drivers.openvino.api", reason="OpenVINO is an extra: nnapi[openvino]")
onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from nnapi.drivers.openvino import OpenVinoDriver  # noqa: E402
from nnapi.drivers.openvino.engine import lower_model  # noqa: E402
from nnapi.drivers.openvino.recurrences import Search  # noqa: E402

pytestmark = pytest.mark.engine

FLOAT = tensor("float32")
DEVICES = Device(OpenVinoDriver(threads=1)), device("nnapi-reference")


def lstm(time_major: bool = True, activation: int = 4, cell_clip: float = 0, **options: Any) -> list[Any]:
    kind, random = features(*options), np.random.default_rng(7)
    outer = (TIME, BATCH) if time_major else (BATCH, TIME)
    width = 2 if "projection" in options else UNITS
    states = {"output_state_in": (BATCH, width), "cell_state_in": (BATCH, UNITS)}
    values = reals(shapes(kind) | {"input": (*outer, SIZE)} | states, random)
    scalars = {"activation": activation, "cell_clip": cell_clip, "proj_clip": 0.0, "time_major": time_major}
    return inputs_of(Op.UNIDIRECTIONAL_SEQUENCE_LSTM, values | scalars)


@pytest.mark.parametrize("time_major", [False, True])
@pytest.mark.parametrize("results", [1, 3])
def test_lstm(time_major: bool, results: int) -> None:
    given, types = lstm(time_major), [FLOAT] * results
    ours, right = (
        run_single(Op.UNIDIRECTIONAL_SEQUENCE_LSTM, given, types, constant=True, devices=[one]) for one in DEVICES
    )
    for one, other in zip(ours, right, strict=True):
        np.testing.assert_allclose(one, other, 1e-5, 1e-6)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"coupled": True}, "no peepholes, no normalization and no projection"),
        ({"peephole": True}, "no peepholes"),
        ({"norm": True}, "no peepholes"),
        ({"projection": True}, "no peepholes"),
        ({"activation": 1}, "squashes by TANH"),
        ({"cell_clip": 0.5}, "does not clip its state"),
    ],
)
def test_other_cells_are_refused(options: Any, reason: str) -> None:
    (verdict,) = lower_model(single(Op.UNIDIRECTIONAL_SEQUENCE_LSTM, lstm(**options), [FLOAT], constant=True)).verdicts
    assert reason in verdict.reason


def test_computed_weights_are_refused() -> None:
    (verdict,) = lower_model(single(Op.UNIDIRECTIONAL_SEQUENCE_LSTM, lstm(), [FLOAT])).verdicts
    assert "the engine's LSTM takes constant weights" in verdict.reason


def gru(steps: int, batch: int, units: int, depth: int, late: int, direction: str = "forward") -> Model:
    """A GRU of ONNX with a first state and both outputs."""
    count, random = 1 + (direction == "bidirectional"), np.random.default_rng(units)
    dimensions = {"W": (count, 3 * units, depth), "R": (count, 3 * units, units), "B": (count, 6 * units)}
    constants = [
        numpy_helper.from_array(random.normal(size=shape).astype(np.float32), name)
        for name, shape in dimensions.items()
    ]
    node = helper.make_node(
        "GRU", ["x", "W", "R", "B", "", "h"], ["y", "last"],
        hidden_size=units, linear_before_reset=late, direction=direction,
    )  # fmt: skip
    ends = {"x": (steps, batch, depth), "h": (count, batch, units), "y": (steps, count, batch, units)}
    info = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in ends.items()}
    last = helper.make_tensor_value_info("last", TensorProto.FLOAT, ends["h"])
    graph = helper.make_graph([node], "gru", [info["x"], info["h"]], [info["y"], last], constants)
    opsets = [helper.make_opsetid("", 17)]
    return nnapi.load(helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString())


def count_sequences(model: Model) -> int:
    constants = {each.index: each.value for each in model.operands if each.value is not None}
    return len(list(Search(model, constants).run()))


@pytest.mark.parametrize("late", [0, 1])
@pytest.mark.parametrize(
    "sizes", [(2, 1, 4, 3), (5, 3, 4, 3), (4, 2, 3, 1), (3, 1, 1, 2)], ids=["", "batch", "depth", "unit"]
)
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_gru(sizes: Any, late: int, direction: str) -> None:
    steps, batch, units, depth = sizes
    model = gru(steps, batch, units, depth, late, direction)
    assert count_sequences(model) == 1 + (direction == "bidirectional")
    random = np.random.default_rng(1)
    given = [random.normal(size=model.operands[index].type.dimensions).astype(np.float32) for index in model.inputs]
    ours, right = (nnapi.compile(model, one).run(*given) for one in DEVICES)
    for one, other in zip(ours, right, strict=True):
        np.testing.assert_allclose(one, other, 1e-4, 1e-5)


def test_the_sequence_replaces_the_steps() -> None:
    nodes = [each.get_type_name() for each in lower_model(gru(9, 1, 4, 3, 1)).graph().get_ops()]
    assert nodes.count("GRUSequence") == 1
    assert "Tanh" not in nodes


@pytest.mark.parametrize("broken", ["weights", "order", "activation"])
def test_steps_that_differ_are_no_sequence(broken: str) -> None:
    """Another bias in one step, an earlier output in the last step, or a RELU."""
    b, random = nnapi.Builder(), np.random.default_rng(0)

    def number(*shape: int) -> Any:
        return b.constant(random.normal(size=shape).astype(np.float32))

    x, h = b.input(tensor("float32", (3, 5))), b.input(tensor("float32", (1, 4)))
    whole = b.fully_connected(x, number(12, 5), number(12), 0)
    parts = [b.split(b.slice(whole, [0, at], [-1, size]), 0, 3) for at, size in ((0, 8), (8, 4))]
    gates, candidate = (number(8, 4), number(8)), (number(4, 4), number(4))
    other = (gates[0], number(8))
    outputs = [h]
    for t in range(3):
        last = outputs[-2 if broken == "order" and t == 2 else -1]
        chosen = other if broken == "weights" and t == 1 else gates
        z, r = b.split(b.logistic(b.add(parts[0][t], b.fully_connected(last, *chosen, 0), 0)), 1, 2)
        reset = b.mul(r, b.fully_connected(last, *candidate, 0), 0)
        c = b.tanh(b.add(parts[1][t], reset, 0))
        outputs.append(b.add(c, b.mul(z, b.sub(last, c, 0), 0), int(broken == "activation" and t == 1)))
    b.output(b.concatenation(outputs[1:], 0))
    model = b.finish()
    assert count_sequences(model) == 0
    given = [random.normal(size=shape).astype(np.float32) for shape in ((3, 5), (1, 4))]
    ours, right = (nnapi.compile(model, one).run(*given)[0] for one in DEVICES)
    np.testing.assert_allclose(ours, right, 1e-4, 1e-5)
