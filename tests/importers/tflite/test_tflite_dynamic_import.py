"""Files with dynamic dimensions: shapes that the caller sets, and models that are compiled for each run's shapes."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi.errors import BadDataError
from nnapi.importers.refusals import UnsupportedOperationsError
from nnapi.importers.tflite.dynamic_import import make_dynamic
from nnapi.model.dynamic_model import DynamicModel
from tests.tflite_writer import Graph, T, const, f32, write

ON = ["nnapi-reference"]


def batch(*shape: int) -> T:
    """A tensor whose first dimension is dynamic, as Keras exports it."""
    return T("FLOAT32", (1, *shape), signature=(-1, *shape))


def named(name: str, tensor: T) -> T:
    return replace(tensor, name=name)


def dense() -> bytes:
    x, y = named("x", batch(4)), named("y", batch(2))
    weights = const(np.arange(8).reshape(2, 4) / 8, "FLOAT32")
    return write(
        Graph().operator("FULLY_CONNECTED", [x, weights, None], [y], "FullyConnectedOptions").between([x], [y])
    )


def choice() -> bytes:
    """A file that NNAPI can express only with static dimensions."""
    c, x = named("c", T("BOOL", (1, 1), signature=(-1, 1))), named("x", batch(4))
    y = named("y", batch(4))
    return write(
        Graph().operator("SELECT_V2", [c, x, const(0.0, "FLOAT32")], [y], "SelectV2Options").between([c, x], [y])
    )


def refusals(content: bytes, **options: object) -> str:
    with pytest.raises(UnsupportedOperationsError) as raised:
        nnapi.load(content, **options)  # type: ignore[arg-type]
    return str(raised.value)


def test_dimensions_are_set() -> None:
    model = nnapi.load(dense(), shapes={"x": (3, 4)})
    assert [info.shape for info in (*model.input_info, *model.output_info)] == [(3, 4), (3, 2)]
    x = np.ones((3, 4), np.float32)
    np.testing.assert_array_equal(nnapi.compile(model, ON).run(x)[0], nnapi.compile(nnapi.load(dense()), ON).run(x)[0])


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ({"x": (3, 5)}, "input x is [?, 4], not [3, 5]"),
        ({"x": (0, 4)}, "input x cannot be [0, 4]"),
        ({"z": (3, 4)}, "it has no input z; its inputs are x"),
    ],
)
def test_shapes_that_do_not_fit(shapes: dict[str, tuple[int, ...]], message: str) -> None:
    with pytest.raises(BadDataError) as raised:
        nnapi.load(dense(), shapes=shapes)
    assert message in str(raised.value)


def test_a_signature_s_names_are_those_of_the_inputs() -> None:
    from tests.litert.model_cases import one_signature

    info = nnapi.load(one_signature()).input_info[0]
    assert nnapi.load(one_signature(), shapes={info.name: info.shape}).input_info[0] == info
    with pytest.raises(BadDataError, match=f"its inputs are .*{info.name}"):
        nnapi.load(one_signature(), shapes={"other": (1,)})


def test_a_file_is_compiled_for_the_shapes_of_each_run() -> None:
    model = nnapi.load(choice())
    assert isinstance(model, DynamicModel)
    assert [info.shape for info in (*model.input_info, *model.output_info)] == [(0, 1), (0, 4), (0, 4)]
    compiled = nnapi.compile(model, ON)
    for rows in (1, 3, 2):
        c, x = np.arange(rows).reshape(rows, 1) % 2 == 0, np.ones((rows, 4), np.float32)
        np.testing.assert_array_equal(compiled.run(c, x)[0], np.where(c, x, 0))
    with pytest.raises(BadDataError, match=r"fix them by load\(shapes=…\) or --shape: c \[\?, 1\], x \[\?, 4\]"):
        _ = model.operations
    static = nnapi.load(choice(), shapes={"c": (2, 1), "x": (2, 4)})
    assert len(static.operations)
    assert not isinstance(static, DynamicModel)
    part = nnapi.load(choice(), shapes={"c": (2, 1)})
    assert [info.shape for info in part.input_info] == [(2, 1), (0, 4)]


def test_computed_shapes_follow_from_the_inputs() -> None:
    """Beside a file whose other tensors have the static shapes of one batch; LiteRT ignores these."""
    x, y, z = named("x", batch(4)), f32(1, 4), named("z", f32(1, 4))
    content = write(Graph().operator("ABS", [x], [y]).operator("NEG", [y], [z]).between([x], [z]))
    model = nnapi.load(content, shapes={"x": (3, 4)})
    assert model.output_info[0].shape == (3, 4)
    given = -np.ones((3, 4), np.float32)
    np.testing.assert_array_equal(nnapi.compile(model, ON).run(given)[0], given)


def test_a_shape_with_two_unknown_dimensions_is_not_reshaped_to() -> None:
    """The batch is computed and another dimension inferred: only a run knows which is which."""
    x, shape, first = named("x", T("FLOAT32", (1, 6), signature=(-1, 6))), T("INT32", (2,)), T("INT32", ())
    wanted, y = T("INT32", (3,)), named("y", T("FLOAT32", (1, 3, 2), signature=(-1, -1, 2)))
    graph = Graph().operator("SHAPE", [x], [shape], "ShapeOptions", OutType=2)
    slices: Any = {"BeginMask": 0, "EndMask": 0, "EllipsisMask": 0, "NewAxisMask": 0, "ShrinkAxisMask": 1}
    graph.operator(
        "STRIDED_SLICE", [shape, const([0]), const([1]), const([1])], [first], "StridedSliceOptions", **slices
    )
    graph.operator("PACK", [first, const(-1), const(2)], [wanted], "PackOptions", Axis=0, ValuesCount=3)
    graph.operator("RESHAPE", [x, wanted], [y], "ReshapeOptions")
    model = nnapi.load(write(graph.between([x], [y])))
    x_2 = np.arange(12, dtype=np.float32).reshape(2, 6)
    np.testing.assert_array_equal(nnapi.compile(model, ON).run(x_2)[0], x_2.reshape(2, 3, 2))


def test_refusals_that_no_shape_removes_hint_at_the_dimensions() -> None:
    x, y = named("x", batch(4)), named("y", batch(4))
    content = write(Graph().operator("ATAN2", [x, x], [y]).between([x], [y]))
    message = refusals(content)
    assert "ATAN2" in message
    assert "it has dynamic dimensions, which load(shapes=…) fixes: x [?, 4]" in message
    assert "dynamic dimensions" not in refusals(content, shapes={"x": (1, 4)})


def test_a_static_file_keeps_its_error() -> None:
    x, y = named("x", f32(4)), named("y", f32(4))
    content = write(Graph().operator("ATAN2", [x, x], [y]).between([x], [y]))
    error = UnsupportedOperationsError("refused", [])
    with pytest.raises(UnsupportedOperationsError) as raised:
        make_dynamic(memoryview(content), "m.tflite", {}, {}, error)
    assert raised.value is error


def test_a_model_with_set_dimensions_is_exported(tmp_path: Path) -> None:
    nnapi.export(nnapi.load(dense(), shapes={"x": (3, 4)}), tmp_path / "m.tflite")
    assert [info.shape for info in nnapi.load(tmp_path / "m.tflite").input_info] == [(3, 4)]
