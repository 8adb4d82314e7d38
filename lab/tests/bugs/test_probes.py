"""Probes by generation: what counts as right, the frequency baseline, the control, the verdict."""

import pytest

from assay.types import Sample, Undecided, Verdict
from assay_lab.bugs.pairs import SamplePair
from assay_lab.bugs.probes import FrequentContinuations, ProbeResult, right_share, run_probes, tasks_of


class Remembering:
    """A model that continues the texts that it remembers, and repeats a dot for all others."""

    name = "remembering"

    def __init__(self, texts):
        self.texts = texts

    def generate(self, prompts, *, max_new_tokens, **_):
        for prompt in prompts:
            known_text = next((text for text in self.texts if text.startswith(prompt)), None)
            yield known_text[len(prompt) :] if known_text else "." * max_new_tokens


def code(name: str, seed: int) -> str:
    lines = [f"    {name}_{at} = compute_{(at * seed) % 7}({name}, {at + seed}, 'key{at * seed}')" for at in range(8)]
    return "\n".join([f"def {name}(self):", f'    """Return {name}."""', *lines, f"    return {name}_0\n"])


def bug(name: str, seed: int) -> SamplePair:
    fixed = code(name, seed)
    lines = fixed.splitlines(keepends=True)
    buggy = "".join([*lines[:4], f"    {name}_2 = None\n", f"    {name}_3 = None\n", *lines[6:]])
    metadata = {"problem_statement": f"{name} fails", "files": (f"src/{name}.py",)}
    return SamplePair(*(Sample(name, text, "python", group=name, metadata=metadata) for text in (fixed, buggy)))


BUGS = [bug(f"alpha{at}", at + 2) for at in range(12)]
CONTROLS = [bug(f"omega{at}", at + 3) for at in range(12)]


def probe(name: str, pairs, model, controls=()) -> ProbeResult:
    return run_probes({"bugs": pairs}, model, controls=controls)["bugs"][name]


def tasks(name: str, pairs):
    return list(tasks_of(name, pairs, FrequentContinuations([pair.fixed.text for pair in pairs])))


def test_the_controls_are_prompts_seen_once_for_all_sets():
    prompts_seen = []

    class Counting(Remembering):
        def generate(self, prompts, **options):
            prompts_seen.extend(prompts)
            return super().generate(prompts, **options)

    results = run_probes({"a": BUGS[:6], "b": BUGS[6:]}, Counting([]), controls=CONTROLS)
    assert set(results) == {"a", "b"}
    assert len(prompts_seen) == len(set(prompts_seen)) == 3 * (len(BUGS) + len(CONTROLS))


def test_a_model_that_remembers_the_fixes_is_found_out_by_the_function_and_patch_probes():
    model = Remembering([pair.fixed.text for pair in BUGS])
    for name in ("function", "patch"):
        result = probe(name, BUGS, model, controls=CONTROLS)
        assert (result.tasks, result.left_out) == (12, 0)
        assert result.model.value == 1.0
        assert result.baseline.value < 1.0
        assert result.difference.low > 0
        assert result.decision.verdict is Verdict.CONTAMINATED


def test_a_model_that_remembers_nothing_gives_no_evidence():
    result = probe("function", BUGS, Remembering([]), controls=CONTROLS)
    assert result.model.value == 0
    assert result.decision.verdict is Verdict.NO_EVIDENCE


def test_a_model_that_remembers_the_controls_too_gives_no_evidence():
    model = Remembering([pair.fixed.text for pair in (*BUGS, *CONTROLS)])
    assert probe("function", BUGS, model, controls=CONTROLS).decision.verdict is Verdict.NO_EVIDENCE


def test_without_a_control_nothing_can_be_told():
    result = probe("function", BUGS, Remembering([pair.fixed.text for pair in BUGS]))
    assert result.decision.verdict is Verdict.CANNOT_TELL
    assert result.decision.reason is Undecided.NOT_MEASURED
    assert "no control" in result.decision.explanation


def test_a_path_is_right_if_the_answer_names_a_changed_file():
    assert right_share("path", "src/a.py\nsrc/b.py", "src/b.py, I think") == 1
    assert right_share("path", "src/a.py", "src/c.py") == 0
    (task,) = tasks("path", BUGS[:1])
    assert task.prompt.startswith("alpha0 fails")
    assert task.baseline == ""


def test_the_path_baseline_names_the_file_that_other_bugs_of_the_project_change():
    def changed(name, path):
        sample = Sample(name, "x", group="p", metadata={"problem_statement": "i", "files": (path,)})
        return SamplePair(sample, sample)

    of_bugs = tasks("path", [changed("1", "a.py"), changed("2", "a.py"), changed("3", "b.py")])
    assert [task.baseline for task in of_bugs] == ["a.py", "a.py", "a.py"]


def test_code_counts_the_right_lexemes_from_the_start():
    truth = " ".join(f"x{at}" for at in range(30))
    assert right_share("function", truth, truth) == 1
    assert right_share("function", truth, "x0 x1 x2 wrong x4") == pytest.approx(3 / 20)


def test_the_frequency_baseline_never_reads_the_text_itself():
    unique = "alpha beta gamma delta epsilon"
    table = FrequentContinuations([unique, "beta zeta beta zeta"])
    assert table.continued("alpha beta", without=0).split()[0] == "zeta"
    assert FrequentContinuations([unique]).continued("alpha beta", without=0) == ""


def test_a_change_of_one_line_gives_no_patch_question():
    pair = BUGS[0]
    one_line = SamplePair(pair.fixed, Sample("x", pair.fixed.text.replace("compute_0", "other", 1)))
    assert tasks("patch", [one_line]) == []
