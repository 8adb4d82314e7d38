"""Repositories by query and date: long lists are divided by days, replies are kept, and a busy server is waited for."""

import json
from datetime import date
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


class Recorded:
    """GitHub with so many repositories a day."""

    def __init__(self, a_day):
        self.a_day = a_day
        self.addresses = []

    def __call__(self, address):
        self.addresses.append(address)
        fields = parse_qs(urlsplit(address).query)
        words = dict(word.split(":", 1) for word in fields["q"][0].split())
        assert (words["language"], words["license"], words["stars"]) == ("java", "mit", ">=100")
        first, last = map(date.fromisoformat, words["created"].split(".."))
        days = range(first.toordinal(), last.toordinal() + 1)
        names = [f"{date.fromordinal(day)}/{number}" for day in days for number in range(self.a_day)]
        begin = 100 * (int(fields["page"][0]) - 1)
        items = []
        for name in names[begin : begin + 100]:
            item = {
                "full_name": f"o/{name}",
                "clone_url": f"https://x/{name}.git",
                "created_at": f"{name[:10]}T00:00:00Z",
            }
            items.append(item | {"stargazers_count": 101, "language": "Java", "license": {"spdx_id": "MIT"}})
        return json.dumps({"total_count": len(names), "items": items})


@pytest.mark.parametrize("a_day", [3, 100, 300])
def test_every_repository_is_listed_once_however_many_there_are(a_day):
    listed = [each["repository"] for each in repositories_created(QUERY, Recorded(a_day))]
    assert len(listed) == len(set(listed)) == 8 * a_day


def test_replies_are_kept_and_nothing_is_asked_twice(tmp_path):
    github = Recorded(30)
    first = list(repositories_created(QUERY, kept_replies(tmp_path, github)))
    asked = len(github.addresses)
    assert list(repositories_created(QUERY, kept_replies(tmp_path, github))) == first
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
        list(repositories_created(QUERY, lambda _: "[]"))


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
