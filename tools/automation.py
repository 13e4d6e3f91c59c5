"""Write the page for scripts: `python -m tools.automation > docs/automation.md`.

The exit codes, the JSON forms and the options come from the code of the command.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any

from nnapi.cli import COMMANDS, load_command
from nnapi.cli.failure import MEANINGS as EXIT_CODES
from nnapi.cli.failure import ExitCode
from nnapi.cli.old_spellings import OLD, UNTIL
from tools.json_forms import FORMS
from tools.option_meanings import MEANINGS

TYPES = {"boolean": "flag", "str": "text", "path": "file", "int": "integer", "int range": "integer"}
NUMBERS = ("float", "float range")

HEAD = """\
# The command in scripts

<!-- Written by `python -m tools.automation`; a test compares this page with the code. -->

## Exit codes

| code | name | meaning |
|---|---|---|
"""
AFTER_CODES = """\

If several codes apply, the command exits with the lowest. For example, a comparison exits with 1 if it finds a
difference and also cannot run an operation. The command prints an error as one line on standard error: `nnapi: …`.
`nnapi strace` exits with the code of the program that it runs.

If one of several files fails, `run`, `tune`, `bench` and `migrate` do the others, and exit with 3. The output lists the
error of a failed file, with `--json` too.

Files are written beside the old ones, which they then replace. After an error, such as a full disk, the old file is
unchanged. Links, devices and FIFOs are written directly.

## JSON

With `--json`, a command prints one JSON object on standard output and nothing else. `check` and `bench` write the same
object to a file with `--output FILE`. All objects have the keys `format` and `version`:

- `format` names the command.
- `version` is the version of the other keys. It rises if a key is removed or changes its meaning. A new key does not
  raise it, so programs must ignore keys that they do not know.

Infinities and NaN are `null`. Times are in seconds, but in milliseconds in `nnapi-trace`. Names of files that are not
UTF-8 are escaped as Python does.

| `format` | printed by | other keys |
|---|---|---|
"""
AFTER_FORMS = """\

`machine` describes the conditions of a measurement: processor, cores, memory, system, frequency governor, and the load
before the measurement. It also has the versions of Python, nnapi, NumPy and the engines.

For a recording of several models, `info` prints `format`, `version` and `models`, a list. Each entry has the other keys
of `nnapi-info`, and `runs`. If nnapi cannot build a model, the entry has only `model` and `refused`.

`results` of `check` has an object for each test: its name (`test`, of the parts `example` and `variant`), `operations`,
`type`, `status`, `reason` and `seconds`, the `expected` status and the `verdict`.
[Test a driver in CI](driver-teams.md) explains statuses and verdicts.

`run --jsonl FILE` writes one line per run. Each line is the JSON object of the run, with `model` and `files`. A failed
run has `error` instead of results, with `--json` too.

The following commands print the failed examples of an operation, with the reasons:

```sh
nnapi check --filter RELU6 --variants plain --json > report.json
python3 -c 'import json; [print(each["name"], each["reason"]) for each in json.load(open("report.json"))["failures"]]'
```

## Options

An option has the same meaning and type in all commands. A command refuses an option that would have no effect.

| option | meaning | type | default | commands |
|---|---|---|---|---|
"""
AFTER_OPTIONS = f"""\

Old spellings work until nnapi {UNTIL}, with a line on standard error:

| command | old | new |
|---|---|---|
"""


def page() -> str:
    """Return the page as Markdown."""
    return "".join(
        [
            HEAD,
            *(f"| {int(code)} | `{code.name}` | {EXIT_CODES[code]} |\n" for code in ExitCode),
            AFTER_CODES,
            *map(_form, FORMS),
            AFTER_FORMS,
            *map(_option, sorted(MEANINGS)),
            AFTER_OPTIONS,
            *(f"| `{name}` | `{old}` | `{new}` |\n" for name in OLD for old, new in OLD[name].items() if old != new),
        ]
    )


@cache
def list_options() -> list[tuple[str, Any]]:
    """Return the options of all commands, each with its command's name."""
    return [
        (name, option)
        for name, command in list_commands().items()
        for option in command.params
        if option.param_type_name == "option" and option.name != "help"
    ]


def list_commands() -> dict[str, Any]:
    """Return all commands by name, such as ``bench diff``."""
    return dict(sorted(each for name in COMMANDS for each in _list_commands(name, load_command(name))))


def describe_type(option: Any) -> str:
    """Return the type of a value: ``flag``, ``text``, ``file``, ``integer``, ``number`` or its choices."""
    name = option.type.name
    if name == "choice":
        return " or ".join(f"`{each}`" for each in option.type.choices)
    return "number" if name in NUMBERS else TYPES[name]


def name_option(option: Any) -> str:
    """Return the long spelling of an option."""
    return str(max(option.opts, key=len))


def _list_commands(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    for word, inner in getattr(command, "commands", {}).items():
        yield from _list_commands(f"{name} {word}", inner)
    if not hasattr(command, "commands"):
        yield name, command


def _form(name: str) -> str:
    form = FORMS[name]
    keys = ", ".join(f"`{key}`" for key in form.keys)
    return f"| `nnapi-{name}` | `{form.command}` | {keys}{form.exception and '; ' + form.exception} |\n"


def _option(name: str) -> str:
    found = [(command, option) for command, option in list_options() if name_option(option) == name]
    spellings = dict.fromkeys(each for _, option in found for each in (*sorted(option.opts), *option.secondary_opts))
    types = dict.fromkeys(describe_type(option) for _, option in found)
    several = ", repeatable" if any(option.multiple for _, option in found) else ""
    defaults: dict[str, list[str]] = {}
    for command, option in found:
        defaults.setdefault(_default(option), []).append(command)
    if len(defaults) == 1:
        default = next(iter(defaults))
    else:
        default = "; ".join(f"{value or 'none'}: {', '.join(names)}" for value, names in defaults.items())
    commands = ", ".join(f"`{command}`" for command, _ in found)
    spelled = ", ".join(f"`{each}`" for each in spellings)
    return f"| {spelled} | {MEANINGS[name]} | {' / '.join(types)}{several} | {default} | {commands} |\n"


def _default(option: Any) -> str:
    if isinstance(option.show_default, str):
        return option.show_default
    value = option.default
    if value is None or value is False or value == "":
        return ""
    return "yes" if value is True else f"`{value}`"


if __name__ == "__main__":
    print(page(), end="")
