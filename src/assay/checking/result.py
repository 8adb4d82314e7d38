"""The result of judging a change."""

from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path

from assay.authorship import RecordedLines
from assay.checking.changed import ChangedCode
from assay.checking.rules import ChangeRules
from assay.checking.statements import JudgedStatement
from assay.provenance import Judgement, TracedFile
from assay.provenance.findings import Denial

REASONS = {
    "stated-licence": "A changed file states a denied licence.",
    "declared-agent": "An agent is declared to have written a part of the change.",
    "not-judged": "A changed file that could hold code could not be judged.",
}
"""Rule of a statement → why it fails."""

_STEPS = {
    "stated-licence": "find out the licence that {} states",
    "not-judged": "read {} yourself, and accept it in the baseline",
}
"""Rule of a statement → what decides it."""


@dataclass(frozen=True, slots=True)
class CheckedChange:
    """The result of judging a change.

    Attributes:
        code: that the change adds.
        rules: that it is judged by.
        files: that were traced; empty without an index.
        judgement: of the copies.
        statements: on licences, writers and files that were not read, the most severe first.
        lines: changed lines by who wrote them; none of the index, which no record is about.
    """

    code: ChangedCode
    rules: ChangeRules
    files: tuple[TracedFile, ...]
    judgement: Judgement
    statements: tuple[JudgedStatement, ...]
    lines: RecordedLines

    @property
    def config(self) -> str:
        """File of the rules that was read, "" without one."""
        config = self.rules.config
        # rules come from the base: a file that is in the checkout alone was not read
        if config and (Path(config).is_absolute() or self.code.change.at_base(config) is not None):
            return config
        return ""

    @property
    def rewritten(self) -> tuple[str, ...]:
        """Files of the rules that the change itself writes."""
        names = [self.rules.config]
        if self.rules.settings.baseline:
            names.append(self.code.change.within(self.rules.settings.baseline))
        return tuple(name for name in names if name in self.code.paths)

    @property
    def failures(self) -> tuple[tuple[str, str], ...]:
        """Place and reason of each failure."""
        failures = []
        for denial in self.judgement.failures:
            place = f"{denial.finding.path}:{denial.finding.first_line}"
            failures.append((place, "Changed code is a copy under a denied licence."))
        for statement in self.statements:
            if statement.level == "error":
                failures.append((statement.place, REASONS[statement.rule]))
        for path, lines in self.lines.failures:
            reason = f"Who wrote changed lines is {lines.state}, and a rule denies that."
            failures.append((f"{path}:{lines.first}", reason))
        return tuple(failures)

    @property
    def undecided(self) -> tuple[str, ...]:
        """Steps, one for each rule that cannot be decided."""
        steps = []
        if self.judgement.open:
            steps.append("find out the licence of the copied source")
        for statement in self.statements:
            if statement.level == "warning":
                steps.append(_STEPS[statement.rule].format(statement.path))
        if self.lines.denied:
            # a record that cannot be read leaves the rule on writers open
            steps += [f"mend the record, or remove it: {remark}" for remark in self.lines.remarks]
        return tuple(steps)

    @property
    def copies(self) -> tuple[Denial, ...]:
        """Copies that a baseline can accept."""
        return (*self.judgement.denials, *self.judgement.undecided)

    @property
    def acceptable(self) -> list[dict[str, str]]:
        """Keys of the statements that a baseline can accept, with path and licence."""
        acceptable = []
        for statement in filter(attrgetter("key"), self.statements):
            acceptable.append({"key": statement.key, "path": statement.path, "licence": statement.licence})
        return acceptable

    @property
    def exit_code(self) -> int:
        """0: clean, 1: findings, 3: undecided."""
        # a failure outranks what is undecided: reading more would not take it away
        if self.failures:
            return 1
        return 3 if self.undecided else 0
