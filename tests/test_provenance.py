"""Code digests: which modules a script's result depends on, and nothing else."""

import ast
import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from optionbias import provenance
from optionbias.catalogue import FIGURES, TABLES
from optionbias.provenance import ROOT, code_digests, imported_names, module_path

SCRIPTS = sorted(p.stem for p in (ROOT / "scripts").glob("*.py"))
INFERENCE = ("prepare_checkpoint", "first_token_sweep", "generated_sweep", "closed_sweep")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A made-up repository in the package's place."""
    for path, text in {
        "optionbias/__init__.py": "",
        "optionbias/low.py": "import json\n",
        "optionbias/middle.py": "from optionbias import low\n",
        "optionbias/other.py": "from os import path\n",
        "optionbias/sub/__init__.py": "",
        "optionbias/sub/late.py": "def f():\n    from optionbias.low import json\n    return json\n",
        "optionbias/sub/round.py": "import optionbias.sub.about\n",
        "optionbias/sub/about.py": "from optionbias.sub import round\n",
        "scripts/one.py": "from optionbias.middle import low\nimport numpy\n",
        "scripts/two.py": "import optionbias.sub.late as late\n",
        "scripts/three.py": "from optionbias.sub import round\n",
        "scripts/none.py": "print('optionbias.other')\n",
        "paper/paper.typ": "= Paper\n",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    monkeypatch.setattr(provenance, "ROOT", tmp_path)
    forget()
    yield tmp_path
    forget()


def forget() -> None:
    """Read files anew, as the next start of the workflow does."""
    provenance._imports.cache_clear()
    provenance._digest.cache_clear()


def closure(script: str, *modules: str) -> set[str]:
    """Package modules that a script's digests hold, as paths below the package."""
    paths = set(code_digests(f"scripts/{script}.py", *modules)) - {f"scripts/{script}.py"}
    assert all(path.startswith("optionbias/") for path in paths)
    return {path.removeprefix("optionbias/") for path in paths}


def file_of(module: str) -> str:
    """A module's path below the package."""
    return module.split(":")[0].removeprefix("optionbias.").replace(".", "/") + ".py"


# --- by hand ---------------------------------------------------------------------------------


def test_closures_by_hand(repository: Path) -> None:
    # `from optionbias import low` runs the package's __init__ besides low.
    assert closure("one") == {"__init__.py", "middle.py", "low.py"}
    # An import inside a function counts; modules that import each other end.
    assert closure("two") >= {"sub/late.py", "low.py"}
    assert closure("three") >= {"sub/round.py", "sub/about.py", "sub/__init__.py"}
    # A name in a text is no import; what a script loads by name is given to the function.
    assert closure("none") == set()
    assert closure("none", "optionbias.other") - {"__init__.py"} == {"other.py"}
    assert closure("none", "optionbias.middle", "optionbias.other") >= {"middle.py", "low.py"}


def test_imports_are_those_that_python_parses() -> None:
    """Of every module and script: the pattern that stands for a parser misses none and makes up none."""
    for path in [*ROOT.glob("optionbias/**/*.py"), *ROOT.glob("scripts/*.py")]:
        text, names = path.read_text(encoding="utf-8"), set()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        own = {name for name in names if name.split(".")[0] == "optionbias"}
        assert imported_names(text) == own, path


def test_imports_of_every_form() -> None:
    text = """
import optionbias.one
import optionbias.two as two
from optionbias import three, four as f  # five
def late():
    from optionbias.six import (
        seven,  # and eight
        nine as n,
    )
# from optionbias import ten
import optionbiased.eleven, os
"""
    assert {n for n in imported_names(text) if n.split(".")[0] == "optionbias"} == {
        "optionbias", "optionbias.one", "optionbias.two", "optionbias.three", "optionbias.four",
        "optionbias.six", "optionbias.six.seven", "optionbias.six.nine",
    }  # fmt: skip


def test_digests_by_hand(repository: Path) -> None:
    found = code_digests("scripts/one.py", files=["paper/paper.typ"])
    assert list(found) == sorted(found)
    assert found["paper/paper.typ"] == hashlib.sha256(b"= Paper\n").hexdigest()[:16]
    assert found["optionbias/low.py"] == hashlib.sha256(b"import json\n").hexdigest()[:16]
    assert found["scripts/one.py"] == hashlib.sha256(
        b"from optionbias.middle import low\nimport numpy\n"
    ).hexdigest()[:16]  # fmt: skip


def test_what_is_a_module_of_the_package(repository: Path) -> None:
    assert module_path("optionbias.low") == repository / "optionbias" / "low.py"
    assert module_path("optionbias.sub") == repository / "optionbias" / "sub" / "__init__.py"
    for name in ("numpy", "os.path", "optionbias.low.json", "optionbias_more", "optionbias.no"):
        assert module_path(name) is None


def test_an_edit_changes_the_scripts_that_use_the_module(repository: Path) -> None:
    def digests() -> dict[str, dict[str, str]]:
        forget()
        return {s: code_digests(f"scripts/{s}.py") for s in ("one", "two", "three", "none")}

    before = digests()
    uses = {
        "optionbias/low.py": {"one", "two"},
        "optionbias/middle.py": {"one"},
        "optionbias/other.py": set(),
        "optionbias/sub/late.py": {"two"},
        "optionbias/sub/about.py": {"three"},
        "scripts/none.py": {"none"},
    }
    for path, users in uses.items():
        file = repository / path
        text = file.read_text(encoding="utf-8")
        file.write_text(text + "# edited\n", encoding="utf-8")
        changed = {script for script, found in digests().items() if found != before[script]}
        assert changed == users, path
        # A file that is written again with the same text is the same file.
        file.write_text(text, encoding="utf-8")
        assert digests() == before


def test_running_a_module_runs_its_packages(repository: Path) -> None:
    # Importing optionbias.sub.late runs optionbias/__init__.py and optionbias/sub/__init__.py, so
    # an edit of either can change the result.
    assert closure("two") == {"__init__.py", "sub/__init__.py", "sub/late.py", "low.py"}


# --- the repository itself -------------------------------------------------------------------


def test_imports_are_absolute() -> None:
    # Relative imports would not be seen.
    for path in [*ROOT.glob("optionbias/**/*.py"), *ROOT.glob("scripts/*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            assert not (isinstance(node, ast.ImportFrom) and node.level), path


def test_only_inference_reaches_the_readouts() -> None:
    for script in SCRIPTS:
        reached = {p for p in closure(script) if p.startswith("readouts/")}
        assert bool(reached) == (script in INFERENCE), (script, reached)
    for number, (module, _) in TABLES.items():
        assert not any(p.startswith("readouts/") for p in closure("table", module.split(":")[0])), (
            number
        )


@pytest.mark.parametrize("number", sorted(FIGURES))
def test_style_belongs_to_drawing_alone(number: str) -> None:
    drawing, data, _ = FIGURES[number]
    computed, drawn = closure("figure_data", data), closure("figure", drawing)
    assert file_of(data) in computed
    assert not {file_of(drawing), "figures/style.py"} & computed
    assert {file_of(drawing), "figures/style.py"} <= drawn
    # Drawing reads a CSV: what computes the statistics behind it draws nothing again.
    assert "scoring.py" not in drawn
    others = {file_of(m) for n, modules in FIGURES.items() if n != number for m in modules[:2]}
    assert not others & (computed | drawn)


def test_tables_depend_on_nothing_beside_them() -> None:
    own = {file_of(module) for module, _ in TABLES.values()}
    for module, _ in TABLES.values():
        reached = closure("table", module.split(":")[0])
        assert reached & own == {file_of(module)}
        assert not any(p.startswith("figures/") for p in reached)
    # Scoring reads no table and no figure: a caption's edit scores nothing again.
    scoring = closure("score_benchmark")
    assert not any(p.startswith(("tables/", "figures/", "benchmarks/")) for p in scoring)
    assert {"scoring.py", "factors.py", "operations.py", "sweep.py"} <= scoring


RUN = """
import json, runpy, sys
from importlib import import_module
found = {}
for script, modules in json.loads(sys.argv[1]):
    for name in [n for n in sys.modules if n.split(".")[0] == "optionbias"]:
        del sys.modules[name]
    sys.argv = [script, "--help"]
    try:
        runpy.run_module(f"scripts.{script}", run_name="__main__")
    except SystemExit:
        pass
    for module in modules:
        import_module(module)
    found[" ".join([script, *modules])] = sorted(
        m.__file__ for n, m in sys.modules.items() if n.split(".")[0] == "optionbias"
    )
sys.stdout = sys.__stdout__
print(json.dumps(found))
"""


def test_what_python_loads_is_in_the_digests() -> None:
    jobs = [(s, []) for s in SCRIPTS if s not in INFERENCE]
    jobs += [("table", [module.split(":")[0]]) for module, _ in TABLES.values()]
    jobs += [("figure", [drawing]) for drawing, _, _ in FIGURES.values()]
    jobs += [("figure_data", [data]) for _, data, _ in FIGURES.values()]
    done = subprocess.run(
        [sys.executable, "-c", RUN, json.dumps(jobs)],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = json.loads(done.stdout.splitlines()[-1])
    for script, modules in jobs:
        digests = set(code_digests(f"scripts/{script}.py", *modules))
        loaded = {Path(p) for p in found[" ".join([script, *modules])]}
        # Modules that say nothing cannot change a result.
        speaking = {
            str(p.relative_to(ROOT)) for p in loaded if p.read_text(encoding="utf-8").strip()
        }
        assert speaking <= digests, (script, modules)
        # And no module is digested that is not loaded, but one that is imported when it is needed.
        idle = digests - speaking - {f"scripts/{script}.py", "optionbias/seeds.py"}
        assert not any((ROOT / path).read_text(encoding="utf-8").strip() for path in idle)
        assert not any("readouts" in path for path in speaking)


def test_every_digest_is_of_a_file_that_is_there() -> None:
    for script in SCRIPTS:
        for path, digest in code_digests(f"scripts/{script}.py").items():
            data = (ROOT / path).read_bytes()
            assert digest == hashlib.sha256(data).hexdigest()[:16]
