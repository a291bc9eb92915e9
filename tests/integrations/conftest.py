from collections.abc import Iterator

import pytest

from tests.integrations.fake_models import FakeModels, fake_models


@pytest.fixture
def models() -> Iterator[FakeModels]:
    """A server of this test's own."""
    with fake_models() as running:
        yield running
