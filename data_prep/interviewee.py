"""Find which labels of a transcript are the persona.

A label that carries the person's name decides. Where labels give only a role (`THE PRESIDENT`,
`R`, `SPEAKER_01`), the persona is whoever answers the questions, unless that is somebody else
by name, or somebody who talks about the persona.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from data_prep.exchanges import Roles, Speech, count_roles, merge_turns
from data_prep.readers.document import Document
from data_prep.readers.label_forms import ROLE_WORDS as LABEL_ROLES
from data_prep.readers.label_forms import label_key
from data_prep.readers.misprints import is_misprint
from data_prep.records import Persona

Match = Literal["name", "surname", "first_name", "initials", "misprint", "role", "none"]
Problem = Literal["no_labels", "other_person", "talks_about_persona"]

TITLES = frozenset(
    "mr mrs ms miss mx dr prof professor sir dame lord lady chair chairman chairwoman chairperson"
    " president vice prime minister secretary senator governor congressman congresswoman"
    " representative ambassador judge justice general admiral colonel major captain lieutenant"
    " sergeant director administrator commissioner mayor chancellor king queen prince princess"
    " pope father sister brother rev reverend rabbi imam bishop coach attorney deputy acting former"
    " herr frau monsieur madame señor señora don doña the".split()
)
ROLES = LABEL_ROLES | frozenset(
    "interviewerin befragter befragte fragender enquêteur enquêtrice enquêté entrevistador"
    " entrevistadora entrevistado entrevistada intervistatore intervistato pregunta respuesta"
    " frage antwort réponse domanda risposta int res resp ans mod par sub informant expert patient"
    " client customer user teacher employee witness voice male female man woman".split()
)
ANONYMOUS = frozenset("official officials source sources spokesperson spokesman staffer".split())
MEN = frozenset("mr sir lord herr monsieur señor senor".split())
WOMEN = frozenset("mrs ms miss dame lady frau madame señora senora".split())
SUFFIXES = frozenset("jr sr ii iii iv phd md esq".split())
MIN_SELF_MENTIONS = 4  # of one's own first name; people say "I"
SELF_MENTIONS_PER_WORD = 1 / 1_000


@dataclass(frozen=True, kw_only=True)
class Finding:
    """`labels` are the persona's in this document, the most used first, misprints included.

    `role_only`: no label carries the name, the persona is the one who answers.
    `answerer` is the label that gives most of the answers, whoever that is.
    """

    labels: tuple[str, ...]
    interviewer_labels: tuple[str, ...]
    role_only: bool
    match: Match
    answerer: str | None
    problem: Problem | None = None
    detail: str = ""


def find_interviewee(document: Document, persona: Persona) -> Finding:
    """Tell the persona from the others by name, else by who answers."""
    speeches = merge_turns(document.turns)
    roles = count_roles(speeches)
    answerer = dominant(roles)
    if not any(label.strip() for label in roles.words):
        return nobody("no_labels", "no speaker label was found", answerer)
    named, match = labels_by_name(roles, persona)
    if named:
        labels = sorted(named, key=lambda label: -roles.words[label])
    elif answerer is None:
        return nobody("other_person", f"no label carries the name {persona.name!r}", answerer)
    elif (problem := not_the_persona(answerer, speeches, roles, persona)) is not None:
        return nobody(problem[0], problem[1], answerer)
    else:
        labels, match = [answerer], "role"
    return Finding(
        labels=with_spellings(labels, document),
        interviewer_labels=interviewers(speeches, set(labels)),
        role_only=match == "role",
        match=match,
        answerer=answerer,
    )


def nobody(problem: Problem, detail: str, answerer: str | None) -> Finding:
    return Finding(
        labels=(), interviewer_labels=(), role_only=False, match="none",
        answerer=answerer, problem=problem, detail=detail,
    )  # fmt: skip


def dominant(roles: Roles) -> str | None:
    """Who speaks most words in answer to questions, of those who answer more than they ask."""
    answering = [
        label
        for label in roles.answer_words
        if label and roles.answers[label] >= roles.questions[label]
    ] or list(roles.answer_words)
    return max(answering, key=lambda label: roles.answer_words[label], default=None)


def labels_by_name(roles: Roles, persona: Persona) -> tuple[list[str], Match]:
    """Labels that carry the persona's name, by the strongest evidence that any label gives."""
    kinds = {label: match_name(label, persona) for label in roles.words}
    ranked: tuple[Match, ...] = ("name", "surname", "first_name", "misprint", "initials")
    for strongest in ranked:
        if found := [label for label, kind in kinds.items() if kind == strongest]:
            if strongest == "name":  # "Jane Doe" beside "DOE" or "Jane" is the same person
                found += [label for label, kind in kinds.items() if kind in ranked[1:3]]
            return one_family_member(found, kinds, roles, persona), strongest
    return [], "none"


def one_family_member(
    labels: list[str], kinds: Mapping[str, Match], roles: Roles, persona: Persona
) -> list[str]:
    """`MR. DOE` and `MRS. DOE` are two people: keep the better match, then who speaks more."""
    best = max(labels, key=lambda label: (kinds[label] == "name", roles.words[label]))
    known = {address(name) for name in (best, persona.name, *persona.aliases)} - {None}
    return [label for label in labels if not known or address(label) in {None, *known}]


def address(name: str) -> str | None:
    """`man` or `woman` where a name is addressed as one."""
    words = set(fold(name))
    return "man" if words & MEN else "woman" if words & WOMEN else None


def match_name(label: str, persona: Persona) -> Match:
    """How a label matches the persona's name or an alias."""
    key = fold(label)
    words = without_titles(key)
    best: Match = "none"
    for name in (persona.name, *persona.aliases, persona.id):
        parts = [part for part in fold(name) if part not in SUFFIXES]
        if not parts:
            continue
        core = without_titles(parts)
        if key == parts or "".join(key) == "".join(parts):
            return "name"
        if len(core) > 1 and set(core) <= set(key):
            return "name"
        if best == "none":
            best = match_part(words, core)
    return best


def without_titles(words: list[str]) -> list[str]:
    """Words after the titles in front; a name is left even where it is a title, as King is."""
    start = 0
    while start < len(words) - 1 and words[start] in TITLES:
        start += 1
    return words[start:]


def match_part(words: list[str], core: list[str]) -> Match:
    """How the words of a label, titles aside, match a part of the name."""
    first, surname = core[0], core[-1]
    if surname in words:
        rest = [word for word in words if word != surname]
        fits = all(word in core or is_initial(word, core) for word in rest)
        return "surname" if fits else "none"
    if words == [first]:
        return "first_name"
    if len(core) > 1 and "".join(words) == "".join(part[0] for part in core):
        return "initials"
    return "misprint" if is_misprint(words[-1], surname) and len(words) <= len(core) else "none"


def is_initial(word: str, core: Iterable[str]) -> bool:
    return len(word) == 1 and any(part.startswith(word) for part in core)


def not_the_persona(
    label: str, speeches: Sequence[Speech], roles: Roles, persona: Persona
) -> tuple[Problem, str] | None:
    """Why the one who answers cannot be the persona, None when nothing speaks against it."""
    share = roles.answer_words[label] / max(1, roles.answer_words.total())
    gives = f"{label!r} gives {share:.0%} of the answers, the person is {persona.name!r}"
    if not is_role(label) and not is_code(persona.name):
        return "other_person", gives
    if set(fold(label)) & ANONYMOUS or is_other_code(label, persona):
        return "other_person", gives
    num_words, mentions = roles.words[label], self_mentions(label, speeches, persona)
    if mentions >= MIN_SELF_MENTIONS and mentions >= SELF_MENTIONS_PER_WORD * num_words:
        return (
            "talks_about_persona",
            f"{label!r} speaks of {persona.name!r} {mentions} times; {gives}",
        )
    return None


def self_mentions(label: str, speeches: Sequence[Speech], persona: Persona) -> int:
    """How often the speaker says the persona's first name, alone or before the surname."""
    parts = persona.name.split()
    if len(parts) < 2:
        return 0
    first, surname = re.escape(parts[0]), re.escape(parts[-1])
    pattern = re.compile(rf"\b{first}\b(?:(?:\s+\w\.)?\s+{surname}\b|(?!\s+[A-Z]))")
    return sum(len(pattern.findall(speech.text)) for speech in speeches if speech.speaker == label)


def is_role(label: str) -> bool:
    """Whether a label names a role, not a person: `THE PRESIDENT`, `R`, `P07`, `Speaker 1`."""
    words = fold(label)
    return label.upper().startswith("THE ") or all(
        word in ROLES or word in TITLES or len(word) <= 2 or any(map(str.isdigit, word))
        for word in words
    )


def is_code(name: str) -> bool:
    """Whether a persona goes by a code (`P07`, `participant-3`) instead of a name."""
    return any(character.isdigit() for character in name) or is_role(name)


def is_other_code(label: str, persona: Persona) -> bool:
    """`P03` is not `P07`."""
    mine = {re.sub(r"\d+", "#", code): code for code in map(code_of, (persona.name, persona.id))}
    code = code_of(label)
    model = mine.get(re.sub(r"\d+", "#", code), code)
    return len(code) >= 2 and code != model


def code_of(text: str) -> str:
    """Letters and number without leading zeros: `P07` and `p-7` are the same."""
    return re.sub(r"(?<!\d)0+(?=\d)", "", "".join(fold(text)))


def interviewers(speeches: Sequence[Speech], own: set[str]) -> tuple[str, ...]:
    """Others whose questions the persona answers, most questions first."""
    roles = count_roles(speeches)
    asked = [label for label in roles.questions if label not in own]
    return tuple(sorted(asked, key=lambda label: (-roles.questions[label], label)))


def with_spellings(labels: Sequence[str], document: Document) -> tuple[str, ...]:
    """The labels, then their misprints in the document."""
    misprints = [
        spelling
        for label in labels
        for spelling in document.spellings.get(label, ())
        if spelling not in labels
    ]
    return (*labels, *misprints)


def fold(text: str) -> list[str]:
    """Words without case, accents and punctuation."""
    plain = unicodedata.normalize("NFKD", text)
    return label_key("".join(c for c in plain if not unicodedata.combining(c))).split()
