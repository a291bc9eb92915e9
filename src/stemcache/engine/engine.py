"""The engine's face: submit, cancel, step."""
