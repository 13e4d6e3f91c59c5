"""Constants of ONNX files in every way that they may be written, and what is wrong with others."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from nnapi.errors import BadDataError  # noqa: E402
from nnapi.formats.onnx import messages  # noqa: E402
from nnapi.importers.onnx.reader import File  # noqa: E402
from nnapi.importers.refusals import Refused  # noqa: E402
from nnapi.model.memory import Memory  # noqa: E402


def opened(*constants: Any, path: str = "m.onnx", opsets: Any = (("", 17),), outputs: tuple[str, ...] = ("y",)) -> File:
    ends = [onnx.ValueInfoProto(name=name) for name in outputs]
    inputs = [onnx.ValueInfoProto(name=name) for name in ("x", "w")]
    graph = helper.make_graph([helper.make_node("Neg", ["x"], ["y"])], "g", inputs, ends, list(constants))
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid(*each) for each in opsets], ir_version=8)
    return File(Memory.from_array(np.frombuffer(proto.SerializeToString(), np.uint8)), path)


def own(proto: Any) -> messages.TensorProto:
    """The library's message, as the reader reads it."""
    return messages.TensorProto(proto.SerializeToString())


def read(proto: Any) -> Any:
    return opened().array(own(proto))


@pytest.mark.parametrize("dtype", ["f4", "u1", "i1", "u2", "i2", "i4", "i8", "?", "f2", "f8", "u4", "u8"])
def test_constants_in_bytes_or_one_by_one(dtype: str) -> None:
    array = np.array([[1, 0, 3], [4, 5, 100]]).astype(dtype)
    raw = numpy_helper.from_array(array, "w")
    listed = helper.make_tensor("w", raw.data_type, array.shape, array.reshape(-1).tolist())
    assert raw.HasField("raw_data")
    assert not listed.HasField("raw_data")
    for proto in (raw, listed):
        found, in_file = read(proto)
        assert (found.dtype, found.tolist()) == (array.dtype, array.tolist())
        assert in_file == (proto is raw and dtype != "?")


@pytest.mark.parametrize("shape", [(), (0, 3), (1, 1)])
def test_scalars_and_empty_constants(shape: tuple[int, ...]) -> None:
    array = np.full(shape, 2.5, np.float32)
    found, _ = read(numpy_helper.from_array(array, "w"))
    assert (found.shape, found.tolist()) == (shape, array.tolist())


def test_any_byte_but_0_is_true() -> None:
    proto = TensorProto(name="w", data_type=TensorProto.BOOL, dims=[3], raw_data=bytes([0, 1, 2]))
    found, _ = read(proto)
    assert (found.dtype, found.tolist()) == (np.bool_, [False, True, True])


@pytest.mark.parametrize(("kind", "dtype"), [(TensorProto.INT4, np.int8), (TensorProto.UINT4, np.uint8)])
def test_numbers_of_4_bits_are_stored_in_bytes(kind: int, dtype: Any) -> None:
    numbers = [1, 7, 3] if kind == TensorProto.UINT4 else [1, -8, 3]
    found, _ = read(helper.make_tensor("w", kind, [3], numbers))
    assert (found.dtype, found.tolist()) == (dtype, numbers)


@pytest.mark.parametrize(
    ("proto", "error", "reason"),
    [
        (
            TensorProto(name="w", data_type=1, dims=[2], raw_data=bytes(7)),
            BadDataError,
            "w holds 7 bytes, its type and shape take 8",
        ),
        (
            TensorProto(data_type=1, dims=[-1], raw_data=b""),
            BadDataError,
            r"a constant has dimensions \[-1\], must not",
        ),
        (TensorProto(name="w", data_type=14, dims=[1], raw_data=bytes(8)), Refused, "w is of type COMPLEX64"),
        (TensorProto(name="w", data_type=16, dims=[1], int32_data=[1]), Refused, "w is of type BFLOAT16"),
        (
            TensorProto(name="w", data_type=1, dims=[1000], float_data=[1]),
            BadDataError,
            "w lists 1 values, .* takes 1000",
        ),
        (
            TensorProto(name="w", data_type=1, dims=[2], float_data=[1]),
            BadDataError,
            "w lists 1 values, .* takes 2",
        ),
    ],
)
def test_damaged_and_other_constants(proto: Any, error: Any, reason: str) -> None:
    with pytest.raises(error, match=reason):
        read(proto)


def external(path: Path, shape: tuple[int, ...], **entries: str) -> Any:
    proto = TensorProto(name="w", data_type=1, dims=shape, data_location=TensorProto.EXTERNAL)
    for key, value in ({"location": "weights.bin"} | entries).items():
        proto.external_data.add(key=key, value=value)
    np.arange(10, dtype=np.float32).tofile(path / "weights.bin")
    (path / "m.onnx").touch()
    return proto


@pytest.mark.parametrize(
    ("shape", "entries", "numbers"),
    [
        ((10,), {}, range(10)),
        ((2, 2), {"offset": "8", "length": "16"}, range(2, 6)),
        ((8,), {"offset": "8"}, range(2, 10)),
        ((4,), {"length": "16"}, range(4)),
        ((0,), {"offset": "40"}, []),
        ((0,), {"offset": "0", "length": "0"}, []),
        ((), {"offset": "36", "length": "4"}, [9]),
    ],
)
def test_constants_in_another_file(shape: Any, entries: Any, numbers: Any, tmp_path: Path) -> None:
    proto = external(tmp_path, shape, **entries)
    file = opened(path=str(tmp_path / "m.onnx"))
    found, in_file = file.array(own(proto))
    assert (found.shape, found.reshape(-1).tolist(), in_file) == (shape, [*numbers], True)
    assert list(file.mapped) == [str((tmp_path / "weights.bin").resolve())]


@pytest.mark.parametrize(
    ("entries", "reason"),
    [
        ({"offset": "8", "length": "33"}, "w takes bytes 8 to 41 of weights.bin, which has 40"),
        ({"offset": "41"}, "w takes bytes 41 to 41 of weights.bin, which has 40"),
        ({"offset": "8", "length": "28"}, "w holds 28 bytes, its type and shape take 32"),
        ({"offset": "1" * 20}, "w has the offset '11111111111111111111' in its external data"),
        ({"length": "-4"}, "w has the length '-4' in its external data"),
    ],
)
def test_parts_of_another_file_that_it_does_not_have(entries: Any, reason: str, tmp_path: Path) -> None:
    proto = external(tmp_path, (8,), **entries)
    with pytest.raises(BadDataError, match=reason):
        opened(path=str(tmp_path / "m.onnx")).array(own(proto))


@pytest.mark.parametrize("is_shared", [False, True])
def test_large_constants_are_read_and_ordered_once_for_several_imports(is_shared: bool) -> None:
    file = opened()
    if is_shared:
        file.is_shared = True
    arrays = (np.arange(n, dtype=np.float32).reshape(2, -1) for n in (1022, 1024))
    small, large = (own(numpy_helper.from_array(array, "w")) for array in arrays)
    assert (file.array(large)[0] is file.array(large)[0]) == is_shared
    for proto, is_kept in ((small, False), (large, is_shared)):
        turned = [file.order(file.array(proto)[0].T) for _ in range(2)]
        assert (turned[0] is turned[1]) == is_kept
        assert turned[0].flags.c_contiguous
        assert turned[0].tolist() == file.array(proto)[0].T.tolist()
    plain = np.arange(4096.0)
    assert file.order(plain) is plain


@pytest.mark.parametrize(
    ("opsets", "known"),
    [
        ([("", 17)], {"": 17}),
        ([("ai.onnx", 13), ("mine", 2)], {"": 13, "mine": 2}),
        ([("mine", 2)], {"mine": 2, "": 1000}),
        ([("", 6)], {"": 6}),
    ],
)
def test_opsets_of_a_file(opsets: Any, known: dict[str, int]) -> None:
    assert opened(opsets=opsets).opsets == known


def test_inputs_and_what_a_file_lacks(tmp_path: Path) -> None:
    weight = numpy_helper.from_array(np.zeros(2, np.float32), "w")
    assert [each.name for each in opened(weight).inputs] == ["x"]
    with pytest.raises(BadDataError, match="the model has no outputs"):
        opened(outputs=())
    with pytest.raises(BadDataError, match="it is of opset 5; files are read from opset 6 on"):
        opened(opsets=[("", 5)])
    with pytest.raises(BadDataError, match="it has no graph"):
        File(Memory.from_array(np.frombuffer(onnx.ModelProto(ir_version=8).SerializeToString(), np.uint8)), "m.onnx")
    with pytest.raises(BadDataError, match="w lies in the file 'weights.bin': load the model by its path"):
        opened(path=str(tmp_path / "none.onnx")).array(own(external(tmp_path, (math.prod([2, 5]),))))
