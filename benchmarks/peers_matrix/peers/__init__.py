"""Each linter asked in its own input form; what it says is put into alarms."""
