"""An estimate of requests, tokens and cost, before a model behind a server is asked."""

from collections.abc import Sequence

from assay.api.progress import inform
from assay.errors import ModelError
from assay.models import ModelSettings, is_server, tokens_of_length
from assay.scoring import Plan, estimate_run
from assay.types import Sample


def report_spending(model: str, plan: Plan, samples: Sequence[Sample], settings: ModelSettings) -> None:
    """Print what a run may send to a model behind a server; nothing for other models.

    Raises:
        ModelError: the estimate exceeds a limit of the settings.
    """
    if not is_server(model):
        return
    estimate, limits = estimate_run(samples, plan), settings.limits
    tokens = tokens_of_length(estimate.characters) + estimate.generated
    cost = limits.cost(tokens)
    in_money = "" if cost is None else f", a cost of about {cost:.2f}"
    minutes = limits.requests_per_minute and estimate.requests / limits.requests_per_minute
    in_time = f", {minutes:.0f} min at {limits.requests_per_minute:g} requests a minute" if minutes else ""
    words = f"about {estimate.requests:,} requests and {tokens:,} tokens{in_money}{in_time}"
    exceeded = limits.exceeded(estimate.requests, tokens)
    if exceeded:
        raise ModelError(
            f"nothing was sent: the estimate is {exceeded} ({words}); expected a smaller --limit of samples"
        )
    inform(f"{model}: {words}; replies in the cache cost nothing")
