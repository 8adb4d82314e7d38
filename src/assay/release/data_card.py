"""The page for the data card of a version, in Markdown; it holds nothing of the secret."""

from collections import Counter
from itertools import starmap
from operator import attrgetter

from assay.release.power import power_table
from assay.release.secret_values import PASSES, Secret
from assay.reports import markdown_table, number_of

NOT_VALID = "The key of this release was chosen, so it proves nothing: it is a test of the tool."


def data_card(secret: Secret, number: int) -> str:
    """Return the page for the data card of a version, in Markdown; it holds nothing of the secret."""
    committed, version = secret.committed, secret.versions[number - 1]
    lots = len(set(map(attrgetter("cluster"), committed.tasks)))
    levels = Counter(map(attrgetter("level"), committed.tasks))
    verified = "".join(starmap("| {} | {} |\n".format, levels.most_common()))
    beacon = "No public beacon was named: that the lot was drawn once rests on the publisher's word."
    if version.beacon:
        beacon = (
            f"The publisher states that the lot was drawn with `{version.beacon}`, the value of "
            f"{_round(committed.round, number)}, and that it did not exist when the copies were committed to: compare "
            "the value and its time with the records of the beacon, and the day on which the commitment was published."
        )
    invalid, left, canary, naming, unverified = "", "", "", "", ""
    if any(task.level != PASSES for task in committed.tasks):
        unverified = "; the others are not verified"
    power = markdown_table(power_table(len(committed.tasks), committed.naming))
    if committed.naming:
        naming = f"They differ in names ({committed.naming}), in examples and in the order of independent parts. "
    if not committed.valid:
        invalid = f"**{NOT_VALID}**\n\n"
    if committed.left_out:
        names = ", ".join(committed.left_out)
        tasks = number_of(len(committed.left_out), "task")
        left = f"{tasks} that cannot be tested stand here unchanged and add nothing to a test: {names}.\n\n"
    if committed.canary:
        canary = f"Canary: `{committed.canary}`\n\n"
    return (
        f"# {committed.name}, version {number}\n\n{invalid}"
        f"Of {len(committed.tasks)} tasks each is one of {committed.first} copies, chosen by lot; the others are "
        f"secret. {naming}"
        "So whether a model was trained on this file can be tested exactly.\n\n"
        f"| fact | value |\n|---|---|\n| published | {version.day} |\n| committed | {committed.created} |\n"
        f"| commitment (SHA-256) | `{secret.commitment}` |\n| tasks that can be tested | {len(committed.tasks)} |\n"
        f"| lots (clusters of related tasks) | {lots} |\n\n"
        f"{beacon}\n\n## How the copies were verified\n\n| level | tasks |\n|---|---|\n{verified}\n"
        'Copies at "tests run" pass the tests of their task, as the original does'
        f"{unverified}.\n\n"
        f"{power}\n"
        f"{left}{canary}"
        "Please do not train on this file. Whoever wants a model tested asks the publisher: the test needs the secret "
        "copies, which would be spent by publishing them.\n"
    )


def _round(name: str, number: int) -> str:
    if not name:
        return "a round of a public beacon"
    # only the round of the first version was named in advance
    return name if number == 1 else f"a round of a public beacon later than {name}"
