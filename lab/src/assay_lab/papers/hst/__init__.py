"""Provenance on ground truth: functions are cut and altered, and a search has to find where they came from."""
