import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from stemcache.server.embedded import cache_directory, obtain


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
