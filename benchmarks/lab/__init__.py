"""How long simulations take and what they hold, beside another simulator."""
