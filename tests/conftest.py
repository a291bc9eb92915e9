import os
from pathlib import Path

import pytest

from stemcache.server.embedded import cache_directory, obtain


@pytest.fixture(scope="session")
def smollm2_dir() -> Path:
    """The embedded model as a directory of safetensors, obtained as `stemcache serve` does."""
    return obtain(cache_directory(os.environ, Path.home()), tell=print)
