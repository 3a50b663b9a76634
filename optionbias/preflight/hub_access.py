"""What the Hugging Face hub says of checkpoints, and whether the token at hand may read them.

Asked only by `snakemake preflight`. Each question is asked once and waits a few seconds; what is not
answered is None, which the page prints as `unknown`. The token is never shown.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Event

SECONDS = 5.0
AT_A_TIME = 8


@dataclass(frozen=True)
class Access:
    """What the hub said of a repository; None where it did not.

    Attributes:
        gated: whether its terms must be accepted.
        readable: whether its files may be read from here, with the token if there is one.
        weights_gb: size of its safetensors at the revision, in 10^9 bytes.
    """

    gated: bool | None = None
    readable: bool | None = None
    weights_gb: float | None = None


def has_token() -> bool:
    """Whether the hub's client has a token to send (HF_TOKEN, or one that was logged in with)."""
    from huggingface_hub import get_token

    return get_token() is not None


def ask(repositories: Iterable[tuple[str, str]]) -> dict[str, Access]:
    """Ask the hub of (repository, revision) pairs, some at a time; offline nothing is waited for."""
    wanted = dict(repositories)
    unreachable = Event()
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        found = pool.map(lambda pair: _ask_one(pair[0], pair[1], unreachable), wanted.items())
        return dict(zip(wanted, found, strict=True))


def _ask_one(repository: str, revision: str, unreachable: Event) -> Access:
    from huggingface_hub import HfApi, get_hf_file_metadata, hf_hub_url
    from huggingface_hub.errors import GatedRepoError, HfHubHTTPError

    gated = weights = readable = None
    if unreachable.is_set():
        return Access()
    try:
        info = HfApi().model_info(
            repository, revision=revision, files_metadata=True, timeout=SECONDS
        )
        gated = None if info.gated is None else bool(info.gated)
        # Some repositories hold the weights a second time, as one file that nothing here loads.
        sizes = [
            file.size
            for file in info.siblings or []
            if file.rfilename.endswith(".safetensors") and "consolidated" not in file.rfilename
        ]
        if sizes and None not in sizes:
            weights = sum(size for size in sizes if size is not None) / 1e9
    except HfHubHTTPError:
        pass  # the hub's own answer: not found, not allowed, busy
    except Exception:  # the client's transport has errors of its own
        unreachable.set()
        return Access()
    try:
        url = hf_hub_url(repository, "config.json", revision=revision)
        get_hf_file_metadata(url, timeout=SECONDS)
        readable = True
    except GatedRepoError:
        gated, readable = True, False
    except HfHubHTTPError as error:
        status = getattr(error.response, "status_code", None)
        readable = False if status in (401, 403, 404) else None
    except Exception:
        unreachable.set()
    return Access(gated, readable, weights)
