"""Loggers that import ``logging`` only for warnings or if the application did, because its import is slow."""

import sys
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import logging


class Log:
    """A logger by name, with the methods that the runtime uses."""

    def __init__(self, name: str) -> None:
        self.name = name

    @cached_property
    def logger(self) -> "logging.Logger":
        import logging

        return logging.getLogger(self.name)

    @property
    def is_verbose(self) -> bool:
        """Return whether messages below a warning are handled."""
        if "logging" not in sys.modules:
            return False
        from logging import INFO

        return self.logger.isEnabledFor(INFO)

    def debug(self, message: str, *args: Any) -> None:
        if "logging" in sys.modules:
            self.logger.debug(message, *args, stacklevel=2)

    def info(self, message: str, *args: Any) -> None:
        if "logging" in sys.modules:
            self.logger.info(message, *args, stacklevel=2)

    def warning(self, message: str, *args: Any) -> None:
        """Log a warning; never raise. If logging cannot be imported, print to stderr."""
        try:
            logger = self.logger
        except (ImportError, OSError, MemoryError):
            print(message % args, file=sys.stderr)
        else:
            logger.warning(message, *args, stacklevel=2)
