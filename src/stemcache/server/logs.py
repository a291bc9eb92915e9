"""Structured logs on stderr: one line a request, lines for humans or JSON for machines."""

import logging
import sys
from typing import Literal, get_args

import structlog
from structlog.typing import FilteringBoundLogger, Processor

__all__ = ["LogFormat", "LogLevel", "for_people", "make_logger"]

LogFormat = Literal["auto", "console", "json"]
"""`auto`: console on a terminal, else json."""

LogLevel = Literal["debug", "info", "warning", "error"]

_LEVELS = {name: getattr(logging, name.upper()) for name in get_args(LogLevel)}


class _Forward(logging.Handler):
    """Passes on what libraries log through the standard library."""

    def __init__(self, logger: FilteringBoundLogger) -> None:
        super().__init__()
        self._logger = logger

    def emit(self, record: logging.LogRecord) -> None:
        """One line for one record."""
        self._logger.log(
            record.levelno, record.getMessage(), library=record.name, exc_info=record.exc_info
        )


def for_people(form: LogFormat) -> bool:
    """Whether stderr is written for people; if not, each of its lines is JSON."""
    return form == "console" or (form == "auto" and sys.stderr.isatty())


def make_logger(form: LogFormat, level: LogLevel) -> FilteringBoundLogger:
    """A logger that writes to stderr. Also takes over what uvicorn and asyncio log."""
    console = for_people(form)
    processors: list[Processor] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=not console),
    ]
    if console:
        processors.append(
            structlog.dev.ConsoleRenderer(
                colors=sys.stderr.isatty(),
                # Where rich is installed the default prints local variables: prompts, salts, keys.
                exception_formatter=structlog.dev.plain_traceback,
            )
        )
    else:
        processors += [
            structlog.processors.ExceptionRenderer(),
            structlog.processors.EventRenamer("message"),
            structlog.processors.JSONRenderer(),
        ]
    logger: FilteringBoundLogger = structlog.wrap_logger(
        structlog.PrintLogger(sys.stderr),
        processors=processors,
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[level]),
        cache_logger_on_first_use=True,
    )
    for name in ("uvicorn", "asyncio"):
        library = logging.getLogger(name)
        library.handlers = [_Forward(logger)]
        library.propagate = False
        # Their "info" tells of every start and stop that our own lines tell of too.
        library.setLevel(logging.WARNING)
    return logger
