"""Which requests are computed together: same adapter, same beginning, similar length.

The plan depends on the full list only, so a run that is repeated makes the same batches.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

PREFIX_COST = 32  # tokens' worth of time that one more forward pass costs
MAX_GROUP = 64  # requests that share one computed prefix


@dataclass(frozen=True)
class Item:
    """A request as the planner sees it: `num_more` tokens come behind its prompt."""

    adapter: str | None
    prompt_ids: Sequence[int]
    num_more: int

    @property
    def num_tokens(self) -> int:
        return len(self.prompt_ids) + self.num_more


@dataclass(frozen=True)
class Batch:
    """Positions of items whose prompts begin with the same `num_shared` tokens."""

    adapter: str | None
    num_shared: int
    members: tuple[int, ...]


def plan_batches(
    items: Sequence[Item], *, max_batch_tokens: int, share_prefixes: bool = True
) -> list[Batch]:
    """Every item once; adapters, and prefixes within one, in order of first appearance.

    A batch's longest item times its size stays within `max_batch_tokens`; an item that is
    larger than that goes alone.
    """
    by_adapter: dict[str | None, list[int]] = {}
    for index, item in enumerate(items):
        by_adapter.setdefault(item.adapter, []).append(index)
    batches = []
    for adapter, indices in by_adapter.items():
        groups = _share([items[i].prompt_ids for i in indices]) if share_prefixes else []
        groups = groups or [(0, list(range(len(indices))))]
        owned = [(shared, sorted(indices[i] for i in group)) for shared, group in groups]
        for num_shared, members in sorted(owned, key=lambda group: group[1][0]):
            for chunk in _chunks(members, items, max_batch_tokens):
                batches.append(Batch(adapter, num_shared, tuple(chunk)))
    return batches


def _chunks(
    members: Sequence[int], items: Sequence[Item], max_batch_tokens: int
) -> Iterator[list[int]]:
    """Longest first, so that too large a batch fails at the start of a run."""
    chunk: list[int] = []
    longest = 0
    for index in sorted(members, key=lambda i: (-items[i].num_tokens, i)):
        longest = longest or items[index].num_tokens
        if chunk and (len(chunk) + 1) * longest > max_batch_tokens:
            yield chunk
            chunk, longest = [], items[index].num_tokens
        chunk.append(index)
    if chunk:
        yield chunk


def _share(prompts: Sequence[Sequence[int]]) -> list[tuple[int, list[int]]]:
    """Groups of prompts with the length of their common beginning, saving the most tokens.

    In sorted order the best groups are runs, so dynamic programming over their ends finds
    them. The last token of a prompt is never shared: its output is where the answer starts.
    Prompts that share nothing form one group of length 0.
    """
    order = sorted(range(len(prompts)), key=lambda i: (list(prompts[i]), i))
    common = [0, *(_num_common(prompts[a], prompts[b]) for a, b in itertools.pairwise(order))]
    saved, begin_of = [0], [0]
    for end in range(1, len(order) + 1):
        best, best_begin = saved[end - 1], end - 1
        shared = common[end - 1]
        for begin in range(end - 2, max(-1, end - 1 - MAX_GROUP), -1):
            shared = min(shared, common[begin + 1])
            if shared == 0:
                break
            gain = saved[begin] + (end - begin - 1) * shared - PREFIX_COST
            if gain > best:
                best, best_begin = gain, begin
        saved.append(best)
        begin_of.append(best_begin)
    groups, alone, end = [], [], len(order)
    while end > 0:
        run = order[begin_of[end] : end]
        if len(run) == 1:
            alone += run
        else:
            groups.append((min(common[begin_of[end] + 1 : end]), run))
        end = begin_of[end]
    return groups + ([(0, alone)] if alone else [])


def _num_common(a: Sequence[int], b: Sequence[int]) -> int:
    limit = min(len(a), len(b)) - 1
    for position in range(limit):
        if a[position] != b[position]:
            return position
    return max(limit, 0)
