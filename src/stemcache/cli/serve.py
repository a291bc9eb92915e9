"""`stemcache serve`: one model behind OpenAI's endpoints."""

import asyncio
import math
import os
import shlex
import sys
import time
from pathlib import Path
from typing import get_args

import click
import uvloop
from rich.console import Console

from stemcache.cli.screen import show_ready
from stemcache.cli.sizes import SIZE
from stemcache.cli.talk import talking
from stemcache.clock import MonotonicClock
from stemcache.engine.config import IndexForm
from stemcache.errors import UsageError
from stemcache.policy import evict, schedule
from stemcache.server.embedded import EMBEDDED_NAME, cache_directory, converted, obtain
from stemcache.server.logs import LogFormat, LogLevel, make_logger
from stemcache.server.run import bind, run_server
from stemcache.server.service import ServiceSettings
from stemcache.server.source import DirectorySource, Dtype, Source, ToySource
from stemcache.server.worker import EngineSettings

__all__ = ["serve"]

_DEFAULT_BLOCK: dict[IndexForm, int] = {"hash": 16, "radix": 1}


@click.command()
@click.option(
    "--model",
    type=click.Path(),  # for the shell, which completes it; what is there is looked at below
    metavar="PATH",
    help="Model directory (safetensors or GGUF) or .gguf file; 'toy' has no weights.  "
    f"[default: {EMBEDDED_NAME}, fetched on first use]",
)
@click.option("--name", help="What clients call the model.  [default: the directory's name]")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    default=8000,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="Port to listen on; 0 takes any free one.",
)
@click.option(
    "--dtype",
    default="auto",
    show_default=True,
    type=click.Choice(get_args(Dtype)),
    help="Precision of weights and KV; auto is bfloat16 where the processor has it.",
)
@click.option(
    "--index",
    default="hash",
    show_default=True,
    type=click.Choice(get_args(IndexForm)),
    help="How prefixes are found: a table of block keys, or a radix tree of tokens.",
)
@click.option(
    "--block-size",
    type=click.IntRange(1, 4096),
    help="Tokens in a block, the unit that is shared.  [default: 16 for hash, 1 for radix]",
)
@click.option(
    "--kv-memory",
    type=SIZE,
    help="Memory for the KV pool, such as 512MB or 2GiB.  [default: 1GiB; 4MiB for toy]",
)
@click.option(
    "--schedule",
    "order",
    default="fcfs",
    show_default=True,
    type=click.Choice(schedule.NAMES),
    help="Whom to admit first: first come, or longest cached prefix.",
)
@click.option(
    "--eviction",
    default="lru",
    show_default=True,
    type=click.Choice(evict.NAMES),
    help="Which cached blocks to give up first.",
)
@click.option("--no-prefix-caching", is_flag=True, help="Compute every prompt whole; keep nothing.")
@click.option(
    "--chunk-tokens",
    default=512,
    show_default=True,
    type=click.IntRange(1),
    help="Most tokens computed in one step.",
)
@click.option(
    "--max-running",
    default=128,
    show_default=True,
    type=click.IntRange(1),
    help="Most requests that hold pages at once.",
)
@click.option(
    "--max-waiting",
    default=1024,
    show_default=True,
    type=click.IntRange(1),
    help="Most requests that wait; one more gets a 503.",
)
@click.option(
    "--max-body", default="16MiB", show_default=True, type=SIZE, help="Largest request body."
)
@click.option(
    "--grace",
    default=30.0,
    show_default=True,
    type=click.FloatRange(0),
    help="Seconds that running requests may take to finish after SIGTERM.",
)
@click.option(
    "--threads", type=click.IntRange(1), help="Threads that compute.  [default: torch's choice]"
)
@click.option(
    "--api-key",
    envvar="STEMCACHE_API_KEY",
    show_envvar=True,
    help="Ask clients for this key. The variable keeps it out of process lists.",
)
@click.option(
    "--log-format",
    default="auto",
    show_default=True,
    type=click.Choice(get_args(LogFormat)),
    help="Logs for humans or as JSON lines; auto looks whether stderr is a terminal.",
)
@click.option(
    "--log-level", default="info", show_default=True, type=click.Choice(get_args(LogLevel))
)
def serve(
    *,
    model: str | None,
    name: str | None,
    host: str,
    port: int,
    dtype: Dtype,
    index: IndexForm,
    block_size: int | None,
    kv_memory: int | None,
    order: str,
    eviction: str,
    no_prefix_caching: bool,
    chunk_tokens: int,
    max_running: int,
    max_waiting: int,
    max_body: int,
    grace: float,
    threads: int | None,
    api_key: str | None,
    log_format: LogFormat,
    log_level: LogLevel,
) -> None:
    """Serve a model on OpenAI's endpoints, computing shared prompt prefixes once.

    \b
    Examples:
      stemcache serve
      stemcache serve --model ./Qwen3-0.6B --kv-memory 4GiB --port 9000
      stemcache serve --index radix            # reuse exact to the token
      STEMCACHE_API_KEY=secret stemcache serve --host 0.0.0.0

    Endpoints: /v1/chat/completions, /v1/completions, /v1/models, /tokenize, /detokenize, /health,
    /metrics, POST /reset_prefix_cache. Logs go to stderr. SIGTERM and ^C let running requests
    finish; a second one does not.
    """
    if not math.isfinite(grace):
        raise UsageError(f"--grace is {grace}; use a number of seconds")
    if model == "":
        raise UsageError("--model is empty; give a path or 'toy', or leave it out")
    if api_key == "":
        raise UsageError("--api-key is empty; give a key or leave it out")
    toy = model == "toy"
    settings = EngineSettings(
        kv_memory_bytes=kv_memory or (4 * 2**20 if toy else 2**30),
        index=index,
        block_size=block_size or _DEFAULT_BLOCK[index],
        schedule=order,
        eviction=eviction,
        prefix_caching=not no_prefix_caching,
        chunk_tokens=chunk_tokens,
        max_running=max_running,
        max_waiting=max_waiting,
    )
    sock = bind(host, port)
    source = _source(model, name, dtype, threads)
    service = ServiceSettings(model_name=source.name, max_body_bytes=max_body, api_key=api_key)
    out = Console()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        code = runner.run(
            run_server(
                sock,
                source,
                settings,
                service,
                grace_s=grace,
                clock=MonotonicClock(),
                wall=time.time,
                logger=make_logger(log_format, log_level),
                on_ready=lambda ready: show_ready(out, ready),
            )
        )
    sys.exit(code)


def _source(model: str | None, name: str | None, dtype: Dtype, threads: int | None) -> Source:
    if model == "toy":
        return ToySource(name=name or "toy")
    cache = cache_directory(os.environ, Path.home())
    if model is None:
        with talking() as tell:
            path = obtain(cache, tell=tell)
        if not (path / "tokenizer.json").is_file():
            raise UsageError(
                f"the embedded model in {path} is broken: it has no tokenizer.json; "
                "delete the directory, and the next start makes it again"
            )
    else:
        path = Path(model).resolve()
        if not path.exists():
            raise UsageError(
                f"--model {model} does not exist; give a directory with weights and tokenizer, "
                "a .gguf file, 'toy', or nothing for the embedded model"
            )
        if path.is_file() and path.suffix != ".gguf":
            raise UsageError(
                f"--model {model} is a file, but no .gguf file; give its directory, or a .gguf file"
            )
        files = sorted(file.name for file in path.glob("*.gguf")) if path.is_dir() else []
        if len(files) > 1 and not (path / "tokenizer.json").is_file():
            raise UsageError(
                f"--model {model} holds {len(files)} .gguf files; "
                f"name one, such as {shlex.quote(str(Path(model) / files[0]))}"
            )
        if not (path / "tokenizer.json").is_file():
            with talking() as tell:
                path = converted(path, cache, tell=tell)
    return DirectorySource(path=path, name=name or path.name, dtype=dtype, threads=threads)
