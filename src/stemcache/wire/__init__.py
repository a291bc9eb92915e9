"""OpenAI requests, responses and streams: bytes to values and back.

Pure: no socket, no clock, no text processing. Every documented field is implemented, accepted
because the given value changes nothing, or refused by name; nothing is dropped in silence.
"""
