"""The page of operations."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

import nnapi  # noqa: F401 - fills the registry
from nnapi.codes import OperationCode
from nnapi.model.operation import REGISTRY
from nnapi.operation_codes import CompositeCode
from tools.operations import composites_page, level_of, operations_page, overview, section

DOCS = Path(__file__).resolve().parents[2] / "docs"


def rows(text: Any) -> Any:
    """The cells of every table row."""
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in text.splitlines() if line[:1] == "|"]


def test_the_committed_pages_are_up_to_date() -> None:
    assert (DOCS / "operations.md").read_text() == operations_page(), "run: make pages"
    assert (DOCS / "composites.md").read_text() == composites_page(), "run: make pages"


def test_every_operation_has_a_row_and_a_section() -> None:
    codes: type[OperationCode | CompositeCode]
    for text, codes in ((operations_page(), OperationCode), (composites_page(), CompositeCode)):
        check_rows_and_sections(text, sorted(code.name for code in codes))


def check_rows_and_sections(text: str, names: list[str]) -> None:
    assert re.findall(r"^## (\w+)$", text, re.MULTILINE) == names
    assert re.findall(r"^\| \[(\w+)\]\(#(\w+)\)", text, re.MULTILINE) == [(name, name.lower()) for name in names]


def test_overview_of_two() -> None:
    text = overview([REGISTRY[OperationCode.ADD], REGISTRY[OperationCode.DEQUANTIZE]])
    header, _, add, dequantize = rows(text)
    assert header[:4] == ["operation", "level", "input", "QUANT8_ASYMM"]  # the only ones that both take come first
    assert add[:3] == ["[ADD](#add)", "1", "lhs"]
    assert dict(zip(header[3:], add[3:], strict=True)) == {
        "QUANT8_ASYMM": "1",
        "QUANT8_ASYMM_SIGNED": "4",
        "FLOAT32": "1",
        "FLOAT16": "3",
        "INT32": "4",
        "QUANT8_SYMM": "",
        "QUANT8_SYMM_PER_CHANNEL": "",
    }
    assert dict(zip(header[3:], dequantize[3:], strict=True))["QUANT8_SYMM_PER_CHANNEL"] == "3"


def test_section_of_softmax() -> None:
    text = section(REGISTRY[OperationCode.SOFTMAX])
    assert (
        text
        == """\
## SOFTMAX

Operation code 25, from level 1 on. Accepts inputs without elements.

**Inputs** (2 or 3)

| input | kind | types | rank | default |
| --- | --- | --- | --- | --- |
| `input` | tensor | FLOAT32 (1), FLOAT16 (3), QUANT8_ASYMM (1), QUANT8_ASYMM_SIGNED (4) | \
2 or 4; 1 or 3 (3), *beyond* 5 or 6 |  |
| `beta` | scalar | beside `input`: FLOAT32, QUANT8_ASYMM, QUANT8_ASYMM_SIGNED → FLOAT32; FLOAT16 → FLOAT16 |  |  |
| `axis` | scalar | INT32 (3) |  | -1 |

**Outputs**

| output | kind | types | scale and zero point |
| --- | --- | --- | --- |
| `out` | tensor | that of `input` | QUANT8_ASYMM: 1/256 and 0; QUANT8_ASYMM_SIGNED: 1/256 and -128 |
"""
    )


def cells(code: Any, name: Any) -> Any:
    """The row of an input or output."""
    return next(row[1:] for row in rows(section(REGISTRY[code])) if row[0].startswith(f"`{name}`"))


def test_forms_are_told_apart() -> None:
    text = section(REGISTRY[OperationCode.CONV_2D])
    assert "**Inputs, explicit padding** (10, 11 or 13)" in text
    assert "**Inputs, implicit padding** (7, 8 or 10)" in text
    assert text.count("| `filter` |") == 2


def test_types_that_follow_others() -> None:
    filter = cells(OperationCode.CONV_2D, "filter")[1]
    assert filter == (
        "beside `input`: FLOAT32 → FLOAT32; FLOAT16 → FLOAT16; QUANT8_ASYMM → QUANT8_ASYMM or "
        "QUANT8_SYMM_PER_CHANNEL (3); QUANT8_ASYMM_SIGNED → QUANT8_ASYMM_SIGNED or QUANT8_SYMM_PER_CHANNEL; "
        "scales per channel lie along dimension 0"
    )
    assert cells(OperationCode.CONV_2D, "bias")[1].endswith("QUANT8_ASYMM, QUANT8_ASYMM_SIGNED → INT32")
    assert cells(OperationCode.CONV_2D, "bias")[2] == "1, *late*"
    assert cells(OperationCode.LSTM, "cell_layer_norm_weights")[1] == "that of `input` (3)"


def test_defaults_and_omissions() -> None:
    assert cells(OperationCode.CONV_2D, "layout") == ["layout, true is NCHW", "BOOL (3)", "", "false"]
    assert cells(OperationCode.SQUEEZE, "dims")[-1] == "may be omitted"
    assert cells(OperationCode.LSTM, "cell_layer_norm_weights")[-1] == "no value; may be omitted"


def test_lists_models_and_outputs() -> None:
    assert "`inputs` … (at least 1)" in section(REGISTRY[OperationCode.CONCATENATION])
    assert cells(OperationCode.IF, "then_model")[:2] == ["model", "MODEL (4)"]
    assert cells(OperationCode.WHILE, "outputs") == ["any", "any (4)", ""]
    assert "**Outputs** (1 from level 3 on, 2 from level 4 on)" in section(
        REGISTRY[OperationCode.UNIDIRECTIONAL_SEQUENCE_RNN]
    )
    assert cells(OperationCode.ADD, "out")[-1] == "any"
    assert cells(OperationCode.MAX_POOL_2D, "out")[-1] == "those of `input`"
    assert "Returns BAD_DATA" in section(REGISTRY[OperationCode.RESHAPE])


@pytest.mark.shared
def test_overview_agrees_with_the_table_of_facts(shared: Path) -> None:
    facts = {fact["name"]: fact for fact in json.loads((shared / "reference" / "operations.json").read_text())}
    header, _, *body = rows(overview([REGISTRY[code] for code in OperationCode]))
    assert len(body) == len(facts)
    for link, level, leader, *levels in body:
        fact = facts[re.match(r"\[(\w+)\]", link)[1]]
        assert int(level) == fact["feature_level"] == level_of(REGISTRY[fact["code"]])
        parameters = [each for form in fact["signatures"] for each in form["inputs"] if each["name"] == leader]
        wanted = {}  # type: ignore[var-annotated]
        for code, since in (item for parameter in parameters for item in parameter["types"].items()):
            name = code.removeprefix("TENSOR_")
            wanted[name] = str(min(since, int(wanted.get(name, since))))
        found = {name: cell for name, cell in zip(header[3:], levels, strict=True) if cell}
        if fact["name"] not in ("IF", "WHILE"):
            assert found == wanted, link
