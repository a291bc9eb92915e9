"""Where marks earn most under a rule and its prices, given how soon a prefix is asked for again."""
