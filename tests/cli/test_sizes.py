import click
import pytest

from stemcache.cli.sizes import SIZE, in_words


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1", 1),
        ("512MB", 512 * 10**6),
        ("1GiB", 2**30),
        ("1.5 g", 3 * 2**29),
        ("16mib", 2**24),
        ("2kB", 2000),
        ("3TB", 3 * 10**12),
    ],
)
def test_sizes_are_read_with_their_units(text: str, size: int) -> None:
    """Powers of ten and of two, large letters or small."""
    assert SIZE.convert(text, None, None) == size


@pytest.mark.parametrize("text", ["", "GiB", "-1GiB", "1e9", "1 GiB extra", "0.1"])
def test_what_is_no_size_is_refused(text: str) -> None:
    """A number without meaning is never guessed at."""
    with pytest.raises(click.BadParameter):
        SIZE.convert(text, None, None)


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (24, "24 bytes"),
        (46080, "45 KiB"),
        (2**30, "1 GiB"),
        (1023.75 * 2**20, "1,024 MiB"),
        (2**41, "2 TiB"),
        (1536, "1.5 KiB"),
    ],
)
def test_sizes_are_written_with_the_unit_that_fits(size: float, words: str) -> None:
    """Short enough to read at a glance."""
    assert in_words(size) == words
