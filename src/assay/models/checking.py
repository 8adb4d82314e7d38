"""A mistyped model is refused before torch is imported or data are fetched, with the names that are near it."""

from pathlib import Path

from assay.errors import ModelError, did_you_mean, require
from assay.models.folders import check_folder
from assay.models.gguf_file import is_gguf
from assay.models.names import BUILTIN_PREFIX, SERVER_PREFIXES, builtin_models, located, openai_name
from assay.models.open import MODELS

HUB_SECONDS = 10.0
REPOSITORY = "models--"


def check_model(name: str, revision: str | None = None) -> None:
    """Check that a model of that name can exist: no weights are read, and no package of a backend is imported.

    Args:
        name: as `open_model` takes it.
        revision: branch, tag or commit of a hub model.

    Raises:
        ModelError: there is no such model; the line has the nearest names.
        MissingExtra: it needs an optional dependency.
    """
    if name.startswith(SERVER_PREFIXES):
        openai_name(name)
        return
    prefix, colon, _ = name.partition(":")
    if colon and prefix in MODELS and not name.startswith(BUILTIN_PREFIX):
        return  # its backend checks the rest
    require("torch", "transformers", purpose=f"model {name!r}")
    source = located(name)
    if is_gguf(source):
        return
    if colon and len(prefix) > 1 and not name.startswith(BUILTIN_PREFIX) and not Path(name).exists():
        raise ModelError(
            f"model {name!r}: received the kind {prefix!r}, expected one of {', '.join(MODELS)}"
            f"{did_you_mean(prefix, MODELS)}"
        )
    check_folder(source)
    if not Path(source).is_dir():
        _check_hub_id(source, revision)


def check_follows_instructions(name: str) -> None:
    """Check that a model is not one that is known to follow no instructions: a built-in model only continues text.

    Raises:
        ModelError: it is a built-in model.
    """
    if name.startswith(BUILTIN_PREFIX):
        raise ModelError(
            f"model {name!r} only continues text and follows no instructions: expected openai-chat:MODEL@URL, or a "
            "local instruct model with --model-option chat-template=true"
        )


def _check_hub_id(name: str, revision: str | None) -> None:
    """Check that a hub model is in the local cache, or on the hub; the hub is asked once.

    Raises:
        ModelError: it is in neither, or it is not the form of a hub id.
    """
    from huggingface_hub import HfApi, constants  # noqa: PLC0415  only for hub ids
    from huggingface_hub.errors import (  # noqa: PLC0415
        GatedRepoError,
        HFValidationError,
        OfflineModeIsEnabled,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    cache = Path(constants.HF_HUB_CACHE)
    if (cache / (REPOSITORY + name.replace("/", "--"))).is_dir():
        return
    near = did_you_mean(name, _near_names(cache))
    missing = f"no model {name!r}: it is not a folder, not in the cache of the hub"
    if constants.HF_HUB_OFFLINE:
        raise ModelError(f"{missing}, and HF_HUB_OFFLINE forbids to ask the hub{near}")
    try:
        HfApi().model_info(name, revision=revision, timeout=HUB_SECONDS)
    except GatedRepoError:
        return  # it exists; loading reports what is missing to read it
    except (RepositoryNotFoundError, HFValidationError) as error:
        raise ModelError(f"{missing}, and not on the hub{near}") from error
    except RevisionNotFoundError as error:
        raise ModelError(f"model {name!r} has no revision {revision!r} on the hub") from error
    except (OSError, OfflineModeIsEnabled) as error:
        raise ModelError(f"{missing}, and the hub cannot be reached{near}") from error
    except Exception as error:
        if type(error).__module__.startswith("httpx"):  # no network; old versions of the hub's client lack httpx
            raise ModelError(f"{missing}, and the hub cannot be reached{near}") from error
        raise


def _near_names(cache: Path) -> list[str]:
    """Return the models that are here: built-in ones, those in the cache of the hub, and folders beside."""
    cached = [path.name.removeprefix(REPOSITORY).replace("--", "/") for path in cache.glob(f"{REPOSITORY}*")]
    folders = [path.parent.name for path in Path().glob("*/config.json")]
    return [*builtin_models(), *cached, *folders]
