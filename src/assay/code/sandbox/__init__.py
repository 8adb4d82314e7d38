"""Programs of others, run where they can do no harm."""
