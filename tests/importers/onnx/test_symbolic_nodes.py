"""ONNX's own node tests with all dimensions dynamic: a specialization is the model of a static import, or refused as
that is."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import ModelProto

import nnapi
from benchmarks.onnx_nodes import NodeCase, freeze_parameters, node_cases
from nnapi.importers.onnx.dynamic_import import Imports
from nnapi.importers.onnx.reader import File
from nnapi.model.content_hash import hash_content
from nnapi.model.memory import Memory

SIZES = 2
"""Number of random sizes for each kind of test."""


def open_dimensions(case: NodeCase) -> tuple[bytes, dict[str, tuple[int, ...]]]:
    """The file of a case whose inputs have dynamic dimensions, with its parameters as constants; and its shapes."""
    content, inputs = freeze_parameters(case)
    model = ModelProto.FromString(content)
    shapes = {}
    for info, array in zip(model.graph.input, inputs, strict=True):
        if info.type.HasField("tensor_type") and np.ndim(array):
            shapes[info.name] = np.shape(array)
            for axis, dimension in enumerate(info.type.tensor_type.shape.dim):
                dimension.dim_param = f"{info.name}_{axis}"
    for output in model.graph.output:
        if output.type.HasField("tensor_type"):
            output.type.tensor_type.ClearField("shape")
    return model.SerializeToString(), shapes


def kind_of(content: bytes, shapes: dict[str, tuple[int, ...]]) -> object:
    """The operators with the names of their attributes, and the ranks of the inputs."""
    nodes = ModelProto.FromString(content).graph.node
    operators = ((node.op_type, len(node.input), *sorted(each.name for each in node.attribute)) for node in nodes)
    return tuple(operators), tuple(map(len, shapes.values()))


def draw(shapes: dict[str, Any], rng: Any) -> dict[str, tuple[int, ...]]:
    """Other sizes: equal ones stay equal, so that operands still fit each other, and most stay as they are."""
    drawn = {size: size for shape in shapes.values() for size in shape}
    for size in drawn:
        if rng.random() < 0.5:
            drawn[size] = int(rng.choice([1, size + 1, size * 2, size + 7]))
    return {name: tuple(drawn[size] for size in shape) for name, shape in shapes.items()}


def describe(read: Any) -> str:
    """The digest of a model, or that it is refused."""
    try:
        return str(hash_content(read()).hex())
    except nnapi.NnapiError:
        return "refused"


@pytest.mark.slow
def test_specializations_are_static_imports() -> None:
    rng, wrong, kinds, seen = np.random.default_rng(11), list[str](), Counter[str](), set[object]()
    for case in node_cases():
        content, shapes = open_dimensions(case)
        if not shapes or any(0 in shape for shape in shapes.values()) or (kind := kind_of(content, shapes)) in seen:
            continue
        seen.add(kind)
        try:
            imports = Imports(File(Memory.from_array(np.frombuffer(content, np.uint8)), "model"), "model", {})
        except nnapi.NnapiError:  # an opset that is too old
            continue
        for sizes in (shapes, *(draw(shapes, rng) for _ in range(SIZES))):
            ours = describe(lambda: imports.read(sizes))  # noqa: B023
            static = describe(lambda: nnapi.load(content, shapes=sizes))  # noqa: B023
            kinds["refused" if static == "refused" else "symbolic" if is_symbolic(imports, sizes) else "static"] += 1
            if ours != static:
                wrong.append(f"{case.name} {sizes}")
    assert not wrong
    assert kinds["symbolic"] > 1000, kinds


def is_symbolic(imports: Imports, sizes: Any) -> bool:
    """Whether an import with symbols holds for these sizes."""
    return any(not each.find_broken(sizes) for each in imports._made)
