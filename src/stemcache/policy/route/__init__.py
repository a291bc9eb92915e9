"""Which seat gets a request: pure policies, the load they see, the rates that are learned."""
