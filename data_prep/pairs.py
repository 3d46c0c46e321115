"""Cut an interview into questions and the persona's answers, by rule.

The pairs are what a persona model learns and is tested on, so a pair must be a question really
put to the person and the whole of the answer; what is neither is left out rather than mended.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass as plain_dataclass
from dataclasses import replace

from pydantic.dataclasses import dataclass

from data_prep.exchanges import Speech, asks, merge_turns, without_notes
from data_prep.interviewee import Finding
from data_prep.records import STRICT, QAPair, Turn
from data_prep.self_contained import is_self_contained

WORD = re.compile(r"\w+")
EMPHASIS = re.compile(r"(?<![\w*_])([*_]{1,3})(?=\S)([^*_\n]+?)(?<=\S)\1(?![\w*_])")
ITEM_NUMBER = re.compile(r"(?:^|(?<=\s))\[\s?\d{1,3}\.?\s?\](?:\s+|$)")
FOOTNOTE_MARK = re.compile(r"(?<=[a-z][.,;?!\"”])(?<!\bNo\.)\d{1,2}(?=\s|$)")
OPEN_END = re.compile(r"(?:—|–|--|-|…|\.\.\.)\s*$")
OPEN_START = re.compile(r"^\s*(?:—|–|--|…|\.\.\.)")
SENTENCE = re.compile(r"(?<=[.?!…])[\"”’)\]]*\s+(?=[\"“‘'(\[]*[^\W_])")
# Each phrase is matched whole or not at all (atomic), so that long rows of thanks stay cheap;
# hence phrases stand before the words they begin with.
COURTESY = re.compile(
    r"(?>(?>all right|alright|good (?:morning|afternoon|evening|day)|thank you|so much|a lot"
    r"|go ahead|go on|next question|one more|last (?:one|question)|right (?:here|there)|in the back"
    r"|for (?:that|this|coming|joining(?: us)?|being here|having me|the question"
    r"|your (?:time|question|patience))|of course|i see|my pleasure"
    r"|(?:mr|mrs|ms|miss|madam)\.? (?:vice )?[a-z]+|and|so|okay|ok|well|good|great|yes|yeah|no|oh"
    r"|sure|right|hi|hello|hey|please|sorry|welcome|cheers|bye|goodbye|thanks?|you|very|much|again"
    r"|everyone|everybody|all|guys|sir|ma'?am|madam|next|me|mm-?hmm|uh-?huh)\b[\s,.!?—–-]*)+",
    re.I,
)
CALLING = re.compile(
    r"(?i:(?>(?>let'?s go to|we'?ll go to|back to|over to|go ahead|all right|thank you|in the back"
    r"|right here|right there|yes|yeah|okay|ok|well|now|and|so|then|next|please|thanks|sir|ma'?am)"
    r"\b[,. ]*)*)(?:(?i:mr|mrs|ms|miss|dr|sir|madam)\.? )?(?!(?:No|Never|Exactly|Absolutely)\b)"
    r"[A-Z][\w'’.-]{0,30}(?: [A-Z][\w'’.-]{0,30}){0,2}"
    r"(?: (?:please|go ahead))?(?:\s*\[[^\]]+\])?\s*[.,!?]*"
)
PERMISSION = re.compile(
    r"\b(?:(?:can|could|may|might) i\b.{0,20}\b(?:follow|ask|have|add)|if i (?:may|could"
    r"|can))",
    re.I,
)
REPEAT = re.compile(
    r"\b(?:repeat|say (?:that|it|the .{1,30}) again|what['’]s (?:your|the) question|remind me"
    r"|(?:didn|couldn|can|did|could)['’]?(?:t| not) (?:hear|understand|catch)|speak up"
    r"|you broke up)\b",
    re.I,
)
MAX_CARRIED = 8  # speeches that may make up one question
MAX_BACK = 50  # pairs searched for a repeated passage; keeps the work linear
MAX_PERMISSION_WORDS = 8  # "May I follow up?"; a longer one goes on to ask

HONORIFIC = re.compile(r"(?:mr|mrs|ms|miss|dr|sir)\.? [A-Z]|\[[^\]]+,[^\]]+\]|go ahead", re.I)


@dataclass(frozen=True, kw_only=True, config=STRICT)
class PairConfig:
    min_question_words: int = 1  # "Why?" is a question, though not a self-contained one
    min_answer_words: int = 5  # shorter answers show no person
    max_answer_words: int = 5_000  # longer ones are speeches, or a label was lost
    max_interjection_words: int = 4  # of others inside an answer: "Right." "I see."
    max_clarification_words: int = 15  # a question back before the answer: "Which one?"
    num_prior_exchanges: int = 2

    def __post_init__(self) -> None:
        if self.min_answer_words > self.max_answer_words:
            raise ValueError(
                f"pairs.min_answer_words ({self.min_answer_words}) must not exceed "
                f"max_answer_words ({self.max_answer_words})"
            )


@plain_dataclass(frozen=True)
class Exchange:
    """Speeches of others, and what the persona says to them."""

    asked: tuple[Speech, ...]
    answered: tuple[Speech, ...]


def build_pairs(
    turns: Sequence[Turn],
    finding: Finding,
    *,
    persona_id: str,
    interview_id: str,
    language: str | None = "en",
    config: PairConfig = PairConfig(),  # noqa: B008  frozen
) -> list[QAPair]:
    """The interview's question and answer pairs, in order."""
    speeches = merge_turns(turns)
    moderators = find_moderators(speeches, set(finding.labels))
    pairs: list[QAPair] = []
    for question, exchange in questions(speeches, set(finding.labels), moderators, config):
        raw = "\n\n".join(turns[i].text for speech in exchange.answered for i in speech.turn_ids)
        answer = clean(drop_traffic(raw))
        num_words = len(WORD.findall(answer))
        if not config.min_answer_words <= num_words <= config.max_answer_words:
            continue
        if COURTESY.fullmatch(answer) or is_repeated(question, answer, pairs):
            continue
        index = len(pairs)
        pairs.append(
            QAPair(
                id=f"{interview_id}-q{index:04d}",
                persona_id=persona_id,
                interview_id=interview_id,
                index=index,
                question=question,
                answer=answer,
                answer_raw=raw,
                prior_turns=prior_turns(pairs, config.num_prior_exchanges),
                self_contained=is_self_contained(question, language),
                turn_ids=tuple(
                    sorted(i for s in (*exchange.asked, *exchange.answered) for i in s.turn_ids)
                ),
            )
        )
    return pairs


def is_repeated(question: str, answer: str, pairs: Sequence[QAPair]) -> bool:
    """Whether the exchange stands in the transcript already, as after a slip of copying."""
    return any(pair.answer == answer and pair.question == question for pair in pairs[-MAX_BACK:])


def prior_turns(pairs: Sequence[QAPair], num_exchanges: int) -> tuple[Turn, ...]:
    recent = pairs[-num_exchanges:] if num_exchanges else ()
    return tuple(
        Turn(speaker=speaker, text=text)
        for pair in recent
        for speaker, text in (("interviewer", pair.question), ("persona", pair.answer))
    )


def find_moderators(speeches: Sequence[Speech], own: set[str]) -> set[str]:
    """Others who hardly ever ask while somebody else does: they hand over the word."""
    num_asking = Counter(s.speaker for s in speeches if s.speaker not in own and asks(s.text))
    num_turns = Counter(s.speaker for s in speeches if s.speaker not in own)
    if not num_asking:
        return set()
    return {label for label, turns in num_turns.items() if num_asking[label] < 0.25 * turns}


def questions(
    speeches: Sequence[Speech], own: set[str], moderators: set[str], config: PairConfig
) -> Iterator[tuple[str, Exchange]]:
    """Each question with its exchange; questions that got none but a question back are joined."""
    anybody_asks = any(speech.speaker not in own and asks(speech.text) for speech in speeches)
    carried: tuple[Speech, ...] = ()
    any_asked = False
    for exchange in join_interrupted(exchanges(speeches, own), config):
        asked = leading_question(exchange.asked, moderators)
        question = clean(" ".join(speech.text for speech in asked))
        if carried and asked:
            asked, question = (*carried, *asked), join_question(carried, question)
        carried = ()
        answer = clean(" ".join(speech.text for speech in exchange.answered))
        if len(asked) < MAX_CARRIED and wants_more(question, answer, config):
            carried = asked
            continue
        any_asked = any_asked or asks(question) or not anybody_asks
        if any_asked and is_question(question, asked, moderators, config):
            yield question, replace(exchange, asked=asked)


def exchanges(speeches: Sequence[Speech], own: set[str]) -> Iterator[Exchange]:
    """What others say, then what the persona says."""
    asked: list[Speech] = []
    for speech in speeches:
        if speech.speaker in own:
            yield Exchange(tuple(asked), (speech,))
            asked = []
        else:
            asked.append(speech)


def join_interrupted(found: Iterator[Exchange], config: PairConfig) -> Iterator[Exchange]:
    """Make one answer of what a listener's "Right." or a cut-in divided."""
    current: Exchange | None = None
    for exchange in found:
        if current is not None and goes_on(current, exchange, config):
            current = Exchange(current.asked, current.answered + exchange.answered)
            continue
        if current is not None:
            yield current
        current = exchange
    if current is not None:
        yield current


def goes_on(before: Exchange, after: Exchange, config: PairConfig) -> bool:
    """Whether `after` continues the answer of `before` past an interjection."""
    if clean(before.answered[-1].text).endswith("?"):
        return False  # the persona asked back; this is what they were told
    said = " ".join(clean(speech.text) for speech in after.asked)
    resumed = OPEN_START.match(after.answered[0].text) is not None
    cut = OPEN_END.search(before.answered[-1].text) is not None
    limit = config.max_interjection_words * (2 if cut or resumed else 1)
    if before.asked and resumed and cut and len(WORD.findall(said)) <= limit:
        return True
    if not before.asked or asks(said) or len(WORD.findall(said)) > limit:
        return False
    return resumed or cut or re.search(r"thank|question|next|follow", said, re.I) is None


def leading_question(asked: Sequence[Speech], moderators: set[str]) -> tuple[Speech, ...]:
    """The speeches of the one whose question leads to the answer: the last who asks."""
    speakers = [speech for speech in asked if speech.speaker not in moderators] or list(asked)
    asking = [speech for speech in speakers if asks(speech.text)]
    if not speakers:
        return ()
    last = asking[-1] if asking else speakers[-1]
    return tuple(speech for speech in speakers if speech.speaker == last.speaker)


def join_question(carried: Sequence[Speech], question: str) -> str:
    before = clean(" ".join(speech.text for speech in carried))
    if OPEN_END.search(before) and OPEN_START.match(question):
        return OPEN_END.sub("", before).strip() + " " + OPEN_START.sub("", question).strip()
    return f"{before} {question}"


def wants_more(question: str, answer: str, config: PairConfig) -> bool:
    """Whether the persona only lets the asker go on: a question back, or a nod to half of one."""
    num_words = len(WORD.findall(answer))
    if not question:
        return False
    if num_words <= 2 * config.max_clarification_words and REPEAT.search(answer):
        return asks(question)
    if num_words <= config.max_clarification_words and answer.endswith("?") and asks(question):
        return len(WORD.findall(question)) > config.min_question_words
    limit = config.min_answer_words if asks(question) else config.max_clarification_words
    return num_words < limit and OPEN_END.search(question) is not None


def is_question(
    question: str, asked: Sequence[Speech], moderators: set[str], config: PairConfig
) -> bool:
    """Whether somebody put this to the persona to be answered."""
    if len(WORD.findall(question)) < config.min_question_words or COURTESY.fullmatch(question):
        return False
    if PERMISSION.search(question) and len(WORD.findall(question)) <= MAX_PERMISSION_WORDS:
        return False
    return asks(question) or any(speech.speaker not in moderators for speech in asked)


def drop_traffic(text: str) -> str:
    """An answer without what manages the meeting at its end: "Go ahead, Bob." "Mr. Fox." """
    paragraphs = without_notes(text).split("\n\n")
    while len(paragraphs) > 1 and is_traffic(paragraphs[-1], alone=True):
        paragraphs.pop()
    sentences = SENTENCE.split(paragraphs[-1])
    while len(sentences) > 1 and is_traffic(sentences[-1], alone=False):
        sentences.pop()
    if len(sentences) < len(SENTENCE.split(paragraphs[-1])):
        paragraphs[-1] = " ".join(sentences)
    return "\n\n".join(paragraphs)


def is_traffic(text: str, *, alone: bool) -> bool:
    """Whether this only thanks or hands over; a bare name counts as a paragraph of its own."""
    text = clean(text)
    if not text or len(text.split()) > 12:
        return not text
    if COURTESY.fullmatch(text) and re.search(
        r"ahead|next|thank|last|back|here|one more", text, re.I
    ):
        return True
    return CALLING.fullmatch(text) is not None and (alone or HONORIFIC.search(text) is not None)


def clean(text: str) -> str:
    """Words as spoken: no stage notes, item and footnote numbers, emphasis or line breaks."""
    text = EMPHASIS.sub(r"\2", ITEM_NUMBER.sub("", without_notes(text)))
    text = FOOTNOTE_MARK.sub("", text)
    text = re.sub(r"\s+", " ", text).strip()
    text = re.sub(r"([—–-]{1,2}) (?:[—–]|--)(?= |\w)", r"\1", text)
    return re.sub(r" (?=[,.;:?!](?:\s|$))", "", text)
