"""A batch that fails, or a row of it, while requests run together."""

from collections.abc import Iterator

import httpx
import pytest

from stemcache.server.worker import EngineSettings
from tests.server.fragile import (
    NOT_NUMBERS,
    RAISED,
    RAISES,
    TURNS_TO_NAN,
    FragileServer,
    cached,
    error_of,
    stem,
)


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FragileServer]:
    """Requests run together."""
    gate = tmp_path_factory.mktemp("fragile") / "gate"
    server = FragileServer(EngineSettings(kv_memory_bytes=2**17), gate)
    server.start()
    yield server
    assert server.stop() == 0


def test_those_in_the_same_step_fail_together(crowded: FragileServer) -> None:
    """One batch is one computation; the next one is computed as if nothing had been."""
    prompts = [[*stem(f"same step {number}"), 70] for number in range(3)]
    together = crowded.complete({"prompt": [*prompts, [*stem("hurt"), RAISES]]})
    again = crowded.complete(*({"prompt": prompt} for prompt in prompts))

    assert [500] == [answer.status_code for answer in together]
    assert RAISED == error_of(together[0])["message"]
    assert [200, 200, 200] == [answer.status_code for answer in again]
    assert [0, 0, 0] == [cached(answer) for answer in again]


def test_logits_that_are_not_numbers_fail_their_own_request_alone(crowded: FragileServer) -> None:
    """The batch was computed; one row of it is unsound."""
    before = crowded.metrics()
    answers = crowded.complete(
        *({"prompt": [*stem(f"sound {number}"), 70], "max_tokens": 20} for number in range(4)),
        {"prompt": [*stem("unsound"), TURNS_TO_NAN], "max_tokens": 20},
    )
    (whole,) = crowded.complete({"prompt": [*stem("sound 0"), 70], "max_tokens": 20})
    after = crowded.metrics()

    assert [200, 200, 200, 200, 500] == [answer.status_code for answer in answers]
    assert NOT_NUMBERS == error_of(answers[-1])["message"]
    assert whole.json()["choices"] == answers[0].json()["choices"]
    assert 1 == after["failed_steps_total"] - before["failed_steps_total"]


def test_one_choice_that_fails_fails_its_request_and_frees_the_rest(
    crowded: FragileServer,
) -> None:
    """An answer lacks no choice in silence, and those still running are cancelled."""
    before = crowded.metrics()
    (answer,) = crowded.complete(
        {"prompt": [[*stem("choice"), 70], [*stem("other"), TURNS_TO_NAN]], "max_tokens": 1000}
    )
    after = crowded.metrics()

    assert 500 == answer.status_code
    assert NOT_NUMBERS == error_of(answer)["message"]
    assert 1 == after["cancelled_requests_total"] - before["cancelled_requests_total"]
    assert 0 == after["pages{owned}"] == after["pages{pinned}"]


def test_failures_leave_the_server_in_health(crowded: FragileServer) -> None:
    """A failed step is no reason to restart; its lines in the log hold no traceback."""
    (failed,) = crowded.complete({"prompt": [RAISES]})

    async def health() -> httpx.Response:
        async with httpx.AsyncClient() as client:
            return await client.get(f"{crowded.url}/health")

    assert 500 == failed.status_code
    assert {"status": "ok"} == crowded.run(health()).json()
    assert not [entry for entry in crowded.log if entry["log_level"] in {"warning", "error"}]
