"""Plans that an earlier process has chosen: their drift, at first and later."""

from nnapi.runtime.choice import tuner
from nnapi.runtime.choice.schedule import Stage
from tests.runtime.choice.trial_cases import Machine


def test_a_plan_that_drifted_since_an_earlier_process_is_tried_again(machine: Machine) -> None:
    first = machine.compile()
    machine.begin(first)
    machine.use(first)
    same = machine.compile()
    machine.use(same, 9)
    assert same.need_active().observer is not None
    machine.use(same, 2)
    assert same.need_active().observer is None
    assert machine.trial(same).stage is Stage.OVER
    machine.second.seconds = 3e-3
    pinned = machine.compile()
    pinned.pin()
    machine.use(pinned, 100)
    assert pinned.plan.devices == ("second",)
    drifted = machine.compile()
    assert drifted.plan.devices == ("second",)
    machine.use(drifted, 11)
    machine.clock.now += 1
    machine.use(drifted, 100)
    assert drifted.plan.devices == ("first",)


def test_a_plan_of_an_earlier_process_that_drifts_much_later_is_tried_again(machine: Machine) -> None:
    first = machine.compile()
    machine.begin(first)
    machine.use(first)
    again = machine.compile()
    machine.use(again, 20)
    machine.second.seconds = 3e-3
    for _ in range(2):
        machine.clock.now += tuner.WATCH + 1
        machine.use(again, 100)
    assert again.plan.devices == ("first",)
    assert [pair[0]() for pair in tuner.TUNER._trials].count(machine.trial(again)) == 1
