"""This project's own experiments."""
