"""Tables 2, 4, 7 and 8 of DECo beside ours: zero-shot detectors, and the language of the authors."""

import math
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import chain

import numpy as np

from assay.errors import DataError
from assay.evaluation import Estimate, rank_score
from assay.models import open_model
from assay.scores import Deriver, ModelRole, ScoreRequest, request
from assay.scoring import DerivationModels, Opener, plan, score_samples
from assay.types import Float64Array, LogProbScorer
from assay_lab.columns import at_places, attributes, id_column, outside, present, text_column, without
from assay_lab.experiments.bench import PAPER_SCALE, Bench, label_of
from assay_lab.experiments.finding import Finding, Value, ValueRow
from assay_lab.experiments.reproduction import ANY, Reproduction
from assay_lab.papers.deco.collections import (
    HUMAN,
    OF_TEXTS,
    PAPER,
    AuthorTexts,
    collection,
    heading,
    sizes_at,
    stratum_of,
)
from assay_lab.papers.deco.linguistics import bits_of, linguistics_of
from assay_lab.papers.printed import paper_headings, printed_values, value_table

OVERALL = "Overall"
FOR_CODE, CODE_SURROGATE = "DetectGPT4Code", "code surrogate"
"""DetectGPT with a surrogate and a filler of code, and the role of that surrogate."""
AUROC = "AUROC, people against all generators"
MEASURES = ("Density", "Log-perplexity")
ALL_MEASURES = ("Vocabulary", "Length", *MEASURES)
SIZES = (
    "In each row every author has equally many texts: of the tasks that all solved, where there are any. "
    "Density falls with the number of tokens: do not compare rows, nor ours with the paper."
)
TOKENS = "Tokens are lexemes; the paper does not name its tokenizer."


def surrogate(bench: Bench) -> LogProbScorer:
    """Return the first model of the bench.

    Raises:
        ModelError: it cannot be opened.
    """
    model = open_model(bench.configurations[0].model)
    assert isinstance(model, LogProbScorer)  # noqa: S101  a configuration names a model with weights
    return model


def roles_at(bench: Bench) -> dict[str, str]:
    """Return role → model beside the surrogate: those of the paper at its scale, and those of `[deco.roles]`.

    Raises:
        DataError: there is no such role.
    """
    own = sizes_at(bench).roles
    if unknown := without(own, PAPER.roles):
        raise DataError(f"deco.roles.{unknown[0]}: no such role; expected some of {', '.join(PAPER.roles)}")
    return {**(PAPER.roles if bench.scale == PAPER_SCALE else {}), **own}


def scored_rows(
    bench: Bench, texts: AuthorTexts, rows: Mapping[str, str], surrogate_name: str, names: Mapping[str, str]
) -> tuple[dict[str, Float64Array], list[str]]:
    """Return row → value of each text, for the rows whose models are named, and what could not be computed.

    Args:
        bench: of the experiment.
        texts: that are scored.
        rows: row of the table → our method.
        surrogate_name: of the model that the scores are computed with.
        names: role → further model; a filler that is not named is the surrogate.
    """
    opener = Opener()
    target = opener.scorer(surrogate_name)
    models = DerivationModels(
        target=target,
        target_name=surrogate_name,
        names={"filler": surrogate_name, **names},
        opener=opener,
        generator=cache(opener.generator),
    )
    copies = sizes_at(bench).copies
    derivers: dict[str, Deriver] = {}
    requests: dict[str, ScoreRequest] = {}
    for row, name in rows.items():
        definition = request(name).definition
        needed = definition.derivations.values()
        lacks = set(chain.from_iterable(attributes(needed, "required"))) - set(models.names)
        # a score that needs a model which no role names, or a second one beside the surrogate
        if lacks or outside(definition.views.values(), "role", ("target",)):
            continue
        for derivation in needed:
            if derivation.name not in derivers:
                derivers[derivation.name] = derivation.open(models)
        has_copies = set(attributes(needed, "name")) & {"style", "spans"}
        # only scores on perturbed copies take their number
        requests[row] = request(f"{name}:n={copies}" if has_copies and copies else name)
    targets: dict[ModelRole, LogProbScorer] = {"target": target}
    table = score_samples(texts.samples, plan(list(requests.values()), targets, derivers=derivers))
    failed = [f"{name}: {count:,} {words}." for (name, words), count in table.counts.items() if count]
    return {row: table.values[each.name] for row, each in requests.items()}, failed


def deco_table_2(bench: Bench) -> Finding:
    """AUROC of zero-shot detectors, by language."""
    texts, surrogate_name = collection(bench, "binary"), bench.configurations[0].model
    roles = roles_at(bench)
    values, failed = scored_rows(bench, texts, PAPER.methods, surrogate_name=surrogate_name, names=roles)
    if CODE_SURROGATE in roles:
        own = {"filler": roles.get("code filler", roles[CODE_SURROGATE])}
        more, reasons = scored_rows(
            bench, texts, {FOR_CODE: "detect_gpt"}, surrogate_name=roles[CODE_SURROGATE], names=own
        )
        values |= more
        failed += reasons
    languages = [language for language in texts.strata if {HUMAN} < texts.labels(language)]
    columns = [*map(heading, languages), OVERALL]
    printed = PAPER.tables["table-2"]
    lines = []
    for row in (*PAPER.methods, FOR_CODE):
        ours: list[Value] = [None] * len(columns)
        if row in values:
            areas = [area(texts, language, values[row]) for language in languages]
            ours = [*areas, mean_over(areas)]
        lines.append(ValueRow(row, (*ours, *printed_values(printed, row))))
    notes = [f"Surrogate: {label_of(surrogate_name)}. Brackets: 95 % intervals over tasks."]
    notes += [f"{role[0].upper()}{role[1:]}: {label_of(name)}." for role, name in roles.items() if role != "embedder"]
    if missing := without((*PAPER.methods, FOR_CODE), values):
        notes.append(f"Not run, because they need a further model (`[deco.roles]`): {', '.join(missing)}.")
    notes.append("Spans without a filler: the surrogate.")
    heads = columns + paper_headings(printed.columns)
    return Finding(
        name="deco/table-2",
        title=f"Zero-shot detection ({PAPER.title}, {printed.source})",
        tables=(value_table("auroc", AUROC, head="detector", columns=heads, rows=lines, unit="percent"),),
        notes=(*texts.notes, *notes, *failed),
        seeds=bench.seeds,
    )


def area(texts: AuthorTexts, language: str, values: Float64Array) -> Estimate | None:
    """Return the AUROC of generated text against people's text of a language; None where a class has no value."""
    scored: list[float] = []
    positive: list[bool] = []
    groups: list[str] = []
    for sample, value in zip(texts.samples, values.tolist(), strict=True):
        if stratum_of(sample) == language and not math.isnan(value):
            scored.append(value)
            positive.append(sample.label != HUMAN)
            groups.append(sample.group or sample.id)
    if len(set(positive)) < 2:  # noqa: PLR2004  both classes
        return None
    return rank_score("auroc", scored, positive, groups=groups).auroc


def mean_over(areas: Sequence[Estimate | None]) -> Estimate | None:
    """Return the unweighted mean over languages; its interval adds the variances of the languages."""
    measured = present(areas)
    if not measured:
        return None
    value = float(np.mean(attributes(measured, "value")))
    if not all(attributes(measured, "has_interval")):
        return Estimate(value, math.nan, math.nan, reason="a language without an interval")
    # independent languages: the variances of a mean add up
    half = math.sqrt(sum(((each.high - each.low) / 2) ** 2 for each in measured)) / len(measured)
    return Estimate(value, max(0.0, value - half), min(1.0, value + half))


def language_table(bench: Bench, number: str, measures: Sequence[str], *, comments: bool = True) -> Finding:
    """Return measures of the authors' language, beside the paper's."""
    texts, target = collection(bench).comparable(), surrogate(bench)
    if not comments:
        texts = texts.bare()
    all_bits = bits_of(text_column(texts.samples), target)
    bits = dict(zip(id_column(texts.samples), all_bits, strict=True))
    printed = PAPER.tables[number]
    titles = {language: heading(str(texts.of(language)[0].language)) for language in texts.strata}
    heads = [*texts.authors, *paper_headings(printed.columns)]
    tables = []
    for measure in measures:
        lines = []
        for language, title in {**titles, OVERALL: OVERALL}.items():
            ours = [measure_of(texts, language, author, measure=measure, bits=bits) for author in texts.authors]
            lines.append(ValueRow(heading(language), (*ours, *printed_values(printed, measure, title))))
        tables.append(value_table(measure.lower(), measure, head="language", columns=heads, rows=lines))
    return Finding(
        name=f"deco/{number}",
        title=f"Language of the authors ({PAPER.title}, {printed.source})",
        tables=tuple(tables),
        notes=(
            *texts.notes,
            f"Log-perplexity: bits a token under {label_of(target.name)}; the paper's model is CodeLlama 7B.",
            SIZES,
            TOKENS,
        ),
        seeds=bench.seeds,
    )


def measure_of(texts: AuthorTexts, language: str, author: str, *, measure: str, bits: Mapping[str, float]) -> Value:
    """Return one measure of one author; overall it is the unweighted mean over languages, as in the paper."""
    if language == OVERALL:
        values = [measure_of(texts, each, author, measure=measure, bits=bits) for each in texts.strata]
        # an author of some rows alone has no mean that can be compared
        if None in values:
            return None
        return float(np.mean([value.value if isinstance(value, Estimate) else value for value in values]))
    samples = texts.of(language, author)
    if not samples:
        return None
    result = linguistics_of(text_column(samples), at_places(bits, id_column(samples)))
    values_of: dict[str, Value] = {
        "Density": result.density,
        "Vocabulary": float(result.vocabulary),
        "Length": result.length,
        "Log-perplexity": result.log_perplexity,
    }
    return values_of[measure]


def deco_table_4(bench: Bench) -> Finding:
    """Density and log-perplexity by author and language."""
    return language_table(bench, "table-4", MEASURES)


def deco_table_7(bench: Bench) -> Finding:
    """Vocabulary, length, density and log-perplexity by author and language."""
    return language_table(bench, "table-7", ALL_MEASURES)


def deco_table_8(bench: Bench) -> Finding:
    """Vocabulary, length, density and log-perplexity without comments."""
    return language_table(bench, "table-8", ALL_MEASURES, comments=False)


EXPERIMENTS = (
    Reproduction(
        "deco",
        "table-2",
        deco_table_2,
        takes=ANY,
        models=1,
        models_with_data=1,
        seeds=1,
        keys=(*OF_TEXTS, "copies", "roles"),
        checks=(roles_at,),
    ),
    Reproduction("deco", "table-4", deco_table_4, takes=ANY, models=1, models_with_data=1, seeds=1, keys=OF_TEXTS),
    Reproduction("deco", "table-7", deco_table_7, takes=ANY, models=1, models_with_data=1, seeds=1, keys=OF_TEXTS),
    Reproduction("deco", "table-8", deco_table_8, takes=ANY, models=1, models_with_data=1, seeds=1, keys=OF_TEXTS),
)
