"""Owners, files and functions of fingerprints, counted with arrays, are those that sets count."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from assay.provenance.index import Holder, OwnerCounts
from assay.provenance.index.searchable import REPEATED

LENGTH = 4
FILES = st.integers(0, 8).map(lambda file: (f"owner {file % 3}", file))
HOLDERS = st.dictionaries(
    st.integers(0, 6), st.builds(Holder, st.lists(FILES, max_size=5, unique=True).map(tuple), st.booleans())
)
PAIRS = st.lists(st.tuples(st.integers(0, LENGTH - 1), st.integers(0, 7)), max_size=20)


@given(PAIRS, HOLDERS)
def test_counts_are_those_of_sets(pairs, holders):
    at, documents = (np.array([pair[side] for pair in pairs], np.int64) for side in (0, 1))
    counted = OwnerCounts.of(LENGTH, at, documents, holders, every=3)
    for place in range(LENGTH):
        held = [holders[document] for where, document in pairs if where == place and document in holders]
        files = {file for holder in held for file in holder.files}
        owners = Counter(owner for owner, _ in files)
        assert counted.owners[place] == len(owners)
        assert counted.repeating[place] == sum(number >= REPEATED for number in owners.values())
        assert counted.files[place] == len(files)
        assert counted.functions[place] == any(holder.is_function for holder in held)
