from dataclasses import dataclass

import pytest
import torch

from assay.errors import ModelError
from assay.models.batching import TokenBudget, is_out_of_memory


@dataclass(frozen=True)
class Piece:
    tokens: int


def lengths(batches):
    return [[piece.tokens for piece in batch] for batch in batches]


def test_batches_are_sorted_by_length_and_padded_tokens_stay_in_budget():
    batches = list(TokenBudget(20).run(map(Piece, [3, 10, 1, 9, 5, 4, 2]), lambda batch: batch))
    assert lengths(batches) == [[10, 9], [5, 4, 3, 2], [1]]


def test_a_piece_longer_than_the_budget_runs_alone():
    assert lengths(TokenBudget(4).run(map(Piece, [9, 2, 2]), lambda batch: batch)) == [[9], [2, 2]]


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"),
        RuntimeError("[enforce fail at alloc_cpu.cpp:124] DefaultCPUAllocator: can't allocate memory"),
    ],
)
def test_out_of_memory_halves_the_batch_and_later_batches_stay_small(error):
    sizes = []

    def step(batch):
        sizes.append(len(batch))
        if len(batch) > 2:
            raise error
        return batch

    budget = TokenBudget(80)
    batches = list(budget.run(map(Piece, [10] * 16), step))
    assert sizes == [8, 4] + [2] * 8
    assert sum(len(batch) for batch in batches) == 16
    assert budget.tokens == 20


def test_one_piece_that_does_not_fit_is_an_error():
    def step(_batch):
        raise torch.OutOfMemoryError("no")

    with pytest.raises(ModelError, match="single sequence of 7 tokens"):
        list(TokenBudget(100).run([Piece(7)], step))


def test_other_errors_are_not_taken_for_out_of_memory():
    def step(_batch):
        raise RuntimeError("shapes differ")

    with pytest.raises(RuntimeError, match="shapes differ"):
        list(TokenBudget(100).run([Piece(7)], step))
    assert not is_out_of_memory(RuntimeError("shapes differ"))


def test_a_budget_of_no_tokens_is_refused():
    with pytest.raises(ModelError, match="batch_tokens 0: expected at least 1"):
        TokenBudget(0)


def test_pieces_of_a_batch_are_alike_where_padding_costs():
    batches = TokenBudget(100).run(map(Piece, [20, 19, 10, 20, 9]), lambda batch: batch, alike=0.9)
    assert lengths(batches) == [[20, 20, 19], [10, 9]]
