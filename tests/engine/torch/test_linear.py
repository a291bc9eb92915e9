"""Every form of a product gives the same rows."""

import pytest
import torch

from stemcache.engine.torch import linear
from stemcache.engine.torch.linear import Linear


@pytest.mark.parametrize("rows", [1, 3, 40, 300])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("form", ["packed", "both", "plain", "bfloat16", "packed bfloat16"])
def test_all_forms_agree(
    monkeypatch: pytest.MonkeyPatch, form: str, rows: int, *, bias: bool
) -> None:
    """Packed or plain, with or without bias and residual, in either precision."""
    generator = torch.Generator().manual_seed(1)
    weight = torch.randn(24, 16, generator=generator)
    offset = torch.randn(24, generator=generator) if bias else None
    x = torch.randn(rows, 16, generator=generator)
    residual = torch.randn(rows, 24, generator=generator)
    expected = torch.nn.functional.linear(x, weight, offset)
    if form == "plain":
        monkeypatch.setattr(linear, "_pack", lambda _: None)
    if form == "packed bfloat16":
        monkeypatch.setattr(linear, "native_bfloat16", lambda: True)
    dtype = torch.bfloat16 if "bfloat16" in form else torch.float32
    offset = None if offset is None else offset.to(dtype)
    product = Linear(weight.to(dtype), offset, keep_plain=form == "both")
    tolerance = 0.1 if dtype == torch.bfloat16 else 1e-4
    x, residual = x.to(dtype), residual.to(dtype)
    torch.testing.assert_close(product(x).float(), expected, atol=tolerance, rtol=tolerance)
    expected = expected + residual.float()
    added = product.add(x, residual.clone())
    torch.testing.assert_close(added.float(), expected, atol=tolerance, rtol=tolerance)
