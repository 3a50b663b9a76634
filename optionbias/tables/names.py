"""How tables and figures call the operations and statistics: the one map from ids to texts."""

from __future__ import annotations

OPERATION_NAMES = {
    "none": "Baseline",
    "pride": "PriDe",
    "batch": "Batch calibration",
    "reversal": "Reversal product",
    "pride+reversal": "PriDe then reversal",
    "batch+reversal": "Batch then reversal",
    "pride+batch": "PriDe then batch",
    "vote": "Majority vote",
}

FLIP_RATE = "Flip rate"
SKEW = "Positional skew"
POOLED_SD = "Pooled SD"
ACCURACY = "Accuracy"

D_LOG_FLIP_RATE = "dlog flip rate"
D_LOG_SKEW = "dlog skew"
PLACEMENT_RANGE = "placement range"
RANK_REVERSALS = "rank reversals"
D_ACCURACY = "d accuracy"
D_STABLE_WRONG = "d stable-wrong"

SPEARMAN_ACCURACY = "spearman with accuracy"
SPLIT_HALF = "split-half spearman"
SPEARMAN_BROWN = "spearman-brown"

READOUT_NAMES = {
    "first-token": "first-token (zero-shot)",
    "five-shot": "five-shot",
    "chain-of-thought": "chain of thought",
    "direct-answer": "direct answer",
    "all-orderings": "all orderings",
    "closed": "closed model",
}
