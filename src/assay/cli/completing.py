"""Shell completion of values: scores, benchmarks, languages, built-in models. The shell offers files where none fits.

The functions are called by a shell that waits, so each imports only what it reads.
"""


def complete_scores(incomplete: str) -> list[str]:
    """Return the lists and scores that continue the last name of a list with commas."""
    from assay.scores import SCORES

    earlier, comma, _ = incomplete.rpartition(",")
    lists = () if comma else ("one-pass", "black", "all")
    return [f"{earlier}{comma}{name}" for name in (*lists, *SCORES)]


def complete_score() -> list[str]:
    """Return the names of the scores."""
    from assay.scores import SCORES

    return list(SCORES)


def complete_methods(incomplete: str) -> list[str]:
    """Return the methods for whole data sets that continue the last name of a list with commas."""
    from assay.scores import DatasetDetector, detectors_of

    earlier, comma, _ = incomplete.rpartition(",")
    lists = () if comma else ("default", "all")
    return [f"{earlier}{comma}{name}" for name in (*lists, *detectors_of(DatasetDetector))]


def complete_benchmarks() -> list[tuple[str, str]]:
    """Return the names of the benchmarks with their titles."""
    from assay.datasets import list_benchmarks

    return [(info.name, info.title) for info in list_benchmarks()]


def complete_languages() -> list[tuple[str, str]]:
    """Return the names of the languages with their titles."""
    from assay.languages import LANGUAGES

    return [(name, language.title) for name, language in LANGUAGES.items()]


def complete_models() -> list[str]:
    """Return the names of the built-in models."""
    from assay.models import builtin_models

    return list(builtin_models())
