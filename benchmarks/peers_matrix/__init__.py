"""Which of several linters names the fault of a pair of requests, by mechanical criteria."""
