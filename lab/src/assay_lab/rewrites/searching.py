"""Repositories of GitHub by language, licence, stars and day of creation, through its search API.

A query returns a thousand repositories at most, so a period with more is halved until each part has fewer, down to
hours, minutes and seconds. Every reply is kept in a folder: a search that was interrupted goes on, and one that ended
can be repeated without the network.

https://docs.github.com/rest/search/search#search-repositories
"""

import hashlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx

from assay.errors import AssayError, DataError
from assay.files import parse_json, write_text
from assay.retrying import Busy, Patience, with_retries

ADDRESS = "https://api.github.com/search/repositories"
MOST, PAGE = 1000, 100
"""Repositories of a query and of a page, at most."""
BUSY = (httpx.codes.FORBIDDEN, httpx.codes.TOO_MANY_REQUESTS, httpx.codes.BAD_GATEWAY, httpx.codes.SERVICE_UNAVAILABLE)
MIDNIGHT, SECOND, DAY = time(), timedelta(seconds=1), timedelta(days=1)
Fetch = Callable[[str], str]
"""Address → the reply."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryQuery:
    """Which repositories.

    Attributes:
        first, last: days of creation, both included.
        language: as GitHub calls it; None for all.
        licence: as GitHub abbreviates it, such as "mit"; None for all.
        stars: fewest.
    """

    first: date
    last: date
    language: str | None = None
    licence: str | None = None
    stars: int = 0

    def address(self, begin: datetime, end: datetime, page: int) -> str:
        """Return the address of a page of the repositories that were created from `begin` to before `end`."""
        words = [f"created:{_period(begin, end)}", f"stars:>={self.stars}"]
        if self.language:
            words.append(f"language:{self.language}")
        if self.licence:
            words.append(f"license:{self.licence}")
        fields = {"q": " ".join(words), "sort": "stars", "order": "desc", "per_page": PAGE, "page": page}
        return f"{ADDRESS}?{urlencode(fields)}"


def _period(begin: datetime, end: datetime) -> str:
    """Return a period as GitHub reads it, with both ends: in days where it consists of days."""
    if begin.time() == end.time() == MIDNIGHT:
        return f"{begin.date()}..{(end - DAY).date()}"
    return f"{begin.isoformat()}Z..{(end - SECOND).isoformat()}Z"


def repositories_created(query: RepositoryQuery, fetch: Fetch, note: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    """Yield name, clone address, day of creation, stars, language and licence of each repository, by period and stars.

    Args:
        query: which repositories.
        fetch: returns the reply at an address.
        note: receives a line on each part of the period that GitHub does not list in full.

    Raises:
        DataError: the period ends before it begins, or a reply is none of GitHub.
        AssayError: GitHub does not answer.
    """
    if query.last < query.first:
        raise DataError(f"received {query.first} to {query.last}, expected a period that ends after it begins")
    periods = [(datetime.combine(query.first, MIDNIGHT), datetime.combine(query.last, MIDNIGHT) + DAY)]
    while periods:
        begin, end = periods.pop()
        reply = _reply(fetch, query.address(begin, end, page=1))
        total = reply["total_count"]
        # whole days first: their replies are those that earlier versions kept
        unit = DAY if end - begin > DAY else SECOND
        if total > MOST and end - begin > unit:
            middle = begin + ((end - begin) // unit + 1) // 2 * unit
            # the earlier half lies on top of the stack, so the days come out in order
            periods += [(middle, end), (begin, middle)]
            continue
        listed = 0
        for page in count(2):
            listed += len(reply["items"])
            yield from map(_described, reply["items"])
            # GitHub has no page beyond the thousandth result
            if len(reply["items"]) < PAGE or page > MOST // PAGE:
                break
            reply = _reply(fetch, query.address(begin, end, page=page))
        if missing := max(0, total - listed):
            note(f"{_period(begin, end)}: {total:,} repositories, of which GitHub does not list {missing:,}")


def _reply(fetch: Fetch, address: str) -> dict[str, Any]:
    reply = parse_json(fetch(address))
    if not (
        isinstance(reply, dict) and isinstance(reply.get("items"), list) and isinstance(reply.get("total_count"), int)
    ):
        raise DataError(f"{address}: received {str(reply)[:60]!r}, expected a reply of GitHub's search")
    return reply


def _described(item: dict[str, Any]) -> dict[str, Any]:
    licence = item.get("license") or {}
    return {
        "repository": item["full_name"],
        "clone": item["clone_url"],
        "created": item["created_at"][:10],
        "stars": item["stargazers_count"],
        "language": item["language"],
        "licence": licence.get("spdx_id"),
    }


def kept_replies(folder: Path, fetch: Fetch) -> Fetch:
    """Return a function that reads replies from a folder, and fetches and keeps those that it lacks."""

    def reply(address: str) -> str:
        path = folder / f"{hashlib.sha256(address.encode()).hexdigest()[:32]}.json"
        if not path.exists():
            folder.mkdir(parents=True, exist_ok=True)
            write_text(path, fetch(address))
        return path.read_text("utf-8")

    return reply


def from_github(address: str, patience: Patience | None = None) -> str:
    """Return GitHub's reply; `$GITHUB_TOKEN` raises its limit from ten requests a minute to thirty.

    Raises:
        AssayError: there is no answer, or an error.
    """
    headers = {"Accept": "application/vnd.github+json"}
    if token := os.environ.get("GITHUB_TOKEN"):
        headers["Authorization"] = f"Bearer {token}"
    try:
        return with_retries(partial(_request, address, headers), patience or Patience(attempts=10, seconds=900))
    except Busy as reason:
        raise AssayError(f"{ADDRESS}: {reason.reason}, {reason.attempts} times; expected an answer") from reason
    except httpx.HTTPError as reason:
        raise AssayError(f"{ADDRESS}: {reason}; expected an answer of GitHub") from reason


def _request(address: str, headers: dict[str, str]) -> str:
    response = httpx.get(address, headers=headers, timeout=60)
    if response.status_code in BUSY:
        wait = response.headers.get("retry-after", "60")
        raise Busy(f"status {response.status_code}", wait=float(wait) if wait.isdigit() else 60.0)
    if response.is_error:
        raise AssayError(f"{ADDRESS}: status {response.status_code}, {response.text[:100]}; expected a list")
    return response.text
