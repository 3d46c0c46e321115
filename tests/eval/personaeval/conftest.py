"""Items made by hand, and judges who say what they are told."""

import json

import pytest

from eval.personaeval.items import Candidate, RoleItem

NAMES = ("Ada", "Bo", "Cleo", "Dan")


@pytest.fixture
def make_item():
    def make(number=0, *, truth=0, names=NAMES, work="a play", track="drama", **fields):
        given = {
            "id": f"{track}-{number:03d}", "track": track, "work": work,
            "known_speaker": "Eve", "known_text": f"Question {number}?",
            "target_text": f"Answer {number}, and some more words.",
            "candidates": tuple(Candidate(name=n, profile=f"{n} likes tea.") for n in names),
            "truth": names[truth],
        }  # fmt: skip
        return RoleItem(**given | fields)

    return make


@pytest.fixture
def items(make_item):
    """Four plays with six items each."""
    return [
        make_item(6 * play + n, truth=n % 4, work=f"play {play}")
        for play in range(4)
        for n in range(6)
    ]


@pytest.fixture
def written():
    """A judge's reply with these probabilities."""

    def write(names, vector):
        return (
            "I think so.\n```json\n" + json.dumps(dict(zip(names, vector, strict=True))) + "\n```"
        )

    return write
