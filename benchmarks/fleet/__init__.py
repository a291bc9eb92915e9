"""How routing policies do on simulated fleets."""
