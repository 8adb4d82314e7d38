"""Repositories by query and date: long lists are divided by days, replies are kept, and a busy server is waited for."""

import json
from datetime import date, datetime, timedelta
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from typer.testing import CliRunner

from assay.errors import AssayError, DataError
from assay.retrying import Patience
from assay_lab.cli.app import app
from assay_lab.rewrites import searching
from assay_lab.rewrites.searching import RepositoryQuery, from_github, kept_replies, repositories_created

QUERY = RepositoryQuery(first=date(2019, 1, 1), last=date(2019, 1, 8), language="java", licence="mit", stars=100)


def moment(text):
    return datetime.fromisoformat(text.removesuffix("Z"))


class Recorded:
    """GitHub with so many repositories a day, created `apart` from midnight on; it lists a thousand of a query."""

    def __init__(self, a_day, apart=timedelta(seconds=5)):
        self.created = []
        for day in range(8):
            for number in range(a_day):
                self.created.append((f"2019-01-0{day + 1}/{number}", moment(f"2019-01-0{day + 1}") + number * apart))
        self.addresses = []

    def __call__(self, address):
        self.addresses.append(address)
        fields = parse_qs(urlsplit(address).query)
        words = dict(word.split(":", 1) for word in fields["q"][0].split())
        assert (words["language"], words["license"], words["stars"]) == ("java", "mit", ">=100")
        first, last = words["created"].split("..")
        end = (
            moment(last) + timedelta(days=1) if len(last) == len("2019-01-01") else moment(last) + timedelta(seconds=1)
        )
        names = [name for name, created in self.created if moment(first) <= created < end]
        begin = 100 * (int(fields["page"][0]) - 1)
        assert begin < 1000, "GitHub answers with an error"
        items = []
        for name in names[begin : begin + 100]:
            item = {
                "full_name": f"o/{name}",
                "clone_url": f"https://x/{name}.git",
                "created_at": f"{name[:10]}T00:00:00Z",
            }
            items.append(item | {"stargazers_count": 101, "language": "Java", "license": {"spdx_id": "MIT"}})
        return json.dumps({"total_count": len(names), "items": items})


@pytest.mark.parametrize("a_day", [3, 100, 300, 2500])
def test_every_repository_is_listed_once_however_many_there_are(a_day):
    notes = []
    listed = [each["repository"] for each in repositories_created(QUERY, Recorded(a_day), notes.append)]
    assert len(listed) == len(set(listed)) == 8 * a_day
    assert not notes


def test_what_github_does_not_list_is_counted():
    notes = []
    at_once = Recorded(1007, timedelta(0))
    assert len(list(repositories_created(QUERY, at_once, notes.append))) == 8000
    assert len(notes) == 8
    period = "2019-01-01T00:00:00Z..2019-01-01T00:00:00Z"
    assert notes[0] == f"{period}: 1,007 repositories, of which GitHub does not list 7"


def test_replies_are_kept_and_nothing_is_asked_twice(tmp_path):
    github = Recorded(30)
    first = list(repositories_created(QUERY, kept_replies(tmp_path, github), print))
    asked = len(github.addresses)
    assert list(repositories_created(QUERY, kept_replies(tmp_path, github), print)) == first
    assert len(github.addresses) == asked == len(list(tmp_path.iterdir()))
    assert first[0] == {
        "repository": "o/2019-01-01/0",
        "clone": "https://x/2019-01-01/0.git",
        "created": "2019-01-01",
        "stars": 101,
        "language": "Java",
        "licence": "MIT",
    }


def test_a_reply_that_is_none_of_github_is_one_line():
    with pytest.raises(DataError, match="expected a reply of GitHub's search"):
        list(repositories_created(QUERY, lambda _: "[]", print))


def test_a_busy_server_is_waited_for_and_an_error_is_one_line(monkeypatch):
    answers = [httpx.Response(429, headers={"retry-after": "0"}), httpx.Response(200, text="{}")]
    monkeypatch.setattr(httpx, "get", lambda *_, **__: answers.pop(0))
    assert from_github(searching.ADDRESS, Patience(first_pause=0)) == "{}"
    answers.append(httpx.Response(422, text="no such language"))
    with pytest.raises(AssayError, match="status 422, no such language"):
        from_github(searching.ADDRESS)


def test_the_command_writes_the_list_and_refuses_half_a_period(tmp_path, monkeypatch):
    monkeypatch.setattr(searching, "from_github", Recorded(2))
    out = tmp_path / "java.jsonl"
    words = ["find-repositories", "--language", "java", "--licence", "mit", "--stars", "100", "-o", str(out)]
    done = CliRunner().invoke(app, [*words, "--created", "2019-01-01..2019-01-08", "--most", "5"])
    assert done.exit_code == 0, done.output
    assert len(out.read_text("utf-8").splitlines()) == 5
    assert isinstance(CliRunner().invoke(app, [*words, "--created", "2019-01-01"]).exception, DataError | SystemExit)
