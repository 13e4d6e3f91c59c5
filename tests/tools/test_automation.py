"""The page for scripts: options have one name and one meaning in all commands."""

from collections import defaultdict

from nnapi.cli.command import Command
from tools.automation import describe_type, list_commands, list_options, name_option, page
from tools.option_meanings import MEANINGS
from tools.size import REPOSITORY


def test_every_option_has_a_meaning() -> None:
    assert {name_option(option) for _, option in list_options()} == set(MEANINGS)
    assert len(set(MEANINGS.values())) == len(MEANINGS)


def test_an_option_has_one_type_and_one_short_spelling() -> None:
    types, spellings = defaultdict(set), defaultdict(set)
    for _, option in list_options():
        types[name_option(option)].add(describe_type(option))
        spellings[name_option(option)].add(frozenset(option.opts + option.secondary_opts))
    assert {name: found for name, found in types.items() if len(found) > 1} == {}
    assert {name: found for name, found in spellings.items() if len(found) > 1} == {}


def test_a_short_spelling_means_one_option() -> None:
    names = defaultdict(set)
    for _, option in list_options():
        for spelling in option.opts:
            names[spelling].add(name_option(option))
    assert {spelling: found for spelling, found in names.items() if len(found) > 1} == {}


def test_every_command_knows_which_options_are_given() -> None:
    assert all(isinstance(command, Command) for command in list_commands().values())


def test_the_page_is_that_of_the_code() -> None:
    written = (REPOSITORY / "docs" / "automation.md").read_text(encoding="utf-8")
    assert written == page(), "run: python -m tools.pages docs/automation.md"
