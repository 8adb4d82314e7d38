"""A model that gives text alone is asked for the contents that the lot chose among."""

from contextlib import nullcontext
from dataclasses import replace
from itertools import islice

import pytest

from assay.errors import DataError, MissingCapability
from assay.models import open_model
from assay.release import characters_alike, read_secret
from assay.release import test as run_test
from assay.release.secret_file import write_secret
from release.conftest import FakeModel, published_texts
from support.openai_server import answer, served

FIRST, SECOND = "def f():\n    >>> f(1)\n    2\n", "def f():\n    >>> f(3)\n    4\n"

SHARED = "def f():\n    >>> f("


class Writer:
    """Continues each prompt as the text that it has seen goes on."""

    name = digest = "writer"

    def __init__(self, seen=()):
        self.seen, self.asked = seen, []

    def generate(self, prompts, **_):
        for prompt in prompts:
            self.asked.append(prompt)
            yield next((text[len(prompt) :] for text in self.seen if text.startswith(prompt)), "")


def test_each_content_counts_the_characters_up_to_the_first_other_one():
    writer = Writer([FIRST])
    assert characters_alike(writer, [[FIRST, SECOND]]) == {FIRST: len("1)\n    2\n"), SECOND: 0}
    assert writer.asked == [SHARED]
    with pytest.raises(MissingCapability, match="does not generate text: expected --access gray"):
        characters_alike(FakeModel(), [[FIRST, SECOND]])


@pytest.mark.parametrize(
    "reply",
    [
        "1)\n    2\n",
        ">>> f(1)\n    2\n",
        "```python\ndef f():\n    >>> f(1)\n    2\n```",
        "Sure:\n```\ndef f():\n    >>> f(1)\n    2\n",
    ],
)
def test_a_model_that_chats_may_repeat_the_text_before(reply):
    with served(lambda *_: answer(reply)) as (played, url):
        values = characters_alike(open_model(f"openai-chat:m@{url}"), [[FIRST, SECOND]])
    (message,) = played.asked[0][1]["messages"]
    assert message["content"].endswith("\n\n" + SHARED)
    assert values[FIRST] >= 8 > values[SECOND] == 0


@pytest.mark.usefixtures("sandbox")  # without one there is no lot of the content
def test_text_alone_finds_what_was_published_and_sends_nothing_else(secret, secret_path):
    public = published_texts(secret)
    knows, other = Writer(public), Writer()
    result = run_test(knows, secret_path, access="black")
    best, p_value = result.strongest.decisive
    assert result.strongest.names is None
    assert best == result.strongest.content
    assert best.p_value <= p_value < 1e-3
    assert all(any(text.startswith(prompt) for text in public) for prompt in knows.asked)
    words = " ".join((*result.describe().first_lines, *result.describe().notes))
    assert "seen many times, as sixteen" in words
    assert run_test(other, secret_path, access="black").strongest.decisive[0].p_value == 1
    assert read_secret(secret_path).spent == ()


class Stopped(Writer):
    """Is stopped after three answers."""

    def generate(self, prompts, **settings):
        yield from islice(super().generate(prompts, **settings), 3)
        raise KeyboardInterrupt


@pytest.mark.usefixtures("sandbox")
def test_a_killed_test_of_a_server_asks_only_what_is_left(secret_path, monkeypatch, capsys):
    whole, rest, name = Writer(), Writer(), "openai-chat:m@http://localhost:1/v1"
    for model in (Stopped(), rest):
        monkeypatch.setattr("assay.release.testing.open_model", lambda *_, opened=model: opened)
        with pytest.raises(KeyboardInterrupt) if model is not rest else nullcontext():
            run_test(name, secret_path, access="black")
    run_test(whole, secret_path, access="black")
    assert len(rest.asked) == len(whole.asked) - 3
    assert len(read_secret(secret_path).tests) == 2
    assert f"1 model will continue {len(whole.asked)} public prompts once each, 64 tokens" in capsys.readouterr().err
    assert not secret_path.with_name(".secret.json.scores").exists()


def test_a_release_whose_lot_chose_no_content_has_nothing_to_ask(secret, secret_path):
    tasks = [replace(task, contents=task.contents[:1]) for task in secret.committed.tasks]
    changed = replace(secret, committed=replace(secret.committed, tasks=tuple(tasks)))
    changed = replace(changed, versions=(replace(changed.versions[0], digests=changed.digests(1)),))
    write_secret(secret_path, changed)
    with pytest.raises(DataError, match=r"in 0 tasks, expected 5 or more for --access black; --access gray"):
        run_test(Writer(), secret_path, access="black")


def test_an_option_that_sends_nothing_is_refused(secret_path):
    for options in ({"access": "black"}, {}):
        with pytest.raises(DataError, match="--spend: no secret copy would be sent"):
            run_test(Writer(), secret_path, spend=True, **options)
