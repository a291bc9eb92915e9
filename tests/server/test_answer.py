from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stemcache.engine.request import FinishReason, Progress, TokenLogprobs, Usage
from stemcache.errors import EngineError
from stemcache.server.answer import Answer, Piece
from stemcache.text.tokenizer import ByteTokenizer

USAGE = Usage(prompt_tokens=1, cached_tokens=0, completion_tokens=1, recomputed_tokens=0)


def progress(
    tokens: Sequence[int],
    finish: FinishReason | None = None,
    *,
    logprobs: bool = True,
    error: str | None = None,
) -> Progress:
    """A step that brought these tokens, each with one alternative."""
    shown = tuple(TokenLogprobs(-1.0, ((token, -1.0),)) for token in tokens) if logprobs else ()
    return Progress("r", tuple(tokens), shown, USAGE, finish, error)


def feed(text: str, stops: Sequence[str] = ()) -> tuple[list[Piece], Answer]:
    """The pieces of an answer that comes a byte a step and ends at its limit."""
    answer = Answer(ByteTokenizer(), stops)
    tokens = text.encode()
    pieces = []
    for i, token in enumerate(tokens):
        last = i == len(tokens) - 1
        pieces.append(answer.feed(progress([token], FinishReason.LENGTH if last else None)))
        if pieces[-1].finish is not None:
            break
    return pieces, answer


@given(st.text(min_size=1, max_size=20))
def test_pieces_hold_the_text_and_every_token_once(text: str) -> None:
    """Joined, the pieces are the answer; joined, the bytes of the tokens shown are too."""
    pieces, answer = feed(text)
    assert "".join(piece.text for piece in pieces) == text
    shown = [one for piece in pieces for one in piece.shown]
    assert b"".join(one.chosen.raw for one in shown) == text.encode()
    assert [piece.finish for piece in pieces] == [None] * (len(pieces) - 1) + ["length"]
    assert answer.completion_tokens == len(text.encode())


@given(st.text("ab#", min_size=1, max_size=20), st.text("ab#", min_size=1, max_size=3))
def test_tokens_behind_a_stop_string_are_not_shown(text: str, stop: str) -> None:
    """What is shown of the tokens is exactly what is shown of the text."""
    pieces, _ = feed(text, [stop])
    shown = [one for piece in pieces for one in piece.shown]
    given_out = "".join(piece.text for piece in pieces)
    assert "".join(one.chosen.text for one in shown) == given_out
    assert [one.offset for one in shown] == list(range(len(given_out)))
    assert pieces[-1].finish == ("stop" if stop in text else "length")


def test_a_token_that_is_no_character_is_spelled_in_bytes() -> None:
    """Clients tell such tokens apart by their bytes."""
    answer = Answer(ByteTokenizer(), ())
    piece = answer.feed(progress([0xF0, 0x9F], FinishReason.LENGTH))
    assert [one.chosen.text for one in piece.shown] == ["bytes:\\xf0", "bytes:\\x9f"]
    assert piece.text == "\ufffd"


def test_a_stop_token_ends_an_answer_with_what_was_held_back() -> None:
    """The beginning of a stop string that never came is text."""
    answer = Answer(ByteTokenizer(), ["##"])
    assert answer.feed(progress(list(b"a#"))).text == "a"
    last = answer.feed(progress([], FinishReason.STOP))
    assert (last.text, last.finish) == ("#", "stop")
    assert [one.chosen.text for one in last.shown] == ["#"]


@pytest.mark.parametrize(
    ("finish", "message"),
    [
        (FinishReason.ERROR, "the engine failed on this request: boom; send it again"),
        (FinishReason.CANCELLED, "the engine cancelled this request; send it again"),
    ],
)
def test_an_answer_that_the_engine_gave_up_is_an_error(finish: FinishReason, message: str) -> None:
    """It is never passed off as complete."""
    answer = Answer(ByteTokenizer(), ())
    with pytest.raises(EngineError) as caught:
        answer.feed(progress([], finish, error="boom"))
    assert str(caught.value) == message
