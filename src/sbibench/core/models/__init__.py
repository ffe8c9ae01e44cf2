"""Models that several tasks share: a simulator with its likelihood."""
