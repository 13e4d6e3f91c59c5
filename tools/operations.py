"""Write the page of operations from their declarations: types, feature levels, ranks, defaults, quantization.

python -m tools.operations > docs/operations.md
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

from nnapi.codes import OperandCode, OperationCode, ResultCode
from nnapi.errors import OpFailedError
from nnapi.lowering.decomposition_builder import RULES as DECOMPOSITIONS
from nnapi.model.builder_signatures import find_summary
from nnapi.model.operand import type_name
from nnapi.model.operation import REGISTRY, Operation, Overload
from nnapi.model.parameter import (
    REQUIRED,
    ActivationParameter,
    AnyParameter,
    LayoutParameter,
    Levels,
    ModelParameter,
    Parameter,
    Ranks,
    Several,
    Slot,
    TensorParameter,
    Unless,
)
from nnapi.operation_codes import COMPOSITE_CODES, CompositeCode

INTRODUCTION = """\
# Operations

<!-- Written by `python -m tools.operations`; a test compares this page with the declarations. -->

This page lists the inputs and outputs of NNAPI's {count} operations.

- **Levels.** A level is a feature level of NNAPI. FLOAT16 (3) means that the operation accepts FLOAT16 from level 3 on.
  A call needs the highest level of its types and ranks.
- **Types.** Type names omit `TENSOR_`. "beside `x`: A → B" means that the operand has type B if `x` has type A. The
  level of B is omitted if it is not above the level of A.
- **Kinds.** An image is a tensor in NHWC order, or in NCHW order if the input `layout` is true.
- **Ranks.** An empty cell sets no limit. nnapi checks a rank when the operation is added to a model. It checks a rank
  marked *late* only when the operation is computed. Ranks marked *beyond* are not NNAPI's: only models of the Builder
  and of importers may have them. Drivers that list the extension `nnapi.composites` compute them. The C API, other
  drivers and exports refuse them.
- **Inputs (7 or 8)** is the permitted number of inputs. Inputs with a default may be left out at the end of the list.
  An input that *may be omitted* keeps its position in the list, without a value.

For each operation, the first table lists the input that accepts the most types, and the lowest level that accepts each
type. [Another page](accepted.md) lists how many of the conformance examples each engine accepts.
"""


COMPOSITES = """\
# Composite operations

<!-- Written by `python -m tools.operations composites`; a test compares this page with the declarations. -->

Files contain operations that NNAPI lacks, such as GELU. nnapi has {count} of them as operations of its own, in the
extension `nnapi.composites`. They are declared as [NNAPI's operations](operations.md) are, and that page explains the
tables below.

- **Devices.** `nnapi-reference` computes all of them. A CPU engine computes one whole if it has such an operator, else
  as the operations of NNAPI that replace it. Other devices see only these operations: devices of other libraries,
  delegates, simulated devices, and drivers that do not list the extension.
- **Plans.** If no engine takes an operation, it is replaced before the model is divided among the devices.
- **Files.** An exported file has the format's own operator, or the operations of NNAPI.
- **Use.** Importers make these operations, and so can a program: `builder.gelu(x, approximate=False)`. A program in C
  uses the name of the extension and the code below.
"""


def page(operations: Iterable[Operation], introduction: str = INTRODUCTION) -> str:
    """Return the page as Markdown."""
    ordered = sorted(operations, key=lambda operation: operation.name)
    sections = [section(operation) for operation in ordered]
    return "\n".join([introduction.format(count=len(ordered)), overview(ordered), *sections])


def composites_page() -> str:
    return page([REGISTRY[code] for code in CompositeCode], COMPOSITES)


def operations_page() -> str:
    return page([REGISTRY[code] for code in OperationCode])


def overview(operations: Iterable[Operation]) -> str:
    """Return a table with a row for each operation and a column for each type, the most frequent types first."""
    leaders = {operation: find_leader(operation) for operation in operations}
    uses = Counter(_column(code) for leader in leaders.values() for code in _own_types(leader))
    columns = sorted(uses, key=lambda code: (-uses[code], code))
    rows = []
    for operation, leader in leaders.items():
        levels = {_column(code): str(level) for code, level in _own_types(leader).items()}
        link = f"[{operation.name}](#{operation.name.lower()})"
        rows.append([link, str(level_of(operation)), leader.name, *(levels.get(code, "") for code in columns)])
    return _table(["operation", "level", "input", *map(_short, columns)], rows)


def section(operation: Operation) -> str:
    """Return the section of one operation."""
    summary = f"Operation code {int(operation.code)}, from level {level_of(operation)} on."
    if operation.code in COMPOSITE_CODES:
        is_replaced = DECOMPOSITIONS.find(operation.code) is not None
        meaning = find_summary(operation).partition(": ")[2]
        summary = f"{meaning[:1].upper()}{meaning[1:]}\n\nCode {operation.code & 0xFFFF} of the extension. "
        summary += f"Operations of NNAPI can{'' if is_replaced else 'not'} replace it."
    if operation.zero_sized:
        summary += " Accepts inputs without elements."
    failure = (operation.failure or OpFailedError).code
    if failure != ResultCode.OP_FAILED:
        summary += f" Returns {failure.name} if a required input is omitted or has no elements."
    parts = [f"## {operation.name}\n", f"{summary}\n"]
    notes = [function.__doc__ for function in operation.checks if function.__doc__]
    parts += ["".join(f"- {note.splitlines()[0]}\n" for note in notes)] if notes else []
    for form in operation.overloads:
        title = "Inputs" if len(operation.overloads) == 1 else f"Inputs, {form.name.replace('_', ' ')}"
        parts += [f"**{title}**{_numbers(form)}\n", _inputs(operation, form)]
    return "\n".join([*parts, f"**Outputs**{_output_numbers(operation)}\n", _outputs(operation)])


def level_of(operation: Operation) -> int:
    """Return the lowest feature level of any call."""
    return min(
        max(min(_possible(_parameter(slot), operation).values(), default=1) for slot in form.inputs if _is_needed(slot))
        for form in operation.overloads
    )


def find_leader(operation: Operation) -> Parameter:
    """Return the input that accepts the most types; among equals, the first tensor."""
    inputs = [_parameter(slot) for form in operation.overloads for slot in form.inputs]
    values = [parameter for parameter in inputs if not isinstance(parameter, ModelParameter)]
    return max(values, key=lambda parameter: (len(_own_types(parameter)), isinstance(parameter, TensorParameter)))


def _inputs(operation: Operation, form: Overload) -> str:
    rows = []
    for slot in form.inputs:
        parameter = _parameter(slot)
        rows.append([_name(slot), _kind(parameter), _types(parameter, operation), _rank(parameter), _default(slot)])
    return _table(["input", "kind", "types", "rank", "default"], rows)


def _outputs(operation: Operation) -> str:
    rows = []
    for slot in operation.outputs:
        parameter = _parameter(slot)
        cells = [_kind(parameter), _types(parameter, operation), _quantization(parameter, operation)]
        rows.append([_name(slot), *cells])
    return _table(["output", "kind", "types", "scale and zero point"], rows)


# Cells


def _name(slot: Slot) -> str:
    return f"`{slot.name}` … (at least {slot.least})" if isinstance(slot, Several) else f"`{slot.name}`"


def _kind(parameter: Parameter) -> str:
    if isinstance(parameter, ActivationParameter):
        return "FuseCode"
    if isinstance(parameter, LayoutParameter):
        return "layout, true is NCHW"
    if isinstance(parameter, AnyParameter):
        return "any"
    if isinstance(parameter, TensorParameter):
        return "image" if parameter.image else "tensor"
    return "model" if isinstance(parameter, ModelParameter) else "scalar"


def _types(parameter: Parameter, operation: Operation) -> str:
    if isinstance(parameter, AnyParameter):
        return f"any ({parameter.since})"
    if parameter.like is None:
        text = ", ".join(f"{_short(code)} ({level})" for code, level in _own_types(parameter).items())
    elif parameter.via is None:
        lowest = min(_possible(_leader(parameter, operation), operation).values(), default=1)
        text = f"that of `{parameter.like}`" + (f" ({parameter.since})" if parameter.since > lowest else "")
    else:
        text = f"beside `{parameter.like}`: " + "; ".join(_pair_types(parameter, operation))
    along = parameter.channel if isinstance(parameter, TensorParameter) else None
    return text if along is None else f"{text}; scales per channel lie along dimension {along}"


def _pair_types(parameter: Parameter, operation: Operation) -> Iterator[str]:
    """Yield the types for each type of the leader, as in ``QUANT8_ASYMM, QUANT8_ASYMM_SIGNED → INT32``."""
    groups: dict[str, list[str]] = {}
    for leader, needed in _possible(_leader(parameter, operation), operation).items():
        accepted = parameter.accepts({parameter.like or "": leader})
        names = (_short(code) + (f" ({level})" if level > needed else "") for code, level in accepted.items())
        groups.setdefault(" or ".join(names), []).append(_short(leader))
    return (f"{', '.join(leaders)} → {text}" for text, leaders in groups.items())


def _rank(parameter: Parameter) -> str:
    if not isinstance(parameter, TensorParameter) or parameter.rank is None:
        return ""
    high = f", *beyond* {_ranks(parameter.high)}" if parameter.high else ""
    return _ranks(parameter.rank) + high + (", *late*" if parameter.late_rank else "")


def _ranks(ranks: Ranks) -> str:
    if isinstance(ranks, int):
        return str(ranks)
    if not isinstance(ranks, Mapping):
        ordered = sorted(ranks or ())
        is_range = len(ordered) > 2 and ordered == list(range(ordered[0], ordered[-1] + 1))
        return f"{ordered[0]} to {ordered[-1]}" if is_range else _join(ordered)
    known: set[int] = set()
    parts = []
    for level in sorted(ranks):
        added = _ranks(tuple(rank for rank in ranks[level] if rank not in known))
        parts.append(f"{added} ({level})" if known else added)
        known |= set(ranks[level])
    return "; ".join(parts)


def _default(slot: Slot) -> str:
    if isinstance(slot, Several):
        return ""
    words = []
    if slot.default is not REQUIRED:
        words.append("no value" if slot.default is None else str(slot.default).lower())
    if slot.optional:
        words.append("may be omitted")
    return "; ".join(words)


def _quantization(parameter: Parameter, operation: Operation) -> str:
    if not isinstance(parameter, TensorParameter) or isinstance(parameter, AnyParameter):
        return ""
    if isinstance(parameter.quant, str):
        return f"those of `{parameter.quant}`"
    if isinstance(parameter.quant, Unless):
        return f"any; those of `{parameter.quant.input}` by default"
    if parameter.quant:
        return "; ".join(
            f"{_short(code)}: {Fraction(scale)} and {zero}" for code, (scale, zero) in parameter.quant.items()
        )
    return "any" if any("QUANT" in type_name(code) for code in _possible(parameter, operation)) else ""


def _numbers(form: Overload) -> str:
    return "" if form.is_variadic else f" ({_join(form.legal_lengths)})"


def _output_numbers(operation: Operation) -> str:
    lengths = sorted(operation.output_lengths.items())
    levels = sorted({level for _, level in lengths})
    parts = [
        f"{_join([number for number, since in lengths if since == level])} from level {level} on" for level in levels
    ]
    return f" ({', '.join(parts)})" if parts else ""


def _join(numbers: Sequence[int]) -> str:
    *others, last = map(str, sorted(numbers))
    return f"{', '.join(others)} or {last}" if others else last


def _short(code: int) -> str:
    return type_name(code).removeprefix("TENSOR_")


def _column(code: int) -> int:
    """Return the tensor type with the name of a scalar type, because both share a column."""
    return OperandCode.__members__.get(f"TENSOR_{type_name(code)}", OperandCode(code))


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


# Parameters


def _parameter(slot: Slot) -> Parameter:
    return slot.parameter if isinstance(slot, Several) else slot


def _leader(parameter: Parameter, operation: Operation) -> Parameter:
    """Return the parameter that determines the types of another one."""
    slots = [slot for form in operation.overloads for slot in form.inputs] + list(operation.outputs)
    return next(_parameter(slot) for slot in slots if slot.name == parameter.like)


def _is_needed(slot: Slot) -> bool:
    return isinstance(slot, Several) or slot.default is REQUIRED


def _own_types(parameter: Parameter) -> Levels:
    """Return the types that a parameter accepts independently of others, with the feature level of each."""
    if isinstance(parameter, AnyParameter):
        return {code: parameter.since for code in OperandCode if code.name.startswith("TENSOR_")}
    return {} if parameter.like else {code: max(level, parameter.since) for code, level in parameter.types.items()}


def _possible(parameter: Parameter, operation: Operation) -> Levels:
    """Return every type that a parameter can have, with the feature level that it and its leader's type need."""
    if parameter.like is None:
        return _own_types(parameter)
    found: dict[int, int] = {}
    for leader, needed in _possible(_leader(parameter, operation), operation).items():
        for code, own in parameter.accepts({parameter.like: leader}).items():
            level = max(own, needed, parameter.since)
            found[code] = min(level, found.get(code, level))
    return found


if __name__ == "__main__":
    print(composites_page() if sys.argv[1:] == ["composites"] else operations_page(), end="")
