"""What `watch` of both clients refuses, before it looks at any client."""

from typing import Any

import pytest

from stemcache.errors import UsageError
from stemcache.integrations.client_watch import watch_http


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"into": object()}, r"into is of type object; give what watch\(...\) of another client"),
        ({"marks": "yes"}, "marks is of type str; give True or False"),
        ({"keep": "all"}, "keep is of type str; give a Keep"),
        ({"tell": "warned"}, "tell is of type str; give a function of a finding"),
        ({"options": {}}, "options is of type dict; give an Options"),
    ],
)
def test_settings_that_are_none_are_refused_by_watch(settings: dict[str, Any], said: str) -> None:
    """With what to give instead."""
    with pytest.raises(UsageError, match=said):
        watch_http(object(), **settings)
