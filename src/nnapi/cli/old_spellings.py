"""Spellings of options in nnapi 1.0. They work until 2.0, and are not in the help."""

from collections.abc import Sequence

UNTIL = "2.0"
OLD = {
    "compare": {"--devices": "--device"},
    "export": {"--out": "--output"},
    "migrate": {"--out": "--output", "--report": "--html"},
    "phone push": {"--agent": "--binary"},
    "serve": {"--threads": "--max-threads", "--seconds": "--timeout"},
    "strace": {"--filter": "--calls"},
}
"""By command: the new spelling for each old one."""
LISTS = {"--devices"}
"""Old options whose value is a list with commas; the new ones are repeated."""


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
        messages.append(f"{name} is now {new}; the old spelling works until nnapi {UNTIL}")
        if equals or (value := next(rest, "")):
            for each in value.split(",") if name in LISTS else [value]:
                replaced += [new, each]
        else:
            replaced.append(new)
    return [*replaced, *words[end:]], messages
