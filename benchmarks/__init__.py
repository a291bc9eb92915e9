"""Measurements, one package each; run as modules from the root of the repository."""
