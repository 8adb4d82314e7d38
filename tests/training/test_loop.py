"""The optimiser loop, on models small enough to compute by hand."""

import numpy as np
import pytest
import torch

from assay.errors import DataError
from assay.training import STATE
from assay.training.loop import Batches, Training, TrainingFolder, accumulate, train, trapezoid


class Line(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.slope = torch.nn.Parameter(torch.tensor(0.0))
        self.offset = torch.nn.Parameter(torch.tensor(0.0))


def line_training(model, **settings):
    """Plain gradient descent on (slope - 3)² + offset², a rate for each."""
    optimisers = [torch.optim.SGD([model.slope], lr=0.1), torch.optim.SGD([model.offset], lr=0.2)]
    loss = lambda target: (model.slope - target) ** 2 + model.offset**2  # noqa: E731
    gradient = lambda _: accumulate(loss, [3.0], torch.device("cpu"))  # noqa: E731
    return Training(model=model, optimisers=optimisers, gradient=gradient, steps=4, **settings)


def test_each_step_follows_the_gradient_at_the_scheduled_rate():
    model = Line()
    assert train(line_training(model, schedule=lambda step: 1.0 if step < 2 else 0.0))
    first = 0.1 * 6
    assert model.slope.item() == pytest.approx(first + 0.1 * 2 * (3 - first))


def test_the_gradient_is_clipped():
    model = Line()
    train(line_training(model, clip=1.0, schedule=lambda step: float(step == 0)))
    assert model.slope.item() == pytest.approx(0.1)


def test_micro_batches_add_up():
    weight = torch.nn.Parameter(torch.tensor(2.0))
    total = accumulate(lambda part: part * weight, [1.0, 2.0, 4.0], torch.device("cpu"))
    assert (total.item(), weight.grad.item()) == (14.0, 7.0)


def test_random_numbers_follow_from_the_step_and_those_outside_stay():
    draws = []

    def gradient(_):
        draws.append(torch.rand(()).item())
        return torch.zeros(())

    state, model = torch.random.get_rng_state(), Line()
    for _ in range(2):
        train(Training(model=model, optimisers=[torch.optim.SGD(model.parameters())], gradient=gradient, steps=3))
    assert draws[:3] == draws[3:]
    assert len(set(draws)) == 3
    assert torch.equal(torch.random.get_rng_state(), state)


def test_a_stopped_training_continues_where_it_was(tmp_path):
    whole, broken, records = Line(), Line(), []
    train(line_training(whole))
    folder = TrainingFolder(tmp_path, "a command", "inputs")
    assert not train(line_training(broken), folder=folder, stop_after=1)
    restarted = Line()
    assert train(line_training(restarted), folder=folder, progress=lambda record, _: records.append(record["step"]))
    assert restarted.slope.item() == whole.slope.item()
    assert records == [2, 3, 4]


def test_a_state_of_another_model_or_of_other_optimisers_is_refused(tmp_path):
    folder = TrainingFolder(tmp_path, "a command", "inputs")
    train(line_training(Line()), folder=folder)
    other = torch.nn.Linear(1, 1)
    gradient = lambda _: torch.zeros(())  # noqa: E731
    with pytest.raises(DataError, match="expected the state of a model with these parameters"):
        train(Training(model=other, optimisers=[], gradient=gradient, steps=1), folder=folder)
    model = Line()
    one_optimiser = Training(
        model=model, optimisers=[torch.optim.AdamW(model.parameters())], gradient=gradient, steps=1
    )
    with pytest.raises(DataError, match="expected the state of these optimisers"):
        train(one_optimiser, folder=folder)
    (tmp_path / STATE).unlink()
    assert train(line_training(Line()), folder=folder)


def test_what_follows_a_step_is_logged_with_it(tmp_path):
    folder = TrainingFolder(tmp_path, "a command", "inputs")
    train(line_training(Line(), after_step=lambda step: {"twice": 2 * step}), folder=folder)
    assert '"twice": 8' in (tmp_path / "loss.jsonl").read_text().splitlines()[3]


def test_the_mode_of_the_model_is_the_one_before():
    model = Line().eval()
    train(line_training(model))
    assert not model.training


@pytest.mark.parametrize("whole_only", [True, False])
def test_an_epoch_shows_each_row_at_most_once(whole_only):
    batches = Batches(10, 4, seed=1, whole_only=whole_only)
    shown = np.concatenate([batches(step) for step in range(batches.per_epoch)])
    assert len(set(shown.tolist())) == len(shown) == (8 if whole_only else 10)
    assert batches(batches.per_epoch).tolist() != batches(0).tolist()


def test_a_trapezoid_rises_stays_and_falls():
    schedule = trapezoid(10, warm_up=2, decay=4)
    assert [schedule(step) for step in range(10)] == [0.5, 1, 1, 1, 1, 1, 1, 0.75, 0.5, 0.25]
    assert [trapezoid(3)(step) for step in range(3)] == [1, 1, 1]
