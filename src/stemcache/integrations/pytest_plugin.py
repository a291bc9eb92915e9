"""A fixture for pytest: `assert_prefix_stable`, which loads what it needs when a test asks for it.

Named in a `conftest.py`, or by `-p stemcache.integrations.pytest_plugin`. It has no entry point:
pytest would rewrite the assertions of the whole package wherever it is installed.
"""

from collections.abc import Callable
from typing import Any

import pytest

__all__ = ["assert_prefix_stable"]


@pytest.fixture
def assert_prefix_stable(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """`stemcache.integrations.stability_check.assert_prefix_stable`.

    What could not be checked is kept with the test's report: `pytest -rP` shows it.
    """
    from stemcache.integrations import stability_check  # noqa: PLC0415 - nobody else pays for it

    def check(build_prompt: Callable[..., object], *args: object, **options: Any) -> Any:
        __tracebackhide__ = True
        report = stability_check.assert_prefix_stable(build_prompt, *args, **options)
        if report.unchecked:
            told = "\n".join(f"not checked: {one}" for one in report.unchecked)
            request.node.add_report_section("call", "stemcache", told)
        return report

    return check
