from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stemcache.errors import UsageError
from stemcache.prompt.part import Document, Image
from stemcache.prompt.render.media import (
    address,
    bytes_of,
    data_url,
    ending,
    file_name,
    source,
    text_of,
)


@given(st.binary())
def test_bytes_come_back(data: bytes) -> None:
    """From base64, which is passed on as it was given."""
    text = b64encode(data).decode()
    image = Image(media_type="image/png", base64=text)
    assert bytes_of(image, "it") == data
    assert source(image, "it") == text
    assert data_url(image, "it") == f"data:image/png;base64,{text}"
    assert address(image, "it") is None


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_texts_come_back(text: str) -> None:
    """Of files of plain text."""
    data = b64encode(text.encode()).decode()
    assert text_of(Document(media_type="text/plain", base64=data), "it") == text


@pytest.mark.parametrize("base64", ["!", "ab", "YQ==\n", "é"])
def test_what_is_no_base64_is_refused(base64: str) -> None:
    """Also with line breaks, which decoders disagree on."""
    with pytest.raises(UsageError, match="it is no base64; encode its bytes"):
        bytes_of(Image(media_type="image/png", base64=base64), "it")


def test_what_is_no_utf8_is_refused() -> None:
    """A text is asked for."""
    with pytest.raises(UsageError, match="it is no UTF-8"):
        text_of(Document(media_type="text/plain", base64="/w=="), "it")


@pytest.mark.parametrize(
    "image",
    [Image(media_type="image/png"), Image(media_type="image/png", base64="YQ==", url="https://x")],
)
def test_bytes_or_an_address(image: Image) -> None:
    """One of the two."""
    for read in (address, source, bytes_of):
        with pytest.raises(UsageError, match="it has both bytes and an address, or neither"):
            read(image, "it")


def test_an_address_has_no_bytes() -> None:
    """Nothing is fetched here."""
    with pytest.raises(UsageError, match="it is given by address"):
        data_url(Image(media_type="image/png", url="https://x"), "it")
    assert address(Image(media_type="image/png", url="https://x"), "it") == "https://x"


@pytest.mark.parametrize(
    ("document", "name", "form"),
    [
        (Document(media_type="application/pdf", name="a.b"), "a.b", "pdf"),
        (Document(media_type="text/csv"), "document.csv", "csv"),
        (Document(media_type="x/y"), "document", None),
    ],
)
def test_files_have_names_and_endings(document: Document, name: str, form: str | None) -> None:
    """Made of the type alone where there is none: never of a clock or a counter."""
    assert file_name(document) == name
    assert ending(document) == form
