import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stemcache.engine.request import GenerationRequest
from stemcache.errors import ContextOverflowError
from stemcache.server.plan import max_tokens_for, plan
from stemcache.wire.generation import Generation


def make(n: int = 1, seed: int | None = None, max_tokens: int | None = None) -> Generation:
    """A generation with defaults for the rest."""
    return Generation(
        model="m",
        n=n,
        stream=False,
        include_usage=False,
        temperature=1.0,
        top_p=1.0,
        top_k=0,
        seed=seed,
        stop=(),
        stop_token_ids=frozenset({3}),
        max_tokens=max_tokens,
        max_tokens_field="max_completion_tokens",
        logprobs=None,
        cache_salt="s",
        priority=1,
        ignore_eos=True,
    )


def requests(generation: Generation, prompts: list[list[int]]) -> list[GenerationRequest]:
    """A plan for a model of 100 tokens of context."""
    return plan(generation, prompts, request_id="r", capacity_tokens=100, vocabulary=50, chat=True)


def test_choices_of_each_prompt_stand_together() -> None:
    """The order is that of the choices' indices; ids are unique; the rest is carried over."""
    planned = requests(make(n=2, seed=7), [[1], [2, 3]])
    assert [request.prompt.tolist() for request in planned] == [[1], [1], [2, 3], [2, 3]]
    seeds = [request.sampling.seed for request in planned]
    assert seeds[:2] == seeds[2:]
    assert seeds[0] == 7 != seeds[1]
    assert len({request.request_id for request in planned}) == 4
    first = planned[0]
    assert (first.salt, first.priority, first.ignore_model_stop) == ("s", 1, True)
    assert first.stop_tokens == {3}
    assert first.prompt.dtype == np.int32


def test_without_a_seed_the_engine_draws_one_for_each_choice() -> None:
    """None stays None."""
    assert {request.sampling.seed for request in requests(make(n=3), [[1]])} == {None}


def test_choices_of_neighbouring_seeds_have_nothing_in_common() -> None:
    """Every choice of every seed draws for itself, at both ends of 64 bits too."""
    seeds = [
        request.sampling.seed
        for seed in (-(2**63), 7, 8, 9, 2**63 - 1)
        for request in requests(make(n=5, seed=seed), [[1]])
    ]
    assert len(set(seeds)) == 25


@given(st.integers(1, 200), st.none() | st.integers(1, 200), st.booleans())
def test_prompt_and_answer_always_fit(prompt: int, asked: int | None, chat: bool) -> None:  # noqa: FBT001
    """Either the length fits the capacity, or the request is refused."""
    try:
        given_out = max_tokens_for(
            asked, prompt_tokens=prompt, capacity_tokens=100, chat=chat, param="prompt"
        )
    except ContextOverflowError:
        assert prompt + (asked or 1) > 100
    else:
        assert 1 <= given_out <= 100 - prompt
        assert asked in {None, given_out}


def test_the_default_is_what_is_left_for_chat_and_sixteen_for_completions() -> None:
    """As OpenAI has it; what is left if that is less."""
    for prompt_tokens, chat, expected in ((10, True, 90), (10, False, 16), (95, False, 5)):
        found = max_tokens_for(
            None, prompt_tokens=prompt_tokens, capacity_tokens=100, chat=chat, param="prompt"
        )
        assert found == expected


def test_a_refusal_names_the_field_that_was_sent() -> None:
    """Chat has two names for one limit."""
    with pytest.raises(ContextOverflowError, match="max_completion_tokens is 98") as refused:
        requests(make(max_tokens=98), [[1, 2, 3]])
    assert refused.value.param == "max_completion_tokens"
