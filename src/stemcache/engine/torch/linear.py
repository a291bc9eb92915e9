"""Matrix products, in the form that is fastest for the number of rows.

Decoding multiplies few rows by weights that are read once: memory decides, and oneDNN's packed
layout reads it best. A long chunk multiplies hundreds of rows: there the plain layout is as good.
"""

import torch
from torch import Tensor
from torch.nn import functional

__all__ = ["Linear", "native_bfloat16"]

PACKED_ROWS = 192
"""Up to so many rows the packed form is used where a plain one is kept as well."""
WIDEN_ROWS = 16
"""From so many rows on, widening bfloat16 weights pays on a CPU that cannot multiply them."""


def native_bfloat16() -> bool:
    """Whether this CPU multiplies bfloat16 matrices in hardware."""
    cpu = torch.cpu.get_capabilities()
    return bool(cpu.get("avx512_bf16") or cpu.get("amx_bf16") or cpu.get("bf16"))


class Linear:
    """`x @ weight.T + bias`, and the same added to a residual.

    `keep_plain` holds a second copy of the weight, for long chunks, at twice the memory.
    """

    def __init__(
        self, weight: Tensor, bias: Tensor | None = None, *, keep_plain: bool = False
    ) -> None:
        self._bias = bias
        self._packed = _pack(weight)
        self._plain = weight if keep_plain or self._packed is None else None

    def __call__(self, x: Tensor) -> Tensor:
        """Multiply rows of `x`, which is contiguous."""
        if self._plain is None or (self._packed is not None and x.shape[0] <= PACKED_ROWS):
            result: Tensor = torch.ops.mkldnn._linear_pointwise(  # noqa: SLF001 - no public name
                x, self._packed, self._bias, "none", [], ""
            )
            return result
        if x.dtype != torch.float32 and x.shape[0] >= WIDEN_ROWS:
            bias = None if self._bias is None else self._bias.float()
            return functional.linear(x.float(), self._plain.float(), bias).to(x.dtype)
        return functional.linear(x, self._plain, self._bias)

    def add(self, x: Tensor, residual: Tensor) -> Tensor:
        """Multiply rows of `x` and add `residual`, which may be overwritten."""
        if self._plain is None or (self._packed is not None and x.shape[0] <= PACKED_ROWS):
            result: Tensor = torch.ops.mkldnn._linear_pointwise.binary(  # noqa: SLF001 - no public name
                x, residual, self._packed, self._bias, "add"
            )
            return result
        if self._bias is None and x.dtype == torch.float32:
            return residual.addmm_(x, self._plain.t())
        return residual.add_(self(x))


def _pack(weight: Tensor) -> Tensor | None:
    """Lay `weight` out for oneDNN; None where this torch or this CPU has no such product."""
    if weight.dtype == torch.bfloat16 and not native_bfloat16():
        return None
    try:
        packed: Tensor = torch.ops.mkldnn._reorder_linear_weight(weight)  # noqa: SLF001 - no public name
        torch.ops.mkldnn._linear_pointwise(  # noqa: SLF001 - no public name
            weight.new_zeros(1, weight.shape[1]), packed, None, "none", [], ""
        )
    except (AttributeError, RuntimeError):
        return None
    return packed
