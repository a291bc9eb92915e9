"""Our router in a Ray Serve that runs here. Ray has an environment of its own."""

import json
import os
import subprocess
from pathlib import Path

import pytest

PYTHON = os.environ.get("STEMCACHE_RAY_PYTHON")
ROOT = Path(__file__).parents[2]


@pytest.mark.peer
@pytest.mark.skipif(PYTHON is None, reason="STEMCACHE_RAY_PYTHON names no interpreter with ray")
def test_prompts_find_their_replica_in_a_real_ray() -> None:
    """Four caches, twelve groups: far more is found than by Ray's own router, and none is idle."""
    assert PYTHON is not None
    done = subprocess.run(
        [PYTHON, str(ROOT / "tests/integrations/ray_serve_app.py")],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["ours"]["hit_rate"] > found["default"]["hit_rate"] + 0.15
    assert found["ours"]["hit_rate"] > 0.85
    assert min(found["ours"]["spread"]) >= 24, found
