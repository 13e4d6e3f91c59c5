"""Which applications a service refuses, and why."""

import os
from dataclasses import dataclass

import pytest

from nnapi.drivers.isolated.admission import find_obstacle
from nnapi.drivers.isolated.service import APPLICATIONS
from tests.drivers.isolated.rule_cases import CLIENT, STRANGER


@dataclass
class Caller:
    process: int = CLIENT
    user: int = STRANGER


@pytest.mark.parametrize(
    ("applications", "own", "others", "reason"),
    [
        (8, 0, 0, ""),
        (8, 1, 6, ""),
        (8, 2, 0, "process 4711 has 2 connections, one process may have 2"),
        (8, 1, 7, "the service has 8 applications, as many as it may have at a time (nnapi serve --applications)"),
        (8, 2, 7, "the service has 9 applications, as many as it may have at a time (nnapi serve --applications)"),
        (3, 0, 2, ""),
        (3, 1, 1, "process 4711 has 1 connections, one process may have 1"),
        (11, 1, 0, ""),
        (11, 2, 0, "process 4711 has 2 connections, one process may have 2"),
    ],
)
def test_one_process_may_have_a_fourth_of_the_connections(
    applications: int, own: int, others: int, reason: str
) -> None:
    admitted = [Caller(process=(1, 9999)[number % 2], user=STRANGER + 1) for number in range(others)]
    assert find_obstacle(Caller(), [Caller()] * own + admitted, applications) == reason


@pytest.mark.parametrize(
    ("applications", "own", "others", "user", "reason"),
    [
        (8, 5, 0, STRANGER, ""),
        (8, 6, 0, STRANGER, "user 1234 has 6 connections, one user may have 6"),
        (8, 5, 2, STRANGER, ""),
        (1, 0, 0, STRANGER, ""),
        (8, 7, 0, 0, ""),
        (8, 7, 0, os.geteuid(), ""),
    ],
)
def test_one_user_may_have_three_fourths_of_the_connections(
    applications: int, own: int, others: int, user: int, reason: str
) -> None:
    """Except root and the service's own user, who can end the service anyway. Each process has one connection."""
    admitted = [Caller(number, user if number < own else 4321) for number in range(own + others)]
    assert find_obstacle(Caller(user=user), admitted, applications) == reason


def test_a_service_has_sixty_four_applications() -> None:
    others = [Caller(1, 1)] * 126
    assert find_obstacle(Caller(), others[:63], APPLICATIONS) == ""
    assert "the service has 126 applications" in find_obstacle(Caller(), others, APPLICATIONS)
    assert "the service has 64 applications" in find_obstacle(Caller(), others[:64], APPLICATIONS)
