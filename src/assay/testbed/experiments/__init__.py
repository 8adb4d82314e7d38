"""The tables and figures of the papers, one function each: what the paper prints beside what we measure."""
