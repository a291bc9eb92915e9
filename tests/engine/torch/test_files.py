"""Which files of a directory are the model, and the digest of their bytes."""

import hashlib
import json
import re
from pathlib import Path

import pytest

from stemcache.engine.torch.files import ModelFiles, digest, locate
from stemcache.errors import ModelError


def touch(directory: Path, *names: str) -> None:
    """Make files that hold their names."""
    for name in names:
        (directory / name).write_text(name)


@pytest.mark.parametrize(
    ("names", "weights"),
    [
        (["model.safetensors"], ["model.safetensors"]),
        (["b.safetensors", "a.safetensors"], ["a.safetensors", "b.safetensors"]),
        (["model.safetensors", "consolidated.safetensors"], ["model.safetensors"]),
        (["model.safetensors", "pytorch_model.bin"], ["model.safetensors"]),
        (["model.safetensors", "x.gguf", "y.gguf"], ["model.safetensors"]),
    ],
)
def test_safetensors_are_the_weights(tmp_path: Path, names: list[str], weights: list[str]) -> None:
    """The usual name before others, these in order, and any before other formats."""
    touch(tmp_path, *names)

    assert ModelFiles(tmp_path, tuple(tmp_path / name for name in weights), gguf=False) == (
        locate(tmp_path)
    )


def test_an_index_says_which_shards_are_the_weights(tmp_path: Path) -> None:
    """Each once and in order; what else lies there is not read."""
    names = {"x": "2.safetensors", "y": "1.safetensors", "z": "2.safetensors"}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": names}))
    touch(tmp_path, "1.safetensors", "2.safetensors", "model.safetensors")

    assert (tmp_path / "1.safetensors", tmp_path / "2.safetensors") == locate(tmp_path).weights


def test_a_gguf_file_is_found_by_its_own_name_or_its_directorys(tmp_path: Path) -> None:
    """Either way the directory is where it lies."""
    touch(tmp_path, "m.gguf")
    expected = ModelFiles(tmp_path, (tmp_path / "m.gguf",), gguf=True)

    assert expected == locate(tmp_path) == locate(tmp_path / "m.gguf")


def test_one_of_several_gguf_files_can_be_named(tmp_path: Path) -> None:
    """Only a directory with several does not say which."""
    touch(tmp_path, "a.gguf", "b.gguf")
    with pytest.raises(ModelError) as caught:
        locate(tmp_path)

    assert f"2 GGUF files in {tmp_path}; name one of them (a.gguf, b.gguf)" == str(caught.value)
    assert (tmp_path / "b.gguf",) == locate(tmp_path / "b.gguf").weights


@pytest.mark.parametrize("name", ["model.safetensors", "model.pt", "config.json"])
def test_another_file_is_no_model(tmp_path: Path, name: str) -> None:
    """Safetensors need the configuration beside them, so their directory is to be given."""
    touch(tmp_path, name)
    with pytest.raises(ModelError) as caught:
        locate(tmp_path / name)

    assert (
        f"no weights at {tmp_path / name}; give a directory of safetensors or a .gguf file"
    ) == str(caught.value)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ([], "no weights at {}; give a directory of safetensors or a .gguf file"),
        (["config.json"], "no weights at {}; give a directory of safetensors or a .gguf file"),
        (
            ["pytorch_model.bin"],
            (
                "{} holds only .bin weights, which can run code when read; convert them with "
                "save_pretrained, which writes safetensors"
            ),
        ),
    ],
)
def test_a_directory_without_weights_says_what_it_lacks(
    tmp_path: Path, names: list[str], message: str
) -> None:
    """The whole message."""
    touch(tmp_path, *names)
    with pytest.raises(ModelError) as caught:
        locate(tmp_path)

    assert message.format(tmp_path) == str(caught.value)


def test_a_path_that_is_nowhere_is_named(tmp_path: Path) -> None:
    """The whole message."""
    with pytest.raises(ModelError) as caught:
        locate(tmp_path / "nowhere")

    assert (
        f"no model at {tmp_path / 'nowhere'}; give a directory of safetensors or a .gguf file"
    ) == str(caught.value)


def test_a_shard_that_is_missing_is_named(tmp_path: Path) -> None:
    """A download was cut short between two files."""
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"x": "1.safetensors", "y": "2.safetensors"}}))
    touch(tmp_path, "1.safetensors")
    with pytest.raises(ModelError) as caught:
        locate(tmp_path)

    assert f"{index} names 2.safetensors, which is missing; download it again" == str(caught.value)


@pytest.mark.parametrize(
    "content",
    [b"", b'{"weight_map": {"x"', b"[]", b'{"metadata": {}}', b'{"weight_map": 5}', b"\xff"],
)
def test_an_index_that_cannot_be_read_is_named(tmp_path: Path, content: bytes) -> None:
    """A download was cut short within it."""
    index = tmp_path / "model.safetensors.index.json"
    index.write_bytes(content)
    touch(tmp_path, "1.safetensors")
    with pytest.raises(ModelError, match=rf"^cannot read {re.escape(str(index))}: .*again$"):
        locate(tmp_path)


def sha(*contents: bytes) -> str:
    """The digest of these files' digests."""
    return hashlib.sha256(b"".join(hashlib.sha256(c).digest() for c in contents)).hexdigest()


def test_the_digest_is_of_all_weights_and_the_configuration(tmp_path: Path) -> None:
    """Where a shard ends is part of it, and so is nothing else in the directory."""
    touch(tmp_path, "a.safetensors", "b.safetensors", "config.json", "README.md")
    expected = sha(b"a.safetensors", b"b.safetensors", b"config.json")

    assert expected == digest(locate(tmp_path))
    (tmp_path / "a.safetensors").write_text("a.safetensorsb")
    (tmp_path / "b.safetensors").write_text(".safetensors")
    assert expected != digest(locate(tmp_path))


def test_a_gguf_file_holds_its_configuration(tmp_path: Path) -> None:
    """What lies beside it does not matter."""
    touch(tmp_path, "m.gguf", "config.json")

    assert sha(b"m.gguf") == digest(locate(tmp_path))


@pytest.mark.parametrize("size", [0, 1, (1 << 20) - 1, 1 << 20, (1 << 20) + 1])
def test_files_of_any_size_are_read_whole(tmp_path: Path, size: int) -> None:
    """Across the ends of the buffer."""
    content = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    (tmp_path / "m.gguf").write_bytes(content)

    assert sha(content) == digest(locate(tmp_path))
