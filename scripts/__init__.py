"""One thin script per rule, run as `python -m scripts.NAME`."""

import sys
from types import TracebackType


def _one_line_for_a_missing_package(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    if isinstance(error, ModuleNotFoundError):
        # The interpreter exits with status 1 after the hook, as after a traceback.
        print(
            f"error: package {error.name} is not installed for {sys.executable}: `make .venv` makes "
            f"the environment, `. .venv/bin/activate` activates it",
            file=sys.stderr,
        )
    else:
        sys.__excepthook__(kind, error, trace)


sys.excepthook = _one_line_for_a_missing_package
