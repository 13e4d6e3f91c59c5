"""Spellings of options in nnapi 1.0. They work until 2.0, and are not in the help."""

from collections.abc import Sequence
from itertools import islice

UNTIL = "2.0"
OLD = {
    "bench run": {"--precision": "--precision"},
    "compare": {"--devices": "--device"},
    "export": {"--out": "--output"},
    "migrate": {"--out": "--output", "--report": "--html"},
    "phone push": {"--agent": "--binary"},
    "serve": {"--threads": "--max-threads", "--seconds": "--timeout"},
    "strace": {"--filter": "--calls"},
}
"""By command: the new spelling for each old one."""
LISTS = {"--devices", "--precision"}
"""Options whose value was a list with commas; the new ones are repeated."""


def replace_old_spellings(command: str, words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the words with the new spellings, and a message for each old one. Words after ``--`` stay as they are."""
    known, messages = OLD.get(command, {}), []
    end = words.index("--") if "--" in words else len(words)
    replaced: list[str] = []
    rest = iter(words[:end])
    for word in rest:
        name, equals, value = word.partition("=")
        new = known.get(name)
        if new is None:
            replaced.append(word)
            continue
        values = [value] if equals else list(islice(rest, 1))
        if values and name in LISTS:
            values = values[0].split(",")
        if name != new:
            messages.append(f"{name} is now {new}; the old spelling works until nnapi {UNTIL}")
        elif values[1:]:
            messages.append(f"{name} is now repeated; a list with commas works until nnapi {UNTIL}")
        replaced += [part for each in values for part in (new, each)] or [new]
    return [*replaced, *words[end:]], messages
