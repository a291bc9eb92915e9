"""Whether a replay measures what is there: against a server of known delays."""
