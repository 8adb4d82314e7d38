"""`assay check`: may this change be merged?"""

from pathlib import Path

from assay.checking import CheckedChange, CommandRules, check_change, in_event, read_metadata, rules_of_base
from assay.corpora import SourceChange, enclosing_repository
from assay.errors import DataError


def check(
    command: CommandRules,
    *,
    base: str | None = None,
    head: str = "HEAD",
    staged: bool = False,
    pull_request: Path | None = None,
) -> CheckedChange:
    """Judge the lines that a change of the repository around the current folder adds.

    Args:
        command: what the user says about the rules; those of the base commit hold beneath.
        base: commit or branch to merge into; None for the default branch.
        head: last commit of the change.
        staged: judge what is staged, against HEAD.
        pull_request: event of GitHub, whose description and branch are read.

    Raises:
        AssayError: there is no repository, or a rule, the index or the change cannot be read.
    """
    repository = enclosing_repository(Path.cwd())
    if repository is None:
        raise DataError("received a folder outside of a git repository, expected to run inside of one")
    change = SourceChange.staged(repository) if staged else SourceChange.between(repository, base, head)
    # of the base commit: a change cannot loosen the rules that it is judged by
    rules = rules_of_base(change, command)
    event = []
    if pull_request is not None:
        event = in_event(read_metadata(pull_request), str(pull_request), change.head)
    return check_change(change, rules, event=event)
