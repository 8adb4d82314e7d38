"""One module per benchmark family: a row of its official file → samples."""
