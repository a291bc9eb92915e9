"""What a recording proxy adds to the time of an answer, and to each event of a stream."""
