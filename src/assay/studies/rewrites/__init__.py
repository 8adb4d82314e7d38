"""Data sets of code that people wrote and that models rewrote (DECo's pipeline)."""
