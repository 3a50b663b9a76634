"""Resolve envs/NAME.in to envs/NAME.yaml: Python, pip and all that pip installs, each at one version.

    python envs/pin.py [--upgrade] [NAME ...]

An .in file holds the packages that the code imports, each as `name==version`, and may say in comments
    # newest: DATE        nothing that was uploaded later is taken
    # override: PIN       what others ask of this package does not count
    # without: NAMES      these are left out, whoever asks for them
What NAME.post-deploy.sh installs by `name==version` is resolved with the rest and left to it.

The closure is that of Linux on x86-64 with the torch of PyPI, whose CUDA libraries it holds behind
markers of their platform. Versions stay as they are (or are those of requirements.lock) where that
is possible, so that resolving again changes nothing else; `--upgrade` forgets those of before.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

ENVS = Path(__file__).parent
LOCK = ENVS.parent / "requirements.lock"
PYTHON = "3.11.7"
PIP = "23.2.1"
PLATFORM = "x86_64-manylinux_2_28"
PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;]+)", re.M)


def main() -> None:
    """Resolve the environments that are named, by default all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--upgrade", action="store_true", help="forget the versions of before")
    args = parser.parse_args()
    for name in args.names or sorted(path.stem for path in ENVS.glob("*.in")):
        if not (ENVS / f"{name}.in").is_file():
            sys.exit(f"error: there is no {ENVS.name}/{name}.in")
        pins = resolved(name, args.upgrade)
        (ENVS / f"{name}.yaml").write_text(described(name, pins), encoding="utf-8")
        print(f"{name}: {len(pins)} packages")


def directives(text: str, key: str) -> list[str]:
    """The words of an .in file's comment `# key: words`."""
    found = re.search(rf"^# {key}: (.*)$", text, re.M)
    return found[1].split() if found else []


def digest(name: str) -> str:
    """What envs/NAME.yaml says of the .in file that it was made from."""
    return hashlib.sha256((ENVS / f"{name}.in").read_bytes()).hexdigest()[:16]


def pinned(name: str) -> list[str]:
    """What pip installs in an environment, as lines of a requirements file."""
    environment = yaml.safe_load((ENVS / f"{name}.yaml").read_text(encoding="utf-8"))
    lines: list[str] = environment["dependencies"][-1]["pip"]
    return lines


def installed_last(name: str) -> dict[str, str]:
    """Packages that an environment's post-deploy script installs -> their versions."""
    script = ENVS / f"{name}.post-deploy.sh"
    words = script.read_text(encoding="utf-8").split() if script.is_file() else []
    return dict(PIN.findall("\n".join(words)))


def normal(package: str) -> str:
    """A package's name as resolvers write it."""
    return re.sub(r"[-_.]+", "-", package).lower()


def preferred(name: str, upgrade: bool) -> str:
    """Versions to keep where possible: those of the environment, then those of the lock."""
    lock = PIN.findall(LOCK.read_text(encoding="utf-8"))
    known = {normal(package): version for package, version in lock}
    if not upgrade and (ENVS / f"{name}.yaml").is_file():
        known |= dict(PIN.findall("\n".join(pinned(name))))
    return "\n".join(f"{package}=={version}" for package, version in known.items())


def resolved(name: str, upgrade: bool = False) -> list[str]:
    """The closure of envs/NAME.in: each package as `name==version`, with a marker where it has one.

    Ends the process with what the resolver says where there is none.
    """
    asked = ENVS / f"{name}.in"
    text = asked.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        output, override, without = (Path(folder, part) for part in ("out", "override", "without"))
        output.write_text(preferred(name, upgrade))  # an output that is there is preferred
        override.write_text("\n".join(directives(text, "override")))
        without.write_text("\n".join(directives(text, "without")))
        command = [
            *(
                sys.executable,
                "-m",
                "uv",
                "pip",
                "compile",
                str(asked),
                "--output-file",
                str(output),
            ),
            *("--python-version", PYTHON, "--python-platform", PLATFORM, "--no-strip-markers"),
            *("--no-header", "--no-annotate", "--quiet"),
            *("--override", str(override), "--excludes", str(without)),
        ]
        for package in installed_last(name):
            command += ["--no-emit-package", package]
        if newest := directives(text, "newest"):
            command += ["--exclude-newer", *newest]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"error: {asked.name}: {' '.join(done.stderr.split())}")
        return output.read_text(encoding="utf-8").splitlines()


def described(name: str, pins: list[str]) -> str:
    """The text of envs/NAME.yaml."""
    lines = "\n".join(f"      - {pin}" for pin in pins)
    return (
        f"# Made by `make pin-envs` from {name}.in ({digest(name)}): edit that, not this.\n"
        f"name: optionbias-{name}\n"
        f"channels:\n  - conda-forge\n  - nodefaults\n"
        f"dependencies:\n  - python={PYTHON}\n  - pip={PIP}\n  - pip:\n{lines}\n"
    )


if __name__ == "__main__":
    main()
