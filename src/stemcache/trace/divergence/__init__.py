"""Where a request departs from its parent: changes in the provider's order, with what lies behind."""
