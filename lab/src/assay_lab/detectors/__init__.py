"""Ideas for scores that were tried."""
