from typing import Any

import httpx

from tests.server.live_server import LiveServer


def test_tokenize_and_detokenize_are_inverse(toy: LiveServer) -> None:
    """The shapes are vLLM's: ids, count and the context's length; and back."""
    answer = httpx.post(f"{toy.url}/tokenize", json={"model": "toy", "prompt": "añb"}).json()
    assert answer == {
        "tokens": [97, 195, 177, 98],
        "count": 4,
        "max_model_len": 4096,
        "token_strs": None,
    }
    back = httpx.post(f"{toy.url}/detokenize", json={"tokens": answer["tokens"]}).json()
    assert back == {"prompt": "añb"}


def test_conversations_are_tokenized_as_chat_does_it(toy: LiveServer) -> None:
    """The template is applied; the beginning of the answer can be left away."""
    body = {"messages": [{"role": "user", "content": "hi"}], "return_token_strs": True}
    whole = httpx.post(f"{toy.url}/tokenize", json=body).json()
    assert "".join(whole["token_strs"]) == "user: hi\nassistant: "
    body["add_generation_prompt"] = False
    without = httpx.post(f"{toy.url}/tokenize", json=body).json()
    assert "".join(without["token_strs"]) == "user: hi\n"


def test_tokens_outside_the_vocabulary_are_refused(toy: LiveServer) -> None:
    """The message says where the vocabulary ends."""
    response = httpx.post(f"{toy.url}/detokenize", json={"tokens": [300]})
    assert response.status_code == 400
    assert "tokens holds token 300, and the vocabulary ends at 256" in response.text


def test_health_is_ok(toy: LiveServer) -> None:
    """While requests are taken."""
    response = httpx.get(f"{toy.url}/health")
    assert (response.status_code, response.json()) == (200, {"status": "ok"})


def test_a_reset_empties_the_cache(toy: LiveServer) -> None:
    """All idle blocks go, the answer says how many, and the same prompt is computed anew."""
    body: dict[str, Any] = {"model": "toy", "prompt": "Something to forget. " * 10, "max_tokens": 1}

    def cached() -> int:
        usage = httpx.post(f"{toy.url}/v1/completions", json=body).json()["usage"]
        return int(usage["prompt_tokens_details"]["cached_tokens"])

    cached()
    assert cached() > 0
    idle = toy.wait_until_idle()["stemcache_pages{idle}"]
    answer = httpx.post(f"{toy.url}/reset_prefix_cache").json()
    assert answer == {"success": True, "dropped_blocks": idle}
    assert toy.metrics()["stemcache_pages{idle}"] == 0
    assert cached() == 0


def test_metrics_agree_with_usage(toy: LiveServer) -> None:
    """What one request's usage says is what the counters rose by; prompt = cached + computed."""
    body: dict[str, Any] = {
        "model": "toy",
        "prompt": "Some metrics to compare. " * 8,
        "max_tokens": 9,
    }
    body["ignore_eos"] = True
    httpx.post(f"{toy.url}/v1/completions", json=body)
    before = toy.wait_until_idle()
    usage = httpx.post(f"{toy.url}/v1/completions", json=body).json()["usage"]
    after = toy.wait_until_idle()

    def rise(name: str) -> float:
        return after[f"stemcache_{name}"] - before[f"stemcache_{name}"]

    assert rise("prompt_tokens_total") == usage["prompt_tokens"]
    assert rise("cached_tokens_total") == usage["prompt_tokens_details"]["cached_tokens"] > 0
    assert rise("completion_tokens_total") == usage["completion_tokens"]
    assert rise("prompt_tokens_total") == rise("cached_tokens_total") + rise(
        "computed_tokens_total"
    )
    assert rise("requests_total{answered}") == rise("admitted_requests_total") == 1
    assert rise("time_to_first_token_seconds_count") == 1
    assert rise("inter_token_seconds_count") == usage["completion_tokens"] - 1
    assert rise("request_seconds_count") == rise("cached_share_count") == 1
    assert rise("steps_total") > 0


def test_each_request_leaves_one_line_without_its_text(toy: LiveServer) -> None:
    """The line has id, status, tokens and times; neither prompt nor salt."""
    body: dict[str, Any] = {
        "model": "toy",
        "prompt": "unspeakable",
        "cache_salt": "hushhush",
        "max_tokens": 2,
    }
    body["ignore_eos"] = True
    response = httpx.post(f"{toy.url}/v1/completions", json=body)
    request_id = response.headers["x-request-id"]
    assert response.json()["id"] == request_id
    toy.wait_until_idle()
    while not (lines := [line for line in toy.log if line.get("id") == request_id]):
        toy.metrics()
    (line,) = lines
    assert line["message"] == "request"
    assert (line["status"], line["path"]) == (200, "/v1/completions")
    assert (line["prompt_tokens"], line["cached_tokens"], line["completion_tokens"]) == (11, 0, 2)
    assert 0 < line["ttft_s"] <= line["duration_s"]
    assert "unspeakable" not in str(toy.log)
    assert "hushhush" not in str(toy.log)
