"""The table of ONNX's operators, against the library's definitions."""

import pytest

from nnapi.importers.onnx.schemas import find_schema, newest_opset


def test_operators_by_opset() -> None:
    found = find_schema("Gemm", 12, "")
    assert found is not None
    assert (found.since_version, found.keeps, found.has_function) == (11, (True, True, True), False)
    assert found.defaults == {"alpha": 1.0, "beta": 1.0, "transA": 0, "transB": 0}
    clip = find_schema("Clip", newest_opset(), "")
    assert clip is not None
    assert clip.has_function
    assert find_schema("Clip", 0, "") is None
    assert find_schema("Gemm", 13, "com.microsoft") is None
    assert find_schema("Scaler", 3, "ai.onnx.ml") is not None


def test_the_table_is_the_library_s() -> None:
    pytest.importorskip("onnx", reason="onnx is not installed")
    from onnx import defs

    from tools.onnx_schemas import describe

    for schema in defs.get_all_schemas_with_history():
        if schema.since_version <= newest_opset() and "preview" not in schema.domain:
            found = find_schema(schema.name, schema.since_version, schema.domain)
            assert found is not None, schema.name
            *_, keeps, function, _ = describe(schema).split(" ", 5)
            assert tuple(each == "1" for each in keeps.strip("-")) == found.keeps, schema.name
            assert found.since_version == schema.since_version
            assert found.has_function == (function == "f"), schema.name
