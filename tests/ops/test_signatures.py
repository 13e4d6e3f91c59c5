"""Every declared operation against the table of facts: which argument lists it takes, from which level on."""

import json
import re
from itertools import product
from typing import Any

import numpy as np
import pytest

from nnapi.codes import CONTROL_FLOW, OperandCode, OperationCode
from nnapi.errors import BadDataError
from nnapi.model.model import Model
from nnapi.model.operand import SCALARS, ChannelQuantization, OperandType
from nnapi.model.operation import REGISTRY, Operation
from nnapi.model.parameter import REQUIRED, Several
from tests.rows import each_row

pytestmark = pytest.mark.shared

OPERATIONS = [pytest.param(code, id=code.name) for code in OperationCode if code in REGISTRY]
CALLS = [pytest.param(code, id=code.name) for code in OperationCode if code in REGISTRY and code not in CONTROL_FLOW]
TENSORS = [code for code in OperandCode if code.name.startswith("TENSOR_")]


@pytest.fixture(scope="module")
def facts(shared: Any) -> Any:
    """The table's row of each operation, by name."""
    return {fact["name"]: fact for fact in json.loads((shared / "reference" / "operations.json").read_text())}


# Operand types that fit the table


def rank_of(text: str) -> int:
    """A legal rank, of those that ask for no higher level than others; 0 (unknown) where the table has none."""
    if found := re.fullmatch(r"(\d+)(?:\.\.(\d+))?", text):
        return min(4, int(found[2] or found[1]))
    return {">=1": 2, ">=2": 2}.get(text, 0)


def operand(code: OperandCode, rank: int = 2, channel: int = 0, scale: float = 0.5) -> OperandType:
    """A type of that code. No dimension is known, so that none contradicts another."""
    if code in SCALARS:
        return OperandType(code)
    if code == OperandCode.TENSOR_QUANT8_SYMM_PER_CHANNEL:
        return OperandType(code, (0,) * rank, channel=ChannelQuantization(channel, (0.5, 0.5)))
    return OperandType(code, (0,) * rank, scale if "QUANT" in OperandCode(code).name else 0)


def spread(names: list[Any], count: int) -> list[Any]:
    """The codes of an argument list of ``count``; a list that repeats its first takes up what the others leave."""
    codes = []
    for name in names:
        if isinstance(name, dict):
            codes += [OperandCode[name["repeat"]]] * (count - len(names) + 1)
        else:
            codes.append(OperandCode[name])
    return codes[:count]


def ranks(parameters: list[Any], names: list[Any], count: int) -> list[int]:
    found = []
    for parameter, name in zip(parameters, names, strict=False):
        repeated = count - len(names) + 1 if isinstance(name, dict) else 1
        found += [rank_of(parameter["rank"])] * repeated
    return found[:count]


class Case:
    """One combination of types in one form, with as many inputs as ``count`` and the level that the table gives."""

    def __init__(self, fact: Any, signature: Any, combination: Any, count: Any, outputs: Any = None) -> None:
        self.channel = 3 if fact["name"] == "DEPTHWISE_CONV_2D" else 0
        self.names = spread(combination["inputs"], count)
        self.ranks = ranks(signature["inputs"], combination["inputs"], count)
        results = spread(combination["outputs"], outputs or len(combination["outputs"]))
        self.outputs = [operand(code, 0) for code in results]
        if fact["name"] == "HASHTABLE_LOOKUP":
            self.outputs[1] = operand(results[1], 0, scale=1)
        arity = signature["arity"]
        needed = 1 if arity == "variable" else arity[str(count)]
        self.level = max(needed, combination["feature_level"], signature.get("output_arity", {}).get(str(outputs), 1))

    def inputs(self, codes: Any = None) -> Any:
        return [operand(code, rank, self.channel) for code, rank in zip(codes or self.names, self.ranks, strict=True)]

    def __str__(self) -> Any:
        return f"({', '.join(code.name for code in self.names)}) -> {len(self.outputs)}"


def counts(signature: Any) -> list[int]:
    if signature["arity"] != "variable":
        return [int(count) for count in signature["arity"]]
    fixed, least = len(signature["inputs"]) - 1, signature["type_combinations"][0]
    least = next(name["min"] for name in least["inputs"] if isinstance(name, dict))
    return [fixed + least, fixed + least + 2]


def cases(fact: Any) -> Any:
    """Every argument list of the table."""
    for signature in fact["signatures"]:
        outputs = [int(count) for count in signature.get("output_arity", {})] or [None]
        for combination, count, results in product(signature["type_combinations"], counts(signature), outputs):
            yield signature, Case(fact, signature, combination, count, results)


def refusal(operation: Operation, inputs: list[Any], outputs: list[Any]) -> str | None:
    """The message with which an argument list is refused."""
    try:
        operation.match(inputs, outputs)
    except BadDataError as error:
        return str(error)
    return None


# Argument lists


@each_row("code", CALLS)
def test_every_argument_list_is_taken_at_its_level(code: OperationCode, facts: Any) -> None:
    wrong = []
    for signature, case in cases(facts[code.name]):
        try:
            match = REGISTRY[code].match(case.inputs(), case.outputs)
        except BadDataError as error:
            wrong.append(f"{case} is refused: {error}")
            continue
        if match.level != case.level:
            wrong.append(f"{case} has level {match.level}, not {case.level}: {match.facets}")
        if len(facts[code.name]["signatures"]) > 1 and match.overload.name != signature["id"]:
            wrong.append(f"{case} is taken as {match.overload.name}, not {signature['id']}")
    assert not wrong, "\n".join(wrong)


@each_row("code", CALLS)
def test_a_wrong_type_is_refused_wherever_it_stands(code: OperationCode, facts: Any) -> None:
    fact, operation = facts[code.name], REGISTRY[code]
    listed = {(tuple(case.names), tuple(type.code for type in case.outputs)) for _, case in cases(fact)}
    wrong = []
    for case in {str(case.names): case for _, case in cases(fact)}.values():
        results = tuple(type.code for type in case.outputs)
        for position, other in product(range(len(case.names)), OperandCode):
            names = (*case.names[:position], other, *case.names[position + 1 :])
            if (names, results) in listed:
                continue
            message = refusal(operation, case.inputs(names), case.outputs)
            if not message or not re.search(r"\w+ is \w+, (must be|the first is)", message):
                wrong.append(f"{case} with {other.name} as input {position}: {message}")
        for position, other in product(range(len(results)), TENSORS):
            types = [*case.outputs[:position], operand(other, 0), *case.outputs[position + 1 :]]
            if (tuple(case.names), tuple(type.code for type in types)) in listed:
                continue
            message = refusal(operation, case.inputs(), types)
            if not message or not re.search(r"\w+ is \w+, must be", message):
                wrong.append(f"{case} with {other.name} as output {position}: {message}")
    assert not wrong, "\n".join(wrong[:10])


@each_row("code", CALLS)
def test_a_wrong_number_is_refused(code: OperationCode, facts: Any) -> None:
    fact, operation = facts[code.name], REGISTRY[code]
    legal = {count for signature in fact["signatures"] for count in counts(signature)}
    variable = fact["signatures"][0]["arity"] == "variable"
    _, case = next(cases(fact))
    longest = max((case for _, case in cases(fact)), key=lambda case: len(case.names))
    inputs = [*longest.inputs(), longest.inputs()[-1], longest.inputs()[-1]]
    for count in range(len(inputs) + 1):
        if count not in legal and not (variable and count > min(legal)):
            message = refusal(operation, inputs[:count], longest.outputs)
            assert message, f"{count} inputs are taken"
            numbers = "at least " + str(min(legal)) if variable else " or ".join(map(str, sorted(legal)))
            assert re.fullmatch(rf"takes {numbers} inputs?, got {count}", message), message
    results = {int(count) for count in fact["signatures"][0].get("output_arity", {})} or {len(fact["outputs"])}
    for count in range(max(results) + 2):
        if count not in results and not isinstance(operation.outputs[0], Several):
            message = refusal(operation, case.inputs(), (case.outputs * 9)[:count])
            assert message, f"{count} outputs are taken"


NUMBER = OperandType(OperandCode.TENSOR_FLOAT32, (1,))
TRUTH = OperandType(OperandCode.TENSOR_BOOL8, (1,))
MODEL = OperandType(OperandCode.MODEL)


def of_one_number(code: OperationCode, result: OperandType) -> Model:
    """A model of one operation on a number and itself."""
    model = Model()
    x, y = model.add_operand(NUMBER), model.add_operand(result)
    inputs = [x, x]
    if code == OperationCode.ADD:
        inputs.append(model.add_operand(OperandType(OperandCode.INT32)))
        model.set_operand_value(inputs[2], np.int32(0))
    model.add_operation(code, inputs, [y])
    model.identify_inputs_and_outputs([x], [y])
    model.finish()
    return model


def control_flow(code: OperationCode, models: bool) -> tuple[Any, ...]:
    """The argument list of the table for operations on one number."""
    lead = [TRUTH, MODEL, MODEL] if code == OperationCode.IF else [MODEL, MODEL]
    body = of_one_number(OperationCode.ADD, NUMBER)
    references = [None, body, body] if code == OperationCode.IF else [of_one_number(OperationCode.EQUAL, TRUTH), body]
    return [*lead, NUMBER], [*(references if models else [None] * len(references)), None]


@pytest.mark.parametrize("code", CONTROL_FLOW, ids=lambda code: code.name)
def test_control_flow(code: OperationCode, facts: Any) -> None:
    (signature,) = facts[code.name]["signatures"]
    (combination,) = signature["type_combinations"]
    inputs, references = control_flow(code, models=True)
    names = [name for name in combination["inputs"] if not isinstance(name, dict)]
    assert [type.name for type in inputs[:-1]] == names
    assert REGISTRY[code].match(inputs, [NUMBER], references).level == combination["feature_level"]

    least = len(names) + combination["inputs"][-1]["min"]
    for wrong, outputs, given, message in (
        (inputs[: least - 1], [NUMBER], references, rf"takes at least {least} inputs, got {least - 1}"),
        (inputs, [], references, "takes at least 1 output, got 0"),
        ([NUMBER, *inputs[1:]], [NUMBER], references, r"is TENSOR_FLOAT32, must be (TENSOR_BOOL8|MODEL)"),
        (inputs, [NUMBER], control_flow(code, models=False)[1], "has not been given its model"),
    ):
        with pytest.raises(BadDataError, match=message):
            REGISTRY[code].match(wrong, outputs, given)


CONDITIONS = {
    "CONCATENATION": ("every input has exactly the output scale and zeroPoint; otherwise FL3", "out", 1.0, 0),
    "CONV_2D": ("below FL3 additionally output_scale > input_scale*filter_scale", "out", 0.25, 0),
    "DEPTHWISE_CONV_2D": ("below FL3 additionally output_scale > input_scale*filter_scale", "out", 0.25, 0),
    "FULLY_CONNECTED": ("below FL3 additionally output_scale > input_scale*weights_scale", "out", 0.25, 0),
    "PAD": ("q8 with zeroPoint != 0 needs FL3", "input", 0.5, 3),
    "SPACE_TO_BATCH_ND": ("q8 with zeroPoint != 0 needs FL3", "input", 0.5, 3),
}
"""Conditions in words, and the scale and zero point of an operand that break them."""


def test_all_conditions_in_words_are_known(facts: Any) -> None:
    found = {
        (name, combination["condition"])
        for name, fact in facts.items()
        for signature in fact["signatures"]
        for combination in signature["type_combinations"]
        if "condition" in combination
    }
    assert found == {(name, words) for name, (words, *_) in CONDITIONS.items()}


@pytest.mark.parametrize("name", CONDITIONS)
def test_a_call_that_breaks_the_condition_needs_level_3(name: str, facts: Any) -> None:
    _, which, scale, zero_point = CONDITIONS[name]
    for signature in facts[name]["signatures"]:
        for combination in signature["type_combinations"]:
            if "condition" not in combination:
                continue
            case = Case(facts[name], signature, combination, counts(signature)[0])
            inputs, outputs = case.inputs(), case.outputs
            changed = outputs if which == "out" else inputs
            changed[0] = OperandType(changed[0].code, changed[0].dimensions, scale, zero_point)
            assert REGISTRY[OperationCode[name]].match(inputs, outputs).level == 3


# Ranks


@each_row("code", CALLS)
def test_rank_5_is_refused_when_added_where_the_table_says_so(code: OperationCode, facts: Any) -> None:
    limit = re.compile(r"rank.* rejected when|ranks, .*checked when added")
    limited = any(limit.search(rule) for rule in facts[code.name]["output_rules"])
    _, case = next(cases(facts[code.name]))
    case.ranks[0] = 5
    message = refusal(REGISTRY[code], case.inputs(), case.outputs)
    message = message or REGISTRY[code].match(case.inputs(), case.outputs).beyond  # which only some models permit
    assert bool(message) == limited, message
    assert not message or re.search(r"has rank 5, must have rank [1-4]", message), message


@pytest.mark.parametrize(
    ("name", "levels"),
    [
        ("SOFTMAX", {1: 3, 2: 1, 3: 3, 4: 1}),
        ("L2_NORMALIZATION", {1: 3, 2: 3, 3: 3, 4: 1}),
        ("LOCAL_RESPONSE_NORMALIZATION", {1: 3, 2: 3, 3: 3, 4: 1}),
    ],
)
def test_ranks_that_came_with_level_3(name: str, levels: Any, facts: Any) -> None:
    _, case = next(cases(facts[name]))
    for rank, level in levels.items():
        case.ranks[0] = rank
        assert REGISTRY[OperationCode[name]].match(case.inputs(), case.outputs).level == level, rank


# Quantization of outputs


@each_row("code", CALLS)
def test_quantization_of_outputs(code: OperationCode, facts: Any) -> None:
    operation = REGISTRY[code]
    output = operation.outputs[0].parameter if isinstance(operation.outputs[0], Several) else operation.outputs[0]
    for rule in facts[code.name]["output_rules"]:
        if found := re.match(r"quantized output (?:must have exactly|has) the scale and zeroPoint of input (\d)", rule):
            assert output.quant == operation.overloads[0].inputs[int(found[1])].name  # type: ignore[attr-defined]
        elif found := re.match(r"output scale must be 1/(\d+); zeroPoint (-?\d+) \(q8\) or (-?\d+) \(q8s\)", rule):
            divisor, *zero_points = map(int, found.groups())
            codes = (OperandCode.TENSOR_QUANT8_ASYMM, OperandCode.TENSOR_QUANT8_ASYMM_SIGNED)
            assert output.quant == {  # type: ignore[attr-defined]
                code: (1 / divisor, zero_point) for code, zero_point in zip(codes, zero_points, strict=True)
            }
        elif re.search(r"output scale(/| and )zeroPoint (are )?free", rule):
            assert output.quant is None  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["MUL", "PACK", "MIRROR_PAD", "REVERSE"])
def test_quantization_that_is_refused_when_added(name: str, facts: Any) -> None:
    assert "BAD_DATA" in " ".join(facts[name]["output_rules"])
    quantized = (case for _, case in cases(facts[name]) if case.outputs[0].is_quantized)
    for case in quantized:
        scale = 0.25 if name == "MUL" else 1.0
        outputs = [operand(case.outputs[0].code, 0, scale=scale)]
        assert re.search(r"scale", refusal(REGISTRY[OperationCode[name]], case.inputs(), outputs) or "")


# Names, defaults, omissions


def slots(operation: Operation, signature: Any) -> list[Any]:
    (form,) = (form for form in operation.overloads if len(operation.overloads) == 1 or form.name == signature["id"])
    return [slot.parameter if isinstance(slot, Several) else slot for slot in form.inputs]


@each_row("code", OPERATIONS)
def test_names(code: OperationCode, facts: Any) -> None:
    operation, fact = REGISTRY[code], facts[code.name]
    assert len(operation.overloads) == len(fact["signatures"])
    for signature in fact["signatures"]:
        names = [slot.name for slot in slots(operation, signature)]
        assert names == [parameter["name"] for parameter in signature["inputs"]]
    assert [slot.name for slot in operation.outputs] == [parameter["name"] for parameter in fact["outputs"]]


@each_row("code", OPERATIONS)
def test_defaults(code: OperationCode, facts: Any) -> None:
    meaning = {"false": False, "no layer norm": None}
    for signature in facts[code.name]["signatures"]:
        wanted = {
            parameter["name"]: meaning.get(parameter["default"])
            if parameter["default"] in meaning
            else int(parameter["default"])
            for parameter in signature["inputs"]
            if "default" in parameter
        }
        found = {slot.name: slot.default for slot in slots(REGISTRY[code], signature) if slot.default is not REQUIRED}
        assert found == wanted
        assert [type(found[name]) for name in wanted] == [type(value) for value in wanted.values()]


@each_row("code", OPERATIONS)
def test_what_may_be_omitted(code: OperationCode, facts: Any) -> None:
    for signature in facts[code.name]["signatures"]:
        wanted = {
            parameter["name"]
            for parameter in signature["inputs"]
            if parameter["optional"] and (parameter["kind"] == "tensor" or parameter["optional_kind"] == "no_value")
        }
        assert {slot.name for slot in slots(REGISTRY[code], signature) if slot.optional} == wanted


@each_row("code", CALLS)
def test_kernels_for_every_type(code: OperationCode, facts: Any) -> None:
    for _, case in cases(facts[code.name]):
        first = next((name for name in case.names if name not in SCALARS), case.outputs[0].code)
        assert REGISTRY[code].kernel_for(first)


@each_row("code", CALLS)
def test_zero_sized_inputs_and_the_error_for_omitted_ones(code: OperationCode, facts: Any) -> None:
    operation, reference = REGISTRY[code], facts[code.name]["reference_cpu"]
    if reference["code_if_zero_sized_not_supported"] != "not checked up front":
        assert operation.zero_sized == reference["zero_sized_inputs"]
    assert (operation.failure is BadDataError) == (reference["code_if_required_operand_omitted"] == "BAD_DATA")
