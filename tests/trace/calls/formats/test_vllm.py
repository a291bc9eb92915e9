from pathlib import Path

from stemcache.trace.calls.call import Call, Fidelity
from stemcache.trace.calls.open import CallLog
from stemcache.wire.api import Api
from tests.trace.calls.logs import read

CHATTER = "INFO 03-01 07:59:00 [api_server.py:1] vLLM API server version 0.9.1\n"
OLD = (
    "INFO 03-01 08:00:00 [logger.py:42] Received request chatcmpl-1: prompt: "
    r"""'It\'s \u2014 "six", prompt_token_ids: [9]\n', params: X(n=1, stop=[]),"""
    " prompt_token_ids: [1, 2, 3], prompt_embeds shape: None, lora_request: None.\n"
)
NEW = (
    "2026-03-01 08:00:00,250 DEBUG [logger.py:50] Request cmpl-2-0 details: "
    'prompt: "when\'s next", prompt_token_ids: None, prompt_embeds shape: None.\n'
    "INFO 03-01 08:00:00 [logger.py:60] Received request cmpl-2-0: params: X, lora_request: None.\n"
)


def _read(directory: Path, text: str) -> tuple[list[Call], CallLog]:
    path = directory / "vllm.log"
    path.write_text(text)
    return read(str(path))


def test_prompts_are_cut_out_of_lines(tmp_path: Path) -> None:
    """Prompts of old and of new logs are read, and the chatter between them passed over."""
    calls, log = _read(tmp_path, CHATTER + OLD + CHATTER + NEW)
    assert (log.format, log.problems.total) == ("vllm", 0)
    assert [call.body for call in calls] == [
        {"prompt": 'It\'s \u2014 "six", prompt_token_ids: [9]\n'},
        {"prompt": "when's next"},
    ]
    assert [(call.id, call.place.line) for call in calls] == [("chatcmpl-1", 2), ("cmpl-2-0", 4)]
    assert calls[0].fidelity is Fidelity.RECONSTRUCTED
    assert (calls[0].api, calls[0].host) == (Api.COMPLETIONS, "vllm")
    assert [log.reread.body(call.place) for call in calls] == [call.body for call in calls]


def test_only_a_whole_date_is_a_time(tmp_path: Path) -> None:
    """A line that names no year has no time."""
    calls, _ = _read(tmp_path, OLD + NEW)
    assert [call.time_s for call in calls] == [None, 1772352000.25]


def test_token_ids_stand_in_for_a_prompt(tmp_path: Path) -> None:
    """A request that came as token ids is read as those."""
    line = "Received request a: prompt: None, params: X(a=[1]), prompt_token_ids: [5, 6], x: None\n"
    calls, _ = _read(tmp_path, line)
    assert calls[0].body == {"prompt": [5, 6]}


def test_cut_prompts_say_so(tmp_path: Path) -> None:
    """A prompt of as many characters as ids was cut at that number."""
    line = "Received request a: prompt: 'abcd', params: X(), prompt_token_ids: [1, 2, 3, 4], x: 1\n"
    calls, _ = _read(tmp_path, line)
    assert calls[0].fidelity is Fidelity.TRUNCATED


def test_broken_lines_end(tmp_path: Path) -> None:
    """Strings without ends, and many of them, are read in time of their length."""
    line = "Received request a: prompt: '" + r"\'" * 500_000 + "\n"
    calls, _ = _read(tmp_path, OLD + line + line.replace(r"\'", '"(') + OLD.replace("-1", "-3"))
    assert [call.id for call in calls] == ["chatcmpl-1", "chatcmpl-3"]
