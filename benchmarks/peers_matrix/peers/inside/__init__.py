"""Scripts that run in the environment of the linters, for those that have no command for it."""
