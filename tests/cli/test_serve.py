import json
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.server.live_server import serve


def fails(*arguments: str, **environment: str) -> str:
    """What `stemcache serve` says on stderr when it exits with 2, in one line and no traceback."""
    done = subprocess.run(
        [sys.executable, "-m", "stemcache.cli.main", "serve", *arguments],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
        env={"PATH": "", **environment},
    )
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    return done.stderr.splitlines()[-1]


def test_a_port_in_use_is_told_before_anything_is_loaded() -> None:
    """The message names the flag and a way out."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert fails("--model", "toy", "--port", str(port)) == (
            f"stemcache: cannot listen on --host 127.0.0.1 --port {port}: Address already in use; "
            "choose another, or 0 for any free port"
        )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--host", "no.such.host.invalid"], "cannot listen on --host no.such.host.invalid"),
        (["--model", "/no/such"], "--model /no/such does not exist; give a directory"),
        (["--kv-memory", "12 parsecs"], "'12 parsecs' is no size; use a number with a unit"),
        (["--kv-memory", "0"], "'0' is no memory at all; use 1 byte or more"),
        (["--model", "toy", "--kv-memory", "100"], "--kv-memory is 100 bytes, less than one page"),
        (["--eviction", "lruu"], "'lruu' is not one of 'cost', 'fifo', 'lfu', 'lru', 'odds', "),
        (["--schedule", "best"], "'best' is not one of 'fcfs', 'lpm'"),
        (["--index", "tree"], "'tree' is not one of 'hash', 'radix'"),
        (["--block-size", "0"], "0 is not in the range 1<=x<=4096"),
        (["--grace", "inf"], "--grace is inf; use a number of seconds"),
        (["--api-key", ""], "--api-key is empty; give a key or leave it out"),
        (["--modle", "toy"], "No such option '--modle'"),
    ],
)
def test_bad_flags_are_told_in_one_line(arguments: list[str], message: str) -> None:
    """Exit code 2, the value and where it came from, and what to do."""
    flags = ["--model", "toy"] if "--model" not in arguments else []
    assert message in fails(*flags, "--port", "0", *arguments)


def test_a_directory_without_a_model_is_told(tmp_path: Path) -> None:
    """The message names the directory."""
    message = fails("--model", str(tmp_path), "--port", "0")
    assert f"no tokenizer.json in {tmp_path}; give a directory that has one" in message


def test_the_screen_says_what_is_served_and_how_to_ask() -> None:
    """Model, pages, memory a token, address, and examples that run."""
    with serve(
        "--index", "radix", "--kv-memory", "1MiB", "--name", "mine", "--eviction", "slru"
    ) as s:
        screen = "".join(s.screen)
        rows = dict(line.split(maxsplit=1) for line in s.screen[1:10])
        assert rows["model"].split() == ["mine,", "weights", "1"]
        assert rows["context"].split()[0] == "4,096"
        assert "on, radix index, blocks of 1" in screen
        assert "1,024 KiB in 43,690 pages" in screen
        assert "24 bytes, so 43,690 tokens fit" in screen
        assert "fcfs, 128 running at most" in screen
        assert rows["eviction"].strip() == "slru"
        example = screen[screen.index("curl") : screen.index("from openai")]
        curl = example.replace("\\\n", "").split("'")
        answer = httpx.post(f"{s.url}/v1/chat/completions", json=json.loads(curl[3]), timeout=60)
        assert answer.json()["model"] == "mine"
        python = screen[screen.index("from openai") :] + "client.close()\n"
        done = subprocess.run(
            [sys.executable, "-c", python], check=True, capture_output=True, text=True
        )
        assert "cached_tokens=" in done.stdout


def test_radix_reuse_is_exact_to_the_token() -> None:
    """With blocks of one token, all of a repeated prompt but its last token is cached."""
    with serve("--index", "radix") as server:
        body = {"model": "toy", "prompt": "x" * 101, "max_tokens": 1}
        for expected in (0, 100):
            answer = httpx.post(f"{server.url}/v1/completions", json=body).json()
            assert answer["usage"]["prompt_tokens_details"]["cached_tokens"] == expected


def test_without_caching_nothing_is_cached() -> None:
    """A repeated prompt is computed whole, and no page stays behind."""
    with serve("--no-prefix-caching") as server:
        body = {"model": "toy", "prompt": "x" * 101, "max_tokens": 1}
        for _ in range(2):
            answer = httpx.post(f"{server.url}/v1/completions", json=body).json()
            assert answer["usage"]["prompt_tokens_details"]["cached_tokens"] == 0
        assert server.wait_until_idle()["stemcache_pages{idle}"] == 0


def test_an_empty_model_is_refused() -> None:
    """It is a shell variable that is not set, not a wish for the current directory."""
    assert fails("--model", "", "--port", "0") == (
        "stemcache: --model is empty; give a path or 'toy', or leave it out"
    )


def test_a_file_that_holds_no_weights_is_refused(tmp_path: Path) -> None:
    """Before it is taken for a directory."""
    file = tmp_path / "model.bin"
    file.touch()
    assert fails("--model", str(file), "--port", "0") == (
        f"stemcache: --model {file} is a file, but no .gguf file; "
        "give its directory, or a .gguf file"
    )


def test_of_several_gguf_files_one_is_to_be_named(tmp_path: Path) -> None:
    """The message names the first of them."""
    for name in ("b.gguf", "a.gguf"):
        (tmp_path / name).touch()
    assert fails("--model", str(tmp_path), "--port", "0") == (
        f"stemcache: --model {tmp_path} holds 2 .gguf files; name one, such as {tmp_path}/a.gguf"
    )


def test_more_kv_memory_than_there_is_is_refused_in_one_line() -> None:
    """It names the flag, and no traceback hides it."""
    assert fails("--model", "toy", "--port", "0", "--kv-memory", "900TiB") == (
        f"stemcache: --kv-memory is {900 * 2**40} bytes, more than this machine gives; give less"
    )


def test_a_broken_embedded_model_is_to_be_deleted(tmp_path: Path) -> None:
    """The next start makes it again."""
    broken = tmp_path / "models" / "SmolLM2-135M-Instruct"
    broken.mkdir(parents=True)
    assert fails("--port", "0", STEMCACHE_HOME=str(tmp_path)) == (
        f"stemcache: the embedded model in {broken} is broken: it has no tokenizer.json; "
        "delete the directory, and the next start makes it again"
    )
