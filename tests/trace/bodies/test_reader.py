import json
from pathlib import Path
from typing import Any

import pytest

from stemcache.core.namespace import Namespace
from stemcache.core.tokens import Chain
from stemcache.text.tokenizer import ByteTokenizer
from stemcache.trace.bodies.model import ModelPrompts
from stemcache.trace.open import open_trace
from tests.trace.traces import DATA, read, refusal, shared_blocks, write_lines

SKIP = "or leave such lines out with --skip-bad-lines"
LONG = "the same long beginning of every prompt, of a hundred characters and some more than that. "


def chat(content: str, **more: Any) -> dict[str, Any]:
    """A body."""
    return {"model": "m", "messages": [{"role": "user", "content": content}]} | more


def test_a_log_is_read() -> None:
    """Times count from the first line's; who does not say usage has none."""
    requests = read(DATA / "bodies.jsonl")
    assert [one.arrival_s for one in requests] == [0.0, 2.5, 7.0]
    assert [one.output_tokens for one in requests] == [9, 4, None]
    assert [one.tenant for one in requests] == ["ann", "ann", "bob"]
    assert {one.block_tokens for one in requests} == {16}
    first, second, third = requests
    stem = "\x1esystem\x1fAnswer questions about the harbour timetable.\x1euser\x1fWhe"
    assert shared_blocks(first, third) == len(stem) // 16
    assert shared_blocks(first, second) == first.prompt_tokens // 16


def test_ids_are_the_block_keys_of_the_engine(tmp_path: Path) -> None:
    """The first 8 bytes of each, of full blocks only."""
    path = write_lines(
        tmp_path / "t", [{"model": "m", "cache_salt": "x", "prompt": list(range(20))}]
    )
    (request,) = read(path, block_tokens=8)
    namespace = Namespace(model="m", salt="x").encode()
    keys = Chain(list(range(20)), block_size=8, namespace=namespace).keys(2)
    assert request.block_ids.tobytes() == b"".join(key[:8] for key in keys)
    assert (request.prompt_tokens, request.covered_tokens, request.block_tokens) == (20, 16, 8)


def test_models_and_salts_share_nothing(tmp_path: Path) -> None:
    """As in an engine; users do, for a user is no salt."""
    lines = [
        chat(LONG),
        chat(LONG, user="ann"),
        chat(LONG, model="other"),
        chat(LONG, cache_salt="one"),
        chat(LONG, cache_salt="two"),
    ]
    base, user, *others = read(write_lines(tmp_path / "t", lines))
    assert shared_blocks(base, user) == len(base.block_ids) > 4
    ids = [set(one.block_ids.tolist()) for one in (base, *others)]
    assert len(set.union(*ids)) == sum(map(len, ids))


def test_a_tokenizer_makes_all_prompts_tokens(tmp_path: Path) -> None:
    """Texts, conversations, and ids as they are."""
    path = write_lines(tmp_path / "t", [{"prompt": "aé"}, {"prompt": [5, 6, 7, 8]}, chat("a")])
    with open_trace(path, tokenizer=ModelPrompts(ByteTokenizer(), None)) as reader:
        assert [one.prompt_tokens for one in reader] == [3, 4, 7]
        assert reader.unit == "tokens"


def test_tokens_and_characters_do_not_mix(tmp_path: Path) -> None:
    """Without a tokenizer, a log is of one or of the other."""
    ids, text = {"prompt": [1, 2]}, {"prompt": "text"}
    path = write_lines(tmp_path / "t", [ids, text])
    assert refusal(path) == (
        "t, line 2: its prompt counts characters, but those before count tokens; give a "
        f"--tokenizer, which makes all of them tokens, {SKIP}"
    )
    path = write_lines(tmp_path / "t", [text, ids])
    assert refusal(path).startswith(
        "t, line 2: its prompt counts tokens, but those before count characters; "
    )


def test_several_prompts_of_a_body_are_several_requests(tmp_path: Path) -> None:
    """At one time; usage tells of all answers together, so of none."""
    line = {"ts": 3, "body": {"prompt": ["a", "bb"]}, "usage": {"completion_tokens": 8}}
    requests = read(write_lines(tmp_path / "t", [line]))
    assert [(one.prompt_tokens, one.arrival_s, one.output_tokens) for one in requests] == [
        (1, 0.0, None),
        (2, 0.0, None),
    ]


def test_times_that_are_missing_stay_so(tmp_path: Path) -> None:
    """The first that is there is the zero; earlier ones are negative."""
    lines = [{"body": chat("a")} | more for more in ({}, {"ts": 100}, {"ts": 90.5}, {})]
    requests = read(write_lines(tmp_path / "t", lines))
    assert [one.arrival_s for one in requests] == [None, 0.0, -9.5, None]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ({"hash_ids": []}, "it holds no request body: no messages, prompt or input"),
        (chat("secret", model=["secret"]), "model is no text"),
        (chat("secret", cache_salt=5), "cache_salt is no text"),
        ({"prompt": "a", "ts": {"secret": 1}}, "ts is neither a number nor a text"),
        ({"messages": ["secret"]}, "messages[0] is no object"),
        ({"body": '{"secret'}, "the body is a string: the JSON ends early"),
    ],
)
def test_a_body_that_cannot_be_read_is_told_without_its_words(
    line: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    """Its place and its types."""
    path = write_lines(tmp_path / "t", [chat("a"), line])
    said = refusal(path)
    assert said == f"t, line 2: {reason}; mend the line, {SKIP}"
    assert "secret" not in said


def test_a_first_line_with_a_broken_body_is_told_as_such(tmp_path: Path) -> None:
    """Not as one of no known format."""
    path = write_lines(tmp_path / "t", [{"request": {"body": '{"messages": ['}}])
    assert refusal(path) == (
        f"t, line 1: the body is a string: the JSON ends early; mend the line, {SKIP}"
    )


def test_a_bad_line_leaves_no_trace(tmp_path: Path) -> None:
    """Neither its unit nor its time counts for the lines behind it."""
    bad = {"ts": 50, "prompt": [1], "model": 7}
    path = write_lines(tmp_path / "t", [json.dumps(bad), {"ts": 60, "prompt": "abc"}])
    (request,) = read(path, on_bad="skip")
    assert (request.arrival_s, request.prompt_tokens) == (0.0, 3)
