"""A deployment of fakes with a prefix cache each, behind our router; run inside Ray's own Python.

Prints one line of JSON: hits, requests and how they were spread, by router.
"""

import json
import sys
from collections import Counter
from random import Random
from typing import Any

import ray
from ray import serve
from ray.serve.config import RequestRouterConfig

BLOCK = 64
GROUPS = 12
REQUESTS = 240


@serve.deployment(max_ongoing_requests=8, ray_actor_options={"num_cpus": 0.1})
class Cache:
    """Remembers 300 blocks, least recently used out first."""

    def __init__(self) -> None:
        self.blocks: dict[str, None] = {}

    def ask(self, body: dict[str, list[dict[str, str]]]) -> tuple[str, int, int]:
        text = "".join(message["content"] for message in body["messages"])
        keys = [text[: at + BLOCK] for at in range(0, len(text) - BLOCK + 1, BLOCK)]
        hit = 0
        for key in keys:
            if key not in self.blocks:
                break
            hit += 1
        for key in reversed(keys):
            self.blocks.pop(key, None)
            self.blocks[key] = None
        while len(self.blocks) > 300:
            del self.blocks[next(iter(self.blocks))]
        return serve.get_replica_context().replica_id.unique_id, hit, len(keys)


def run(name: str, **router: object) -> dict[str, object]:
    """Ask a fresh deployment, four requests at a time."""
    options = {"num_replicas": 4}
    if router:
        options["request_router_config"] = RequestRouterConfig(**router)
    deployment: Any = Cache
    handle = serve.run(deployment.options(**options).bind(), name=name, route_prefix=f"/{name}")
    rng = Random(5)
    spread: Counter[str] = Counter()
    hits = blocks = 0
    pending = []
    for number in range(REQUESTS):
        group = rng.randrange(GROUPS)
        text = (f"group {group} " * 250)[:2000]
        body = {"messages": [{"role": "user", "content": text + f" own {number} " * 10}]}
        pending.append(handle.ask.remote(body))
        if len(pending) == 4:
            for answer in pending:
                replica, hit, size = answer.result()
                spread[replica] += 1
                hits, blocks = hits + hit, blocks + size
            pending = []
    serve.delete(name)
    return {"hit_rate": hits / blocks, "spread": sorted(spread.values())}


def main() -> None:
    """One deployment behind our router, one behind Ray's own."""
    ray.init(num_cpus=2, include_dashboard=False, logging_level="ERROR")
    serve.start(logging_config={"log_level": "ERROR"}, proxy_location="Disabled")
    ours = {
        "request_router_class": "stemcache.integrations.ray_serve:StemcacheRequestRouter",
        "request_router_kwargs": {"policy": "auto"},
    }
    result = {"ours": run("ours", **ours), "default": run("default")}
    serve.shutdown()
    ray.shutdown()
    sys.stdout.write(json.dumps(result) + "\n")


main()
