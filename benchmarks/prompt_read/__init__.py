"""What it costs a gateway to read a long conversation's next turn."""
