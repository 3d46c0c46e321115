"""The date that a transcript carries, as precisely as it is written."""

from __future__ import annotations

import datetime
import re

from data_prep.records import DatePrecision

MONTHS = {
    name: number
    for number, names in enumerate(
        (
            ("january", "jan"), ("february", "feb"), ("march", "mar"), ("april", "apr"),
            ("may",), ("june", "jun"), ("july", "jul"), ("august", "aug"),
            ("september", "sept", "sep"), ("october", "oct"), ("november", "nov"),
            ("december", "dec"),
        ),
        start=1,
    )
    for name in names
}  # fmt: skip
MONTH = "|".join(sorted(MONTHS, key=len, reverse=True))
YEAR = r"(?P<year>1[5-9]\d\d|20\d\d)"
FORMS = (
    re.compile(rf"(?<!\d){YEAR}[-/._](?P<month>\d\d?)[-/._](?P<day>\d\d?)(?!\d)"),
    re.compile(rf"(?<!\d){YEAR}(?P<month>[01]\d)(?P<day>[0-3]\d)(?!\d)"),
    re.compile(rf"\b(?P<name>{MONTH})\b\.?,?\s(?P<day>\d\d?)(?:st|nd|rd|th)?,?\s{YEAR}\b", re.I),
    re.compile(rf"\b(?P<day>\d\d?)(?:st|nd|rd|th)?\.?\s(?P<name>{MONTH})\b\.?,?\s{YEAR}\b", re.I),
    re.compile(rf"\b(?P<name>{MONTH})\b\.?,?\s{YEAR}\b", re.I),
    re.compile(rf"(?<!\d){YEAR}-(?P<month>\d\d)(?![\d-])"),
    re.compile(rf"(?<![\d.,]){YEAR}(?![\d.,]\d|\d)"),
)


def find_date(text: str) -> tuple[str | None, DatePrecision]:
    """The first date in `text` of the most precise kind: (YYYY[-MM[-DD]], precision)."""
    for form in FORMS:
        for match in form.finditer(text):
            if (found := read_match(match.groupdict())) is not None:
                return found
    return None, "unknown"


def read_match(parts: dict[str, str | None]) -> tuple[str, DatePrecision] | None:
    """A date from the named groups, None when there is no such day."""
    year = int(parts["year"] or 0)
    name = parts.get("name")
    month = MONTHS[name.lower()] if name else int(parts.get("month") or 0)
    day = int(parts.get("day") or 0)
    try:
        datetime.date(year, month or 1, day or 1)
    except ValueError:
        return None
    if not month:
        return f"{year:04d}", "year"
    if not day:
        return f"{year:04d}-{month:02d}", "month"
    return f"{year:04d}-{month:02d}-{day:02d}", "day"
