"""Records survive being written and read, and ill-formed rows are refused in words."""

import datetime
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data_prep.records import (
    Consent,
    Interview,
    Persona,
    PersonaSplit,
    QAPair,
    Reject,
    Turn,
    canonical_json,
    consent_problem,
    content_hash,
    from_row,
    refuse_without_consent,
    to_row,
)

TODAY = datetime.date(2024, 5, 1)
text = st.text(st.characters(exclude_categories=["Cs"]))
numbers = st.floats(allow_nan=False, allow_infinity=False)
ids = st.lists(text, max_size=3).map(tuple)
turns = st.builds(Turn, speaker=text, text=text, start_seconds=st.none() | numbers)


def personas():
    """Any valid person: texts of every script, ids of the grammar, mixed attributes."""
    values = st.none() | text | st.integers(-(2**53), 2**53) | numbers | st.booleans()
    return st.builds(
        Persona,
        id=st.from_regex(r"[a-z0-9][a-z0-9-]{0,62}", fullmatch=True),
        name=st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
        attributes=st.dictionaries(text, values, max_size=4),
    )


@given(
    personas()
    | st.builds(Consent, expires=st.none() | st.dates(), note=text)
    | turns
    | st.builds(Reject, source=text, detail=text, reason=text, persona_id=st.none() | text)
    | st.builds(
        QAPair,
        id=text,
        index=st.integers(0, 2**40),
        question=text,
        answer=text,
        prior_turns=st.lists(turns, max_size=3).map(tuple),
        tags=st.lists(text).map(tuple),
        turn_ids=st.lists(st.integers(0, 10**6)).map(tuple),
    )
    | st.builds(PersonaSplit, persona_id=text, train=ids, validation=ids, test=ids)
)
def test_a_record_comes_back_equal_through_json(record):
    row = json.loads(json.dumps(to_row(record)))
    back = from_row(type(record), row)
    assert back == record
    assert [type(v) for v in getattr(back, "attributes", {}).values()] == [
        type(v) for v in getattr(record, "attributes", {}).values()
    ]


INTERVIEW = {
    "id": "ada-1", "persona_id": "ada", "sequence": 0, "date": None, "date_precision": "unknown",
    "title": "A talk", "source": "ada/1.txt", "sha256": "00",
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"mood": "good"}, "Interview.mood: Unexpected"),
        ({"sequence": -1}, "Interview.sequence: .*found -1"),
        ({"sequence": None}, "Interview.sequence"),
        ({"date_precision": "about"}, "'day', 'month', 'year' or 'unknown', found 'about'"),
        ({"duration_seconds": float("inf")}, "finite"),
    ],
)
def test_an_ill_formed_row_is_refused_with_its_field(change, says):
    with pytest.raises(ValueError, match=says) as caught:
        from_row(Interview, INTERVIEW | change, where="interviews.jsonl")
    assert "\n" not in str(caught.value) and str(caught.value).startswith("interviews.jsonl: ")


def test_a_missing_field_is_named():
    with pytest.raises(ValueError, match=r"Interview.title: Field required"):
        from_row(Interview, {k: v for k, v in INTERVIEW.items() if k != "title"})


@pytest.mark.parametrize("name", ["Ada", "-ada", "", "a" * 64, "ada quill", "ada/..", "ada\n"])
def test_an_id_that_is_no_folder_name_is_refused(name):
    with pytest.raises(ValueError):
        from_row(Persona, {"id": name, "name": "Ada"})


@given(st.dictionaries(text, text | st.integers() | st.lists(text), max_size=5))
def test_equal_values_have_equal_hashes_whatever_their_order(value):
    turned = dict(reversed(list(value.items())))
    assert canonical_json(turned) == canonical_json(value)
    assert content_hash(turned) == content_hash(value)


def test_consent_holds_through_its_last_day_and_for_its_scopes_only():
    persona = Persona(id="ada", name="Ada", consent=Consent(scopes=("prepare",), expires=TODAY))
    assert consent_problem(persona, "prepare", TODAY) is None
    assert "expired" in consent_problem(persona, "prepare", TODAY + datetime.timedelta(days=1))
    with pytest.raises(ValueError, match=r"'ada' covers prepare, not 'train'"):
        refuse_without_consent([persona], "train", TODAY)


def test_no_recorded_consent_stops_nothing():
    refuse_without_consent([Persona(id="ada", name="Ada")], "train", TODAY)
