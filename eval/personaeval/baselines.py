"""What needs no model: chance, and the profile that shares most words with the reply.

A judge that does not beat both has shown nothing.
"""

from __future__ import annotations

import re

from eval.personaeval.items import RoleItem

COMMON = frozenset(
    "a an and are as at be but by for from had has have he her him his i in is it its me my no not"
    " of on or our she so that the their them they this to was we were what who will with you"
    " your".split()
)


def word_overlap(item: RoleItem) -> tuple[float, ...]:
    """Shares of the distinct words that reply and profiles have in common; uniform if none."""
    spoken = _words(item.target_text)
    counts = [len(spoken & _words(candidate.profile)) for candidate in item.candidates]
    total = sum(counts)
    return tuple(count / total if total else 1 / len(counts) for count in counts)


def chance(item: RoleItem) -> tuple[float, ...]:
    return (1 / len(item.candidates),) * len(item.candidates)


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold())) - COMMON
