"""The start-up screen of `serve`: what is served, with what memory, and how to ask it."""

import json
import shlex

from rich.console import Console
from rich.table import Table
from rich.text import Text

from stemcache.cli.sizes import in_words
from stemcache.server.run import Ready

__all__ = ["show_ready"]


def show_ready(console: Console, ready: Ready) -> None:
    """Print it once the server answers."""
    info, settings = ready.info, ready.settings
    kv_tokens = ready.pages * settings.block_size
    caching = "on" if settings.prefix_caching else "off"
    rows = (
        ("model", f"{ready.model_name}, weights {info.revision[:12]}"),
        ("context", f"{min(info.context_tokens, kv_tokens):,} tokens"),
        ("KV precision", info.kv_dtype),
        ("prefix cache", f"{caching}, {settings.index} index, blocks of {settings.block_size}"),
        ("KV memory", f"{in_words(kv_tokens * info.kv_bytes_per_token)} in {ready.pages:,} pages"),
        (
            "one token",
            f"{in_words(info.kv_bytes_per_token)}, so {kv_tokens:,} tokens fit",
        ),
        ("admission", f"{settings.schedule}, {settings.max_running} running at most"),
        ("eviction", settings.eviction),
        ("address", ready.url),
    )
    table = Table.grid(padding=(0, 2))
    for name, value in rows:
        table.add_row(Text(name, style="dim"), Text(value))
    console.print(Text("stemcache serve", style="bold"))
    console.print(table)
    console.print()
    console.print(Text(_curl(ready)), soft_wrap=True)
    console.print()
    console.print(Text(_python(ready)), soft_wrap=True)
    console.file.flush()


def _curl(ready: Ready) -> str:
    messages = [{"role": "user", "content": "Hi"}]
    body = json.dumps({"model": ready.model_name, "messages": messages}, ensure_ascii=False)
    return (
        f"curl {ready.url}/v1/chat/completions -H 'content-type: application/json' \\\n"
        f"  -d {shlex.quote(body)}"
    )


def _python(ready: Ready) -> str:
    name = json.dumps(ready.model_name, ensure_ascii=False)  # JSON's strings are Python's too
    return (
        "from openai import OpenAI\n"
        f'client = OpenAI(base_url="{ready.url}/v1", api_key="none")\n'
        f"answer = client.chat.completions.create(model={name}, "
        'messages=[{"role": "user", "content": "Hi"}])\n'
        "print(answer.choices[0].message.content, answer.usage.prompt_tokens_details)"
    )
