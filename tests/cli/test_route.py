"""`stemcache route` as users run it, in front of fake and of real replicas."""

import io
import json
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner
from openai import OpenAI

from stemcache.cli.main import main, stemcache
from tests.cli.live_gateway import LiveGateway, fails, fleet, gateway, served
from tests.server.gateway.fakes import Call, FakeReplica, event, json_answer, stream_head

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs `stemcache route` with these words, here: its code, its answer and its talk."""

    def run_it(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        monkeypatch.setattr(sys, "argv", ["stemcache", "route", *words])
        with pytest.raises(SystemExit) as ending:
            main()
        out, err = capsys.readouterr()
        return ending.value.code or 0, out, err  # type: ignore[return-value]

    return run_it


def flags_of(fakes: list[FakeReplica]) -> list[str]:
    """To name them as replicas."""
    return [
        word
        for fake in fakes
        for word in ("--replica", f"{fake.name}=http://127.0.0.1:{fake.port}")
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "there are no replicas; give --replica URL (several times), --local N to start some"),
        (["http://h:1"], "a replica's URL goes behind --replica: --replica http://host:port"),
        (["--replica", "ftp://h"], "--replica ftp://h has scheme 'ftp' and host 'h'"),
        (["--replica", "http://me:hunter2@h"], "--replica … holds a user name"),
        (["--replica", "h:1", "--policy", "lru"], "Invalid value for '--policy': 'lru' is not one"),
        (["--replca", "h:1"], "No such option '--replca'"),
        (["--replica", "h:1", "--grace", "nan"], "--grace is nan; use a number of seconds"),
        (["--replica", "h:1", "--gateways", "2"], "say how they agree: --agree hash, or --agree"),
        (["--replica", "h:1", "--agree", "redis"], "--agree redis needs --redis URL, such as"),
        (
            ["--replica", "h:1", "--events", "5557"],
            "and there is no --tokenizer; give the directory",
        ),
        (["--replica", "h:1", "--model", "x"], "--model is of replicas that --local starts"),
        (["--replica", "h:1", "--tls-cert", "/no"], "give --tls-key too"),
        (
            ["--replica", "h:1", "--tls-cert", "/no", "--tls-key", "/no"],
            "--tls-cert /no or --tls-key /no cannot be used: No such file or directory",
        ),
        (["--replica", "h:1", "--ca-file", "/no"], "--ca-file /no cannot be read: "),
        (
            ["--replica", "h:1", "--api-key-file", "/no"],
            "cannot read /no, the file of --api-key-file",
        ),
        (["--replica", "h:1", "--tokenizer", "/no/such"], "/no/such"),
        (["--config", "/no/such.toml"], "cannot read /no/such.toml, the file of --config: No"),
        (["--kubernetes", "vllm"], "give the URL of the API server with --kubernetes-api"),
        (["--port", "1", "explain", "x.json"], "--port is of the gateway that runs, and says"),
        (["explain", "/no/such.json"], "cannot read BODY /no/such.json: No such file or directory"),
        (
            ["explain", __file__, "--path", "/flush_cache"],
            "--path /flush_cache goes to no replica; use one of the APIs' paths, such as /v1/chat",
        ),
        (["explain", __file__, "--gateway", "ftp://h"], "--gateway has scheme 'ftp' and host 'h'"),
    ],
)
def test_bad_flags_are_told_in_one_line(run: Run, arguments: list[str], message: str) -> None:
    """Exit code 2, the value and where it came from, and what to do; no secret in it."""
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert message in err.splitlines()[-1]
    assert "hunter2" not in err


def test_a_port_in_use_is_told(run: Run) -> None:
    """Before anything is started."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        sock.listen()
        port = str(sock.getsockname()[1])
        assert run("--replica", "h:1", "--port", port)[2] == (
            f"stemcache: cannot listen on --host 127.0.0.1 --port {port}: Address already in use; "
            "choose another, or 0 for any free port\n"
        )


def test_a_bad_file_is_told(run: Run, tmp_path: Path) -> None:
    """With the table and the key."""
    path = tmp_path / "route.toml"
    path.write_text('[[replica]]\nurl = "h:1"\nengin = "vllm"\n')
    assert run("--config", str(path))[2] == (
        f"stemcache: unknown key 'engin' from {path}, replica 1; did you mean 'engine'? "
        "(api_key, api_key_env, api_key_file, engine, events, kv_tokens, models, name, ranks, "
        "replay, topic, url, weight)\n"
    )


def test_the_screen_says_who_is_there() -> None:
    """Replicas, how they are chosen among, and how to ask."""
    with (
        fleet(served, lambda call: call.transport.write(json_answer({}, status=503))) as fakes,
        gateway(*flags_of(fakes), "--policy", "least-load", "--log-format", "console") as live,
    ):
        screen = " ".join("".join(live.screen).split())
        assert "stemcache route policy least-load keys of the prompts' bytes" in screen
        assert "clients all who can reach it" in screen
        assert "replicas 1 up of 2 r0, vllm, up, m r1, auto, down, /health says 503" in screen
        assert f"address http://127.0.0.1:{live.port}" in screen
        body = '{"model": "m", "messages": [{"role": "user", "content": "Hi"}]}'
        assert f"-d '{body}'" in screen
        assert live.stop() == 0


@pytest.mark.parametrize("form", ["json", "auto"])
def test_logs_for_machines_have_no_screen_among_them(form: str) -> None:
    """But a line that says where it listens; by itself where stderr is no terminal."""
    with fleet(served) as fakes, gateway(*flags_of(fakes), "--log-format", form) as live:
        line = live.wait_said("listening")
        assert (line["level"], line["address"]) == ("info", f"http://127.0.0.1:{live.port}")
        assert live.stop() == 0
        assert live.screen == []


def test_keys_that_change_are_taken(tmp_path: Path) -> None:
    """Those of both files, without a file of --config; at once on SIGHUP."""
    keys, admins = tmp_path / "keys", tmp_path / "admins"
    keys.write_text("one acme\n")
    admins.write_text("adm\n")
    files = ("--api-key-file", str(keys), "--admin-key-file", str(admins))
    with fleet(served) as fakes, gateway(*flags_of(fakes), *files) as live:

        def status(path: str, key: str) -> int:
            headers = {"authorization": f"Bearer {key}"}
            return httpx.get(f"{live.url}{path}", headers=headers).status_code

        assert [status("/v1/models", key) for key in ("one", "two")] == [200, 401]
        keys.write_text("two acme\n")
        assert live.wait_said("configuration applied")["changed"] == ["keys"]
        assert [status("/v1/models", key) for key in ("one", "two")] == [401, 200]
        admins.write_text("other\n")
        live.signal(signal.SIGHUP)
        live.wait_said("configuration applied", count=2)
        assert [status("/v1/fleet", key) for key in ("adm", "other")] == [401, 200]
        admins.write_text("two\n")
        said = live.wait_said("the configuration cannot be used; what runs stays as it is")
        assert "a key of the tenant 'acme' is an admin's key too" in said["error"]
        assert status("/v1/fleet", "other") == 200


def test_files_with_a_byte_order_mark_are_read_as_without(tmp_path: Path) -> None:
    """All of them: the configuration, lists of keys, and files that it names."""
    mark = b"\xef\xbb\xbf"
    config, keys, secret = (tmp_path / name for name in ("route.toml", "keys", "admin"))
    config.write_bytes(mark + b'[admin]\nkey_file = "admin"\n')
    keys.write_bytes(mark + b"one acme\r\ntwo zeta\r\n")
    secret.write_bytes(mark + b"adm\r\n")
    flags = ("--config", str(config), "--api-key-file", str(keys))
    with fleet(served) as fakes, gateway(*flags_of(fakes), *flags) as live:
        for path, key in (("/v1/models", "one"), ("/v1/models", "two"), ("/v1/fleet", "adm")):
            headers = {"authorization": f"Bearer {key}"}
            assert httpx.get(f"{live.url}{path}", headers=headers).status_code == 200


def test_the_last_key_is_not_taken_away_by_a_reload(tmp_path: Path) -> None:
    """Without any, everybody would be let in; a key of one of several is revoked by its line."""
    config, secret = tmp_path / "route.toml", tmp_path / "acme"
    secret.write_text("one")
    keyed = '[[api_key]]\ntenant = "acme"\nkey_file = "acme"\n'
    config.write_text(keyed + '[[api_key]]\ntenant = "zeta"\nkey = "two"\n')
    with fleet(served) as fakes, gateway("--config", str(config), *flags_of(fakes)) as live:

        def status(key: str) -> int:
            headers = {"authorization": f"Bearer {key}"}
            return httpx.get(f"{live.url}/v1/models", headers=headers).status_code

        config.write_text(keyed)
        assert live.wait_said("configuration applied")["changed"] == ["keys"]
        assert [status(key) for key in ("one", "two", "none")] == [200, 401, 401]
        config.write_text("")
        said = live.wait_said("the configuration cannot be used; what runs stays as it is")
        assert said["error"].startswith("there is no API key any more, and without one everybody")
        assert [status(key) for key in ("one", "none")] == [200, 401]


def test_a_broken_file_is_told_again_on_each_signal(tmp_path: Path) -> None:
    """Who sends it waits for an answer."""
    config = tmp_path / "route.toml"
    config.write_text("")
    message = "the configuration cannot be used; what runs stays as it is"
    with fleet(served) as fakes, gateway("--config", str(config), *flags_of(fakes)) as live:
        config.write_text("polcy = 1\n")
        for count in (1, 2, 3):
            assert "unknown key 'polcy'" in live.wait_said(message, count=count)["error"]
            live.signal(signal.SIGHUP)


def test_tenants_without_a_secret_are_warned_of(tmp_path: Path) -> None:
    """Their salts can be computed by whoever knows their names."""
    keys, config = tmp_path / "keys", tmp_path / "route.toml"
    keys.write_text("one acme\n")
    config.write_text("")
    flags = ("--api-key-file", str(keys), "--config", str(config))
    message = (
        "there are API keys and no salt_secret: who reaches the replicas directly can compute "
        "tenants' salts from their names; set salt_secret in the file of --config"
    )
    with fleet(served) as fakes:
        with gateway(*flags_of(fakes), *flags) as live:
            assert live.wait_said(message)["level"] == "warning"
        config.write_text('salt_secret = "of the sea"\n')
        with gateway(*flags_of(fakes), *flags) as live:
            assert message not in {line["message"] for line in live.log}


def test_answers_come_through_and_say_where_from() -> None:
    """A follow-up goes where its beginning is."""
    with fleet(served, served) as fakes, gateway(*flags_of(fakes)) as live:
        story = "Once upon a time there was a gateway. " * 40
        first = live.ask(story)
        assert first.status_code == 200
        assert first.json()["choices"][0]["message"]["content"] == "hi"
        decision = first.headers["x-stemcache-decision"]
        assert "reason=cold" in decision
        again = live.ask(story).headers["x-stemcache-decision"]
        assert "reason=cached" in again
        assert again.split(";")[0] == decision.split(";")[0]
        assert live.stop() == 0


def test_the_pages_are_served() -> None:
    """Beside what is relayed."""
    with fleet(served, served) as fakes, gateway(*flags_of(fakes)) as live:
        live.ask()
        assert httpx.get(f"{live.url}/health").json() == {"status": "ok", "replicas": 2, "up": 2}
        models = httpx.get(f"{live.url}/v1/models").json()["data"]
        assert [card["id"] for card in models] == ["m"]
        metrics = httpx.get(f"{live.url}/metrics").text
        assert 'stemcache_route_answers_total{status="200"} 1\n' in metrics
        assert httpx.head(f"{live.url}/metrics").status_code == 200
        assert sorted(live.fleet()) == ["r0", "r1"]
        drained = httpx.post(f"{live.url}/v1/fleet/drain?replica=r0")
        assert drained.json() == {"replica": "r0", "draining": True, "in_flight": 0}
        for _ in range(3):
            assert 'replica="r1"' in live.ask().headers["x-stemcache-decision"]


def test_a_replica_that_dies_is_noticed_and_one_that_comes_back_is_used(tmp_path: Path) -> None:
    """By checks, as often as the file says."""
    path = tmp_path / "route.toml"
    path.write_text("[health]\ninterval_s = 0.05\n")
    well = True

    def script(call: Call) -> None:
        if call.target == "/health" and not well:
            call.transport.write(json_answer({}, status=503))
        else:
            served(call)

    with fleet(script, served) as fakes, gateway("--config", str(path), *flags_of(fakes)) as live:
        well = False
        assert live.wait_said("down")["replica"] == "r0"
        assert live.fleet()["r0"]["state"] == "down"
        well = True
        assert live.wait_said("up")["replica"] == "r0"
        assert live.fleet()["r0"]["state"] == "up"


def test_a_change_of_the_file_is_applied(tmp_path: Path) -> None:
    """While requests go on; a bad one is told and changes nothing."""
    path = tmp_path / "route.toml"

    def write(text: str) -> None:
        new = path.with_suffix(".new")
        new.write_text(text)
        new.rename(path)

    with fleet(served, served) as fakes:
        one, two = (
            f'[[replica]]\nname="{f.name}"\nurl="http://127.0.0.1:{f.port}"\n' for f in fakes
        )
        write(one)
        with gateway("--config", str(path)) as live:
            assert list(live.fleet()) == ["r0"]
            write(one + two)
            live.wait_said("configuration applied")
            assert list(live.fleet()) == ["r0", "r1"]
            write("replicas = []")
            said = live.wait_said("the configuration cannot be used; what runs stays as it is")
            assert "unknown key 'replicas'" in said["error"]
            assert list(live.fleet()) == ["r0", "r1"]
            write('[listen]\ngrace_s = 1\n[health]\npath = "/x"\n' + two)
            assert live.wait_said("configuration applied", count=2)["changed"] == ["configuration"]
            assert list(live.fleet()) == ["r1"]
            said = live.wait_said("this needs a restart to change; the rest is applied")
            assert said["what"] == ["[listen]"]
            live.signal(signal.SIGHUP)
            assert live.wait_said("configuration applied", count=3)["changed"] == []
            assert live.ask().status_code == 200


def test_flags_win_over_the_file_after_a_reload_too(tmp_path: Path) -> None:
    """They are laid over it anew."""
    path = tmp_path / "route.toml"
    path.write_text('policy = "random"\n')
    with (
        fleet(served) as fakes,
        gateway("--config", str(path), "--policy", "session", *flags_of(fakes)) as live,
    ):
        live.signal(signal.SIGHUP)
        live.wait_said("configuration applied")
        answer = httpx.get(f"{live.url}/v1/fleet").json()
        assert answer["policy"] == "session"
        assert [replica["name"] for replica in answer["replicas"]] == ["r0"]


class Stream:
    """A replica that streams a word when it is told to."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.began = threading.Event()

    def __call__(self, call: Call) -> None:
        if not call.target.endswith("/chat/completions"):
            served(call)
            return
        call.transport.write(stream_head() + event({"choices": [{"delta": {"content": "a"}}]}))
        self.calls.append(call)
        self.began.set()


def read_stream(live: LiveGateway, into: list[str]) -> threading.Thread:
    """Ask for a stream in a thread; its lines, and how it ended."""

    def run() -> None:
        body = {"model": "m", "messages": [{"role": "user", "content": "x"}], "stream": True}
        try:
            with httpx.stream(
                "POST", f"{live.url}/v1/chat/completions", json=body, timeout=20
            ) as answer:
                into.extend(line for line in answer.iter_lines() if line)
        except httpx.HTTPError as error:
            into.append(type(error).__name__)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def test_sigterm_lets_running_answers_finish() -> None:
    """And takes nothing new."""
    stream = Stream()
    lines: list[str] = []
    with fleet(stream) as fakes, gateway(*flags_of(fakes)) as live:
        thread = read_stream(live, lines)
        assert stream.began.wait(10)
        live.signal(signal.SIGTERM)
        assert live.wait_said("draining")["in_flight"] == 1
        with pytest.raises(httpx.TransportError):
            live.ask()
        stream.calls[0].write(event("[DONE]") + event(b""))
        thread.join(10)
        assert live.stop() == 0
        assert live.wait_said("stopped")["cut_off"] == 0
    assert lines[-1] == "data: [DONE]"


def test_a_second_signal_hurries() -> None:
    """What runs is cut off, and that is said: in its stream, in the log, in the exit code."""
    stream = Stream()
    lines: list[str] = []
    with fleet(stream) as fakes, gateway(*flags_of(fakes)) as live:
        thread = read_stream(live, lines)
        assert stream.began.wait(10)
        live.signal(signal.SIGINT)
        live.wait_said("draining")
        live.signal(signal.SIGINT)
        assert live.stop() == 1
        assert live.wait_said("stopped")["cut_off"] == 1
        thread.join(10)
    assert len(lines) == 2
    assert json.loads(lines[1].removeprefix("data: "))["error"]["code"] == "gateway_stopping"


def test_the_grace_ends() -> None:
    """After --grace seconds."""
    stream = Stream()
    with fleet(stream) as fakes, gateway(*flags_of(fakes), "--grace", "0.1") as live:
        thread = read_stream(live, [])
        assert stream.began.wait(10)
        begun = time.monotonic()
        assert live.stop() == 1
        assert time.monotonic() - begun < 10
        thread.join(10)


def test_clients_need_a_key_where_there_are_some(tmp_path: Path) -> None:
    """Each tenant has a salt of its own, and no secret is said anywhere."""
    keys, admins = tmp_path / "keys", tmp_path / "admins"
    keys.write_text("hunter2-a acme\nhunter2-b zeta\n")
    admins.write_text("hunter2-admin\n")
    with fleet(served) as fakes:
        files = ["--api-key-file", str(keys), "--admin-key-file", str(admins)]
        with gateway(*flags_of(fakes), *files) as live:
            body = {"model": "m", "messages": [{"role": "user", "content": "a secret of mine"}]}
            url = f"{live.url}/v1/chat/completions"
            assert httpx.post(url, json=body).status_code == 401
            salts = set()
            for key in ("hunter2-a", "hunter2-b"):
                headers = {"authorization": f"Bearer {key}"}
                assert httpx.post(url, json=body, headers=headers).status_code == 200
                call = fakes[0].calls[-1]
                assert "authorization" not in call.headers
                salts.add(call.json["cache_salt"])
            assert len(salts) == 2
            fleet_url = f"{live.url}/v1/fleet"
            assert httpx.get(fleet_url).status_code == 401
            admin = {"authorization": "Bearer hunter2-admin"}
            shown = httpx.get(fleet_url, headers=admin)
            assert shown.status_code == 200
            assert live.stop() == 0
            for text in (live.text, shown.text):
                assert "hunter2" not in text
                assert "a secret of mine" not in text


def test_a_certificate_of_the_users_is_shown_and_read_again(tmp_path: Path) -> None:
    """When it is renewed, SIGHUP takes the new one."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed")
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    config = tmp_path / "route.toml"
    config.write_text('[listen]\ntls_cert = "cert.pem"\ntls_key = "key.pem"\n')

    def renew() -> None:
        command = [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
        command += ["-nodes", "-days", "2", "-subj", "/CN=test"]
        command += ["-addext", "subjectAltName=IP:127.0.0.1"]
        command += ["-keyout", str(key), "-out", str(cert)]
        subprocess.run(command, check=True, capture_output=True)

    renew()
    with fleet(served) as fakes, gateway("--config", str(config), *flags_of(fakes)) as live:
        assert live.url.startswith("https://")
        for count in (1, 2):
            context = ssl.create_default_context(cafile=str(cert))
            assert httpx.get(f"{live.url}/health", verify=context).status_code == 200
            renew()
            live.signal(signal.SIGHUP)
            assert live.wait_said("configuration applied", count=count)["changed"] == [
                "certificate"
            ]
        live.signal(signal.SIGHUP)
        assert live.wait_said("configuration applied", count=3)["changed"] == []
        whole = config.read_text()
        cert.write_text("broken")
        config.write_text('policy = "random"\n' + whole)
        said = live.wait_said("the configuration cannot be used; what runs stays as it is")
        assert "--tls-cert" in said["error"]
        policy = httpx.get(f"{live.url}/v1/fleet", verify=False).json()["policy"]
        assert policy == "auto"


def test_an_encrypted_key_is_told_and_nobody_is_asked(run: Run, tmp_path: Path) -> None:
    """For its passphrase: a server has nobody at its terminal."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed")
    key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
    command = [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    command += ["-passout", "pass:x", "-subj", "/CN=t", "-keyout", str(key), "-out", str(cert)]
    subprocess.run(command, check=True, capture_output=True)
    said = run("--replica", "h:1", "--tls-cert", str(cert), "--tls-key", str(key))[2]
    assert said == "stemcache: --tls-key is encrypted; give a key without a passphrase\n"


def test_local_replicas_are_started_used_and_stopped() -> None:
    """Two real ones, through the official client: a follow-up finds its beginning."""
    with gateway("--local", "2") as live:
        assert sorted(live.fleet()) == ["local-0", "local-1"]
        client = OpenAI(base_url=f"{live.url}/v1", api_key="none")
        assert [model.id for model in client.models.list()] == ["toy"]
        messages: list[Any] = [{"role": "user", "content": "Tell me of the sea. " * 30}]
        for turn in range(3):
            answer = client.chat.completions.create(model="toy", messages=messages, max_tokens=8)
            details = answer.usage.prompt_tokens_details if answer.usage else None
            assert details is not None
            cached = details.cached_tokens or 0
            assert (cached > 300) == (turn > 0)
            messages += [
                {"role": "assistant", "content": "It is deep."},
                {"role": "user", "content": "Go on."},
            ]
        seats = [replica["seats"][0] for replica in live.fleet().values()]
        assert sorted(seat["outcomes"].get("done", 0) for seat in seats) == [0, 3]
        urls = [replica["url"] for replica in live.fleet().values()]
        assert live.stop() == 0
    for url in urls:
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{url}/health")


def test_a_local_model_that_cannot_be_served_is_told() -> None:
    """With what `stemcache serve` said of it."""
    line = fails("--local", "1", "--model", "/no/such", "--port", "0", "--log-format", "json")
    assert "local-0 of --local did not start: stemcache serve ended with code 2" in line
    assert "--model /no/such does not exist" in line


# --- explain -----------------------------------------------------------------------------------


@pytest.fixture
def body(tmp_path: Path) -> Path:
    """A request."""
    path = tmp_path / "body.json"
    path.write_text(
        json.dumps({"model": "m", "messages": [{"role": "user", "content": "the sea " * 100}]})
    )
    return path


def test_a_body_is_explained_in_three_forms(
    run: Run, body: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For people, in a line, and for programs."""
    with fleet(served, served) as fakes, gateway(*flags_of(fakes)) as live:
        httpx.post(f"{live.url}/v1/chat/completions", content=body.read_bytes())
        seat = next(name for name, one in live.fleet().items() if one["seats"][0]["requests"])
        code, full, _ = run("explain", str(body), "--gateway", live.url)
        assert code == 0
        assert full.startswith(f"{seat}: cached\n")
        for words in ("believed cached", "next best", "policy", "in flight", "from guess"):
            assert words in full
        flags = ("--gateway", live.url, "--output-format")
        _, line, _ = run("explain", str(body), *flags, "concise")
        assert line.startswith(f"{seat} cached cached=")
        assert line.count("\n") == 1
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(body.read_bytes())))
        found = json.loads(run("explain", "-", *flags, "json")[1])
        assert found["decision"]["replica"] == seat
        assert found["seats"][0].keys() >= {"replica", "cached_tokens", "in_flight"}
        assert len([call for fake in fakes for call in fake.calls if call.body]) == 1


def test_that_nobody_can_take_it_is_explained_too(run: Run, body: Path) -> None:
    """With why."""
    with fleet(served) as fakes, gateway(*flags_of(fakes)) as live:
        httpx.post(f"{live.url}/v1/fleet/drain?replica=r0")
        words = ("explain", str(body), "--gateway", live.url)
        _, full, _ = run(*words)
        assert full.startswith("no replica can take it\n")
        assert "r0: draining" in full
        assert run(*words, "--output-format", "concise") == (1, "no replica can take it\n", "")


def test_explaining_needs_the_admins_key_where_there_is_one(
    run: Run, body: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the environment, which keeps it out of process lists."""
    admins = tmp_path / "admins"
    admins.write_text("hunter2")
    with (
        fleet(served) as fakes,
        gateway(*flags_of(fakes), "--admin-key-file", str(admins)) as live,
    ):
        words = ("explain", str(body), "--gateway", live.url)
        assert run(*words)[2] == (
            f"stemcache: the gateway at {live.url} refuses (401): this page needs an admin key; "
            "send it as Authorization: Bearer KEY; here, give it with --admin-key or in "
            "STEMCACHE_ADMIN_KEY\n"
        )
        monkeypatch.setenv("STEMCACHE_ADMIN_KEY", "x\n")
        assert "--admin-key is empty or has characters that no key has" in run(*words)[2]
        monkeypatch.setenv("STEMCACHE_ADMIN_KEY", "hunter2")
        assert run(*words)[1].startswith("r0: ")


def test_an_empty_body_and_a_gateway_that_is_not_there_are_told(run: Run, tmp_path: Path) -> None:
    """Before anything is sent, and after."""
    body = tmp_path / "body"
    body.write_text(" \n")
    assert run("explain", str(body))[2].endswith(
        "is empty; give the JSON that a client would post\n"
    )
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{sock.getsockname()[1]}"
        body.write_text("{}")
        assert run("explain", str(body), "--gateway", url)[2] == (
            f"stemcache: no gateway answers at {url}: the connection was refused; start one with "
            "stemcache route, or give its address with --gateway\n"
        )


@pytest.mark.parametrize(
    ("status", "answer"),
    [
        (404, {}),
        (404, {"detail": "Not Found"}),
        (404, {"error": {"code": 404, "message": "File Not Found"}}),
        (404, {"error": {"code": "not_found", "message": "no such page"}}),
        (405, {"error": {"code": None, "message": "Method Not Allowed"}}),
        (200, {}),
        (200, {"decision": None}),
    ],
)
def test_what_is_no_gateway_is_told(run: Run, body: Path, status: int, answer: Any) -> None:
    """A replica, for one, or a page for people."""
    with fleet(lambda call: call.transport.write(json_answer(answer, status=status))) as fakes:
        url = f"http://127.0.0.1:{fakes[0].port}"
        code, out, err = run("explain", str(body), "--gateway", url)
        assert (code, out) == (2, "")
        assert err == (
            f"stemcache: this is no stemcache gateway: what answers at {url} has no such page "
            f"({status}); give the address of stemcache route with --gateway\n"
        )


def test_an_explanation_for_no_tenant_says_so(
    run: Run, body: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In all three forms: no tenant's request goes by it. The address may be a client's."""
    keys, admins = tmp_path / "keys", tmp_path / "admins"
    keys.write_text("one acme\n")
    admins.write_text("adm\n")
    monkeypatch.setenv("STEMCACHE_ADMIN_KEY", "adm")
    files = ("--api-key-file", str(keys), "--admin-key-file", str(admins))
    with fleet(served) as fakes, gateway(*flags_of(fakes), *files) as live:
        words = ("explain", str(body), "--gateway", f"{live.url}/v1/")
        full = " ".join(run(*words)[1].split())
        assert "tenant none; no tenant's request goes by this: say whose it is with" in full
        assert run(*words, "--output-format", "concise")[1].endswith(" tenant=none\n")
        found = json.loads(run(*words, "--output-format", "json")[1])
        assert (found["tenant"], found["tenants"]) == (None, True)
        whose = ("--tenant", "acme")
        assert "tenant acme" in " ".join(run(*words, *whose)[1].split())
        line = run(*words, *whose, "--output-format", "concise")[1]
        assert line.endswith(" tenant=acme\n")
        assert "refuses (404): no API key is this tenant's" in run(*words, "--tenant", "x")[2]
        refused = run(*words, "--path", "/generate")[2]
        assert "refuses (400): nothing that is posted to this path goes to a replica" in refused


# --- help --------------------------------------------------------------------------------------


def test_help_has_examples_of_both() -> None:
    """That can be copied."""
    runner = CliRunner()
    assert "stemcache route --local 3" in runner.invoke(stemcache, ["route", "--help"]).output
    shown = runner.invoke(stemcache, ["route", "explain", "--help"]).output
    assert "stemcache route explain body.json" in shown


def test_options_are_completed_in_a_shell() -> None:
    """And so are policies."""
    runner = CliRunner()
    words = {"_STEMCACHE_COMPLETE": "bash_complete", "COMP_WORDS": "stemcache route --poli"}
    found = runner.invoke(stemcache, [], prog_name="stemcache", env={**words, "COMP_CWORD": "2"})
    assert "--policy" in found.output
    words["COMP_WORDS"] = "stemcache route --policy ro"
    found = runner.invoke(stemcache, [], prog_name="stemcache", env={**words, "COMP_CWORD": "3"})
    assert "round-robin" in found.output
