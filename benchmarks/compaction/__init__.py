"""What keeping caches alive and compacting histories save on real coding sessions."""
