import numpy as np

from stemcache.engine.model import ModelInfo
from stemcache.engine.request import (
    FinishReason,
    GenerationRequest,
    Progress,
    Sampling,
    TokenLogprobs,
    Usage,
)
from stemcache.engine.stats import EngineStats
from stemcache.server.frames import (
    HEADER_BYTES,
    Commands,
    Loaded,
    LoadFailed,
    Refused,
    Report,
    decode_commands,
    decode_from_engine,
    frame,
    frame_length,
)

STATS = EngineStats(**dict.fromkeys(EngineStats.__dataclass_fields__, 3))


def test_commands_arrive_as_they_were_sent() -> None:
    """Prompts travel as bytes and come back as arrays."""
    request = GenerationRequest(
        request_id="r",
        prompt=np.arange(5, dtype=np.int32),
        max_tokens=4,
        sampling=Sampling(temperature=0.5, seed=-1, logprobs=2),
        stop_tokens=frozenset({1, 2}),
        salt="ä",
        priority=-3,
    )
    sent = frame(Commands(["c"], 2, [request]))
    assert frame_length(sent[:HEADER_BYTES]) == len(sent) - HEADER_BYTES
    got = decode_commands(sent[HEADER_BYTES:])
    (arrived,) = got.submit
    assert (got.cancel, got.resets) == (["c"], 2)
    assert arrived.prompt.tolist() == [0, 1, 2, 3, 4]
    assert arrived.prompt.dtype == np.int32
    for name in ("request_id", "max_tokens", "sampling", "stop_tokens", "salt", "priority"):
        assert getattr(arrived, name) == getattr(request, name)


def test_what_the_engine_says_arrives_as_it_was_said() -> None:
    """All three kinds of message, with everything that they can hold."""
    usage = Usage(1, 0, 2, 0)
    logprobs = (TokenLogprobs(-0.5, ((7, -0.5), (8, -1.5))),)
    progress = [
        Progress("r", (7,), logprobs, usage, None),
        Progress("s", (), (), usage, FinishReason.ERROR, "boom"),
    ]
    info = ModelInfo("m", "1", "toy", 5, 10, 2, frozenset({4}))
    for message in (
        Report(STATS, 3, progress, [Refused("t", "m", "full", None, 1.0)], [4]),
        Report(STATS, 0),
        Loaded(info, 7, STATS),
        LoadFailed("why"),
    ):
        assert decode_from_engine(frame(message)[HEADER_BYTES:]) == message
