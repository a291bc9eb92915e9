"""The gateway on the wire: clients in front, replicas behind, and its own pages."""
