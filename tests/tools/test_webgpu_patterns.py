"""Which patterns are proven by what came of examples."""

from tools.webgpu_patterns import Trial, judge_patterns


def trial(is_right: bool, *patterns: str) -> Trial:
    return Trial("+".join(patterns), frozenset(patterns), is_right, "")


def test_what_is_right_proves_its_patterns() -> None:
    assert judge_patterns([trial(True, "ADD"), trial(True, "PAD", "MUL")]) == ({"ADD", "PAD", "MUL"}, {})


def test_of_what_is_wrong_those_are_to_blame_that_nothing_proves() -> None:
    assert judge_patterns([trial(True, "ADD"), trial(False, "ADD", "PAD")]) == ({"ADD"}, {"PAD": 1})


def test_what_is_right_and_wrong_alone_is_not_proven() -> None:
    assert judge_patterns([trial(True, "ADD"), trial(False, "ADD")]) == (set(), {"ADD": 1})


def test_smaller_examples_explain_larger_ones() -> None:
    trials = [trial(False, "ADD", "PAD"), trial(False, "PAD"), trial(True, "PAD"), trial(True, "ADD", "MUL")]
    assert judge_patterns(trials) == ({"ADD", "MUL"}, {"PAD": 2})


def test_where_several_are_proven_with_others_those_that_are_right_alone_are_not_to_blame() -> None:
    trials = [trial(False, "ADD", "PAD"), trial(True, "ADD"), trial(True, "PAD", "MUL")]
    assert judge_patterns(trials) == ({"ADD", "MUL"}, {"PAD": 1})


def test_what_is_right_only_beside_all_the_others_is_to_blame_before_what_is_right_without_it() -> None:
    trials = [trial(False, "TURN", "GROUPED"), trial(True, "TURN", "GROUPED"), trial(True, "TURN", "CONV")]
    assert judge_patterns(trials) == ({"TURN", "CONV"}, {"GROUPED": 1})
