"""The table of how far quantized models are off: its rows, and what counts as off."""

from nnapi import Builder, Device, Model, device, tensor
from nnapi.drivers.faulty import Fault, Faulty
from nnapi.runtime.choice.judge import Distance
from nnapi.testing.divergence import Closeness, Step
from tools.webgpu_steps import Row, compare, count_steps, list_wrong

REFERENCE = device("nnapi-reference")


def make_model() -> Model:
    net = Builder("codes")
    x = net.input(tensor("quant8_asymm", (1, 4), 0.5, 3))
    net.output(net.relu(net.add(x, x, scale=1.0)))
    return net.finish()


def make_step(verdict: Closeness, codes: float | None, in_codes: bool = True) -> Step:
    alone = None if codes is None else Distance(codes, in_codes, None)
    return Step(0, "ADD", ("y",), verdict, "", alone, alone)


def test_each_operation_is_counted_once() -> None:
    steps = [
        make_step(Closeness.SAME, 0),
        make_step(Closeness.NEAR, 1),
        make_step(Closeness.NEAR, 2),
        make_step(Closeness.NEAR, 0.3, in_codes=False),
        make_step(Closeness.DIFFERS, None),
        make_step(Closeness.REFUSED, None),
        make_step(Closeness.NEAR, 1),
    ]
    row = count_steps("model", steps)
    assert row == Row("model", same=1, near=3, wrong=2, refused=1, whole=1)
    assert str(row) == "| `model` | 7 | 1 | 3 | 2 | 1 | 1 |"


def test_what_computes_the_same_is_the_same() -> None:
    assert count_steps("codes", compare(make_model(), REFERENCE)) == Row("codes", 2, 0, 0, 0, 0)


def test_an_operation_that_is_wrong_is_named() -> None:
    model = make_model()
    tried = Device(Faulty(REFERENCE.driver, Fault.WRONG, operation=model.operations[1].code))
    steps = compare(model, tried)
    assert [step.number for step in list_wrong(steps)] == [1]
    assert count_steps("codes", steps)[1:5] == (1, 0, 1, 0)
