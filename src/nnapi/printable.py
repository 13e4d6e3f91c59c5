"""Text from files and other programs, made safe to print; numbers with their units."""

import re

_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""C0 and C1 control characters, line separators, and changes of the direction of text."""
CONTROLS_BUT_LINES = re.compile(_CONTROLS.pattern.replace("\x00-\x1f", "\x00-\x09\x0b-\x1f"))
"""Control characters except the line feed."""

LONGEST = 2000
"""Maximum characters of a printed line."""
PLURALS = {"entry": "entries"}


def printable(text: str, *, keeps_lines: bool = False) -> str:
    r"""Escape control characters as Python does: ESC as ``\x1b``, RIGHT-TO-LEFT OVERRIDE as ``\u202e``.

    With ``keeps_lines``, line feeds are not escaped.
    """
    return (CONTROLS_BUT_LINES if keeps_lines else _CONTROLS).sub(_escape, text)


def shorten(text: str, most: int = 1000) -> str:
    """Return a text with at most ``most`` characters and, if some are missing, an ellipsis."""
    return text if len(text) <= most else f"{text[:most]}…"


def shorten_lines(text: str) -> str:
    """Shorten lines of thousands of characters, such as those with the name of a tensor that has millions."""
    return "\n".join(shorten(line, LONGEST) for line in text.split("\n")) if len(text) > LONGEST else text


def pluralize(number: int, noun: str) -> str:
    """Return ``1 input``, ``2 inputs`` or ``2 entries``."""
    if number == 1:
        return f"1 {noun}"
    plural = PLURALS.get(noun) or noun + ("es" if noun.endswith(("s", "x", "ch", "sh")) else "s")
    return f"{number} {plural}"


def with_article(noun: str) -> str:
    """Return ``a hand`` or ``an eye``."""
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def format_bytes(count: float) -> str:
    """Format a number of bytes: ``2.65 MB``."""
    for unit in ("B", "KB", "MB", "GB"):
        if count < 999.5 or unit == "GB":
            break
        count /= 1000
    return f"{count:.3g} {unit}"


def _escape(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()
