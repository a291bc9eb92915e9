import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from openai import OpenAI

from tests.record.fake_provider import CHAT_USAGE, FakeProvider, provider
from tests.record.live_proxy import proxy, read_records
from tests.record.made import BODY
from tests.server.live_server import serve


def fails(*arguments: str) -> str:
    """What `stemcache record` says on stderr when it exits with 2, in one line and no traceback."""
    done = subprocess.run(
        [sys.executable, "-m", "stemcache", "record", *arguments],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    return done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no --target and no --route; give the provider's URL, such as --target https://"),
        (["--target", "api.anthropic.com"], "--target has scheme '' and host ''; use https://host"),
        (["--target", "https://me:secret@host"], "--target holds a user name; clients send their"),
        (["--target", "https://host/?key=1"], "--target has a query; clients send theirs"),
        (["--target", "https://host:0"], "--target has port 0; name the port"),
        (["--target", "https://host:x"], "--target is no URL: its host or its port cannot be read"),
        (["--target", "https://hö"], "--target has characters that no URL has"),
        (["--route", "anthropic=https://h"], "--route 'anthropic' is not of the form /prefix=URL"),
        (["--route", "/a=ftp://h"], "--route /a has scheme 'ftp' and host 'h'; use https://host"),
        (["--target", "http://h", "--grace", "inf"], "--grace is inf; use a number of seconds"),
        (["--target", "http://h", "--ca-file", "/no/such"], "--ca-file /no/such cannot be read"),
        (["--target", "http://h", "--output", "/no/such"], "cannot record into /no/such: "),
        (["--target", "http://h", "--max-bytes", "0"], "'0' is no memory at all"),
        (["--targt", "http://h"], "No such option '--targt'"),
    ],
)
def test_bad_flags_are_told_in_one_line(arguments: list[str], message: str) -> None:
    """Exit code 2, the value and where it came from, and what to do; no secret in it."""
    line = fails(*arguments, "--port", "0")
    assert message in line
    assert "secret" not in line


def test_a_port_in_use_is_told(tmp_path: Path) -> None:
    """Before a file is made."""
    with provider() as fake:
        port = fake.url.rpartition(":")[2]
        output = tmp_path / "calls.jsonl"
        line = fails("--target", fake.url, "--port", port, "--output", str(output))
        assert line == (
            f"stemcache: cannot listen on --host 127.0.0.1 --port {port}: Address already in use; "
            "choose another, or 0 for any free port"
        )
        assert not output.exists()


@pytest.fixture
def fake() -> Iterator[FakeProvider]:
    """A provider of this test's own."""
    with provider() as running:
        yield running


def test_the_screen_says_where_to_point_clients(fake: FakeProvider, tmp_path: Path) -> None:
    """And standard error, in the end, what was recorded."""
    output = tmp_path / "calls.jsonl"
    with proxy(fake.url, output) as live:
        with OpenAI(base_url=f"{live.url}/v1", api_key="k", max_retries=0) as client:
            for _ in range(2):
                client.chat.completions.create(
                    model="plain", messages=[{"role": "user", "content": "Hi"}]
                )
        assert live.stop(signal.SIGINT) == 0
        size = output.stat().st_size
    assert "".join(live.screen) == (
        f"relaying {live.url} to {fake.url}\n"
        f"recording into {output}\n\n"
        "Point clients here, for example:\n"
        f"  export ANTHROPIC_BASE_URL={live.url}\n"
        f"  export OPENAI_BASE_URL={live.url}/v1\n\n"
        f"Then: stemcache lint {output}\n"
    )
    assert live.talk == [
        (
            f"recorded 2 calls, {size / 1024:.1f} KiB, into {output}; 3,072 of 4,000 prompt tokens "
            "came from the cache (76.8%, 2 calls with usage)\n"
        )
    ]


def test_sigterm_lets_a_stream_finish(fake: FakeProvider, tmp_path: Path) -> None:
    """Then it ends with 0, and the call is in the file."""
    body = {"model": "stepwise", "messages": [], "stream": True}
    with proxy(fake.url, tmp_path / "calls.jsonl") as live, httpx.Client() as client:
        request = client.build_request("POST", f"{live.url}/v1/chat/completions", json=body)
        response = client.send(request, stream=True)
        parts = response.iter_raw()
        fake.step()
        got = next(parts)
        live.process.send_signal(signal.SIGTERM)
        for _ in range(3):
            fake.step()
        got += b"".join(parts)
        assert live.process.wait(20) == 0
    (record,) = read_records(live.output)
    assert got == fake.sent[0]
    assert (record["failed"], record["response"]["usage"]) == (None, CHAT_USAGE)


def test_a_second_signal_does_not_wait(fake: FakeProvider, tmp_path: Path) -> None:
    """What runs is cut off, recorded and said."""
    body = b'{"model": "hang", "messages": []}'
    with proxy(fake.url, tmp_path / "calls.jsonl") as live:
        failed = threading.Event()

        def call() -> None:
            with pytest.raises(httpx.RemoteProtocolError):
                httpx.post(f"{live.url}/v1/messages", content=body, timeout=30)
            failed.set()

        thread = threading.Thread(target=call)
        thread.start()
        assert fake.arrived.wait(10)
        live.process.send_signal(signal.SIGTERM)
        live.process.send_signal(signal.SIGINT)
        assert live.process.wait(20) == 0
        thread.join(10)
        assert failed.is_set()
        live.stop()
    (record,) = read_records(live.output)
    assert record["failed"] == "shutdown"
    assert live.talk[0] == "stemcache: 1 call was cut off\n"


def test_a_full_disk_is_said_and_fails_no_call(fake: FakeProvider) -> None:
    """Exit code 0: the calls are what counts."""
    with proxy(fake.url, Path("/dev/full")) as live:
        assert httpx.post(f"{live.url}/v1/messages", content=BODY).status_code == 200
        assert live.stop() == 0
    assert live.talk == [
        (
            "stemcache: 1 call was not recorded so far: the file cannot be written: "
            "No space left on device; calls go on\n"
        ),
        "recorded 0 calls, 0 bytes, into /dev/full; 1 not recorded\n",
    ]


def test_what_is_kept_is_the_users_choice(fake: FakeProvider, tmp_path: Path) -> None:
    """`--no-bodies` and `--answers`."""
    with proxy(fake.url, tmp_path / "a.jsonl", "--no-bodies", "--answers") as live:
        httpx.post(f"{live.url}/v1/messages", content=BODY)
        (record,) = live.records()
    assert record["request"] is None
    assert record["truncated"] is False
    assert record["response"]["content"] == [{"type": "text", "text": "Hello you"}]


def test_it_records_what_is_sent_to_stemcache_serve(tmp_path: Path) -> None:
    """Second prompts come from the cache; text and usage are those of the server."""
    with serve() as server, proxy(server.url, tmp_path / "calls.jsonl") as live:
        prompt = "the same beginning " * 20
        with OpenAI(base_url=f"{live.url}/v1", api_key="none", max_retries=0) as client:
            first = client.completions.create(
                model="toy", prompt=prompt, max_tokens=4, temperature=0
            )
            events = list(
                client.completions.create(
                    model="toy",
                    prompt=prompt,
                    max_tokens=4,
                    temperature=0,
                    stream=True,
                    stream_options={"include_usage": True},
                )
            )
        records = live.records()
    text = "".join(event.choices[0].text for event in events if event.choices)
    assert text == first.choices[0].text
    usages = [record["response"]["usage"] for record in records]
    assert usages[0]["prompt_tokens_details"]["cached_tokens"] == 0
    assert usages[1]["prompt_tokens_details"]["cached_tokens"] > 300
    assert events[-1].usage is not None
    assert usages[1] == events[-1].usage.model_dump(exclude_unset=True)
