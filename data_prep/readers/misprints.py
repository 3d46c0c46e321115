"""Misprinted labels: `THE PRESDENT` is THE PRESIDENT, but P07 is not P08."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from data_prep.readers.label_forms import label_key
from data_prep.records import Turn

MAX_MODELS = 50  # the most frequent labels, which others may misprint
RARE, FREQUENT_FACTOR = 2, 5  # a misprint is this rare, its model this many times more frequent


def merged_names(written: Mapping[str, Counter[str]]) -> dict[str, str]:
    """For each key the most frequent spelling of the label it stands for."""
    counts = Counter({key: spellings.total() for key, spellings in written.items()})
    models = dict(counts.most_common(MAX_MODELS))
    return {
        key: written[resembled(key, counts[key], models)].most_common(1)[0][0] for key in counts
    }


def merge_speakers(turns: Sequence[Turn]) -> tuple[list[Turn], dict[str, tuple[str, ...]]]:
    """Turns whose speakers' misprints are merged, and the spellings of each speaker.

    For formats that name the speaker outside the text.
    """
    written: dict[str, Counter[str]] = {}
    for turn in turns:
        written.setdefault(label_key(turn.speaker), Counter())[turn.speaker] += 1
    names = merged_names(written)
    spellings: dict[str, set[str]] = {}
    for key, texts in written.items():
        spellings.setdefault(names[key], set()).update(texts)
    merged = [replace(turn, speaker=names[label_key(turn.speaker)]) for turn in turns]
    return merged, {name: tuple(sorted(texts)) for name, texts in spellings.items()}


def resembled(key: str, count: int, models: Mapping[str, int]) -> str:
    """The frequent label that a rare one misprints, or the label itself."""
    if count > RARE:
        return key
    alike = [
        model
        for model, frequency in models.items()
        if frequency >= FREQUENT_FACTOR * count and is_misprint(key, model)
    ]
    return max(alike, key=lambda model: models[model], default=key)


def is_misprint(key: str, model: str) -> bool:
    """One word differs by a slip. Short words and numbers name somebody else when they differ."""
    if key.replace(" ", "") == model.replace(" ", ""):
        return True
    words, others = key.split(), model.split()
    if len(words) != len(others):
        return key.endswith(model) and len(key) - len(model) == 1  # "qms doe"
    different = [(a, b) for a, b in zip(words, others, strict=True) if a != b]
    if len(different) != 1:
        return False
    (word, other) = different[0]
    shared = max((len(same) for same in set(words) & set(others)), default=0)
    shortest = 4 if shared >= 5 and len(word) != len(other) else 6
    if min(len(word), len(other)) < shortest or word[0] != other[0] or not (word + other).isalpha():
        return False
    return edit_distance(word, other) <= (1 if len(other) < 8 else 2)


def edit_distance(a: str, b: str) -> int:
    row = list(range(len(b) + 1))
    for i, left in enumerate(a, start=1):
        previous, row[0] = row[0], i
        for j, right in enumerate(b, start=1):
            previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (left != right))
    return row[-1]
