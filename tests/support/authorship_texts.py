"""Code in two manners, of known origin: terse and tight, or spelled out and spaced."""

import random

from assay.types import Sample
from assay_lab.classifiers.labelled import LabelledCode

TERSE = ("a", "b", "x", "k", "tmp", "cnt", "ll")
SPELLED = ("total_count", "current_value", "result_list", "maximum_length", "element_index")


def terse(seed: int) -> str:
    """Return a function in short names without spaces."""
    draw = random.Random(seed)
    a, b, c = draw.sample(TERSE, 3)
    lines = [f"def f{seed}({a},{b}):", f"    {c}={a}+{draw.randint(0, 9)}"]
    lines += [
        f"    while {c}<{b}:{c}+={draw.randint(1, 5)};{a}={c}*{draw.randint(2, 9)}" for _ in range(draw.randint(3, 6))
    ]
    return "\n".join([*lines, f"    return {c}"]) + "\n"


def spelled(seed: int) -> str:
    """Return a function in long names with spaces."""
    draw = random.Random(seed)
    a, b, c = draw.sample(SPELLED, 3)
    lines = [f"def compute_{seed}({a}, {b}):", f"    {c} = {a} + {draw.randint(0, 9)}"]
    for _ in range(draw.randint(2, 4)):
        lines += [
            f"    for {b} in range({c}):",
            f"        if {b} == {draw.randint(0, 9)}:",
            f"            {c} = {b} + {a}",
        ]
    return "\n".join([*lines, f"    return {c}"]) + "\n"


def labelled(n: int = 60, collections: int = 3, generators: int = 2) -> LabelledCode:
    """Return n texts of each origin in each collection."""
    samples, names = [], {}
    for collection in range(collections):
        for i in range(n):
            seed = collection * 1000 + i
            pair = (("human", terse(seed)), (f"model-{i % generators}", spelled(seed)))
            for label, text in pair:
                sample = Sample(f"{collection}/{i}/{label}", text, "python", label, f"task {seed}")
                samples.append(sample)
                names[sample.id] = f"collection {collection}"
    return LabelledCode.of(samples, lambda sample: names[sample.id])
