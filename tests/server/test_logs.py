"""Lines on stderr: for humans or machines, with what libraries say, without what users sent."""

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from stemcache.server.logs import LogFormat, LogLevel, make_logger

LIBRARIES = ("uvicorn", "asyncio")


@pytest.fixture(autouse=True)
def _libraries() -> Iterator[None]:
    """Give the libraries' loggers back as they were."""
    before = []
    for name in LIBRARIES:
        logger = logging.getLogger(name)
        before.append((logger, logger.handlers, logger.propagate, logger.level))
    yield
    for logger, handlers, propagate, level in before:
        logger.handlers, logger.propagate = handlers, propagate
        logger.setLevel(level)


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """What was written to stderr, as JSON; stdout is for answers."""
    out, err = capsys.readouterr()
    assert out == ""
    return [json.loads(line) for line in err.splitlines()]


@pytest.mark.parametrize("form", ["auto", "json"])
def test_machines_get_one_json_object_a_line(
    form: LogFormat, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the time in UTC, also where nobody chose and stderr is no terminal."""
    make_logger(form, "info").info("request", id="r", status=200, text="a\nb")
    (line,) = lines(capsys)

    assert line.pop("timestamp").endswith("Z")
    assert {"message": "request", "level": "info", "id": "r", "status": 200, "text": "a\nb"} == line


def test_humans_get_words(capsys: pytest.CaptureFixture[str]) -> None:
    """Without colours where stderr is no terminal."""
    make_logger("console", "info").info("request", status=200)
    _, err = capsys.readouterr()

    assert "\x1b" not in err
    assert ["info", "request", "status=200"] == err.replace("[", "").replace("]", "").split()[1:]


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        ("debug", ["debug", "info", "warning", "error"]),
        ("info", ["info", "warning", "error"]),
        ("warning", ["warning", "error"]),
        ("error", ["error"]),
    ],
)
def test_a_level_lets_through_what_is_at_least_as_grave(
    level: LogLevel, expected: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Each level is one of the standard library's."""
    logger = make_logger("json", level)
    for name in ("debug", "info", "warning", "error"):
        getattr(logger, name)("x")

    assert expected == [line["level"] for line in lines(capsys)]


@pytest.mark.parametrize("name", ["uvicorn", "uvicorn.error", "asyncio"])
def test_what_libraries_warn_of_is_a_line_like_ours(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the library's name; what they merely tell is left out."""
    make_logger("json", "debug")
    logger = logging.getLogger(name)
    logger.info("Started server process [%d]", 7)
    logger.warning("%s of 100%% is %r", "half", "x")
    (line,) = lines(capsys)

    assert ("half of 100% is 'x'", "warning", name) == (
        line["message"],
        line["level"],
        line["library"],
    )


def test_a_librarys_exception_keeps_its_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    """In the same line."""
    make_logger("json", "info")
    try:
        int("x")
    except ValueError:
        logging.getLogger("uvicorn.error").exception("Exception in ASGI application")
    (line,) = lines(capsys)

    assert "error" == line["level"]
    assert line["exception"].endswith("ValueError: invalid literal for int() with base 10: 'x'")


def test_a_second_logger_does_not_double_the_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """The last one made has them."""
    make_logger("json", "info")
    make_logger("json", "info")
    logging.getLogger("uvicorn").warning("once")

    assert ["once"] == [line["message"] for line in lines(capsys)]


@pytest.mark.parametrize("form", ["console", "json"])
def test_a_traceback_shows_no_values(form: LogFormat, capsys: pytest.CaptureFixture[str]) -> None:
    """The variables on the way hold prompts, salts and keys; a log names the lines alone."""
    logger = make_logger(form, "info")

    def handle(prompt: str, salt: str, key: bytes) -> None:
        raise LookupError(f"{len(prompt) + len(salt) + len(key)} lost")

    def answer(body: dict[str, str]) -> None:
        handle(body["prompt"], body["salt"], body["key"].encode())

    try:
        answer({name: f"the-{name}-itself".upper() for name in ("prompt", "salt", "key")})
    except LookupError:
        logger.exception("request failed", id="r")
    _, err = capsys.readouterr()

    assert "LookupError: 46 lost" in err
    assert "in handle" in err
    assert "-ITSELF" not in err
