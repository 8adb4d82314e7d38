"""Verdicts on runs: the channel of a reading, own text that is no reading, and what cannot be told."""

import json
import subprocess
from html import escape

import pytest

from assay.agent_runs import base_items, judge_run, read_gold_tasks, read_runs
from assay.agent_runs.gold import _without_prefix
from assay.datasets import patch_side
from assay.errors import DataError
from support.agent_files import CALLS, COMMIT, PATCH, TASK, TESTS, mini_swe_agent, write, write_tasks

NEW = patch_side(PATCH, "new")
LINES = [line[1:] for line in PATCH.splitlines() if line.startswith("+") and not line.startswith("+++")]
PAGE = "".join(f"<td><span class='code'>{escape(line)}</span></td>\n" for line in PATCH.splitlines())
GREPPED = "".join(f"/testbed/shop/cart.py:{number}:{line}\n" for number, line in enumerate(NEW.splitlines(), 10))
INSTALLED = GREPPED.replace("/testbed", "/usr/lib/python3/dist-packages")
BLAMED = "".join(
    f"0123abcd (A. Person 2022-03-07 10:00 +0100 {at}) {line}\n" for at, line in enumerate(NEW.splitlines())
)
COLOURED = "".join(f"\x1b[32m{line[:1]}\x1b[m\x1b[32m{line[1:]}\x1b[m\n" for line in COMMIT.splitlines())


@pytest.fixture
def judged(tmp_path):
    """Return a function that judges calls, each a command and its output."""

    def judge(*calls, base=None, task=None, **info):
        tasks = read_gold_tasks(write_tasks(tmp_path, **(task or {})), {})
        (run,) = read_runs(write(tmp_path, mini_swe_agent(calls, **info)))
        return judge_run(run, "file", tasks["shop__shop-7"], base)

    return judge


@pytest.mark.parametrize(
    ("command", "output", "channel"),
    [
        ("git show 0123abcd", COMMIT, "history beyond the base commit"),
        ("cd /testbed && git log --all -p", COMMIT, "history beyond the base commit"),
        ("git diff HEAD origin/main -- shop", PATCH, "history beyond the base commit"),
        ("git show origin/main:shop/cart.py | head -50", NEW, "history beyond the base commit"),
        ("curl -sL https://github.com/shop/shop/pull/7.diff", PATCH, "network"),
        ("curl -s https://api.github.com/x | python -m json.tool", json.dumps({"patch": PATCH}, indent=1), "network"),
        ("python - <<'EOF'\nimport requests\nprint(requests.get('https://x.org/7.patch').text)\nEOF", PATCH, "network"),
        ("cat /usr/lib/python3/dist-packages/shop/cart.py", NEW, "another installation of the package"),
        (
            "grep -n -A5 total /opt/venv/lib/python3.9/site-packages/shop/cart.py",
            NEW,
            "another installation of the package",
        ),
        ("cat /opt/eval/gold.patch", PATCH, "a file outside the repository"),
        ("cat ../reference/cart.py", NEW, "a file outside the repository"),
        ("git commit -m x; git -C /opt/shop show HEAD:shop/cart.py", NEW, "a file outside the repository"),
        ("git --git-dir=/opt/shop/.git diff HEAD~1", PATCH, "a file outside the repository"),
        (
            "tee x.py <<EOF\nEOF\ncat /opt/eval/gold.patch\ntee y.py <<EOF\nx\nEOF",
            PATCH,
            "a file outside the repository",
        ),
        ("cat tests/test_cart.py", patch_side(TESTS, "new"), "the tests"),
        ("cat /tests/test_outputs.py", patch_side(TESTS, "new"), "the tests"),
        ("curl -s https://x.org/7.patch -o /tmp/7.patch; cat /tmp/7.patch", PATCH, "network"),
        ("git show origin/main:shop/cart.py > /tmp/new.py && cat /tmp/new.py", NEW, "history beyond the base commit"),
        ("bash -c 'cat /opt/eval/gold.patch'", PATCH, "a file outside the repository"),
        ("unzip -p shop-2.0-py3-none-any.whl shop/cart.py", NEW, "another installation of the package"),
        ("find / -path '*site-packages*' -name cart.py -exec cat {} +", NEW, "another installation of the package"),
        ("diff -u shop/cart.py /opt/eval/cart.py", PATCH, "a file outside the repository"),
        ("curl -s https://x.org/pull/7/files", PAGE, "network"),
        ("cat setup.py; cat /opt/eval/gold.patch", PATCH, "a file outside the repository"),
        ("cat $(find / -name 'gold*.patch')", PATCH, "a file outside the repository"),
        ("git rev-list --all -n 5 | xargs -n1 git show", COMMIT, "history beyond the base commit"),
        ("git blame origin/main shop/cart.py", BLAMED, "history beyond the base commit"),
        (
            "git blame 1234567890 shop/cart.py",
            BLAMED.replace("0123abcd", "1234567890"),
            "history beyond the base commit",
        ),
        (
            "python -c \"import subprocess; print(subprocess.check_output(['git', 'show', '0123abcd']))\"",
            COMMIT,
            "history beyond the base commit",
        ),
        (
            "node -e \"console.log(execSync('git show origin/main').toString())\"",
            COMMIT,
            "history beyond the base commit",
        ),
        ("git show --color 0123abcd", COLOURED, "history beyond the base commit"),
        ("git checkout origin/main -- shop/cart.py && cat shop/cart.py", NEW, "history beyond the base commit"),
        ("git restore --source=origin/main shop/cart.py; cat shop/cart.py", NEW, "history beyond the base commit"),
        ("head -50 ~/.cache/uv/archive-v0/x/shop/cart.py", NEW, "another installation of the package"),
        ("grep -rn '' / --include=cart.py", INSTALLED, "another installation of the package"),
        ("cat /opt/eval/gold.patch 2>/tmp/err.txt", PATCH, "a file outside the repository"),
        (
            "cp /usr/lib/python3/dist-packages/shop/cart.py /tmp/x.py 2>/dev/null; cat /tmp/x.py",
            NEW,
            "another installation of the package",
        ),
        ("grep shop <<< 'shop'\ngit show 0123abcd", COMMIT, "history beyond the base commit"),
        ("curl -H 'Agent: Mozilla/5.0' -O https://x.org/7.patch; cat 7.patch", PATCH, "network"),
        (
            "git commit -m 'edit the program' cart.py; git show 0123abcd",
            COMMIT + "cart.py",
            "history beyond the base commit",
        ),
    ],
)
def test_the_command_tells_the_channel(judged, command, output, channel):
    verdict = judged(("sed -i s/a/b/ shop/other.py", ""), (command, output))
    assert (verdict.verdict, verdict.step, verdict.channel) == ("read the fix", 2, channel)


@pytest.mark.parametrize(
    "form", ["{number:6d}\t{line}", "{number}: {line}", "shop/cart.py:{number}:{line}", "{line}  "]
)
def test_numbers_and_names_before_lines_do_not_hide_them(judged, form):
    output = "\n".join(form.format(number=number, line=line) for number, line in enumerate(NEW.splitlines(), 10))
    assert judged(("cat /opt/other/cart.py", output)).verdict == "read the fix"


@pytest.mark.parametrize(
    "calls",
    [
        # the working tree
        (("cat shop/cart.py", NEW),),
        (("cat /testbed/shop/cart.py", NEW), ("cat /opt/eval/cart.py", NEW)),
        # own edits, in pieces that hold no whole line of the fix
        (("sed -i 's/sum(prices)/round(sum(prices)/' shop/cart.py", ""), ("git diff", PATCH)),
        (("git diff > patch.txt", ""), ("cat patch.txt", PATCH)),
        (("cp shop/cart.py /tmp/cart_backup.py", ""), ("cat /tmp/cart_backup.py", NEW)),
        (("git diff > /tmp/mine.patch", ""), ("cat /tmp/mine.patch", PATCH)),
        (("git commit -am 'my own fix'", ""), ("git show HEAD", COMMIT.replace("Fix", "my own fix"))),
        (("git commit -am 'my own fix'", ""), ("git show HEAD:shop/cart.py", NEW)),
        (("git -C /testbed commit -am 'my own fix'", ""), ("git -C /testbed show HEAD:shop/cart.py", NEW)),
        (("cd /tmp/mine && git init && git add .", ""), ("git -C /tmp/mine diff", PATCH)),
        (("git -C /opt/shop checkout 0123abcd -- shop/cart.py", ""), ("cat shop/cart.py", NEW)),
        (("git stash", ""), ("git stash show -p", PATCH)),
        (("git checkout 0123abcd -- shop/cart.py", ""), ("sed -i s/a/b/ shop/cart.py; cat shop/cart.py", NEW)),
        (("sed -i s/a/b/ shop/cart.py", ""), ("diff -u /opt/eval/cart.py shop/cart.py", PATCH)),
        (("sed -i s/a/b/ shop/cart.py", ""), ("git diff origin/main", PATCH)),
        (("python - <<'EOF'\nopen('/tmp/out.py', 'w').write(x)\nEOF", ""), ("cat /tmp/out.py", NEW)),
        (("sed -i s/a/b/ shop/cart.py", ""), ("cat shop/cart.py /opt/eval/notes.txt", NEW)),
        (("sed -i s/a/b/ shop/cart.py", ""), ("grep -rn '' / --include=cart.py", GREPPED)),
        # foreign text of something else
        (("git log -p -3", COMMIT.replace("EmptyCartError", "ValueError").replace("round(", "min(")),),
        (("cat /usr/lib/python3/dist-packages/shop/cart.py", patch_side(PATCH, "old")),),
    ],
)
def test_own_text_and_the_working_tree_are_no_reading(judged, calls):
    assert judged(*calls).verdict == "neither"


def test_a_fix_that_was_written_first_is_not_read_afterwards(judged):
    script = f"cat > fix.py <<'EOF'\n{NEW}\nEOF"
    verdict = judged((script, ""), ("git show 0123abcd", COMMIT))
    assert (verdict.verdict, verdict.share) == ("wrote it without reading", 1.0)


def test_text_of_the_issue_is_no_reading(judged):
    assert judged(*CALLS, task={"problem_statement": "It should be:\n" + NEW}).verdict == "neither"


def test_lines_are_counted_that_were_written_afterwards(judged):
    verdict = judged(CALLS[1], (f"cat > new.py <<'EOF'\n{LINES[0]}\nEOF", ""), submission="")
    assert verdict.written_after == pytest.approx(1 / 3)
    assert [entry.kind for entry in verdict.timeline] == ["read the fix", "wrote lines of the fix"]


def test_a_fix_that_came_without_being_shown_is_undecided(judged):
    calls = [("git checkout origin/main -- shop/cart.py", "")]
    verdict = judged(*calls, submission=PATCH)
    assert (verdict.verdict, "without showing it" in verdict.reason) == ("cannot tell", True)


def test_an_output_with_a_part_left_out_is_undecided(judged):
    calls = (("git show 0123abcd -- shop/cart.py", "commit\n<elided_chars>\n9000 characters elided\n</elided_chars>"),)
    verdict = judged(*calls, submission=PATCH)
    assert (verdict.verdict, "is missing from the file" in verdict.reason) == ("cannot tell", True)


@pytest.mark.parametrize("patch", ["", "diff --git a/x b/x\n"])
def test_a_task_without_a_gold_patch_is_undecided(judged, patch):
    verdict = judged(*CALLS, task={"patch": patch})
    assert verdict.verdict == "cannot tell"
    assert verdict.reason


def test_what_the_repository_has_at_the_base_commit_is_no_evidence(tmp_path, judged):
    project = tmp_path / "mirrors" / "shop"
    (project / "shop").mkdir(parents=True)
    (project / "shop" / "other.py").write_text(NEW)

    def git(*arguments):
        options = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        return subprocess.run(["git", *options, *arguments], cwd=project, check=True, capture_output=True, text=True)

    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "base")
    base = git("rev-parse", "HEAD").stdout.strip()
    tasks = read_gold_tasks(write_tasks(tmp_path, base_commit=base), {})
    items = base_items(tasks["shop__shop-7"], tmp_path / "mirrors")
    assert items
    assert judged(*CALLS, base=items).verdict == "neither"
    assert judged(("cat shop/cart.py", NEW), base=frozenset()).channel == "the working tree"
    assert (
        base_items(read_gold_tasks(write_tasks(tmp_path, base_commit="0" * 40), {})["shop__shop-7"], tmp_path) is None
    )


def test_a_table_without_patches_names_its_columns(tmp_path):
    from assay.errors import DataError

    (tmp_path / "t.jsonl").write_text(json.dumps({"instance_id": "x", "fix": PATCH}) + "\n")
    with pytest.raises(DataError, match="instance_id, fix"):
        read_gold_tasks(tmp_path / "t.jsonl", {})
    assert read_gold_tasks(tmp_path / "t.jsonl", {"patch": "fix"})["x"].fix.lines


def test_multi_swe_bench_has_other_columns(tmp_path):
    row = {"org": "shop", "repo": "shop", "instance_id": "shop__shop-7", "fix_patch": PATCH, "base": {"sha": "abc"}}
    row["resolved_issues"] = [{"title": "Empty", "body": TASK["problem_statement"]}]
    (tmp_path / "t.jsonl").write_text(json.dumps(row) + "\n")
    task = read_gold_tasks(tmp_path / "t.jsonl", {})["shop__shop-7"]
    assert (task.repository, task.base, task.fix.paths) == ("shop/shop", "abc", ("shop/cart.py",))
    assert TASK["problem_statement"] in task.text


def test_a_patch_that_only_deletes_is_recognised_in_a_diff(judged):
    kept = [line for line in PATCH.splitlines(keepends=True) if line[:1] != "+" or line.startswith("+++")]
    old = ["-" + line[1:] if line.startswith("  ") and "items" in line else line for line in kept]
    patch = "".join(old).replace("+10,8 @@", "+10,3 @@")
    assert judged(("git show 0123abcd", patch), task={"patch": patch}).verdict == "read the fix"
    assert judged(("git diff", patch), task={"patch": patch}).verdict == "neither"


def test_a_patch_that_only_deletes_is_read_in_the_fixed_file_if_the_agent_deletes_it_too(judged):
    kept = PATCH.splitlines()[:5]
    deleting = ["-    def old_total(self):", "-        return sum(self.all_prices())", "     def clear(self):", ""]
    patch = "\n".join([*kept[:3], "@@ -10,4 +10,2 @@ class Cart:", "     def total(self, rate):", *deleting])
    fixed = "    def total(self, rate):\n    def clear(self):\n"
    read = ("cat /usr/lib/python3/dist-packages/shop/cart.py", fixed)
    verdict = judged(read, task={"patch": patch}, submission=patch)
    assert (verdict.verdict, verdict.written_after, verdict.share) == ("read the fix", 1.0, 1.0)
    assert judged(read, task={"patch": patch}, submission=PATCH).verdict == "neither"
    assert judged(CALLS[0], task={"patch": patch}, submission=patch).verdict == "wrote it without reading"


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"instance_id": ""}, "has no id"), ({}, "occurs twice")],
)
def test_a_second_row_needs_an_id_of_its_own(tmp_path, changes, message):
    path = write_tasks(tmp_path)
    path.write_text(path.read_text() + json.dumps(TASK | changes) + "\n")
    with pytest.raises(DataError, match=message):
        read_gold_tasks(path, {})


def test_tables_of_others_are_read_as_far_as_they_go(tmp_path):
    notes = []
    (task,) = read_gold_tasks(
        write_tasks(tmp_path, instance_id=7, patch="not a diff", resolved_issues=[3, {"title": "A"}]), {}, notes.append
    ).values()
    assert (task.id, task.text.splitlines()[-1]) == ("7", "A")
    assert "1 of 1 gold patches are no diffs" in notes[0]
    assert not read_gold_tasks(write_tasks(tmp_path, patch="@@ -1,2 +1,x @@\n+    raise EmptyCart(x)"), {})[
        "shop__shop-7"
    ].fix.items


def test_a_deletion_between_two_equal_lines_is_read_in_the_fixed_file(judged):
    kept = ["try:", "    open_shop()", "    continue", "results.add(resolved_path)"]
    lost = ["except ValueError as error:", "    logger.debug('no shop: %s', error)", "    continue"]
    rows = [*map(" {}".format, kept[:3]), *map("-{}".format, lost), " " + kept[3]]
    patch = "\n".join(["--- a/shop/cart.py", "+++ b/shop/cart.py", "@@ -1,7 +1,4 @@", *rows, ""])
    calls = [("cat /opt/eval/cart.py", "\n".join(kept)), ("sed -i 5,7d shop/cart.py", "")]
    verdict = judged(*calls, task={"patch": patch}, submission=patch)
    assert (verdict.verdict, verdict.channel) == ("read the fix", "a file outside the repository")


def test_repositories_without_git_are_an_error_and_not_repositories_without_commits(tmp_path, monkeypatch):
    (tmp_path / "mirrors" / ".git").mkdir(parents=True)
    tasks = read_gold_tasks(write_tasks(tmp_path, base_commit="0123abcd"), {})
    monkeypatch.setattr("shutil.which", lambda _: None)
    with pytest.raises(DataError, match="git is not installed"):
        base_items(tasks["shop__shop-7"], tmp_path / "mirrors")


@pytest.mark.parametrize("line", ["-" * 9000, "a-" * 4500, "a:" * 4500, "9" * 9000])
def test_a_long_line_of_marks_comes_to_an_end(line):
    # names that may overlap would take the cube of the length
    assert next(_without_prefix(line)) == line


@pytest.mark.parametrize(
    ("line", "rest"),
    [
        ("src/a.py:12:code", "code"),
        ("src/a-b.py-12-code", "code"),
        ("1f3b:src/a-2-b.py:12:code", "code"),
        ("   12\tcode: x", "code: x"),
        ("12:34:code", "34:code"),
        ("src/a.py:code", "code"),
    ],
)
def test_what_stands_before_a_line_is_taken_off(line, rest):
    assert rest in _without_prefix(line)
