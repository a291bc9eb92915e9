"""The engine behind HTTP: OpenAI endpoints, metrics, and the process that the engine runs in.

The thin shell: this floor awaits, opens sockets and reads clocks; what it decides, it asks the
floors below.
"""
