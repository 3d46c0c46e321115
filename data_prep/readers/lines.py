"""Lines of a printed page back into running text.

Page headers, page numbers and hyphens at line ends belong to the page, not to the speaker.
Which lines those are is told by their recurrence in the document, never by their wording.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import mean, pstdev

ENTITY = re.compile(r"&(?:#\d{1,7}|#x[0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});")
PAGE_LINE = re.compile(
    r"\W*(?:page|p\.|seite|página)?\s*\d{1,4}(?:\s*(?:of|/|von|de)\s*\d{1,4})?\W*", re.I
)
PAGE_OF = re.compile(r"(?:\bPage\s+)?(?<![\d.,])\b(\d{1,3}) (?:of|/) (\d{1,3})\b(?![\d.,]\d)")
SENTENCE_END = re.compile(r"""[.?!:;…。？！][)\]"'”’»_*]*$|[)\]”—-]$""")
LINE_HYPHEN = re.compile(r"([^\W\d_]{1,40})-\n([^\W\d_]{1,40})")
WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
SENTENCE_BREAK = re.compile(r"""(?<=[.?!:…—–"”)\]]),(?=["“(\[]{0,2}[A-Z\d])""")
ANY_BREAK = re.compile(r"""(?<=[.?!:;…—–"'”’)\]\w-]),(?=["'“‘(\[.—-]{0,3}[A-Z]|\d[A-Z])""")

HEADER_MAX_CHARS = 100
MIN_PAGES = 3
SINGLE_LINE_CHARS = 2_000  # a longer line is a document, not a line


@dataclass(frozen=True, slots=True)
class Line:
    """One line of text and, in subtitles, when it was spoken."""

    text: str
    start_seconds: float | None = None


def split_lines(text: str) -> list[Line]:
    return [Line(line.rstrip()) for line in text.split("\n")]


def unescape(text: str) -> str:
    """HTML entities as characters; only those closed by a semicolon ("AT&T" stays)."""
    return ENTITY.sub(lambda match: html.unescape(match[0]), text) if "&" in text else text


def clean_lines(lines: Sequence[Line]) -> list[Line]:
    """Lines without page furniture; paragraphs that were glued by commas are apart again."""
    lines = [replace(line, text=unescape(line.text)) for line in lines]
    return drop_page_lines(split_glued_paragraphs(lines))


def split_glued_paragraphs(lines: list[Line]) -> list[Line]:
    """Undo exports that join paragraphs by a comma without a space.

    In a document of one long line every such comma counts; elsewhere only one after the end
    of a sentence, and only where it happens several times.
    """
    longest = max((len(line.text) for line in lines), default=0)
    total = sum(len(line.text) for line in lines)
    glued = longest >= SINGLE_LINE_CHARS and longest > 0.5 * total
    pattern = ANY_BREAK if glued else SENTENCE_BREAK
    num_breaks = sum(len(pattern.findall(line.text)) for line in lines)
    if num_breaks < (MIN_PAGES if glued else 1):
        return lines
    split: list[Line] = []
    for line in lines:
        for part in pattern.split(line.text):
            split += (Line(part, line.start_seconds), Line(""))
        split.pop()
    return split


def drop_page_lines(lines: list[Line]) -> list[Line]:
    """Drop page numbers and running heads, and the empty lines around them mid-sentence."""
    dropped = page_numbers(lines)
    dropped |= running_heads(lines, dropped)
    if not dropped:
        return lines
    kept: list[Line] = []
    interrupted = False  # a page break since the last line of text
    for position, line in enumerate(lines):
        if position in dropped:
            interrupted = True
        elif line.text.strip():
            if interrupted:
                rejoin_page_break(kept, line.text)
            kept.append(line)
            interrupted = False
        else:
            kept.append(line)
    return kept


def rejoin_page_break(kept: list[Line], following: str) -> None:
    """Remove empty lines left by a page break inside a sentence."""
    last = len(kept)
    while last and not kept[last - 1].text.strip():
        last -= 1
    if last and continues(kept[last - 1].text, following):
        del kept[last:]


def continues(before: str, after: str) -> bool:
    """Whether `after` goes on with the sentence that `before` leaves open."""
    return not SENTENCE_END.search(before.rstrip()) and after.lstrip()[:1].islower()


def page_numbers(lines: Sequence[Line]) -> set[int]:
    """Positions of lines that count pages upwards: `Page 6 of 21`, `- 7 -`, `8`."""
    found: dict[int, int] = {}
    for position, line in enumerate(lines):
        text = line.text.strip()
        if len(text) < 30 and (match := PAGE_LINE.fullmatch(text)):
            found[position] = int(re.findall(r"\d+", match[0])[0])
    steps = [after - before for before, after in pairwise(found.values())]
    rising = sum(0 < step <= 2 for step in steps)
    return set(found) if len(found) >= MIN_PAGES and rising >= 0.7 * len(steps) else set()


def running_heads(lines: Sequence[Line], numbers: set[int]) -> set[int]:
    """Positions of short lines that come back at every page: beside its number, or evenly."""
    places: dict[str, list[int]] = {}
    for position, line in enumerate(lines):
        text = re.sub(r"\d+", "#", line.text.strip())
        if 3 < len(text) <= HEADER_MAX_CHARS and not SENTENCE_END.search(text):
            places.setdefault(text, []).append(position)
    heads: set[int] = set()
    for positions in places.values():
        if len(positions) >= MIN_PAGES and (
            beside_numbers(positions, lines, numbers) or evenly_spaced(positions)
        ):
            heads.update(positions)
    return heads


def beside_numbers(positions: list[int], lines: Sequence[Line], numbers: set[int]) -> bool:
    beside = sum(
        any(near in numbers for near in nearest_texts(position, lines)) for position in positions
    )
    return beside >= 0.8 * len(positions)


def nearest_texts(position: int, lines: Sequence[Line], reach: int = 12) -> Iterable[int]:
    """The next lines of text before and after `position`, at most `reach` lines away."""
    for step in (-1, 1):
        for near in range(position + step, position + step * reach, step):
            if not 0 <= near < len(lines):
                break
            if lines[near].text.strip():
                yield near
                break


def evenly_spaced(positions: list[int]) -> bool:
    gaps = [after - before for before, after in pairwise(positions)]
    return len(gaps) >= MIN_PAGES and min(gaps) >= 20 and pstdev(gaps) < 0.2 * mean(gaps)


def drop_inline_page_numbers(texts: Sequence[str]) -> list[str]:
    """Remove `6 of 21` inside sentences where the document counts its pages that way.

    The last number must be the same throughout and the first must rise.
    """
    found = [match.groups() for text in texts for match in PAGE_OF.finditer(text)]
    for total, count in Counter(last for _, last in found).most_common(1):
        numbers = [int(first) for first, last in found if last == total]
        rising = all(before < after for before, after in pairwise(numbers))
        if count >= MIN_PAGES and rising and numbers[-1] <= int(total):
            running = re.compile(rf"\s*(?:\bPage\s+)?(?<![\d.,])\b\d{{1,3}} (?:of|/) {total}\b")
            return [running.sub("", text).strip() for text in texts]
    return list(texts)


class Joiner:
    """Joins the lines of a paragraph, deciding on hyphens by the words of the document."""

    def __init__(self, lines: Iterable[Line]) -> None:
        text = "\n".join(line.text for line in lines)
        ends = [match.groups() for match in LINE_HYPHEN.finditer(text)] if "-\n" in text else []
        self.words = Counter(WORD.findall(text.lower())) if ends else Counter()
        verdicts = [verdict for pair in ends if (verdict := self.is_split(*pair)) is not None]
        self.split_by_default = sum(verdicts) * 2 >= len(verdicts)

    def is_split(self, left: str, right: str) -> bool | None:
        """Whether the hyphen only breaks a word; None when the document does not say."""
        if not right[0].islower():
            return False
        whole = self.words[(left + right).lower()]
        hyphened = self.words[f"{left}-{right}".lower()]
        return None if whole == hyphened else whole > hyphened

    def join(self, lines: Sequence[str]) -> str:
        text = "\n".join(line.strip() for line in lines)
        if "-\n" in text:
            text = LINE_HYPHEN.sub(self.rejoin, text)
        text = re.sub(r"(?<=\S[—–])\n(?=\w)|(?<=\w)\n(?=[—–]\S)", "", text)
        return re.sub(r"\s+", " ", text).strip()

    def rejoin(self, match: re.Match[str]) -> str:
        verdict = self.is_split(match[1], match[2])
        split = self.split_by_default if verdict is None else verdict
        return match[1] + ("" if split and match[2][0].islower() else "-") + match[2]
