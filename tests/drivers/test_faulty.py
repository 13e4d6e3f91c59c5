"""A device that fails on purpose: each fault is what its name says, where and as often as asked."""

from types import SimpleNamespace

import numpy as np
import pytest

from nnapi import Builder, Device, Model, OperationCode, compile, device, tensor
from nnapi.contract.driver import Driver, PrepareOptions, Request
from nnapi.drivers import faulty as faulty_module
from nnapi.drivers.faulty import Fault, Faulty, Phase
from nnapi.drivers.limited import Limited
from nnapi.errors import DeadObjectError, NnapiError, OpFailedError, UnavailableDeviceError

REFERENCE = device("nnapi-reference").driver
GIVEN = np.array([1, -2], np.float32)


def model(*codes: OperationCode) -> Model:
    b = Builder("model")
    x = b.input(tensor("float32", (2,)))
    for code in codes or (OperationCode.ABS,):
        x = getattr(b, code.name.lower())(x)
    b.output(x)
    return b.finish()


def executed(faulty: Faulty, of: Model | None = None) -> list[float]:
    prepared = faulty.prepare(of or model(), PrepareOptions())
    found: list[float] = prepared.execute(Request([GIVEN])).outputs[0].tolist()
    prepared.close()
    return found


def test_it_is_a_driver_like_the_one_inside() -> None:
    faulty = Faulty(REFERENCE, Fault.FAILS)
    assert isinstance(faulty, Driver)
    assert faulty.info == REFERENCE.info
    assert faulty.capabilities() == REFERENCE.capabilities()
    assert list(faulty.verdicts(model())) == list(REFERENCE.verdicts(model()))


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Fault.REFUSES, UnavailableDeviceError),
        (Fault.FAILS, OpFailedError),
        (Fault.LIES, OpFailedError),
        (Fault.DIES, DeadObjectError),
        (Fault.RAISES, ZeroDivisionError),
    ],
)
@pytest.mark.parametrize("phase", Phase)
def test_what_is_raised_and_when(fault: Fault, error: type[Exception], phase: Phase) -> None:
    faulty = Faulty(REFERENCE, fault, phase)
    if phase is Phase.EXECUTE:
        faulty.prepare(model(), PrepareOptions())
    with pytest.raises(error):
        executed(faulty)
    assert faulty.struck == 1


def test_what_has_died_stays_dead() -> None:
    faulty = Faulty(REFERENCE, Fault.DIES)
    prepared = faulty.prepare(model(), PrepareOptions())
    with pytest.raises(DeadObjectError):
        prepared.execute(Request([GIVEN]))
    faulty.rate = 0
    with pytest.raises(DeadObjectError, match="has died"):
        prepared.execute(Request([GIVEN]))
    with pytest.raises(DeadObjectError, match="has died"):
        faulty.prepare(model(), PrepareOptions())


@pytest.mark.parametrize("fault", [Fault.SLOW, Fault.HANGS])
def test_late_answers_are_right(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    released = SimpleNamespace(wait=waits.append)
    monkeypatch.setattr(faulty_module, "time", SimpleNamespace(sleep=waits.append))
    assert executed(Faulty(REFERENCE, fault, seconds=0.03, released=released)) == [1, 2]  # type: ignore[arg-type]
    assert waits == [0.03]


def test_what_hangs_can_be_let_go() -> None:
    faulty = Faulty(REFERENCE, Fault.HANGS, seconds=600)
    faulty.released.set()
    assert executed(faulty) == [1, 2]


def test_wrong_values_have_the_right_type() -> None:
    faulty = Faulty(REFERENCE, Fault.WRONG)
    (found,) = faulty.prepare(model(), PrepareOptions()).execute(Request([GIVEN])).outputs
    assert (found.dtype, found.shape) == (np.float32, (2,))
    assert not np.array_equal(found, [1, 2])


def test_a_liar_claims_everything() -> None:
    refusing = Limited(REFERENCE, "none", lambda _, call: f"{call}: no")
    honest, liar = Faulty(refusing, Fault.FAILS), Faulty(refusing, Fault.LIES, Phase.PREPARE)
    assert [verdict.supported for verdict in honest.verdicts(model())] == [False]
    assert [verdict.supported for verdict in liar.verdicts(model())] == [True]
    with pytest.raises(NnapiError, match="claimed operation #0, but failed to prepare"):
        compile(model(), Device(liar))


def test_a_fault_at_an_operation() -> None:
    faulty = Faulty(REFERENCE, Fault.FAILS, operation=OperationCode.NEG)
    assert executed(faulty) == [1, 2]
    with pytest.raises(OpFailedError):
        executed(faulty, model(OperationCode.ABS, OperationCode.NEG))


def test_a_rate_is_drawn_from_the_seed() -> None:
    def hits(seed: int) -> list[bool]:
        faulty = Faulty(REFERENCE, Fault.WRONG, rate=0.3, seed=seed)
        return [executed(faulty) != [1, 2] for _ in range(60)]

    assert hits(1) == hits(1)
    assert hits(1) != hits(2)
    assert 8 <= sum(hits(1)) <= 28
    assert not any(executed(Faulty(REFERENCE, Fault.WRONG, rate=0)) != [1, 2] for _ in range(5))
