"""Pure choices: what to evict, whom to admit first. Shared by the engine and the simulator."""
