"""What the gateway's mirror costs."""
