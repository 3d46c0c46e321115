"""Transcripts as they come: label styles, file formats, damaged files."""

import json
import time
import zipfile
from io import BytesIO

import docx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from data_prep.readers import UnreadableError, read_bytes, read_document
from data_prep.readers.dates import find_date
from data_prep.readers.misprints import is_misprint


def speakers_and_texts(text, name="talk.txt"):
    document = read_bytes(text.encode(), name=name)
    return [(turn.speaker, turn.text) for turn in document.turns]


EXPECTED = [
    ("{Q}", "Why did you take up chess so late?"),
    ("{A}", "My aunt taught me. She was patient."),
    ("{Q}", "Did she let you win?"),
    ("{A}", "Never once in her life."),
]
LAYOUTS = {
    "colon": ("{who}: {text}\n\n", "Interviewer", "Jane Doe"),
    "colon without empty lines": ("{who}: {text}\n", "Interviewer", "Jane"),
    "capitals and colon": ("{who}: {text}\n\n", "HOST", "JANE DOE"),
    "capitals and period": ("{who}.  {text}\n\n", "Q", "DR. DOE"),
    "codes": ("{who}: {text}\n\n", "I", "P07"),
    "question and answer letters": ("{who}: {text}\n", "Q", "A"),
    "letters and periods": ("{who}. {text}\n\n", "Q", "A"),
    "diarised": ("{who}: {text}\n", "SPEAKER_00", "SPEAKER_01"),
    "numbered speakers": ("{who}: {text}\n", "Speaker 1", "Speaker 2"),
    "time after the name": ("{who} (00:12): {text}\n\n", "Ann Lee", "Jane Doe"),
    "time before the name": ("[00:01:02] {who}: {text}\n\n", "Ann Lee", "Jane Doe"),
    "name and time on a line": ("{who}  0:12\n{text}\n\n", "Ann Lee", "Jane Doe"),
    "time and name in brackets": ("{who} [00:00:12]\n{text}\n\n", "Ann Lee", "Jane Doe"),
    "bold with colon inside": ("**{who}:** {text}\n\n", "Ann Lee", "Jane Doe"),
    "bold with colon outside": ("**{who}**: {text}\n\n", "Ann Lee", "Jane Doe"),
    "bold without colon": ("**{who}** {text}\n\n", "Q", "A"),
    "italic": ("_{who}_.  {text}\n\n", "Question", "Answer"),
    "headings": ("### {who}:\n{text}\n\n", "Ann Lee", "Jane Doe"),
    "headings without colon": ("## {who}\n\n{text}\n\n", "Ann Lee", "Jane Doe"),
    "full-width colon": ("{who}：{text}\n\n", "記者", "王小明"),
    "tab": ("{who}\t{text}\n", "Ann", "Jane"),
    "dash": ("{who} – {text}\n\n", "Ann Lee", "Jane Doe"),
    "label on its own line": ("{who}:\n{text}\n\n", "Ann Lee", "Jane Doe"),
    "bare Q": ("{who}   {text}\n\n", "Q", "A"),
    "name with affiliation": ("{who} (Daily Sun): {text}\n\n", "Ann Lee", "Jane Doe"),
    "chevrons": (">> {who}: {text}\n\n", "ANN LEE", "JANE DOE"),
}  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
def test_labels_are_found_in_any_usual_layout(layout):
    form, asker, answerer = LAYOUTS[layout]
    names = {"{Q}": asker, "{A}": answerer}
    text = "".join(form.format(who=names[who], text=words) for who, words in EXPECTED)
    assert speakers_and_texts(text) == [(names[who], words) for who, words in EXPECTED]


@pytest.mark.parametrize("newline", ["\r\n", "\r"])
def test_newlines_of_other_systems_are_read(newline):
    text = newline.join(["Ann: Why?", "", "Jane: Because", "it rains.", ""])
    assert speakers_and_texts(text) == [("Ann", "Why?"), ("Jane", "Because it rains.")]


def test_two_turns_are_enough():
    assert speakers_and_texts("Ann: Why chess?\nJane: My aunt.") == [
        ("Ann", "Why chess?"),
        ("Jane", "My aunt."),
    ]


def test_prose_is_one_turn_of_nobody():
    text = "WOMAN.\n\nIt takes many people to build a town.\nNote: this is prose.\n\nThe end of it."
    (turn,) = read_bytes(text.encode()).turns
    assert turn.speaker == ""


def test_words_with_a_colon_inside_an_answer_are_no_label():
    text = (
        "Ann: What happened?\n\nJane: Two things.\n\nOne thing: it rained.\n\n"
        "Ann: And then?\n\nJane: We left.\n\n"
    )
    assert [turn.speaker for turn in read_bytes(text.encode()).turns] == ["Ann", "Jane"] * 2


def test_rare_speakers_are_accepted_when_they_look_like_the_others():
    text = (
        "MS. DOE:  Hello.\n\nQ    Why?\n\nMS. DOE:  Because.\n\n"
        "AIDE:  Last one.\n\nQ Who?\n\nMS. DOE: I."
    )
    assert [who for who, _ in speakers_and_texts(text)] == [
        "MS. DOE", "Q", "MS. DOE", "AIDE", "Q", "MS. DOE",
    ]  # fmt: skip


def test_a_misprinted_label_is_merged_with_the_frequent_one():
    good = "Q. Why?\n\nTHE MINISTER. Because.\n\n" * 6
    text = good + "Q. How?\n\nTHE MINSTER. Slowly.\n\nQ. When?\n\nTHE. MINISTER. Soon.\n\n"
    document = read_bytes(text.encode())
    assert {turn.speaker for turn in document.turns} == {"Q", "THE MINISTER"}
    assert document.spellings["THE MINISTER"] == ("THE MINISTER", "THE MINSTER", "THE. MINISTER")


def test_a_frequent_label_is_known_without_its_period():
    good = "Q. Why?\n\nTHE MINISTER. Because.\n\n" * 4
    text = good + "Q. How?\nTHE MINISTER, No.\n\nQ. When?\nTHE MINISTER Well, soon.\n"
    assert speakers_and_texts(text)[-3:] == [
        ("THE MINISTER", "No."), ("Q", "When?"), ("THE MINISTER", "Well, soon."),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("the presdent", "the president", True),
        ("margaret smth", "margaret smith", True),
        ("p07", "p08", False),
        ("speaker 00", "speaker 01", False),
        ("mr bates", "mr gates", False),
        ("john", "joan", False),
    ],
)
def test_only_slips_of_long_words_are_misprints(a, b, same):
    assert is_misprint(a, b) is same


def test_two_speakers_in_one_paragraph_are_separated():
    text = "Q. Why?\n\nTHE MINISTER. Because.\n\n" * 3
    text += "Q. How? THE MINISTER. Slowly. TAXES [3.] Q. When?\n\nTHE MINISTER. Soon.\n\n"
    assert speakers_and_texts(text)[-4:] == [
        ("Q", "How?"), ("THE MINISTER", "Slowly."), ("Q", "When?"), ("THE MINISTER", "Soon."),
    ]  # fmt: skip


def test_paragraphs_joined_by_commas_are_parted():
    line = (
        "THE MAYOR. Good day.,I am ready.,ROADS,Q. What of Mr. Fox, the clerk?,THE MAYOR. No, sir."
    )
    text = ",".join([line] * 40)
    found = speakers_and_texts(text)
    assert found[1] == ("Q", "What of Mr. Fox, the clerk?")
    assert found[0] == ("THE MAYOR", "Good day.\n\nI am ready.")
    assert len(found) == 40 * 3


def test_page_headers_inside_sentences_are_dropped():
    pages = [
        f"JANE DOE. The rate on page {n} will\nMay 2, 2014 Press Talk FINAL \n \n"
        f"Page {n} of 5 \n \nremain low."
        for n in range(1, 6)
    ]
    found = speakers_and_texts("\nANN LEE. Why?\n".join(pages))
    assert found[2] == ("JANE DOE", "The rate on page 2 will remain low.")


def test_hyphens_at_line_ends_follow_the_words_of_the_document():
    text = "Ann: The exam-\nple of long-\nterm rates?\n\nJane: An example of a long-term plan.\n\n"
    assert speakers_and_texts(text * 2)[0][1] == "The example of long-term rates?"


def test_entities_footnotes_and_clock_times_are_no_speech():
    text = (
        "Q. Is &quot;AT&T&quot; here?\n\nMR. FOX. It is.4\n\n4See the note on page one.\n\n"
        "Q. And now?\n\nMR. FOX. No.\n\n3:22 P.M. EST\n"
    )
    assert speakers_and_texts(text) == [
        ("Q", 'Is "AT&T" here?'), ("MR. FOX", "It is.4"), ("Q", "And now?"), ("MR. FOX", "No."),
    ]  # fmt: skip


def test_front_matter_gives_title_and_date():
    text = "---\ntitle: The Brass Machine\ndate: 2014-03-14\n---\n\nAnn: Why?\n\nJane: Because.\n"
    document = read_bytes(text.encode(), name="x.md")
    assert (document.title, document.date, document.date_precision) == (
        "The Brass Machine", "2014-03-14", "day",
    )  # fmt: skip
    assert document.format == "markdown"


def test_a_source_line_at_the_end_dates_a_clipping():
    text = (
        "_Question_. Why?\n\n_Answer_. So.\n\n_Question_. Who?\n\n_Answer_. I.\n\n"
        "--_The Sun_, Feb., 1878.\n"
    )
    document = read_bytes(text.encode())
    assert (document.date, document.date_precision) == ("1878-02", "month")
    assert document.turns[-1].text == "I."


def test_the_file_name_dates_a_document_that_does_not():
    document = read_bytes(b"Ann: Why?\n\nJane: So.\n", name="2019-05-04_talk.txt")
    assert document.date == "2019-05-04"
    assert "file name" in document.notes[-1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("on September 30, 1880", ("1880-09-30", "day")),
        ("18 June 2014", ("2014-06-18", "day")),
        ("talk_20210304", ("2021-03-04", "day")),
        ("Feb., 1878", ("1878-02", "month")),
        ("in 1893", ("1893", "year")),
        ("2014-02-31", ("2014", "year")),
        ("no date 12,345", (None, "unknown")),
    ],
)
def test_dates_are_as_precise_as_written(text, expected):
    assert find_date(text) == expected


def test_json_turns_are_read_with_their_facts():
    data = {
        "title": "T",
        "date": "2020-01-02",
        "turns": [
            {"speaker": "Ann", "text": "Why?"},
            {"speaker": "Jane", "text": "Because\nit rains."},
        ],
    }
    document = read_bytes(json.dumps(data).encode(), name="wrong-name.txt")
    assert [(t.speaker, t.text) for t in document.turns] == [
        ("Ann", "Why?"), ("Jane", "Because it rains."),
    ]  # fmt: skip
    assert (document.format, document.title, document.date) == ("json_turns", "T", "2020-01-02")


def test_recogniser_segments_become_turns_and_missing_speakers_continue():
    data = {"segments": [
        {"start": 0.0, "end": 1.5, "text": " Why chess?", "speaker": "SPEAKER_00"},
        {"start": 2.0, "end": 3.0, "text": " My aunt", "speaker": "SPEAKER_01"},
        {"start": 3.0, "end": 4.5, "text": " taught me."},
        {"start": 5.0, "end": 6.0, "text": " When?",
         "words": [{"word": "When?", "speaker": "SPEAKER_00"}]},
    ], "language": "en"}  # fmt: skip
    document = read_bytes(json.dumps(data).encode())
    assert [(t.speaker, t.text, t.start_seconds) for t in document.turns] == [
        ("SPEAKER_00", "Why chess?", 0.0),
        ("SPEAKER_01", "My aunt taught me.", 2.0),
        ("SPEAKER_00", "When?", 5.0),
    ]
    assert document.duration_seconds == 6.0


def test_akoma_ntoso_speeches_are_read():
    xml = """<akomaNtoso><debate><meta><references>
      <TLCPerson id="jd" showAs="Jane Doe"/></references></meta><debateBody><debateSection>
      <heading>2016-08-12 Talk with Ann</heading><narrative><p>(door)</p></narrative>
      <speech by="#Ann"><p>Why <i>chess</i>?</p></speech>
      <speech by="#jd"><p>My aunt.</p><p>She &amp; I.</p></speech>
      </debateSection></debateBody></debate></akomaNtoso>"""
    document = read_bytes(xml.encode(), name="a.xml")
    assert [(t.speaker, t.text) for t in document.turns] == [
        ("Ann", "Why chess?"), ("Jane Doe", "My aunt.\n\nShe & I."),
    ]  # fmt: skip
    assert document.date == "2016-08-12"


VTT = """WEBVTT

1
00:00:01.000 --> 00:00:02.500
<v Ann Lee>Why chess?</v>

00:00:03.000 --> 00:00:04.000 align:start
<v Jane Doe>My aunt

00:00:04.000 --> 00:00:05.000
taught <i>me</i>.
"""


def test_vtt_voices_are_speakers_and_cues_are_joined():
    document = read_bytes(VTT.encode(), name="a.vtt")
    assert [(t.speaker, t.text, t.start_seconds) for t in document.turns] == [
        ("Ann Lee", "Why chess?", 1.0),
        ("Jane Doe", "My aunt taught me.", 3.0),
    ]
    assert document.duration_seconds == 5.0


def test_srt_labels_in_the_text_are_speakers():
    cues = ["Ann: Why chess?", "Jane: My aunt", "taught me.", "Ann: When?", "Jane: Early."]
    text = "\n\n".join(
        f"{n}\n00:00:0{n},000 --> 00:00:0{n},900\n{cue}" for n, cue in enumerate(cues, start=1)
    )
    document = read_bytes(text.encode())
    assert [(t.speaker, t.text, t.start_seconds) for t in document.turns] == [
        ("Ann", "Why chess?", 1.0),
        ("Jane", "My aunt taught me.", 2.0),
        ("Ann", "When?", 4.0),
        ("Jane", "Early.", 5.0),
    ]


def test_subtitles_without_speakers_are_one_turn_of_nobody():
    text = (
        "WEBVTT\n\n00:01.000 --> 00:02.000\nWe went home.\n\n00:03.000 --> 00:04.000\nIt rained.\n"
    )
    (turn,) = read_bytes(text.encode()).turns
    assert (turn.speaker, turn.text) == ("", "We went home. It rained.")


def word_bytes(build):
    word = docx.Document()
    build(word)
    buffer = BytesIO()
    word.save(buffer)
    return buffer.getvalue()


def test_word_paragraphs_and_bold_labels_are_read(tmp_path):
    def build(word):
        word.add_paragraph("A talk in the garden")
        for who, text in (("Ann Lee", "Why?"), ("Jane Doe", "Because."), ("Ann Lee", "Oh?")):
            paragraph = word.add_paragraph()
            paragraph.add_run(f"{who} ").bold = True
            paragraph.add_run(text)

    path = tmp_path / "talk.docx"
    path.write_bytes(word_bytes(build))
    document = read_document(path)
    assert [(t.speaker, t.text) for t in document.turns] == [
        ("Ann Lee", "Why?"), ("Jane Doe", "Because."), ("Ann Lee", "Oh?"),
    ]  # fmt: skip
    assert document.title == "A talk in the garden"


def test_word_tables_with_a_speaker_column_are_read():
    def build(word):
        table = word.add_table(rows=0, cols=2)
        for who, text in (("Ann", "Why chess?"), ("Jane", "My aunt."), ("Ann", "When?")):
            row = table.add_row()
            row.cells[0].text, row.cells[1].text = who, text

    document = read_bytes(word_bytes(build), name="talk.docx")
    assert [(t.speaker, t.text) for t in document.turns] == [
        ("Ann", "Why chess?"), ("Jane", "My aunt."), ("Ann", "When?"),
    ]  # fmt: skip


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be"])
def test_unicode_files_are_read_by_their_mark(encoding):
    text = "Zoë: Où est-ce?\n\nJosé: Ici, à Łódź.\n"
    mark = b"\xfe\xff" if encoding == "utf-16-be" else b""
    document = read_bytes(mark + text.encode(encoding))
    assert document.turns[1].text == "Ici, à Łódź."
    assert document.notes == ()


def test_western_text_is_read_and_the_guess_is_noted():
    document = read_bytes("Ann: “Déjà vu”?\n\nJane: Naïve, that — café.\n".encode("cp1252"))
    assert document.turns[1].text == "Naïve, that — café."
    assert document.notes == ("not UTF-8: read as cp1252",)


ENTITIES = "".join(f'<!ENTITY x{n} "{f"&x{n - 1};" * 10}">' for n in range(1, 10))
BOMB = (
    f'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY x0 "ha">{ENTITIES}]>'
    '<akomaNtoso><speech by="#A"><p>&x9;</p></speech></akomaNtoso>'
)
ZIP = BytesIO()
with zipfile.ZipFile(ZIP, "w") as archive:
    archive.writestr("notes.txt", "no Word file")

DAMAGED = {
    "empty": (b"", "a.txt", "empty file"),
    "white space": (b" \n\t\n", "a.txt", "empty file"),
    "only a mark": ("\ufeff".encode(), "a.txt", "white space"),
    "binary": (bytes(range(256)) * 4, "a.txt", "binary data"),
    "pdf": (b"%PDF-1.7 ...", "a.pdf", "PDF"),
    "old word": (b"\xd0\xcf\x11\xe0rest", "a.doc", "old Word"),
    "rich text": (b"{\\rtf1 hello}", "a.rtf", "rich text"),
    "cyrillic 8-bit": ("Кто там? Это я, почтальон.".encode("cp1251"), "a.txt", "save it as UTF-8"),
    "broken utf-16": ("Ann: Why?".encode("utf-16") + b"\x00", "a.txt", "UTF-16"),
    "truncated json": (b'{"turns": [{"speaker": "Ann", "text": "Wh', "a.json", "broken JSON"),
    "json without turns": (b'{"title": "T", "pages": [1, 2]}', "a.json", "no list of turns"),
    "deep json": (b"[" * 100_000, "a.json", "JSON"),
    "broken xml": (b"<?xml version='1.0'?><akomaNtoso><speech>", "a.xml", "broken XML"),
    "xml without speech": (b"<?xml version='1.0'?><html/>", "a.xml", "no <speech>"),
    "xml bomb": (BOMB.encode(), "a.xml", "XML"),
    "subtitles without cues": (b"WEBVTT\n\nNOTE nothing\n", "a.vtt", "without a single"),
    "no word file": (b"Ann: Why?", "a.docx", "no Word file"),
    "other archive": (ZIP.getvalue(), "a.zip", "zip archive"),
    "archive named docx": (ZIP.getvalue(), "a.docx", "damaged Word"),
    "truncated docx": (
        word_bytes(lambda w: w.add_paragraph("Hi"))[:3000],
        "a.docx",
        "damaged Word",
    ),
    "empty docx": (word_bytes(lambda w: None), "a.docx", "without text"),
    "headings only": (b"# Title\n\n# Another\n", "a.md", "no speech"),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_damaged_files_are_refused_in_one_readable_line(case):
    raw, name, expected = DAMAGED[case]
    with pytest.raises(UnreadableError) as caught:
        read_bytes(raw, name=name)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value) and name not in str(caught.value)


def test_entities_of_a_local_file_are_not_fetched(tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("hidden")
    xml = f"""<?xml version="1.0"?><!DOCTYPE a [<!ENTITY s SYSTEM "{secret.as_uri()}">]>
    <akomaNtoso><speech by="#A"><p>&s;</p></speech></akomaNtoso>"""
    with pytest.raises(UnreadableError):
        read_bytes(xml.encode(), name="a.xml")


@pytest.mark.parametrize(
    "junk", ["#", " ", "- ", "A", "(laughter ", "thank you ", "Ann: why? ", "[["]
)
def test_long_rows_of_anything_are_read_in_linear_time(junk):
    text = junk * 20_000 + "\n\nAnn: Why?\n\nJane: " + junk * 20_000
    started = time.monotonic()
    read_bytes(text.encode())
    assert time.monotonic() - started < 10  # a quadratic step would take minutes


FRAGMENTS = st.lists(
    st.sampled_from(
        ["Ann: ", "Q. ", "THE PRESIDENT. ", "**Q** ", "### A:", "\n", "\n\n", " ", ",", "-\n",
         "Why?",
         "[3.] ", "WEBVTT\n\n", "00:01.000 --> 00:02.000\n", "<v A>", "{", '"text":', "[", "---\n",
         "<?xml version='1.0'?>", "<speech by='#a'>", "Page 1 of 3\n", "&quot;", "\t", "# ", "\f"]
    ) | st.text(max_size=8),
    max_size=40,
).map("".join)  # fmt: skip


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    raw=st.binary(max_size=300) | FRAGMENTS.map(lambda text: text.encode("utf-8", "surrogatepass")),
    name=st.sampled_from(["a.txt", "a.md", "a.json", "a.xml", "a.vtt", "a.srt", "a.docx", "a"]),
)
def test_no_reader_raises_anything_else(raw, name):
    try:
        document = read_bytes(raw, name=name)
    except UnreadableError:
        return
    assert document.turns and all(turn.text.strip() for turn in document.turns)
