"""Two requests beside each other: where they part, what is lost behind that place, and why."""
