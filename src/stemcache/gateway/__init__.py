"""The gateway without its sockets: what replicas hold, who is chosen, what is learned."""
