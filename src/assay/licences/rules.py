"""Licences that a user denies or allows, compared with SPDX licence expressions.

Identifiers, their older spellings and their families are those of the package license-expression, which carries the
SPDX list and the categories of ScanCode's licence database.
"""

import fnmatch
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import cache, lru_cache, partial
from itertools import product, starmap
from operator import attrgetter

from license_expression import (
    ExpressionError,
    LicenseSymbol,
    LicenseWithExceptionSymbol,
    Licensing,
    get_license_index,
    get_spdx_licensing,
)

from assay.errors import DataError
from assay.licences.fields import spelt_licence
from assay.licences.names import UNKNOWN_LICENCE

FAMILIES: Mapping[str, frozenset[str]] = {
    "copyleft": frozenset({"Copyleft", "Copyleft Limited"}),
    "strong-copyleft": frozenset({"Copyleft"}),
    "weak-copyleft": frozenset({"Copyleft Limited"}),
    "network-copyleft": frozenset(),
    "source-available": frozenset({"Source-available"}),
    "non-commercial": frozenset(),
    "proprietary": frozenset({"Commercial", "Proprietary Free"}),
    "permissive": frozenset({"Permissive", "Public Domain"}),
}
"""Name of a family in a rule → categories of the licence database."""

MEMBERS: Mapping[str, tuple[str, ...]] = {
    "network-copyleft": (
        "*agpl-*",
        "sspl-*",
        "osl-*",
        "nposl-*",
        "eupl-*",
        "cpal-*",
        "rpsl-*",
        "rpl-*",
        "apsl-2.0",
        "parity-*",
    ),
    "source-available": ("licenseref-polyform*", "licenseref-fsl*", "polyform-*", "licenseref-scancode-rsal*"),
    "non-commercial": ("*-nc-*", "*noncommercial*", "*non-commercial*", "aladdin*"),
    "proprietary": ("licenseref-proprietary*", "licenseref-rail*", "licenseref-llama*"),
}
"""Name of a family → patterns of licences that belong to it whatever their category is."""

_SHOWN = ("non-commercial", "source-available", "proprietary", "network-copyleft", "copyleft", "permissive")
"""Families that describe a licence to a reader, the first that applies."""

_OWN = "licenseref-"
_IS_OF_SPDX = re.compile(rf"(?!{_OWN})", re.IGNORECASE)
_KEY = attrgetter("key")
_SUGGESTIONS = 3


@dataclass(frozen=True, slots=True)
class LicenceRules:
    """Licences that fail a gate.

    Attributes:
        denied: patterns of licences that fail; empty: all that are not allowed.
        allowed: patterns of licences that pass, also where `denied` has them.
    """

    denied: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.denied or self.allowed)

    def deny(self, expression: str) -> bool:
        """Return True if an expression leaves no choice of a licence that passes.

        AND requires both sides, so one denied side is enough; OR leaves a choice, so both must be denied. A licence
        WITH an exception is still that licence; a rule may also name the exception. Case does not matter. The rule
        `unknown` also applies to words that are not an SPDX identifier.
        """
        if not self:
            return False
        parsed = _parsed(expression)
        if parsed is None:
            return _any_denied({expression.strip().casefold()}, self)
        return _node_denied(self, parsed)

    def leave_open(self, expression: str) -> bool:
        """Return True if an expression is not denied, and would be if unknown licences were."""
        unknown = LicenceRules((UNKNOWN_LICENCE,), self.allowed)
        return bool(self.denied) and not self.deny(expression) and unknown.deny(expression)

    def pass_over(self, expression: str) -> str | None:
        """Return the family of an expression that passes, and that a reader would not call permissive; else None.

        The rules deny something else, as `copyleft` alone says nothing of what is only source-available.
        """
        permissive = LicenceRules(allowed=("permissive", *self.allowed))
        if not self.denied or self.deny(expression) or self.leave_open(expression) or not permissive.deny(expression):
            return None
        return next((family for family in _SHOWN if LicenceRules((family,)).deny(expression)), "other terms")


def read_rules(denied: Sequence[str] = (), allowed: Sequence[str] = ()) -> LicenceRules:
    """Return the rules in canonical spelling.

    A rule is an SPDX identifier, with or without an exception, a pattern such as `GPL-*`, a family such as `copyleft`,
    a `LicenseRef-…`, or `unknown`.

    Raises:
        DataError: a rule names no licence of the SPDX list, or several.
    """
    return LicenceRules(tuple(map(_checked, denied)), tuple(map(_checked, allowed)))


def _checked(rule: str) -> str:
    words = " ".join(rule.split()).casefold()
    if words in FAMILIES or words == UNKNOWN_LICENCE or words.startswith(_OWN):
        return words
    if "*" in words:
        if fnmatch.filter(_categories_by_name(), words):
            return words
        raise _not_a_licence(rule)
    parsed = _parsed(rule)
    if isinstance(parsed, _licensing().AND | _licensing().OR):
        raise DataError(f"licence {rule!r}: received several licences, expected one for each option")
    if isinstance(parsed, LicenseSymbol | LicenseWithExceptionSymbol):
        name = str(parsed)
        is_exception = isinstance(parsed, LicenseSymbol) and parsed.is_exception
        # "GPL" alone would be read as GPL-1.0-or-later, which is not what its writer means
        has_version = any(map(str.isdigit, rule)) or not any(map(str.isdigit, name))
        if has_version and not is_exception and _categories().keys() >= set(map(_KEY, parsed.decompose())):
            return name.casefold()
    raise _not_a_licence(rule)


def _not_a_licence(rule: str) -> DataError:
    near = _suggestions(rule)
    hint = f"did you mean {' or '.join(near)}? Expected" if near else "expected"
    return DataError(
        f"licence {rule!r} is not on the SPDX list; {hint} an identifier such as GPL-3.0-only, a pattern such as "
        f"GPL-*, a family ({', '.join(FAMILIES)}), LicenseRef-… or {UNKNOWN_LICENCE}"
    )


def _suggestions(rule: str) -> list[str]:
    if spelt := spelt_licence(rule):
        return [spelt]
    names = list(filter(_IS_OF_SPDX.match, _categories()))
    squeezed = _squeezed(rule)
    if near_families := get_close_matches(rule.casefold(), possibilities=FAMILIES, n=_SUGGESTIONS, cutoff=0.7):
        return near_families
    begin = [name for name in names if squeezed and _squeezed(name).startswith(squeezed)]
    near = get_close_matches(rule.casefold(), possibilities=_categories_by_name(), n=_SUGGESTIONS, cutoff=0.7)
    return sorted(begin, key=len)[:_SUGGESTIONS] or [name for name in names if name.casefold() in near]


def _squeezed(name: str) -> str:
    return "".join(filter(str.isalnum, name.casefold()))


def _node_denied(rules: LicenceRules, node: object) -> bool:
    # who copies has to keep all sides of an AND, and chooses one side of an OR
    if isinstance(node, _licensing().AND):
        return any(map(partial(_node_denied, rules), node.args))
    if isinstance(node, _licensing().OR):
        return all(map(partial(_node_denied, rules), node.args))
    names = {str(node).casefold()}
    if isinstance(node, LicenseWithExceptionSymbol):
        names.add(node.license_symbol.key.casefold())
    return _any_denied(names, rules)


def _any_denied(names: set[str], rules: LicenceRules) -> bool:
    # what is allowed passes whatever else is denied; without a denied pattern nothing else passes
    if any(starmap(_meets, product(names, rules.allowed))):
        return False
    return not rules.denied or any(starmap(_meets, product(names, rules.denied)))


def _meets(name: str, pattern: str) -> bool:
    if pattern in FAMILIES:
        is_member = any(map(partial(fnmatchcase, name), MEMBERS.get(pattern, ())))
        return is_member or _categories_by_name().get(name) in FAMILIES[pattern]
    if pattern == UNKNOWN_LICENCE:
        return name.partition(" with ")[0] not in _categories_by_name() and not name.startswith(_OWN)
    return fnmatchcase(name, pattern)


@lru_cache(maxsize=4096)
def _parsed(expression: str) -> object | None:
    """Return the tree of an expression in today's identifiers; None if the text is not an expression."""
    try:
        tree: object = _licensing().parse(expression, validate=False)
    except ExpressionError:
        return None
    return tree


@cache
def _licensing() -> Licensing:
    return get_spdx_licensing()


@cache
def _categories() -> Mapping[str, str]:
    """Category of each SPDX identifier, by the identifier as it is spelled."""
    return {
        entry["spdx_license_key"]: entry["category"] for entry in get_license_index() if entry.get("spdx_license_key")
    }


@cache
def _categories_by_name() -> Mapping[str, str]:
    return dict(zip(map(str.casefold, _categories()), _categories().values(), strict=True))
