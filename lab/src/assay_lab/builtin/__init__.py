"""Programs that made the built-in models: corpus, training and export. They are not part of the wheel."""
