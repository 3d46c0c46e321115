"""Which labels are the persona: by name, else by who answers."""

import pytest

from data_prep.interviewee import find_interviewee
from data_prep.readers.document import Document
from data_prep.records import Persona, Turn

ANSWERS = [
    "My aunt taught me, one winter, at the kitchen table.",
    "Never, not even once, she said.",
]
QUESTIONS = ["Why did you take up chess?", "Did she ever let you win?"]


def talk(asker, answerer, *, questions=QUESTIONS, answers=ANSWERS, extra=()):
    turns = list(extra)
    for question, answer in zip(questions, answers, strict=True):
        turns += [Turn(speaker=asker, text=question), Turn(speaker=answerer, text=answer)]
    return Document(turns=tuple(turns), format="text")


def persona(name, *aliases, id="someone"):
    return Persona(id=id, name=name, aliases=aliases)


@pytest.mark.parametrize(
    ("label", "name", "match"),
    [
        ("Jane Doe", "Jane Doe", "name"),
        ("JANE B. DOE", "Jane Doe", "name"),
        ("Dr. Jane Doe", "Jane Doe", "name"),
        ("CHAIR DOE", "Jane Doe", "surname"),
        ("MS. DOE", "Jane Doe", "surname"),
        ("J. Doe", "Jane Doe", "surname"),
        ("Jane", "Jane Doe", "first_name"),
        ("JD", "Jane Doe", "initials"),
        ("MS. ABERCRMBIE", "Jane Abercrombie", "misprint"),
        ("王小明", "王小明", "name"),
        ("JOSE NUNEZ", "José Núñez", "name"),
        ("P07", "P07", "name"),
        ("MR. KING", "Martin King Jr.", "surname"),
    ],
)
def test_a_label_with_the_name_is_the_persona(label, name, match):
    finding = find_interviewee(talk("Q", label), persona(name))
    assert (finding.labels, finding.match, finding.role_only) == ((label,), match, False)
    assert finding.interviewer_labels == ("Q",)


def test_an_alias_is_as_good_as_the_name():
    finding = find_interviewee(talk("Q", "THE OBSERVER"), persona("Jane Doe", "The Observer"))
    assert (finding.labels, finding.match) == (("THE OBSERVER",), "name")


def test_the_persona_id_names_a_pseudonymous_person():
    finding = find_interviewee(talk("I", "P07"), persona("Miller", id="p07"))
    assert finding.labels == ("P07",)


@pytest.mark.parametrize(
    ("asker", "answerer"),
    [("Q", "THE MINISTER"), ("I", "R"), ("Question", "Answer"), ("Q", "A"),
     ("SPEAKER_00", "SPEAKER_01"), ("Interviewer", "Participant"), ("Speaker 2", "Speaker 1")],
)  # fmt: skip
def test_with_role_labels_the_one_who_answers_is_the_persona(asker, answerer):
    finding = find_interviewee(talk(asker, answerer), persona("Jane Doe"))
    assert (finding.labels, finding.role_only) == ((answerer,), True)


def test_all_labels_of_the_person_are_found():
    extra = (Turn(speaker="Jane Doe", text="Hello."), Turn(speaker="Q", text="Hello."))
    finding = find_interviewee(talk("Q", "DOE", extra=extra), persona("Jane Doe"))
    assert set(finding.labels) == {"Jane Doe", "DOE"}


@pytest.mark.parametrize("relative", ["MRS. DOE", "Otto Doe"])
def test_a_relative_of_the_same_name_is_somebody_else(relative):
    extra = (Turn(speaker=relative, text="Tea is ready."),)
    finding = find_interviewee(talk("Q", "MR. DOE", extra=extra), persona("John Doe", "Doe"))
    assert finding.labels == ("MR. DOE",)


def test_another_name_on_the_answers_is_reported():
    finding = find_interviewee(talk("Q", "MR. FOX"), persona("Jane Doe"))
    assert (finding.labels, finding.problem) == ((), "other_person")
    assert finding.detail == "'MR. FOX' gives 100% of the answers, the person is 'Jane Doe'"


def test_another_participant_code_is_somebody_else():
    finding = find_interviewee(talk("I", "P03"), persona("P07", id="p07"))
    assert finding.problem == "other_person"


def test_a_role_that_talks_about_the_person_is_somebody_else():
    answers = ["Jane was tired. I told Jane so.", "Jane went home, and then Jane Doe slept."]
    finding = find_interviewee(talk("Q", "THE AIDE", answers=answers), persona("Jane Doe"))
    assert finding.problem == "talks_about_persona"


def test_misprints_of_the_label_are_listed():
    document = Document(
        turns=talk("Q", "MS. DOE").turns,
        format="text",
        spellings={"MS. DOE": ("MS DOE", "MS. DOE")},
    )
    assert find_interviewee(document, persona("Jane Doe")).labels == ("MS. DOE", "MS DOE")


def test_prose_has_no_interviewee():
    document = Document(turns=(Turn(speaker="", text="Prose."),), format="text")
    assert find_interviewee(document, persona("Jane Doe")).problem == "no_labels"
