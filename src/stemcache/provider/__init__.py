"""What providers do with equal prefixes, what they report and what they charge: data and rules."""
