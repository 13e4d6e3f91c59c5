"""Large constants of a file stay views of it, transposed and not aligned, until an engine has packed them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

import nnapi  # noqa: E402
from nnapi.model.content_hash import hash_content  # noqa: E402
from nnapi.model.graph import constants  # noqa: E402
from nnapi.model.memory import LARGE, mappings  # noqa: E402
from tests.engines import DEVICES, find_device  # noqa: E402


def make_bytes(lead: int) -> bytes:
    """Return a file with two convolutions that share a filter, whose offset in the file depends on ``lead``."""
    rng = np.random.default_rng(0)
    filter, bias = rng.normal(0, 0.05, (48, 48, 3, 3)).astype(np.float32), rng.normal(size=48).astype(np.float32)
    filter = numpy_helper.from_array(filter, "w" * (1 + lead))
    pads: Any = {"pads": [1, 1, 1, 1]}
    nodes = [helper.make_node("Conv", [a, filter.name, "b"], [b], **pads) for a, b in (("x", "h"), ("h", "y"))]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 48, 7, 6]) for name in "xy"]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], [filter, numpy_helper.from_array(bias, "b")])
    content: bytes = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8
    ).SerializeToString()
    return content


def filters(model: Any) -> list[Any]:
    return [value for value in constants(model) if value.nbytes >= LARGE]


@pytest.mark.parametrize("lead", range(4))
@pytest.mark.parametrize("device", DEVICES)
def test_a_filter_is_a_view_of_the_file(device: str, lead: int, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(make_bytes(lead))
    model = nnapi.load(path)
    (shared,) = filters(model)
    assert mappings([shared])
    assert not shared.flags.c_contiguous
    copied = nnapi.load(path)
    for operand in copied.operands:
        if isinstance(operand.value, np.ndarray):
            operand.value = operand.value.copy("C")
    given = nnapi.load(path.read_bytes())
    assert hash_content(model) == hash_content(copied) == hash_content(given)
    x = np.random.default_rng(1).normal(size=(1, 48, 7, 6)).astype(np.float32)
    found, expected = (nnapi.compile(each, find_device(device)).run(x)[0] for each in (given, copied))
    assert np.array_equal(nnapi.compile(model, find_device(device)).run(x)[0], expected)
    assert np.array_equal(found, expected)
