"""The skill: what an agent runs, and what the driver judges with: capture, emit, compare, measure."""
