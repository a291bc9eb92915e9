"""`stemcache route explain`: what it asks, what it shows, and how it ends."""

import io
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner
from rich.console import Console

from stemcache.cli.main import stemcache
from stemcache.cli.route_explained import line_of, show
from tests.cli.live_gateway import fleet, gateway, served
from tests.cli.test_route import Run, body, flags_of, run

__all__ = ["body", "run"]  # fixtures

SESSION = ("--policy", "session")


def test_a_session_in_a_header_decides_as_it_would_for_the_client(run: Run, body: Path) -> None:
    """Without it, the prompt's beginning would."""
    with fleet(served, served, served) as fakes, gateway(*flags_of(fakes), *SESSION) as live:
        words = ("explain", str(body), "--gateway", live.url, "--output-format", "concise")
        assert " hashed " in run(*words)[1]
        went = set()
        for number in range(6):
            header = ("--header", f"X-Session-Id: user {number}")
            line = run(*words, *header)[1]
            answer = httpx.post(
                f"{live.url}/v1/chat/completions",
                content=body.read_bytes(),
                headers={"x-session-id": f"user {number}"},
            )
            told = answer.headers["x-stemcache-decision"]
            assert line.split()[1] == "session"
            assert f'replica="{line.split()[0]}"; reason=session' in told
            went.add(line.split()[0])
        assert len(went) > 1
        assert run(*words, "--header", "x-other:\u00fc", "--header", "x-session-id:7")[0] == 0


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("x-session-id", "--header x-session-id is no header; write it as NAME:VALUE, such as"),
        (": 7", "is no header"),
        ("x session: 7", "is no header"),
        ("x-a: b\r\nx-c: hunter2", "--header x-a is no header"),
        ("x-a: h\u00fcnter2\u20ac", "--header x-a is no header"),
        ("Authorization: Bearer hunter2", "--header Authorization is none that a replica is"),
        ("content-length: 7", "leave it out (--tenant says whose request it is)"),
        ("X-Forwarded-For: 10.0.0.1", "--header X-Forwarded-For is none that a replica is chosen"),
    ],
)
def test_a_header_that_cannot_be_is_told(run: Run, body: Path, header: str, message: str) -> None:
    """Before anything is sent, by its name alone: a value may be a secret."""
    code, out, err = run("explain", str(body), "--header", header)
    assert (code, out) == (2, "")
    assert message in err
    assert "hunter2" not in err


@pytest.mark.parametrize("text", ["{", "[]", "null", "hello", '{"model": NaN}', '{"a": 1} x'])
def test_a_body_that_is_no_json_object_cannot_be_explained(
    run: Run, tmp_path: Path, text: str
) -> None:
    """Bad usage: nobody has to look at a choice that means nothing."""
    path = tmp_path / "body"
    path.write_text(text)
    code, out, err = run("explain", str(path))
    assert (code, out) == (2, "")
    assert err == (
        f"stemcache: BODY {path} is no JSON object, as /v1/chat/completions takes one; give the "
        "JSON that a client would post\n"
    )


def test_what_is_posted_elsewhere_may_be_anything(run: Run, tmp_path: Path) -> None:
    """A recording, for one: it goes somewhere too."""
    path = tmp_path / "body"
    path.write_bytes(b"RIFF\x00\xff")
    with fleet(served) as fakes, gateway(*flags_of(fakes)) as live:
        words = ("explain", str(path), "--gateway", live.url, "--path")
        assert run(*words, "/v1/audio/transcriptions")[:2][0] == 0
        assert "takes one" in run(*words, "/v1/messages")[2]


@pytest.mark.parametrize("form", ["full", "concise", "json"])
def test_that_no_replica_can_take_it_is_a_finding(run: Run, body: Path, form: str) -> None:
    """Exit code 1, whatever the form, so that a script sees it."""
    with fleet(served) as fakes, gateway(*flags_of(fakes)) as live:
        words = ("explain", str(body), "--gateway", live.url, "--output-format", form)
        assert run(*words)[0] == 0
        httpx.post(f"{live.url}/v1/fleet/drain?replica=r0")
        code, out, err = run(*words)
        assert (code, err) == (1, "")
        if form == "json":
            assert json.loads(out)["decision"] is None
        else:
            assert out.startswith("no replica can take it\n")
            assert ("r0: draining" in out) == (form == "full")
            assert "in flight" not in out, "there is no replica to show"


def test_the_wait_and_the_whole_cost_of_each_replica_are_shown(run: Run, body: Path) -> None:
    """In the text what is not nothing, in JSON all of it."""
    with fleet(served, served) as fakes, gateway(*flags_of(fakes)) as live:
        httpx.post(f"{live.url}/v1/chat/completions", content=body.read_bytes())
        words = ("explain", str(body), "--gateway", live.url)
        full = run(*words)[1]
        found = json.loads(run(*words, "--output-format", "json")[1])
        table = full.split("\n\n")[-1].splitlines()
        assert table[0].split()[:3] == ["replica", "wait", "copy"]
        assert table[0].split()[-1] == "cost"
        by_name = {seat["replica"]: seat for seat in found["seats"]}
        for row in table[1:]:
            cells = row.split()
            seat = by_name[cells[0]]
            assert cells[1] == f"{seat['predicted_ttft_ms']:,.1f}"
            assert cells[-2] == f"{seat['cost_ms']:,.1f}"
        least = min(found["seats"], key=lambda seat: float(seat["cost_ms"]))
        assert least["replica"] == found["decision"]["replica"]


def shown(answer: dict[str, Any]) -> str:
    """The text for people."""
    out = io.StringIO()
    show(Console(file=out, width=120), answer)
    return out.getvalue()


def seat(**fields: Any) -> dict[str, Any]:
    """As a gateway tells of one."""
    return {
        "replica": "a",
        "cached_tokens": 0,
        "slow_tier_tokens": 0,
        "in_flight": 0,
        "waiting_tokens": 0,
        "utilization": 0.0,
        "predicted_ttft_ms": 61.25,
        "cost_ms": None,
        "cost_parts_ms": None,
        **fields,
    }


def decision(**fields: Any) -> dict[str, Any]:
    """As a gateway tells of it."""
    return {
        "replica": "a",
        "reason": "cold",
        "predicted_cached_tokens": 0,
        "prompt_tokens": 1,
        "tokens_exact": False,
        "source": "guess",
        "predicted_ttft_ms": 61.25,
        "runner_up": None,
        "runner_up_ttft_ms": None,
        **fields,
    }


def test_policies_that_weigh_nothing_else_show_the_wait_alone() -> None:
    """No columns of nothing."""
    text = shown({"decision": decision(), "policy": "least-load", "seats": [seat()]})
    assert text.split("\n\n")[-1].split() == ["replica", "wait", "a", "61.2", "ms"]


def test_parts_that_are_nothing_everywhere_have_no_column() -> None:
    """As the place of a fleet that does not agree by hash."""
    parts = {"wait": 61.25, "copy": 0.0, "pressure": -0.5, "turn": 1500.0, "place": 0.0}
    seats = [seat(cost_ms=1560.75, cost_parts_ms=parts)]
    text = shown({"decision": decision(), "policy": "auto", "seats": seats})
    table = text.split("\n\n")[-1].splitlines()
    assert table[0].split() == ["replica", "wait", "pressure", "turn", "cost"]
    assert table[1].split() == ["a", "61.2", "ms", "-0.5", "ms", "1,500.0", "ms", "1,560.8", "ms"]


def test_an_older_gateway_is_shown_as_far_as_it_tells() -> None:
    """Its answer has no waits and no costs."""
    old = {name: value for name, value in seat().items() if "ms" not in name}
    text = shown({"decision": decision(), "policy": "auto", "seats": [old]})
    assert text.split("\n\n")[-1].split() == ["replica", "wait", "a", "unknown"]


@pytest.mark.parametrize(("tokens", "words"), [(1, "about 1 token\n"), (2, "about 2 tokens\n")])
def test_one_token_is_one(tokens: int, words: str) -> None:
    """In words."""
    text = shown({"decision": decision(prompt_tokens=tokens), "policy": "auto", "seats": []})
    assert words in "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def test_a_line_says_where_why_and_what_else() -> None:
    """Unknown is not none."""
    told = decision(predicted_cached_tokens=None, runner_up="b", reason="spread")
    assert line_of({"decision": told}) == "a spread cached=unknown prompt=1 runner-up=b"
    assert line_of({"decision": None, "tenants": True}) == "no replica can take it tenant=none"


def test_help_says_how_it_ends() -> None:
    """And how to give a header."""
    shown_help = CliRunner().invoke(stemcache, ["route", "explain", "--help"]).output
    assert "--header NAME:VALUE" in shown_help
    assert "Exit code 1 where no replica can take it" in shown_help
