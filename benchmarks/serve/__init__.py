"""What a served request costs, cold and warm, beside stock transformers."""
