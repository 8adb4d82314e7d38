"""What a service takes on, and what it refuses."""

import asyncio
import threading

import pytest

from assay.service.queue import CallQueue, TooManyCalls


@pytest.fixture
def gates():
    """Makes gates and closes them."""
    made = []

    def make(**limits):
        made.append(CallQueue(**limits))
        return made[-1]

    yield make
    for entry in made:
        entry.close()


def test_the_value_of_a_call_comes_back(gates):
    gate = gates(workers=1, waiting=0, seconds=60)
    assert asyncio.run(gate.run(divmod, 7, 2)) == (3, 1)
    assert gate.calls == 0


def test_an_exception_of_a_call_comes_back(gates):
    gate = gates(workers=1, waiting=0, seconds=60)
    with pytest.raises(ZeroDivisionError):
        asyncio.run(gate.run(divmod, 7, 0))
    assert gate.calls == 0


def test_a_call_beyond_those_that_may_wait_is_told_to_come_back(gates):
    gate = gates(workers=1, waiting=1, seconds=60)
    released = threading.Event()

    async def scene():
        first = asyncio.create_task(gate.run(released.wait, 60))
        second = asyncio.create_task(gate.run(released.wait, 60))
        await asyncio.sleep(0)
        with pytest.raises(TooManyCalls):
            await gate.run(released.wait, 60)
        released.set()
        return await first, await second

    assert asyncio.run(scene()) == (True, True)


def test_a_call_whose_caller_has_given_up_while_it_waited_does_not_run(gates):
    gate = gates(workers=1, waiting=1, seconds=0.05)
    released, ran = threading.Event(), []

    async def scene():
        running = asyncio.create_task(gate.run(released.wait, 60))
        waiting = asyncio.create_task(gate.run(ran.append, 1))
        await asyncio.wait([running, waiting])
        assert gate.calls == 1
        released.set()

    asyncio.run(scene())
    gate.close()
    assert ran == []


def test_calls_that_waited_too_long_are_dropped_but_for_the_next_one(gates):
    """Workers have work while dropped callers come back; calls in front of a call do not make its work useless."""
    gate = gates(workers=1, waiting=4, seconds=1)
    released = threading.Event()

    async def scene():
        running, following, *late = (asyncio.create_task(gate.run(released.wait, 60)) for _ in range(4))
        outcomes = await asyncio.gather(*late, running, return_exceptions=True)
        released.set()
        return [*map(type, outcomes), await following]

    assert asyncio.run(scene()) == [TooManyCalls, TooManyCalls, TimeoutError, True]


def test_a_call_that_takes_too_long_keeps_its_place_until_it_ends(gates):
    gate = gates(workers=1, waiting=0, seconds=0.01)
    released = threading.Event()

    async def scene():
        with pytest.raises(TimeoutError):
            await gate.run(released.wait, 60)
        with pytest.raises(TooManyCalls):
            await gate.run(released.wait, 60)
        released.set()
        while gate.calls:  # noqa: ASYNC110  nothing tells when an abandoned call ends
            await asyncio.sleep(0)
        return gate.calls

    assert asyncio.run(scene()) == 0
