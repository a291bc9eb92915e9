"""Files of the user's, read whole or told of."""

from pathlib import Path

import pytest

from stemcache.errors import UsageError
from stemcache.server.gateway.text_file import read_text


def test_a_text_is_read(tmp_path: Path) -> None:
    """As UTF-8."""
    path = tmp_path / "route.toml"
    path.write_bytes("ä = 1\r\n".encode())
    assert read_text(path) == "ä = 1\r\n"


@pytest.mark.parametrize("text", ["", "key = 1", "\ufeff"])
def test_a_byte_order_mark_is_no_part_of_a_text(tmp_path: Path, text: str) -> None:
    """Editors on Windows write one; a second one is the user's."""
    path = tmp_path / "route.toml"
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert read_text(path) == text


def test_files_that_are_no_text_are_told(tmp_path: Path) -> None:
    """With what is wrong about them."""
    path = tmp_path / "route.toml"
    with pytest.raises(UsageError, match="the file of --config: No such file or directory"):
        read_text(path)
    path.write_bytes(b"\xff")
    with pytest.raises(UsageError, match=r"route.toml is not UTF-8; save it as UTF-8"):
        read_text(path)
    path.write_bytes(b"#" * (4 * 2**20 + 1))
    with pytest.raises(UsageError, match=r"is larger than 4,194,304 bytes"):
        read_text(path)
    with pytest.raises(UsageError, match="the file of --config: Is a directory"):
        read_text(tmp_path)
    with pytest.raises(UsageError, match="the file of --config: embedded null byte"):
        read_text(Path("a\0b"))
