"""Make the plain virtual environment .envs/NAME/ from envs/NAME.yaml, for machines without conda.

    python envs/install.py NAME [--python python3.11]

The versions are those with conda. Every pin is installed but CUDA's libraries, which come with what
asks for them, at their pinned versions: a CPU build of torch, where the index has one, brings none.
Then NAME.post-deploy.sh runs, as with conda, and what is there is compared with the pins.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from packaging.requirements import Requirement
from pin import ENVS, PIP, PYTHON, installed_last, normal, pinned

MADE = ENVS.parent / ".envs"
CUDA = re.compile(r"(nvidia|cuda)-|triton$")
# What an interpreter brings by itself; only pip's version is set.
OWN = {"pip", "setuptools", "wheel"}


def main() -> None:
    """Make one environment anew; the file `installed` in it says that it is whole."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", metavar="NAME")
    parser.add_argument("--python", default="python3", help="of the pinned minor version")
    args = parser.parse_args()
    if not (ENVS / f"{args.name}.yaml").is_file():
        known = ", ".join(sorted(path.stem for path in ENVS.glob("*.yaml")))
        sys.exit(f"error: there is no envs/{args.name}.yaml (there are {known})")
    check_version(args.python)
    folder = MADE / args.name
    shutil.rmtree(folder, ignore_errors=True)
    run(args.python, "-m", "venv", str(folder))
    install(folder / "bin", args.name)
    if faults := differences(folder / "bin" / "python", args.name):
        told = "; ".join(faults[:5])
        sys.exit(
            f"error: {folder} is not what envs/{args.name}.yaml pins: {len(faults)} packages: {told}"
        )
    (folder / "installed").touch()


def check_version(python: str) -> None:
    """The pins are those of one minor version of Python, and another may have no wheels of them."""
    asked = "import sys; print('%d.%d' % sys.version_info[:2])"
    found = subprocess.run([python, "-c", asked], capture_output=True, text=True).stdout.strip()
    wanted = PYTHON.rpartition(".")[0]
    if found != wanted:
        sys.exit(
            f"error: {python} is Python {found}, the environments are pinned for {wanted}: "
            f"make envs PYTHON=python{wanted}"
        )


def install(programs: Path, name: str) -> None:
    """Install the pins with the environment's own pip, and run its post-deploy script."""
    pip = (str(programs / "python"), "-m", "pip", "install", "--disable-pip-version-check", "-q")
    run(*pip, f"pip=={PIP}")
    pins = pinned(name)
    with tempfile.TemporaryDirectory() as folder:
        every, asked = Path(folder, "every.txt"), Path(folder, "asked.txt")
        every.write_text("\n".join(pins))
        asked.write_text("\n".join(pin for pin in pins if not CUDA.match(Requirement(pin).name)))
        run(*pip, "--constraint", str(every), "--requirement", str(asked))
    script = ENVS / f"{name}.post-deploy.sh"
    if script.is_file():
        run("bash", str(script), PATH=os.pathsep.join([str(programs), os.environ["PATH"]]))


def differences(python: Path, name: str) -> list[str]:
    """What is installed at another version than pinned, not pinned, or pinned and missing."""
    listed = subprocess.run(
        [str(python), "-m", "pip", "--disable-pip-version-check", "list", "--format=json"],
        capture_output=True, text=True, check=True, env=alone(),
    )  # fmt: skip
    # A local build's suffix (+cpu) is that build's own matter.
    found = {p["name"]: p["version"].partition("+")[0] for p in json.loads(listed.stdout)}
    there = {normal(package): version for package, version in found.items()}
    wanted = [*pinned(name), *(f"{p}=={v}" for p, v in installed_last(name).items())]
    asked = [Requirement(pin) for pin in wanted]
    pins = {
        normal(one.name): str(one.specifier).removeprefix("==")
        for one in asked
        if one.marker is None or one.marker.evaluate()
    }
    faults = [
        f"{package} is {version}, pinned {pins.get(package, 'nowhere')}"
        for package, version in sorted(there.items())
        if package not in OWN and pins.get(package) != version
    ]
    missing = sorted(p for p in pins.keys() - there.keys() if not CUDA.match(p))
    return faults + [f"{package} is missing" for package in missing]


def alone() -> dict[str, str]:
    """The variables of this process, without the one that brings packages from elsewhere."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def run(*command: str, **environment: str) -> None:
    """Run a command; what it prints is the message where it fails."""
    done = subprocess.run(command, env=alone() | environment)
    if done.returncode:
        sys.exit(f"error: {' '.join(command[:6])} ...: exit status {done.returncode}")


if __name__ == "__main__":
    main()
