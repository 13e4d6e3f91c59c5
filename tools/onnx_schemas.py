"""Print the table of ONNX's operators that the importer reads.

    python -m tools.onnx_schemas > src/nnapi/importers/onnx/schemas.txt

The first line is the newest opset. Each other line has the domain (``-`` for ONNX's own), operator, opset, for each
input whether its type is that of the first output, ``f`` if ONNX defines the operator as a function, and the defaults
of attributes.
"""

import json
from typing import Any

from onnx import defs, helper


def describe(schema: Any) -> str:
    outputs = [each.type_str for each in schema.outputs[:1]]
    keeps = "".join("01"[each.type_str in outputs] for each in schema.inputs)
    function = "f" if schema.has_function or schema.has_context_dependent_function else "-"
    values = {name: each.default_value for name, each in sorted(schema.attributes.items())}
    defaults = {name: _value(each) for name, each in values.items() if each.type}
    text = json.dumps(defaults, separators=(",", ":"))
    return f"{schema.domain or '-'} {schema.name} {schema.since_version} {keeps or '-'} {function} {text}"


def _value(attribute: Any) -> Any:
    value = helper.get_attribute_value(attribute)
    if isinstance(value, list):
        return [each.decode() if isinstance(each, bytes) else each for each in value]
    return value.decode() if isinstance(value, bytes) else value


def list_table() -> list[str]:
    return [str(defs.onnx_opset_version()), *sorted(map(describe, defs.get_all_schemas_with_history()))]


if __name__ == "__main__":
    print("\n".join(list_table()))
