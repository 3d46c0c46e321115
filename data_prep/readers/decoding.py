"""Bytes to text, without guessing more than the bytes allow.

UTF-8 and UTF-16 announce themselves. The only other guess is Western 8-bit text (cp1252),
which is noted; a file in another 8-bit encoding would become gibberish, so it is refused.
"""

from __future__ import annotations

import codecs
import re
import unicodedata

from data_prep.readers.document import UnreadableError

BINARY_MAGIC = {
    b"%PDF": "a PDF file; extract its text first (for example with pdftotext)",
    b"\xd0\xcf\x11\xe0": "an old Word or Office file; save it as .docx or plain text",
    b"{\\rtf": "a rich text file; save it as .docx or plain text",
    b"\x1f\x8b": "a gzip archive; unpack it first",
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"ID3": "an audio file; transcribe it first",
    b"RIFF": "an audio or video file; transcribe it first",
    b"OggS": "an audio file; transcribe it first",
}
UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
# Western prose has accents and curly quotes now and then; text in another script is mostly
# high bytes (Cyrillic cp1251: 80 %, GBK: 95 %).
MAX_WESTERN_HIGH_SHARE = 0.2
MAX_CONTROL_SHARE = 0.01

INVISIBLE = re.compile("[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060\ufeff]")  # joiners stay
NEWLINE = re.compile("\r\n?|[\u0085\u2028\u2029\x0b]")
ODD_SPACE = re.compile("[\u00a0\u2000-\u200a\u202f\u205f\u3000]")
CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f]")


def decode(raw: bytes) -> tuple[str, tuple[str, ...]]:
    """Text with plain newlines and spaces, and notes on what had to be assumed.

    Raises:
        UnreadableError: empty, binary, or in an encoding that cannot be told.
    """
    if not raw.strip():
        raise UnreadableError("found an empty file, expected a transcript; remove or replace it")
    for magic, what in BINARY_MAGIC.items():
        if raw.startswith(magic):
            raise UnreadableError(f"found {what}; expected text, .docx or subtitles")
    text, notes = decode_text(raw)
    text = normalise(text)
    if not text.strip():
        raise UnreadableError("found only white space, expected a transcript; remove or replace it")
    return text, notes


def decode_text(raw: bytes) -> tuple[str, tuple[str, ...]]:
    if raw.startswith(UTF16_MARKS):
        try:
            return raw.decode("utf-16"), ()
        except UnicodeDecodeError:
            raise UnreadableError(
                "starts as UTF-16 but is broken further on; save it again as UTF-8"
            ) from None
    if is_binary(raw):
        raise UnreadableError("found binary data, expected text; export the transcript as text")
    try:
        return raw.decode("utf-8-sig"), ()
    except UnicodeDecodeError:
        return decode_western(raw)


def is_binary(raw: bytes) -> bool:
    controls = sum(raw.count(code) for code in (*range(9), *range(14, 27), *range(28, 32)))
    return controls > MAX_CONTROL_SHARE * len(raw)


def decode_western(raw: bytes) -> tuple[str, tuple[str, ...]]:
    num_high = sum(1 for byte in raw if byte >= 0x80)
    if num_high > MAX_WESTERN_HIGH_SHARE * len(raw):
        raise UnreadableError(
            "is neither UTF-8 nor UTF-16, and not Western 8-bit text either; save it as UTF-8"
        )
    try:
        return raw.decode("cp1252"), ("not UTF-8: read as cp1252",)
    except UnicodeDecodeError:
        return raw.decode("latin-1"), ("not UTF-8: read as latin-1",)


def normalise(text: str) -> str:
    """One kind of newline and space, composed letters, nothing invisible."""
    text = ODD_SPACE.sub(" ", INVISIBLE.sub("", NEWLINE.sub("\n", text)))
    return unicodedata.normalize("NFC", CONTROL.sub("", text))
