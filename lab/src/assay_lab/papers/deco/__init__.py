"""DECo: code of people and of four generators, its detection, attribution and language."""
