"""Files of data sets on the Hugging Face hub, by its own client."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import tenacity

from optionbias.benchmarks.source import Hub
from optionbias.fetch_http import ATTEMPTS, BUSY, READ_SECONDS, FetchError, reason_of


def download(hub: Hub, commit: str | None, partial: Path, backoff: float, fresh: bool) -> str:
    """The file from the Hugging Face hub, at a commit: the recorded one, else that of its branch."""
    from huggingface_hub import HfApi, hf_hub_download

    def get() -> tuple[str, str]:
        resolved = (
            commit
            or HfApi().dataset_info(hub.dataset, revision=hub.revision, timeout=READ_SECONDS).sha
        )
        return str(resolved), hf_hub_download(
            hub.dataset, hub.path, repo_type="dataset", revision=resolved, force_download=fresh
        )

    again = tenacity.Retrying(
        retry=tenacity.retry_if_exception(_busy),
        stop=tenacity.stop_after_attempt(ATTEMPTS),
        wait=tenacity.wait_exponential(backoff, max=60),
        reraise=True,
    )
    try:
        resolved, cached = again(get)
    except Exception as error:
        # The client raises its own, its HTTP library's and the system's errors alike. One says which
        # header cannot be sent, so neither its text nor its traceback is passed on as it is.
        reason = re.sub("Bearer [^'\"]*", "...", reason_of(error))
        raise FetchError(
            f"{hub.dataset} on the Hugging Face hub: {hub.path} at {commit or hub.revision} cannot "
            f"be had ({type(error).__name__}: {reason})"
        ) from None
    shutil.copyfile(cached, partial)
    return resolved


def _busy(error: BaseException) -> bool:
    return getattr(getattr(error, "response", None), "status_code", None) in BUSY
