"""The shared-prefix engine: every token that prompts share is computed once.

The prompts of a chunk of items form prefix trees (`prefix_tree`), cut to packs under a token budget
(`packing`), laid out in one row (`layout`) and run in one forward pass whose attention knows who
precedes whom (`tree_attention`). Only the last token of each prompt meets the output matrix.
Exemplars are computed once and kept for all items that follow.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
import transformers

from optionbias.readouts.forward import (
    Asked,
    LetterScores,
    PlainReader,
    about_model,
    letter_scores,
)
from optionbias.readouts.layout import lay_out
from optionbias.readouts.library import takes_attention
from optionbias.readouts.packing import Pack, packs
from optionbias.readouts.prefix_tree import Node, Tokens, prefix_tree
from optionbias.readouts.tree_attention import (
    NAME,
    Pass,
    Stem,
    UnsupportedAttentionError,
    attending,
    check_kernels,
)

LOG = logging.getLogger(__name__)
# Tokens of one forward pass. A CPU's caches like few, a GPU is idle with few.
BUDGETS = {"cpu": 1024, "cuda": 16_384}
LEAST_BUDGET = 64
# Exemplars of that many subjects stay in memory.
KEPT_HEADS = 4
# Largest and root-mean-square difference from the plain forward pass that is rounding. A mask that
# a model ignores moves most rows by far more.
TOLERANCE = {
    torch.float32: (1e-3, 2e-4),
    torch.bfloat16: (1.5, 0.15),
    torch.float16: (0.25, 0.03),
}


class SharedPrefixReader:
    """Reads chunks of items; threads may call `read` at the same time."""

    kind = "shared prefixes"

    def __init__(
        self, model: Any, letters: Sequence[int], name: str, budget: int | None = None
    ) -> None:
        """Wrap a causal language model of the transformers library in evaluation mode.

        Args:
            model: the model; its attention implementation is set to the trees'.
            letters: token ids of the K letters.
            name: the checkpoint's name, for errors.
            budget: tokens of one forward pass; by default what suits the device.

        Raises:
            UnsupportedAttentionError: the library lets nobody replace this model's attention.
        """
        if not takes_attention(model):
            raise UnsupportedAttentionError(
                f"transformers {transformers.__version__} has no attention functions to be replaced"
            )
        self.model, self.name = model, name
        self.letters = torch.tensor(list(letters))
        self.budget = budget or BUDGETS.get(model.device.type, BUDGETS["cuda"])
        self.first_budget, self.tokens_run = self.budget, 0
        self._heads: OrderedDict[Tokens, Stem] = OrderedDict()
        self._lock = threading.Lock()
        check_kernels(model.device, model.dtype)
        model.set_attn_implementation(NAME)

    @property
    def about(self) -> dict[str, Any]:
        """Of provenance: backend, dtype, device, versions, budget at the start.

        A budget that memory made smaller is not part of it: it would be another journal.
        """
        return {**about_model(self.model), "reader": self.kind, "token_budget": self.first_budget}

    @torch.inference_mode()
    def read(self, items: Sequence[Asked]) -> LetterScores:
        """Rows of every prompt of a chunk, items first.

        The result depends on the chunk and the budget alone, not on what was read before. Where
        memory does not suffice the budget is halved and the chunk read again.

        Raises:
            ForwardError: the model returned NaN or infinite logits.
            MemoryError: not even the smallest pack fits.
        """
        while True:
            budget = self.budget
            try:
                return self._read(items, budget)
            except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
                if not _is_out_of_memory(error):
                    raise
            # Outside of the handler, which holds the frames and their tensors.
            self._halve(budget)

    def _halve(self, budget: int) -> None:
        with self._lock:
            if self.budget == budget:
                if budget // 2 < LEAST_BUDGET:
                    raise MemoryError(
                        f"checkpoint {self.name}: out of memory with packs of {budget} tokens: use a "
                        f"device with more memory, or a smaller dtype"
                    )
                self.budget = budget // 2
                LOG.warning(
                    "checkpoint %s: out of memory with packs of %d tokens, going on with %d",
                    self.name, budget, self.budget,
                )  # fmt: skip
            self._heads.clear()
        if self.model.device.type == "cuda":
            torch.cuda.empty_cache()

    def _read(self, items: Sequence[Asked], budget: int) -> LetterScores:
        first = np.cumsum([0, *(len(item.prompts) for item in items)])
        found = LetterScores.empty(int(first[-1]), len(self.letters))
        by_head: dict[Tokens, list[int]] = {}
        for number, item in enumerate(items):
            by_head.setdefault(item.head, []).append(number)
        for head, numbers in by_head.items():
            prompts = [prompt for n in numbers for prompt in items[n].prompts]
            rows = np.concatenate([np.arange(first[n], first[n + 1]) for n in numbers])
            trees = prefix_tree(prompts, len(head))
            stems = {head: self._head(head)}
            for pack in packs(trees, budget, head):
                scored, which, kept = self._run(pack, stems[pack.before])
                if len(which):
                    found.put(rows[which], scored)
                if kept is not None:
                    stems[pack.before + pack.trees[0].tokens] = kept
        return found

    def _head(self, head: Tokens) -> Stem:
        """The stem of exemplars, computed once."""
        if not head:
            return Stem()
        with self._lock:  # another thread that needs it waits instead of computing it too
            if head not in self._heads:
                pack = Pack((), (Node(0, head),), is_stem=True)
                kept = self._run(pack, Stem())[2]
                assert kept is not None
                self._heads[head] = kept
                if len(self._heads) > KEPT_HEADS:
                    self._heads.popitem(last=False)
            self._heads.move_to_end(head)
            return self._heads[head]

    def _run(self, pack: Pack, stem: Stem) -> tuple[LetterScores, Any, Stem | None]:
        """One forward pass: scores of the prompts that end in it, their rows, and a stem's keys."""
        layout, device = lay_out(pack), self.model.device
        ids, positions = (
            torch.from_numpy(a)[None].to(device) for a in (layout.tokens, layout.positions)
        )
        ends = torch.from_numpy(layout.ends).to(device)
        current = Pass(layout, stem, keep=pack.is_stem)
        self.tokens_run += len(layout.tokens)
        with attending(current):
            if len(layout.ends):
                output = self.model(
                    input_ids=ids, position_ids=positions, use_cache=False, logits_to_keep=ends
                )
                scored = letter_scores(output.logits[0], self.letters, self.name)
            else:  # nobody reads the logits of a stem
                self.model.base_model(input_ids=ids, position_ids=positions, use_cache=False)
                scored = LetterScores.empty(0, len(self.letters))
        if not pack.is_stem:
            return scored, layout.rows, None
        kept = {module: [*stem.kept.get(module, []), part] for module, part in current.kept.items()}
        return scored, layout.rows, Stem(stem.length + len(layout.tokens), kept)

    def differences(self, items: Sequence[Asked]) -> np.ndarray[Any, Any]:
        """Log-probabilities less those of the plain forward pass, (n, K)."""
        ours = self.read(items)
        with plain_attention(self.model):
            plain = PlainReader(self.model, self.letters.tolist(), self.name, budget=1).read(items)
        difference: np.ndarray[Any, Any] = ours.logp - plain.logp
        return difference

    def fault(self, items: Sequence[Asked]) -> str | None:
        """Why this model cannot be read so, None if it agrees with its plain forward pass."""
        try:
            found = np.abs(self.differences(items))
        except (RuntimeError, ValueError, TypeError, AttributeError, KeyError, IndexError) as error:
            if _is_out_of_memory(error):
                raise
            return f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]
        largest, root = float(found.max()), float(np.sqrt((found.astype(float) ** 2).mean()))
        most, most_root = TOLERANCE.get(self.model.dtype, TOLERANCE[torch.bfloat16])
        LOG.info(
            "checkpoint %s: shared prefixes differ from the plain forward pass by at most %.2g "
            "(root mean square %.2g) on %d prompts", self.name, largest, root, len(found),
        )  # fmt: skip
        if self.model.device.type == "cuda":
            peak = torch.cuda.max_memory_allocated(self.model.device) / 2**30
            LOG.info("checkpoint %s: %.1f GiB of GPU memory at the peak so far", self.name, peak)
        if largest <= most and root <= most_root:
            return None
        return f"log-probabilities differ by up to {largest:.3g} from the plain forward pass"


@contextmanager
def plain_attention(model: Any) -> Any:
    """Within it the model attends as it would without trees."""
    ours = model.config._attn_implementation
    model.set_attn_implementation("sdpa" if getattr(model, "_supports_sdpa", True) else "eager")
    try:
        yield
    finally:
        model.set_attn_implementation(ours)


def open_reader(
    model: Any, letters: Sequence[int], name: str, sample: Sequence[Asked]
) -> SharedPrefixReader | PlainReader:
    """The shared-prefix reader where it agrees with the plain forward pass on `sample`, else that.

    What was taken, and why, is in the log and in the sweep's metadata (`reader.kind`).
    """
    before = model.config._attn_implementation
    try:
        reader = SharedPrefixReader(model, letters, name)
        fault = reader.fault(sample)
        if fault is None:
            return reader
    except UnsupportedAttentionError as error:
        fault = str(error)
    except (ValueError, AttributeError, NotImplementedError) as error:
        fault = f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]
    LOG.warning(
        "checkpoint %s: this model's code does not take prefix trees (%s); reading plain batches, "
        "which run every token of every prompt", name, fault,
    )  # fmt: skip
    if takes_attention(model):
        model.set_attn_implementation(before)
    return PlainReader(model, letters, name)


def _is_out_of_memory(error: BaseException) -> bool:
    told = str(error).lower()
    return isinstance(error, (torch.OutOfMemoryError, MemoryError)) or (
        isinstance(error, RuntimeError)
        and ("can't allocate memory" in told or "out of memory" in told)
    )
