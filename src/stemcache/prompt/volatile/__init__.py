"""Text that changes where it is declared to stay: found, named, and sent where it belongs."""
