"""The models beside the surrogate that scores of plug-ins need, and a plan that has them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from operator import attrgetter

from assay.errors import SettingError, did_you_mean
from assay.scores import SCORES, Derivation, ScoreDefinition, ScoreRequest
from assay.scoring import DerivationModels, Opener, Plan, check_models, frequencies_for, plan
from assay.settings import BETWEEN_PAIRS


def derivations_of(definitions: Iterable[ScoreDefinition]) -> Iterator[Derivation]:
    """Yield what scores ask for to be derived from a text."""
    for definition in definitions:
        yield from definition.derivations.values()


def roles_of(definitions: Iterable[ScoreDefinition]) -> list[str]:
    """Return the roles of further models that scores have, each once."""
    return list(dict.fromkeys(chain.from_iterable(map(attrgetter("roles"), derivations_of(definitions)))))


@dataclass(frozen=True, slots=True)
class DetectorModels:
    """The models beside the surrogate: role → name."""

    names: Mapping[str, str]

    @classmethod
    def of(cls, texts: Sequence[str]) -> "DetectorModels":
        """Read texts of the form ROLE=MODEL, several of them with commas between.

        Raises:
            SettingError: not of this form, or no score has such a role.
        """
        names: dict[str, str] = {}
        roles = roles_of(SCORES.values())
        for pair in chain.from_iterable(map(BETWEEN_PAIRS.split, texts)):
            role, equals, name = map(str.strip, pair.partition("="))
            if not equals or role not in roles:
                expected = f"expected ROLE=MODEL with one of {', '.join(roles) or '(no score needs a further model)'}"
                raise SettingError(f"--score-model: received {pair!r}, {expected}{did_you_mean(role, roles)}")
            names[role] = name
        return cls(names)

    def unused(self, requests: Sequence[ScoreRequest]) -> dict[str, str]:
        """Return the option → why it has no effect on these scores, for the first model that has none."""
        needed = roles_of(map(attrgetter("definition"), requests))
        for role in self.names:
            if role not in needed:
                serves = " or ".join(name for name, score in SCORES.items() if role in roles_of([score]))
                return {"score_model": f"no requested score needs the {role}; expected --scores with {serves}"}
        return {}

    def check(self, requests: Sequence[ScoreRequest]) -> None:
        """Check that the scores have their models, and that these will do.

        Raises:
            AssayError: a score has no model, there is no such model, or one cannot do what it has to.
        """
        derivations = self._available(requests)
        check_models(requests, {"target"}, derivations)
        for derivation in derivations.values():
            derivation.check(self.names)

    def plan(
        self, requests: Sequence[ScoreRequest], surrogate: str, opener: Opener, *, window: int | None = None
    ) -> Plan:
        """Open the models that the scores need, each once, and say what will be run.

        Args:
            requests: the scores.
            surrogate: name of the model that they are computed with.
            opener: opens models.
            window: tokens that the surrogate reads at once, where the settings of the opener name no `max_length`.

        Raises:
            AssayError: a model cannot be opened, cannot give what a score needs, or is not named.
        """
        settings = replace(opener.settings, max_length=opener.settings.max_length or window)
        target = replace(opener, settings=settings).scorer(surrogate)
        others = opener.of_other_model()
        models = DerivationModels(
            target=target,
            target_name=surrogate,
            names=self.names,
            opener=others,
            generator=cache(others.generator),  # scores that share a model open it once
        )
        derivers = {name: derivation.open(models) for name, derivation in self._available(requests).items()}
        return plan(requests, {"target": target}, frequencies_for(target, None), derivers=derivers)

    def _available(self, requests: Sequence[ScoreRequest]) -> dict[str, Derivation]:
        """Return the derivations that the scores ask for and whose models are named, by name."""
        derivations = derivations_of(map(attrgetter("definition"), requests))
        # one whose models are not named is left out, and `check_models` says which score lacks it
        return {each.name: each for each in derivations if set(each.required) <= set(self.names)}
