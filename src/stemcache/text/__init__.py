"""Text to token ids and back: chat templates, tokenizers, detokenizing a stream, stop strings.

Pure but for reading a model directory. `tokenizers` and `jinja2` come with the extra `engine` and
are imported by the two files that need them, `file_tokenizer` and `chat_template`.
"""
