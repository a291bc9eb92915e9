"""What a cache would do with a trace: ideal, every capacity, every policy, and the optimum."""
