"""The sequential test: what it decides, how fast, and how often it is wrong."""

import math

import numpy as np
import pytest

from nnapi.runtime.choice.paired_times import (
    LEAST,
    MOST,
    PRIOR,
    SURE,
    Evidence,
    Standing,
    bayes_factor,
    has_drifted,
    log_ratio,
)


def collect(
    random: np.random.Generator, gain: float, noise: float, margin: float = 1.03, *, is_long: bool = False
) -> tuple[Standing, int]:
    evidence = Evidence()
    while (standing := evidence.judge(margin, is_long=is_long)) is Standing.ON_TRIAL:
        evidence.add(math.exp(random.normal(gain, noise)), 1.0)
    return standing, len(evidence.logs)


def test_the_factor_of_two_values_is_that_of_the_t_test() -> None:
    """Against the integral over the effect, with the variance integrated out by its scale-free prior."""
    values = [0.3, 0.1, 0.4, 0.2]
    deltas = np.linspace(-20, 20, 4001)
    sigmas = np.geomspace(1e-3, 1e2, 4001)
    x = np.array(values)[:, None]

    def marginal(delta: float) -> float:
        density = np.exp(-0.5 * ((x / sigmas - delta) ** 2).sum(0)) / sigmas ** len(values) / sigmas
        return float(((density[1:] + density[:-1]) / 2 * np.diff(sigmas)).sum())

    prior = np.exp(-0.5 * (deltas / PRIOR) ** 2) / (PRIOR * math.sqrt(2 * math.pi))
    step = deltas[1] - deltas[0]
    wanted = sum(p * marginal(d) for p, d in zip(prior, deltas, strict=True)) * step / marginal(0.0)
    assert bayes_factor(values) == pytest.approx(wanted, rel=1e-3)


def test_a_large_difference_is_decided_by_the_fewest_pairs() -> None:
    random = np.random.default_rng(1)
    assert [collect(random, math.log(1.9), 0.01) for _ in range(5)] == [(Standing.FASTER, LEAST)] * 5
    assert [collect(random, math.log(2.2), 0.01) for _ in range(5)] == [(Standing.FASTER, 3)] * 5
    assert collect(random, -math.log(2), 0.01) == (Standing.SLOWER, 3)
    assert collect(random, -math.log(4), 0.01) == (Standing.SLOWER, 2)


def test_a_difference_of_ten_percent_is_found_in_noise_of_five() -> None:
    random = np.random.default_rng(2)
    found = [collect(random, 0.12, 0.05)[0] for _ in range(100)]
    assert found.count(Standing.FASTER) > 60
    assert Standing.SLOWER not in found


@pytest.mark.parametrize("is_long", [False, True])
@pytest.mark.parametrize("noise", [0.02, 0.1, 0.2])
def test_a_plan_that_is_five_percent_slower_does_not_take_over(noise: float, is_long: bool) -> None:
    random = np.random.default_rng(4)
    found = [collect(random, -0.05, noise, is_long=is_long)[0] for _ in range(300)]
    assert found.count(Standing.FASTER) <= 3


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.02, 0.3])
def test_equal_plans_rarely_change_over(noise: float) -> None:
    random = np.random.default_rng(3)
    found = [collect(random, math.log(1.03), noise)[0] for _ in range(500)]
    assert found.count(Standing.FASTER) <= 500 * 2 / SURE + 3


@pytest.mark.parametrize(
    ("logs", "likely"),
    [
        ([0.5, 0.1, 0.6, -0.2, 0.4, 0.2, 0.5, -0.3, 0.3], True),
        ([-0.5, -0.1, -0.6, 0.2, -0.4, -0.2, -0.5, 0.3, -0.3], False),
        ([0.02, 0.21, -0.15, -0.03, 0.12], False),
        ([0.02, 0.03, 0.01, 0.03], False),
        ([0.3, 0.3, 0.3], False),
    ],
)
def test_noisy_pairs_make_it_likely_before_they_make_it_sure(logs: list[float], likely: bool) -> None:
    evidence = Evidence(logs)
    assert evidence.is_likely_faster(1.03) is likely
    assert evidence.judge(1.03) is not Standing.FASTER


def test_outliers_do_not_decide() -> None:
    evidence = Evidence([0.0, 0.01, 0.0, 3.0, 0.01, -0.01])
    assert evidence.log_gain < 0.1
    assert evidence.judge(1.03) is Standing.ON_TRIAL


def test_disturbed_pairs_hide_no_clear_difference() -> None:
    """Logs of a real trial: the first pairs were measured beside other work."""
    logs = [0.68, -0.18, 0.15, 0.13, 0.16, 0.17, 0.15, 0.14, 0.13, 0.15, 0.20, 0.16]
    assert Evidence(logs).judge(1.03) is Standing.FASTER


def test_plans_that_cannot_be_told_apart_are_even_in_the_end() -> None:
    assert Evidence([0.05, 0.0] * (MOST // 2)).judge(1.03) in (Standing.EVEN, Standing.SLOWER)


def test_a_plan_that_is_faster_in_most_of_the_last_pairs_takes_over() -> None:
    """Logs of a real trial, of a transformer."""
    logs = [0.09, 0.65, 0.17, 0.10, 0.20, -0.09, 0.23, 0.08, -0.32, 0.24, -0.33, 0.20, 0.26, 0.18, 0.18, 0.01, 0.36]
    logs += [0.18, 0.09, 0.02, 0.12, 0.18, 0.11, 0.19]
    assert Evidence(logs[:-1]).judge(1.05) is Standing.ON_TRIAL
    assert Evidence(logs).judge(1.05) is Standing.FASTER


def test_it_is_told_in_pairs() -> None:
    assert Evidence([math.log(2), math.log(2), -0.1]).describe().startswith("2 of 3 pairs faster, ")
    assert Evidence([-0.1]).describe() == "0 of 1 pair faster, 0.90×"


@pytest.mark.parametrize(
    ("logs", "mean"),
    [
        ([], 0.0),
        ([0.3], 0.3),
        ([0.0, 0.01, 0.0, 3.0], 0.02875),  # at most 0.1 from the median
        ([0.0, -0.01, 0.0, -3.0], -0.02875),
        ([0.0, 0.1, 0.2, 0.3, 5.0], 0.24),  # at most 4 times the median distance, 0.1
        ([0.0, -0.1, -0.2, -0.3, -5.0], -0.24),
    ],
)
def test_the_mean_is_of_clipped_ratios(logs: list[float], mean: float) -> None:
    assert Evidence(logs).log_gain == pytest.approx(mean)
    assert Evidence(logs).ratio == pytest.approx(math.exp(mean))


@pytest.mark.parametrize(
    ("log_margin", "errors", "likely"), [(0.12, 1.0, True), (0.1212, 1.0, False), (0.12, 1.1, False), (0.08, 2.4, True)]
)
def test_a_mean_is_likely_above_a_margin_by_its_standard_error(log_margin: float, errors: float, likely: bool) -> None:
    """Mean 0.15, standard error 0.0289."""
    assert Evidence([0.1, 0.2, 0.1, 0.2]).is_likely_faster(math.exp(log_margin), errors) is likely


@pytest.mark.parametrize(
    ("logs", "standing"),
    [
        ([-5.0], Standing.ON_TRIAL),
        ([-5.0, -0.99], Standing.ON_TRIAL),
        ([-5.0, -1.01], Standing.SLOWER),
        ([0.7, 0.7], Standing.ON_TRIAL),
        ([0.7, 0.7, 0.7], Standing.FASTER),
        ([0.7, 0.69, 0.69], Standing.ON_TRIAL),
        ([0.7, 0.69, 0.69, 0.7], Standing.FASTER),
        ([-0.1, -0.1], Standing.ON_TRIAL),
        ([-0.1, -0.1, -0.1], Standing.SLOWER),
        ([0.02, -0.02] * 11 + [0.02], Standing.ON_TRIAL),
        ([0.02, -0.02] * 12, Standing.EVEN),
    ],
)
def test_the_fewest_pairs_of_each_standing(logs: list[float], standing: Standing) -> None:
    assert Evidence(logs).judge(1.0) is standing


@pytest.mark.parametrize(
    ("logs", "standing"),
    [
        ([1.6], Standing.ON_TRIAL),
        ([1.61], Standing.FASTER),
        ([-1.6], Standing.ON_TRIAL),
        ([-1.61], Standing.SLOWER),
        ([0.69, 0.7], Standing.ON_TRIAL),
        ([0.7, 0.7], Standing.FASTER),
        ([-0.7, -0.7], Standing.SLOWER),
        ([-0.7, 0.7], Standing.ON_TRIAL),
        ([0.4, 0.41], Standing.ON_TRIAL),
        ([0.4, 0.41, 0.4], Standing.FASTER),
        ([0.4, 0.1, 0.2], Standing.ON_TRIAL),
    ],
)
def test_long_runs_need_fewer_pairs(logs: list[float], standing: Standing) -> None:
    """One that shows 5 times, two that show 2 times, three that hardly differ."""
    assert Evidence(logs).judge(1.0, is_long=True) is standing


def test_times_below_the_clock_s_resolution_are_a_nanosecond() -> None:
    assert log_ratio(0.0, 2e-9) == pytest.approx(-math.log(2))
    assert log_ratio(3e-9, 0.0) == pytest.approx(math.log(3))


@pytest.mark.parametrize(
    ("seconds", "drifted"), [(3.1, True), (3.0, True), (2.9, False), (1.34, False), (1.33, True), (0.1, True)]
)
def test_runs_that_take_half_as_long_again_have_drifted(seconds: float, drifted: bool) -> None:
    assert has_drifted(seconds, 2.0) is drifted
