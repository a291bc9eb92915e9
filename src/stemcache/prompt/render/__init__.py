"""What was laid out, as the body of one API each. Pure: equal values, equal bytes."""
