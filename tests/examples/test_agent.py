"""The agent of the tutorial: each step mends what it says, on a server and under every rule."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from examples.agent.compare import MODELS, on_endpoint, under_rule
from examples.agent.worker import Job, Workers, workers
from stemcache.prompt.canonical import canonical_json
from tests.server.live_server import serve

ANSWERS = ["Let me see.", "Yes, that is so, and there is nothing more to pay."]


@pytest.fixture(scope="module")
def ours() -> Iterator[Workers]:
    """Three processes that differ in their hash seeds."""
    with workers((1, 2, 3)) as started:
        yield started


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where logs of all agents are left."""
    return tmp_path_factory.mktemp("logs")


@pytest.fixture(scope="module")
def ruled(ours: Workers, logs: Path) -> dict[str, Any]:
    """Figures under each model's rule."""
    return {name: under_rule(ours, target, ANSWERS, logs) for name, target in MODELS.items()}


def shares(found: dict[str, Any], read: str) -> list[float]:
    """Of what is attainable, agent by agent in the order of the tutorial."""
    return [
        agent[read] / agent["prompt_tokens"] / found["attainable"]
        for agent in found["agents"].values()
    ]


def codes(log: Path) -> set[str]:
    """What lint finds in a log."""
    asked = [sys.executable, "-m", "stemcache", "lint", str(log), "--isolated"]
    done = subprocess.run(
        [*asked, "--output-format", "json"], capture_output=True, text=True, check=False
    )
    return {finding["code"] for finding in json.loads(done.stdout)["findings"]}


def test_each_step_finds_more_on_a_server(ours: Workers) -> None:
    """From next to nothing to nearly all, as the server itself reports it."""
    with serve() as server:
        found, answers = on_endpoint(ours, server.url, small=True)

    share = shares(found, "cached_tokens")
    assert found["requests"] == len(answers) == 16
    assert share[0] < 0.02
    assert share == sorted(share)
    assert share[2] > 0.5
    assert share[-1] > 0.9


@pytest.mark.parametrize("model", MODELS)
def test_the_last_agent_reaches_what_is_attainable(ruled: dict[str, Any], model: str) -> None:
    """More than 95% of it, where the naive one finds nothing, for a fraction of the money."""
    found = ruled[model]
    naive, *_, cacheable = found["agents"].values()

    share = shares(found, "read_tokens")
    assert share[0] == 0
    assert 0.95 < share[-1] <= 1
    assert cacheable["input_usd"] < naive["input_usd"] / 4


@pytest.mark.parametrize("model", MODELS)
def test_no_other_order_could_share_more(ruled: dict[str, Any], model: str) -> None:
    """What is called attainable is as much as any order of the same blocks allows."""
    found = ruled[model]

    assert found["attainable"] == pytest.approx(found["any_order"], abs=1e-9)
    assert found["attainable"] > 0.9


def test_a_cache_without_marks_rewards_each_step(ruled: dict[str, Any]) -> None:
    """Where nothing has to be marked, what is mended shows at once."""
    share = shares(ruled["gpt-5.1"], "read_tokens")

    assert share == sorted(share)
    assert share[1] == 0
    assert len(set(share[2:5])) == 3
    assert share[4] == share[5]


@pytest.mark.parametrize("model", ["claude-sonnet-5", "gpt-5.6"])
def test_a_cache_with_marks_rewards_the_last_step_alone(ruled: dict[str, Any], model: str) -> None:
    """Nothing is read at places that nobody marked."""
    assert shares(ruled[model], "read_tokens")[:-1] == [0] * 5


@pytest.mark.parametrize(
    ("log", "found"),
    [
        ("gpt-5.1-naive", {"STM101", "STM104", "STM201", "STM301", "STM302"}),
        ("gpt-5.1-ordered", {"STM101", "STM104", "STM301", "STM302"}),
        ("gpt-5.1-timeless", {"STM104", "STM301", "STM302"}),
        ("claude-sonnet-5-naive", {"STM403"}),
        ("claude-sonnet-5-appended", {"STM403"}),
    ],
)
def test_lint_names_the_faults_of_the_guide(
    ruled: dict[str, Any], logs: Path, log: str, found: set[str]
) -> None:
    """Those that are still in, by their codes."""
    assert ruled
    assert codes(logs / f"{log}.jsonl") - {"STM303"} == found


@pytest.mark.parametrize("model", MODELS)
def test_lint_finds_nothing_worth_a_warning_in_the_last_agent(
    ruled: dict[str, Any], logs: Path, model: str
) -> None:
    """What customers have of their own is all that differs."""
    assert ruled
    assert codes(logs / f"{model}-cacheable.jsonl") <= {"STM104"}


@pytest.mark.parametrize("step", ["naive", "cacheable"])
def test_a_run_can_be_repeated(ours: Workers, step: str) -> None:
    """The same processes send the same bytes again."""
    job = Job(step=step, target=MODELS["gpt-5.1"], answers=ANSWERS)

    assert json.dumps([one.body for one in ours.serve(job)]) == json.dumps(
        [one.body for one in ours.serve(job)]
    )


def test_other_hash_seeds_change_the_naive_agent_alone(ours: Workers) -> None:
    """One agent draws its tools' order; the other sends what it always sends."""
    naive = Job(step="naive", target=MODELS["gpt-5.1"], answers=ANSWERS)
    cacheable = Job(step="cacheable", target=MODELS["gpt-5.1"], answers=ANSWERS)
    with workers((4, 5, 6)) as others:
        assert _sent(ours, naive) != _sent(others, naive)
        assert _sent(ours, cacheable) == _sent(others, cacheable)


def test_all_agents_are_told_the_same(ours: Workers) -> None:
    """Whatever the naive agent's prompts hold, the last one's hold too."""
    naive = ours.serve(Job(step="naive", target=MODELS["gpt-5.1"], answers=ANSWERS))
    last = ours.serve(Job(step="cacheable", target=MODELS["gpt-5.1"], answers=ANSWERS))

    for one, other in zip(naive, last, strict=True):
        text = "\n".join(_texts(other.body))
        system, *messages = _texts(one.body)
        *head, rules = system.split("\n", 4)
        assert rules in text
        assert all(line in text for line in head if not line.startswith("Customer"))
        assert all(message.rpartition(") ")[2] in text for message in messages)
        assert _tools(one.body) == _tools(other.body)


def _sent(by: Workers, job: Job) -> str:
    return json.dumps([one.body for one in by.serve(job)])


def _texts(body: Any) -> list[str]:
    return [
        "".join(part["text"] for part in content) if isinstance(content, list) else content or ""
        for content in (message["content"] for message in body["messages"])
    ]


def _tools(body: Any) -> list[str]:
    schemas = [(tool["function"], tool["function"]["parameters"]) for tool in body["tools"]]
    return sorted(
        canonical_json({**tool, "parameters": {**schema, "required": sorted(schema["required"])}})
        for tool, schema in schemas
    )
