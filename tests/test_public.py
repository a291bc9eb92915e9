"""The public surface: what `__all__` says is there, sorted, and imports without torch."""

import importlib
import pkgutil
import subprocess
import sys

import pytest

import stemcache

MODULES = [
    module.name
    for module in pkgutil.walk_packages(stemcache.__path__, "stemcache.")
    if not module.name.endswith("__main__")
]
FRAMEWORKS = {
    "stemcache.integrations.langchain_middleware": "langchain",
    "stemcache.integrations.litellm_callback": "litellm",
    "stemcache.integrations.pydantic_ai_hook": "pydantic_ai",
    "stemcache.integrations.ray_serve": "ray",
}
"""What lives in another framework, and is imported only beside it."""


@pytest.mark.parametrize("name", MODULES)
def test_a_modules_all_is_sorted_and_true(name: str) -> None:
    """Every public name exists, and `__all__` lists them in order."""
    if name in FRAMEWORKS:
        pytest.importorskip(FRAMEWORKS[name])
    module = importlib.import_module(name)
    public = getattr(module, "__all__", [])

    expected = sorted(public, key=lambda each: (not each.isupper(), each[0].islower(), each))

    assert expected == list(public)
    assert all(hasattr(module, each) for each in public)


def test_everything_but_the_decoder_imports_without_torch() -> None:
    """The base install has no torch; only `stemcache.engine.torch` may ask for it."""
    light = [
        name
        for name in MODULES
        if not name.startswith("stemcache.engine.torch") and name not in FRAMEWORKS
    ]
    program = (
        "import sys\n"
        "for heavy in ('torch', 'transformers', 'tokenizers', 'jinja2', 'safetensors', 'gguf'):\n"
        "    sys.modules[heavy] = None\n"
        f"for name in {light!r}:\n"
        "    __import__(name)\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )

    assert (0, "") == (done.returncode, done.stderr)
