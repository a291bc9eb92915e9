"""Gateways beside each other: the same fake workers, the same load, the same run."""
