"""Who is in RAW and which documents are theirs."""

import json

import pytest

from data_prep.records import Consent
from data_prep.roster import read_roster, slug


@pytest.fixture
def raw(tmp_path):
    def make(*names, **manifests):
        for name in names:
            path = tmp_path / "raw" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"words of {name}")
        for name, rows in manifests.items():
            lines = "".join(json.dumps(row) + "\n" for row in rows)
            (tmp_path / "raw" / f"{name}.jsonl").write_text(lines)
        return tmp_path / "raw"

    return make


def sources(entries):
    return {entry.persona.id: [d.source for d in entry.documents] for entry in entries}


def test_a_folder_is_a_person_and_paths_are_relative_to_raw(raw):
    root = raw("ada-quill/b.txt", "ada-quill/a.txt", "ada-quill/2020/c.vtt", "P07/x.txt")
    entries = read_roster([root])
    assert sources(entries) == {
        "ada-quill": ["ada-quill/2020/c.vtt", "ada-quill/a.txt", "ada-quill/b.txt"],
        "p07": ["P07/x.txt"],
    }
    assert [entry.persona.name for entry in entries] == ["Ada Quill", "P07"]


def test_naming_the_folder_the_person_or_the_file_gives_the_same_sources(raw):
    root = raw("ada/a.txt", personas=[{"id": "ada", "name": "Ada Quill"}])
    for named in (root, root / "ada", root / "ada" / "a.txt"):
        [entry] = read_roster([named])
        assert (entry.persona.name, entry.documents[0].source) == ("Ada Quill", "ada/a.txt")


def test_a_document_named_twice_is_one_document(raw):
    root = raw("ada/a.txt", "ada/b.txt")
    for named in ([root, root / "ada" / "a.txt"], [root / "ada" / "a.txt", root], [root, root]):
        assert sources(read_roster(named)) == {"ada": ["ada/a.txt", "ada/b.txt"]}


def test_what_is_no_transcript_is_left_out(raw):
    root = raw(
        "ada/a.txt", "ada/.hidden", "ada/README.md", "ada/LICENSE", "ada/a.txt~", ".git/x/y.txt"
    )
    assert sources(read_roster([root])) == {"ada": ["ada/a.txt"]}


def test_a_manifest_gives_documents_to_people_with_dates(raw):
    root = raw(
        "2020/one.txt",
        "2021/two.txt",
        manifest=[
            {
                "file": f"{folder}.txt",
                "person_id": "Ada_Q",
                "person_name": "Ada Quill",
                "date": date,
            }
            for folder, date in (("2020/one", "2020-02-03"), ("2021/two", "2021"))
        ],
    )
    [entry] = read_roster([root])
    assert (entry.persona.id, entry.persona.name) == ("ada-q", "Ada Quill")
    assert [d.date for d in entry.documents] == ["2020-02-03", "2021"]


def test_people_and_documents_may_be_described_in_two_files(raw):
    # a consent must not be lost because a manifest names the person as well
    root = raw(
        "ada/one.txt",
        manifest=[
            {"file": "ada/one.txt", "person_id": "ada", "person_name": "Ada Q.", "date": "2020"}
        ],
        personas=[{"id": "ada", "name": "Ada Quill", "consent": {"scopes": ["prepare"]}}],
    )
    [entry] = read_roster([root])
    assert entry.persona.consent == Consent(scopes=("prepare",))
    assert entry.documents[0].date == "2020"


def test_what_stands_nearest_wins_and_the_parent_adds(raw):
    root = raw("ada/one.txt", "bo/two.txt", personas=[{"id": "ada", "name": "Near"}])
    rows = [{"id": "ada", "name": "Far"}, {"id": "bo", "name": "Bo Fenn"}]
    (root.parent / "personas.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert [entry.persona.name for entry in read_roster([root])] == ["Near", "Bo Fenn"]


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"date": 2020}, None),  # a year without quotes is a year
        ({"date": "3rd of May"}, "'3rd of May'"),
        ({"date": "2020-13-01"}, "'2020-13-01'"),
        ({"date_precision": "roughly"}, "'roughly'"),
        ({"title": ["x"]}, "title"),
    ],
)
def test_a_manifest_row_is_checked_and_named(raw, row, says):
    root = raw("ada/one.txt", manifest=[{"file": "ada/one.txt"} | row])
    if says is None:
        assert read_roster([root])[0].documents[0].date == "2020"
        return
    with pytest.raises(ValueError, match=r"manifest.jsonl: .*one.txt") as caught:
        read_roster([root])
    assert says in str(caught.value)


def test_two_folders_that_become_one_id_are_refused(raw):
    for one, other in (("ada quill", "ada-quill"), ("Zoë 李", "Zoë 王")):
        root = raw(f"{one}/a.txt", f"{other}/b.txt")
        with pytest.raises(ValueError, match=r"are both '.*'; rename one of them"):
            read_roster([root])
        (root / one / "a.txt").unlink()
        (root / other / "b.txt").unlink()


def test_one_person_in_two_raw_folders_is_refused(raw):
    root = raw("first/ada/a.txt", "second/ada/b.txt")
    with pytest.raises(ValueError, match=r"first/ada and .*second/ada are both 'ada'"):
        read_roster([root / "first", root / "second"])


@pytest.mark.parametrize(
    "row", [{"id": "Ada", "name": "x"}, {"id": "ada"}, {"id": "ada", "name": "x", "age": 3}]
)
def test_a_person_row_that_is_not_understood_names_its_file(raw, row):
    root = raw("ada/a.txt", personas=[row])
    with pytest.raises(ValueError, match=r"personas.jsonl: Persona\."):
        read_roster([root])


def test_missing_and_empty_folders_are_refused(raw, tmp_path):
    with pytest.raises(ValueError, match=r"nowhere does not exist"):
        read_roster([tmp_path / "nowhere"])
    root = raw("ada/README.md")
    with pytest.raises(ValueError, match=r"raw holds no documents; expected a folder per person"):
        read_roster([root])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ada Quill", "ada-quill"),
        ("Zoë_Ångström", "zoe-angstrom"),
        ("--P07--", "p07"),
        ("李", "xe69d8e"),
    ],
)
def test_slugs(text, expected):
    assert slug(text) == expected
    assert slug(text * 60) and len(slug(text * 60)) <= 63
