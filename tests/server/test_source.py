"""Where the model comes from, as a value that travels to another process."""

import os
import pickle
import sys
import types
from dataclasses import FrozenInstanceError
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from stemcache.errors import ModelError
from stemcache.server.source import DirectorySource, Dtype, Source, ToySource
from stemcache.text.chat_template import PlainTemplate
from stemcache.text.tokenizer import ByteTokenizer

TORCH_MODEL = "stemcache.engine.torch.model"


def now() -> datetime:
    """A moment."""
    return datetime(2026, 1, 2, tzinfo=UTC)


@pytest.mark.parametrize(
    "source",
    [
        ToySource(name="n", context_tokens=7),
        DirectorySource(path=Path("/m"), name="n", dtype="float32", threads=3),
    ],
)
def test_sources_travel(source: Source) -> None:
    """What arrives is what was sent, and neither can be changed on the way."""
    assert source == pickle.loads(pickle.dumps(source))
    with pytest.raises(FrozenInstanceError):
        source.name = "other"  # type: ignore[misc]  # that is the point


def test_the_toy_model_speaks_bytes_and_ends_its_answers() -> None:
    """256 bytes, and a token behind them that ends an answer."""
    info = ToySource(name="n", context_tokens=99).load_model().info

    assert ("n", 257, 99) == (info.name, info.vocabulary, info.context_tokens)
    assert frozenset({256}) == info.stop_tokens


def test_the_toy_models_text_needs_no_file() -> None:
    """Bytes for tokens and the plain template."""
    text = ToySource().load_text(now=now)

    assert isinstance(text.tokenizer, ByteTokenizer)
    assert isinstance(text.template, PlainTemplate)


class Loads:
    """Stands where torch would be loaded; notes what it is asked and in what environment."""

    def __init__(self) -> None:
        self.asked: list[tuple[Path, str, Dtype]] = []
        self.environment: dict[str, str] = {}

    def load(self, path: Path, *, name: str, dtype: Dtype) -> str:
        self.asked.append((path, name, dtype))
        names = ("HF_HUB_OFFLINE", "OMP_WAIT_POLICY", "OMP_NUM_THREADS")
        self.environment = {name: os.environ[name] for name in names if name in os.environ}
        return "the model"


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> Loads:
    """A loader instead of torch's, in an environment that says nothing of threads."""
    for name in ("HF_HUB_OFFLINE", "OMP_WAIT_POLICY", "OMP_NUM_THREADS"):
        monkeypatch.setenv(name, "")  # remembered, so that it is put back
        monkeypatch.delenv(name)
    loads = Loads()
    module: Any = types.ModuleType(TORCH_MODEL)
    module.TorchModel = loads
    monkeypatch.setitem(sys.modules, TORCH_MODEL, module)
    return loads


def test_a_directory_is_loaded_without_a_network_by_threads_that_sleep(loads: Loads) -> None:
    """The environment is set before torch looks, which it does once."""
    source = DirectorySource(path=Path("/m"), name="n", dtype="auto", threads=3)
    found: object = source.load_model()

    assert "the model" == found
    assert [(Path("/m"), "n", "auto")] == loads.asked
    assert {
        "HF_HUB_OFFLINE": "1",
        "OMP_WAIT_POLICY": "passive",
        "OMP_NUM_THREADS": "3",
    } == loads.environment


def test_what_the_user_set_for_threads_stays(loads: Loads, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless a flag says otherwise, and the network is never asked."""
    monkeypatch.setenv("OMP_WAIT_POLICY", "active")
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    DirectorySource(path=Path("/m"), name="n", dtype="auto").load_model()

    assert {
        "HF_HUB_OFFLINE": "1",
        "OMP_WAIT_POLICY": "active",
        "OMP_NUM_THREADS": "7",
    } == loads.environment


@pytest.mark.usefixtures("loads")
def test_a_package_that_is_missing_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With the command that installs it."""
    monkeypatch.delitem(sys.modules, TORCH_MODEL)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ModelError) as caught:
        DirectorySource(path=Path("/m"), name="n", dtype="auto").load_model()

    assert (
        "the model at /m needs the package torch, which is not installed; run: pip install "
        "'stemcache[engine]'"
    ) == str(caught.value)


def test_a_directory_without_a_tokenizer_is_named(tmp_path: Path) -> None:
    """The text side is read first, and does not need torch."""
    with pytest.raises(ModelError) as caught:
        DirectorySource(path=tmp_path, name="n", dtype="auto").load_text(now=now)

    assert f"no tokenizer.json in {tmp_path}; give a directory that has one" == str(caught.value)
