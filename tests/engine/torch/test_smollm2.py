"""The small real model against transformers."""

import numpy as np
import pytest
import torch

from tests.engine.torch.twins import Twin, step

pytestmark = pytest.mark.real


def test_logits_equal_transformers_at_every_turn(smollm2: Twin) -> None:
    """Whole, in chunks over scattered pages, and decoded beside others on a shared stem."""
    rng = np.random.default_rng(11)
    tokens = rng.integers(0, 49152, 700).astype(np.int32)
    expected = smollm2.logits(tokens)
    model = smollm2.load(pages=200)
    pages = rng.permutation(200).astype(np.int32)[:45]
    whole = model.forward([step(tokens, 0, 640, np.arange(40, dtype=np.int32))])
    assert np.abs(whole - expected[[639]]).max() < 1e-3
    for start, end in ((0, 256), (256, 512), (512, 641)):
        chunk = model.forward([step(tokens, start, end, pages)])
        assert np.abs(chunk - expected[[end - 1]]).max() < 1e-3
    other = np.concatenate([pages[:40], np.setdiff1d(np.arange(200, dtype=np.int32), pages)[:5]])
    model.forward([step(tokens, 640, 660, other, sample=False)])
    both = model.forward([step(tokens, 660, 661, other), step(tokens, 641, 700, pages)])
    assert np.abs(both - expected[[660, 699]]).max() < 1e-3


def test_greedy_text_is_that_of_transformers(smollm2: Twin) -> None:
    """Forty tokens after a short prompt, chosen one by one."""
    prompt = np.array([504, 3575, 282, 4649, 314], np.int32)
    with torch.inference_mode():
        expected = smollm2.oracle.generate(  # type: ignore[operator]
            torch.from_numpy(prompt.astype(np.int64))[None], max_new_tokens=40, do_sample=False
        )[0].tolist()
    model = smollm2.load()
    pages = np.arange(4, dtype=np.int32)
    tokens = prompt.copy()
    start = 0
    while len(tokens) < len(expected):
        logits = model.forward([step(tokens, start, len(tokens), pages)])
        start = len(tokens)
        tokens = np.append(tokens, np.int32(logits[0].argmax()))
    assert tokens.tolist() == expected
