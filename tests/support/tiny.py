"""A recipe small enough to train in seconds, from real packages and a few library modules."""

from assay_lab.builtin.base_corpus import CorpusRecipe
from assay_lab.builtin.train_base import Machine, TrainingRecipe

MODULES = [
    "calendar.py",
    "configparser.py",
    "fractions.py",
    "json/decoder.py",
    "shlex.py",
    "statistics.py",
    "textwrap.py",
]
TINY = TrainingRecipe(
    corpus=CorpusRecipe(
        tokens=14_000,
        never_seen=12,
        per_dose=5,
        doses=(1, 8),
        function_characters=(60, 600),
        function_tokens=(20, 62),
        package_cap=60_000,
        validation_files=2,
        tokenizer_characters=60_000,
        vocabulary_size=512,
        context=64,
        roots=("jinja2", "rich"),
    ),
    hidden_size=32,
    layers=2,
    heads=2,
    intermediate_size=64,
    batch_rows=8,
)
CPU = Machine(device="cpu")
