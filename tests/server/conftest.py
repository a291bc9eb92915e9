from collections.abc import Iterator

import pytest
from openai import OpenAI

from tests.server.live_server import LiveServer, serve


@pytest.fixture(scope="session")
def toy() -> Iterator[LiveServer]:
    """One server for all tests that leave it as they found it."""
    with serve() as server:
        yield server


@pytest.fixture
def client(toy: LiveServer) -> Iterator[OpenAI]:
    """OpenAI's client, which gives up at the first error."""
    with OpenAI(base_url=f"{toy.url}/v1", api_key="none", max_retries=0) as client:
        yield client
