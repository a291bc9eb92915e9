"""What importing the library brings along."""

import subprocess
import sys


def test_who_lays_out_prompts_loads_no_numpy() -> None:
    """It takes half of the time that an import has, and is needed for simulations only."""
    code = "import sys, stemcache.prompt; print('numpy' in sys.modules, 'torch' in sys.modules)"
    done = subprocess.run(  # our own interpreter
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False False\n"
