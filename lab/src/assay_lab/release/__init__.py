"""How far the test of a release can be trusted: its null, its power, its twins, equal difficulty and cost."""
