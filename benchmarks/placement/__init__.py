"""What marks cost: ours beside the automatic modes of LiteLLM and pydantic-ai."""
