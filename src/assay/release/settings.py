"""Settings of `assay release make` and `assay release test`."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from assay.settings import COLUMNS, Setting, Settings

ReleaseAccess = Literal["gray", "black"]
"""What a model gives: token probabilities, or text alone."""


LEAST_COPIES, MOST_COPIES = 5, 200
"""Copies of a task that a test compares, the published one included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseSettings(Settings):
    """How a release is made."""

    PANEL: ClassVar[str] = ""
    copies: Annotated[
        int,
        Setting(
            "Copies of each task that are compared, its published one too.",
            least=LEAST_COPIES,
            most=MOST_COPIES,
            metavar="N",
            common=True,
        ),
    ] = 10
    names: Annotated[
        str | None,
        Setting(
            "Your own alternatives: a JSON file {task: {name: [others]}}, or a column with {name: [others]}.",
            metavar="FILE",
            common=True,
        ),
    ] = None
    unrelated: Annotated[
        bool,
        Setting("Let names become any word, not close synonyms alone: more copies, but they read worse.", common=True),
    ] = False
    unverified: Annotated[
        bool, Setting("Go on where nothing can run the tests of a task; its copies only compile.", common=True)
    ] = False
    packages: Annotated[
        str | None,
        Setting("Folder of the packages that the tests import, seen by the sandbox.", metavar="DIR", common=True),
    ] = None
    round: Annotated[
        str, Setting("Future round of a public beacon: commit now, publish later.", metavar="NAME", common=True)
    ] = ""
    beacon: Annotated[str, Setting("Value of that round, once it is known: publish.", metavar="VALUE", common=True)] = (
        ""
    )
    canary: Annotated[str, Setting("Text in a column `canary` of every row.", metavar="TEXT", common=True)] = ""
    test_key: Annotated[
        str | None, Setting("Key in hexadecimal, for tests: the release is marked as not valid.", metavar="KEY")
    ] = None
    text: Annotated[str | None, Setting("Column of the texts.", inside=COLUMNS, safe_when_found=True)] = None
    id: Annotated[str | None, Setting("Column of the ids.", inside=COLUMNS, safe_when_found=True)] = None
    group: Annotated[str | None, Setting("Column of what must share a lot.", inside=COLUMNS, safe_when_found=True)] = (
        None
    )
    language: Annotated[str | None, Setting("Column of the language.", inside=COLUMNS, safe_when_found=True)] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseTestSettings(Settings):
    """How a model is tested against a release."""

    PANEL: ClassVar[str] = ""
    access: Annotated[
        ReleaseAccess,
        Setting("gray: token probabilities; black: text alone, which finds what was seen many times.", common=True),
    ] = "gray"
    parent: Annotated[
        tuple[str, ...],
        Setting(
            "Model older than the publication: what it prefers is left out; repeat it for several.",
            metavar="MODEL",
            common=True,
            completes="models",
        ),
    ] = ()
    tasks: Annotated[
        bool, Setting("Also name the known tasks: up to 1,000 copies of each are scored.", common=True)
    ] = False
    placebo: Annotated[bool, Setting("The model is older than the publication: it must find nothing.", common=True)] = (
        False
    )
    spend: Annotated[
        bool, Setting("Send secret copies to the server of a remote model; they are spent then.", common=True)
    ] = False
