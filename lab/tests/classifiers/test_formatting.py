"""A formatter changes Python that parses and nothing else."""

from assay.types import Sample
from assay_lab.classifiers.formatting import as_formatted
from assay_lab.classifiers.labelled import LabelledCode


def test_python_that_parses_is_formatted_and_other_texts_stay():
    texts = (("python", "x=1  # a\ny = (2)\n"), ("python", "x=\n"), ("java", "int x=1;"))
    samples = [Sample(str(row), text, language, "human", f"g{row}") for row, (language, text) in enumerate(texts)]
    labelled = LabelledCode.of(samples, lambda _: "one")
    result = as_formatted(labelled)
    assert [sample.text for sample in result.samples] == ["x = 1\ny = 2", "x=\n", "int x=1;"]
    assert result.codes[1:] == labelled.codes[1:]
    assert result.groups == labelled.groups
