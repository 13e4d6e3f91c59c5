"""Assignment of sections to layers and phases. Each case is one that Android's documentation lists."""

import math

import pytest

from nnapi.trace.labels import Layer, Phase
from nnapi.trace.statistics import TOTAL, Statistics
from tests.trace.trace_cases import report

A, R, IPC, D, C = Layer.APPLICATION, Layer.RUNTIME, Layer.IPC, Layer.DRIVER, Layer.CPU


def statistics(text: str) -> Statistics:
    (run,) = report(text).runs
    assert not [note for note in run.notes if "rules" in note]
    return run.statistics


def ms(times: object) -> object:
    return pytest.approx(times, abs=1e-6)


def test_one_section() -> None:
    found = statistics("1 1 B [NN_LR_PP]f\n3 1 E")
    assert found.times[Phase.PREPARATION][R] == ms(2000)
    assert found.self_times[Phase.PREPARATION][R] == ms(2000)
    assert found.times[Phase.OVERALL][R] == ms(2000)
    assert found.times[Phase.PREPARATION][TOTAL] == ms(2000)
    assert math.isnan(found.times[Phase.PREPARATION][A])


def test_call_of_another_layer() -> None:
    found = statistics("1 1 B [NN_LA_PP]f\n2 1 B [NN_LR_PP]g\n4 1 E\n8 1 E")
    assert found.times[Phase.PREPARATION][A] == ms(7000)
    assert found.times[Phase.PREPARATION][R] == ms(2000)
    assert found.self_times[Phase.PREPARATION][A] == ms(5000)


def test_switch_of_phase() -> None:
    found = statistics("1 1 B [NN_LC_PTR]f\n2 1 B [SW][NN_LC_PCO]f\n5 1 E\n9 1 E")
    assert found.times[Phase.TRANSFORMATION][C] == ms(1000)
    assert found.times[Phase.COMPUTATION][C] == ms(3000)
    assert found.times[Phase.EXECUTION][C] == ms(4000)


def test_parts_of_an_execution() -> None:
    found = statistics("1 1 B [NN_LR_PE]f\n2 1 B [NN_LC_PCO]g\n3 1 B [NN_LC_PCO]h\n4 1 E\n6 1 E\n9 1 E")
    assert found.times[Phase.COMPUTATION][C] == ms(4000)
    assert found.times[Phase.EXECUTION][C] == ms(4000)
    assert found.times[Phase.EXECUTION][R] == ms(8000)
    assert found.self_times[Phase.EXECUTION][R] == ms(4000)


def test_parts_in_a_section_of_the_execution_are_not_counted_twice() -> None:
    found = statistics("1 1 B [NN_LA_PE]f\n2 1 B [NN_LA_PR]g\n3 1 E\n9 1 E")
    assert found.times[Phase.EXECUTION][A] == ms(8000)
    assert found.times[Phase.RESULTS][A] == ms(1000)


def test_details() -> None:
    found = statistics("1 1 B [NN_LR_PE]f\n2 1 B [NN_LR_PE]g\n3 1 E\n9 1 E")
    assert found.times[Phase.EXECUTION][R] == ms(8000)


def test_call_of_a_driver() -> None:
    found = statistics(
        """
        1 1 B [NN_LR_PC]f
        2 1 B [NN_LI_PI]getCapabilities
        3 1 B HIDL::IDevice::getCapabilities::client
        4 1 E
        6 1 E
        9 1 E
        """
    )
    assert found.times[Phase.COMPILATION][R] == ms(4000)
    assert found.times[Phase.INITIALIZATION][IPC] == ms(4000)


def test_preparation_in_another_process() -> None:
    found = statistics(
        """
        1 1 B [NN_LI_PC]prepareModel
        2 1 B HIDL::IDevice::prepareModel_1_1::client
        3 2/2 B HIDL::IDevice::prepareModel_1_1::server
        4 2 B [NN_LD_PC]prepareModel
        5 2 B HIDL::IPreparedModelCallback::notify::client
        6 2 E
        7 2 E
        8 2 E
        9 1 B HIDL::IPreparedModelCallback::notify::server
        10 1 E
        11 1 E
        12 1 E
        """
    )
    assert found.times[Phase.COMPILATION][IPC] == ms(11000)
    assert found.times[Phase.COMPILATION][D] == ms(5000)


def test_execution_in_a_driver_ends_with_its_callback() -> None:
    found = statistics(
        """
        1 2/2 B HIDL::IDevice::prepareModel::server
        2 2 E
        3 2 B HIDL::IPreparedModel::execute::server
        4 2 E
        9 3/2 B HIDL::IExecutionCallback::notify::client
        10 3 E
        11 3 B [NN_LC_PE]also
        12 3 E
        """
    )
    assert found.times[Phase.EXECUTION][D] == ms(6000)
    assert found.times[Phase.EXECUTION][C] == 0


@pytest.mark.parametrize("depth", [0, 1])
def test_subtraction(depth: int) -> None:
    inner = "1.5 1 B [NN_LI_PC]detail\n" * depth
    found = statistics(f"1 1 B [NN_LI_PC]f\n{inner}2 1 B [SUB][NN_LR_PC]g\n5 1 E\n" + "6 1 E\n" * depth + "9 1 E")
    assert found.times[Phase.COMPILATION][IPC] == ms(5000)
    assert found.times[Phase.COMPILATION][R] == ms(3000)


def test_initialization_is_taken_out() -> None:
    found = statistics("1 1 B [NN_LR_PP]f\n2 1 B [NN_LR_PI]g\n4 1 E\n9 1 E")
    assert found.times[Phase.INITIALIZATION][R] == ms(2000)
    assert found.times[Phase.PREPARATION][R] == ms(6000)


def test_utilities_count_as_their_caller() -> None:
    found = statistics("1 1 B [NN_LR_PP]f\n2 1 B [NN_LU_PU]g\n4 1 E\n9 1 E")
    assert found.times[Phase.PREPARATION][R] == ms(8000)


def test_phase_that_the_application_does_not_mark() -> None:
    found = statistics("1 1 B [NN_LA_PC]f\n2 1 B [NN_LR_PC]g\n3 1 E\n4 1 B [NN_LR_PT]h\n7 1 E\n9 1 E")
    assert found.times[Phase.COMPILATION][A] == ms(5000)
    assert found.times[Phase.TERMINATION][R] == ms(3000)


def test_asynchronous_executions() -> None:
    found = statistics(
        """
        1 1 B [NN_LR_PE]ANeuralNetworksExecution_create
        2 1 E
        3 1 B [NN_LR_PE]ANeuralNetworksExecution_startCompute
        4 1 E
        7 1 B [NN_LR_PE]ANeuralNetworksEvent_wait
        10 1 E
        """
    )
    assert found.times[Phase.EXECUTION][R] == ms(8000)
    assert found.executions[Phase.OVERALL] == 1


def test_synchronous_executions() -> None:
    found = statistics("1 1 B [NN_LR_PE]ANeuralNetworksExecution_compute\n2 1 B [NN_LC_PE]x\n6 1 E\n9 1 E")
    assert found.times[Phase.EXECUTION][R] == ms(8000)
    assert found.self_times[Phase.EXECUTION][R] == ms(4000)


def test_only_the_application_ends_a_warm_up() -> None:
    found = statistics("1 1 B [NN_LA_PWU]w\n2 1 B [NN_LR_PWU]r\n3 1 E\n4 1 B [NN_LA_PE]x\n5 1 E\n6 1 E")
    assert found.executions == {Phase.OVERALL: 0, Phase.WARM_UP: 1, Phase.BENCHMARK: 0}


def test_warm_up_and_benchmark() -> None:
    found = statistics(
        """
        1 1 B [NN_LA_PWU]w
        2 1 B [NN_LR_PE]ANeuralNetworksExecution_create
        4 1 E
        5 1 E
        6 1 B [NN_LA_PBM]b
        7 1 B [NN_LR_PE]ANeuralNetworksExecution_create
        8 1 E
        9 1 E
        """
    )
    assert found.times[Phase.EXECUTION][R] == ms(3000)
    assert found.cases[Phase.WARM_UP][0][Phase.EXECUTION][R] == ms(2000)
    assert found.cases[Phase.BENCHMARK][0][Phase.EXECUTION][R] == ms(1000)
    assert found.executions == {Phase.OVERALL: 0, Phase.WARM_UP: 1, Phase.BENCHMARK: 1}


def test_case_ends_with_its_section() -> None:
    found = statistics("1 1 B [NN_LA_PBM]b\n2 1 B [NN_LA_PE]x\n3 1 E\n4 1 E\n5 1 B [NN_LA_PE]x\n9 1 E")
    assert found.executions == {Phase.OVERALL: 1, Phase.WARM_UP: 0, Phase.BENCHMARK: 1}
    assert found.times[Phase.EXECUTION][A] == ms(5000)


def test_sections_of_others_are_seen_through() -> None:
    found = statistics("1 1 B [NN_LA_PE]f\n2 1 B draw\n3 1 B [NN_LR_PP]g\n5 1 E\n6 1 E\n9 1 E".replace("_PP", "_PCO"))
    assert found.times[Phase.COMPUTATION][R] == ms(2000)
    assert found.self_times[Phase.EXECUTION][A] == ms(6000)


def test_drivers_that_were_only_asked() -> None:
    """The time on the CPU is no part of the driver's, which only said what it can do."""
    found = statistics(
        """
        1 2/2 B HIDL::IDevice::getCapabilities::server
        2 2 E
        1 1 B [NN_LI_PI]getCapabilities
        4 1 E
        5 1 B [NN_LC_PCO]conv
        9 1 E
        """
    )
    assert found.self_times[Phase.OVERALL][D] == ms(1000)
    assert found.self_times[Phase.OVERALL][IPC] == ms(2000)
