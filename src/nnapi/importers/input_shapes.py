"""The shapes of a file's inputs: those that the caller sets, and those that only a run knows."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from nnapi.errors import BadDataError, NnapiError, need
from nnapi.importers.refusals import Refusal, UnsupportedOperationsError
from nnapi.model.model import Model
from nnapi.model.operand import Shape

Shapes = Mapping[str, Sequence[int]]
"""Dimensions of inputs, by name."""
DYNAMIC = 0
GUESSES = (64, 1)
"""Sizes tried for dynamic dimensions, to find out whether NNAPI can express the file."""


def need_inputs(shapes: Shapes, names: Iterable[str]) -> None:
    """Raise BadDataError if ``shapes`` has other names than those of the file's inputs."""
    known = sorted(names)
    unknown = sorted(set(shapes) - set(known))
    need(not unknown, f"it has no input {', '.join(unknown)}; its inputs are {', '.join(known)}", BadDataError)


def fix_shape(name: str, shape: Shape | None, given: Sequence[int], *, least: int = 1) -> Shape:
    """Return the dimensions ``given`` for an input; raise BadDataError if they contradict the file's ``shape``, or are
    below ``least``."""
    wanted = tuple(map(int, given))
    fits = shape is None or (
        len(shape) == len(wanted) and all(have in (DYNAMIC, want) for have, want in zip(shape, wanted, strict=True))
    )
    need(fits, f"input {name} is {describe_shape(shape or ())}, not {list(wanted)}", BadDataError)
    need(all(each >= least for each in wanted), f"input {name} cannot be {list(wanted)}", BadDataError)
    return wanted


def describe_shape(shape: Sequence[int]) -> str:
    """Format dimensions for a message, dynamic ones as ?."""
    return f"[{', '.join(str(size or '?') for size in shape)}]"


def guess_shapes(
    read: Callable[[Mapping[str, Shape]], Model], dynamic: Mapping[str, Shape]
) -> tuple[Model | None, list[Refusal]]:
    """Return the model that ``read`` returns for guessed sizes of the ``dynamic`` inputs. If all fail, return None and
    the refusals that do not depend on the sizes."""
    found: dict[Refusal, None] | None = None
    for size in GUESSES:
        try:
            return read({name: tuple(each or size for each in shape) for name, shape in dynamic.items()}), []
        except UnsupportedOperationsError as error:
            found = {each: None for each in error.refusals if found is None or each in found}
        except NnapiError:  # the guessed sizes contradict the file; the sizes in a run may fit
            return None, []
    return None, list(found or ())


def refuse_dynamic(name: str, refusals: Sequence[Refusal], dynamic: Mapping[str, Shape]) -> UnsupportedOperationsError:
    """Return the error with ``refusals`` and a hint at the dimensions that load(shapes=…) fixes."""
    error = UnsupportedOperationsError.of(name, refusals)
    listed = ", ".join(f"{end} {describe_shape(shape)}" for end, shape in dynamic.items())
    hint = f"it has dynamic dimensions, which load(shapes=…) fixes: {listed}"
    return UnsupportedOperationsError(f"{error.message}; {hint}", refusals)
