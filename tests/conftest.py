import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from stemcache.server.embedded import cache_directory, obtain

# A red run has to be red again with the same code, so what is drawn is the same each time;
# `scripts/test --hypothesis-profile=explore` draws anew.
# No example has a deadline: a busy machine is no fault of the code.
settings.register_profile(
    "repeat", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "explore", settings.get_profile("repeat"), derandomize=False, print_blob=True
)
settings.load_profile("repeat")


def pytest_make_parametrize_id(val: object) -> str | None:
    """Bytes by their number: what is packed may hold the time, and names must not."""
    return f"{len(val)} bytes" if isinstance(val, bytes) and len(val) > 16 else None


@pytest.fixture(scope="session")
def smollm2_dir() -> Path:
    """The embedded model as a directory of safetensors, obtained as `stemcache serve` does."""
    return obtain(cache_directory(os.environ, Path.home()), tell=print)


@pytest.fixture(autouse=True)
def _libraries_log_as_before() -> Iterator[None]:
    """A logger that a test made takes over what these log, and writes to that test's stderr."""
    libraries = [logging.getLogger(name) for name in ("uvicorn", "asyncio")]
    before = [(one, list(one.handlers), one.propagate, one.level) for one in libraries]
    yield
    for one, handlers, propagate, level in before:
        one.handlers, one.propagate = handlers, propagate
        one.setLevel(level)
