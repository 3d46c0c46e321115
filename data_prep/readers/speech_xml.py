"""Akoma Ntoso: parliament's XML for debates, used for interviews too (`<speech by="#Name">`)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lxml import etree

from data_prep.readers.dates import find_date
from data_prep.readers.document import Document, Source, UnreadableError
from data_prep.readers.labelled import text_of
from data_prep.readers.lines import unescape
from data_prep.readers.misprints import merge_speakers
from data_prep.records import Turn

SPEECHES = frozenset({"speech", "question", "answer"})


def read(source: Source) -> Document:
    """Read speeches in order; stage notes (`narrative`, `scene`) between them are left out.

    Raises:
        UnreadableError: broken XML, or no speeches in it.
    """
    root = parse(source.raw)
    names = {
        person.get("id") or person.get("eId") or "": person.get("showAs") or ""
        for person in root.iter("{*}TLCPerson")
    }
    turns, spellings = merge_speakers(list(read_speeches(root, names)))
    if not turns:
        raise UnreadableError(
            f"found XML with root <{etree.QName(root).localname}> but no <speech> with text in it; "
            "expected Akoma Ntoso, or export the transcript as text"
        )
    heading = root.find(".//{*}heading")
    title = text_of("".join(heading.itertext())) if heading is not None else None
    dates = [element.get("date", "") for element in root.iter("{*}FRBRdate", "{*}docDate")]
    date, precision = find_date(" ".join([*dates, title or ""]))
    return Document(
        turns=tuple(turns),
        format="akoma_ntoso",
        title=unescape(title) if title else None,
        date=date,
        date_precision=precision,
        language=next((element.get("language") for element in root.iter("{*}FRBRlanguage")), None),
        spellings=spellings,
        notes=source.notes,
    )


def parse(raw: bytes) -> etree._Element:
    """The root; entities are not expanded, nothing is fetched, sizes are bounded by libxml2."""
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False,
        remove_comments=True, remove_pis=True,
    )  # fmt: skip
    try:
        root = etree.fromstring(raw.strip(), parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise UnreadableError(
            f"found broken XML ({str(error).splitlines()[0]}); export it again"
        ) from None
    if root.getroottree().docinfo.internalDTD is not None:
        raise UnreadableError(
            "found XML that defines its own entities, which is refused; export it without a DOCTYPE"
        )
    return root


def read_speeches(root: etree._Element, names: dict[str, str]) -> Iterator[Turn]:
    for element in root.iter():
        if not isinstance(element.tag, str) or etree.QName(element).localname not in SPEECHES:
            continue
        identity = (element.get("by") or element.get("as") or "").lstrip("#")
        speaker = names.get(identity) or identity or text_of(child_text(element, "from")) or ""
        if text := "\n\n".join(paragraphs(element)):
            yield Turn(speaker=speaker, text=text)


def child_text(element: etree._Element, name: str) -> str:
    child = element.find(f"{{*}}{name}")
    return "".join(child.itertext()) if child is not None else ""


def paragraphs(element: etree._Element) -> Iterator[str]:
    """Text of the `<p>` inside, or of the element where it has none."""
    blocks = list(element.iter("{*}p")) or [element]
    for block in blocks:
        if text := re.sub(r"\s+", " ", unescape("".join(block.itertext()))).strip():
            yield text
