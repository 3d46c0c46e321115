"""Item files: what they hold, and each way in which they are wrong."""

import json

import pytest

from data_prep.files import write_jsonl
from eval.personaeval.items import (
    ALIASES,
    KNOWN_SPEAKER,
    item_row,
    load_items,
    same_person,
    tags_of,
)

ROW = {
    "id": "x-1", "track": "drama", "work": "a play",
    "context": [{"speaker": "Eve", "text": "Who is it?"}], "target_text": "It is I.",
    "candidates": [{"name": n, "profile": f"{n} is kind."} for n in ("Ada", "Bo", "Cleo", "Dan")],
    "answer": "Bo",
}  # fmt: skip
PROMPT = """Judge this.
[Character1: Eve]
[Begin]
[hm] Who is it?
[End]
[Character2]
[Begin]
It is I, "said" she.
[End]
Character Candidates
{candidates}
Response Format
Think, then give JSON.
"""
NAMES = ["Ada", 'Bo "the Fox"', "Cl,eo", "Dan"]


def prompt_of(names):
    lines = [f"{n}. {name}\nProfile of {name}.\n" for n, name in enumerate(names, 1)]
    return PROMPT.format(candidates="\n".join(lines))


@pytest.fixture
def jsonl(tmp_path):
    def write(**changes):
        path = tmp_path / "items.jsonl"
        row = {k: v for k, v in (ROW | changes).items() if v is not ...}
        write_jsonl(path, [ROW | {"id": "x-0"}, row])
        return path

    return write


@pytest.fixture
def track(tmp_path):
    """Write a CSV track of rows of cells."""

    def write(rows, name="Drama.csv", header=None, encoding="utf-8"):
        import csv
        import io

        width = 5 if header is None and rows and len(rows[0]) == 7 else 4
        header = header or ["prompt", *(f"option{n + 1}" for n in range(width)), "gt"]
        text = io.StringIO()
        csv.writer(text).writerows([header, *rows])
        path = tmp_path / name
        path.write_bytes(text.getvalue().encode(encoding))
        return path

    return write


def test_a_roleid_line_is_read_and_written_back(jsonl, tmp_path):
    first, item = load_items([jsonl(author="extra", commit="0f")])
    assert (item.id, item.known_speaker, item.truth_index, first.id) == ("x-1", "Eve", 1, "x-0")
    path = tmp_path / "again.jsonl"
    write_jsonl(path, map(item_row, [first, item]))
    assert load_items([path]) == [first, item]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"answer": "Eve"}, "the truth 'Eve' is not among"),
        ({"answer": ...}, "has no answer; add it"),
        ({"context": []}, "context is not one turn"),
        ({"context": [{"speaker": "Eve", "text": " "}]}, "lacks a text"),
        ({"target_text": ""}, "lacks a text"),
        ({"candidates": ROW["candidates"][:3]}, "3 candidates, track 'drama' has 4"),
        ({"candidates": [*ROW["candidates"], {"name": "Eve", "profile": "."}]}, "5 candidates"),
        ({"candidates": [*ROW["candidates"][:3], {"name": "Ada ", "profile": "."}]}, "twice"),
        ({"candidates": [*ROW["candidates"][:3], {"name": " ", "profile": "."}]}, "no name"),
        ({"candidates": "Ada"}, "not a list"),
        ({"track": "own", "candidates": ROW["candidates"][1:2]}, "1 candidates"),
        ({"work": 3}, "RoleItem.work"),
    ],
)
def test_a_wrong_line_is_refused_with_its_place(jsonl, changes, words):
    with pytest.raises(ValueError, match=words) as caught:
        load_items([jsonl(**changes)])
    assert "items.jsonl item 2" in str(caught.value)


def test_an_id_that_stands_twice_is_refused(jsonl):
    with pytest.raises(ValueError, match="'x-0' stands twice"):
        load_items([jsonl(id="x-0")])


def test_missing_files_and_no_items_are_refused(tmp_path):
    with pytest.raises(ValueError, match="no file"):
        load_items([tmp_path / "none.jsonl"])
    (tmp_path / "empty.jsonl").write_text("")
    with pytest.raises(ValueError, match="no items"):
        load_items([tmp_path / "empty.jsonl"])


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_an_official_track_is_read_with_its_texts_and_profiles(track, encoding):
    names = [*NAMES[:3], "贾宝玉"]
    [item] = load_items([track([[prompt_of(names), *names, "贾宝玉"]], encoding=encoding)])
    assert item.names == tuple(names) and item.truth_index == 3 and item.track == "drama"
    assert item.known_speaker == "Eve" and item.known_text == "[hm] Who is it?"
    assert item.target_text == 'It is I, "said" she.'
    assert [c.profile for c in item.candidates] == [f"Profile of {name}." for name in names]
    assert item.work is None and item.can_render and item.filtered_by == ("Qwen-max",)


def test_a_prompt_laid_out_otherwise_is_kept_as_it_is(track):
    [item] = load_items([track([["谁在说话?", *NAMES, "Ada"]])])
    assert item.prompt == "谁在说话?" and not item.can_render


def test_expertise_has_five_options(track):
    levels = ["Child", "Teen", "College Student", "Graduate Student", "Expert"]
    [item] = load_items([track([[prompt_of(levels), *levels, "Expert"]], name="Expertise.csv")])
    assert item.truth_index == 4 and item.track == "expertise"


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (["p", *NAMES, "Eve"], "line 2: the truth 'Eve'"),
        (["p", "Ada", "Bo", "Ada", "Dan", "Ada"], "line 2: candidate 'Ada' stands twice"),
        (["p", *NAMES[:3], "", "Ada"], "line 2: candidate 4 has no name"),
        (["", *NAMES, "Ada"], "line 2 has an empty prompt"),
        (["p", *NAMES], "line 2 has 5 cells"),
        (["p", *NAMES, "Ada", "more"], "line 2 has 7 cells"),
        ([prompt_of([*NAMES, "Eve"]), *NAMES, "Ada"], "lists more than its 4 options"),
    ],
)
def test_a_wrong_row_is_refused_with_its_line(track, row, words):
    header = ["prompt", "option1", "option2", "option3", "option4", "gt"]
    with pytest.raises(ValueError, match=words):
        load_items([track([row], header=header)])


def test_expertise_without_its_fifth_option_is_refused(track):
    with pytest.raises(ValueError, match="4 candidates, track 'expertise' has 5"):
        load_items([track([["p", *NAMES, "Ada"]], name="Expertise.csv")])


def test_the_line_counts_the_lines_inside_of_quotes(track):
    rows = [["two\nlines", *NAMES, "Ada"], ["p", *NAMES, "Eve"]]
    with pytest.raises(ValueError, match="line 4"):
        load_items([track(rows)])


def test_missing_and_repeated_columns_are_refused(track):
    with pytest.raises(ValueError, match="lacks the columns option4, gt"):
        load_items([track([], header=["prompt", "option1", "option2", "option3"])])
    header = ["prompt", "option1", "option2", "option3", "option4", "gt", "gt"]
    with pytest.raises(ValueError, match="gt twice"):
        load_items([track([], header=header)])


@pytest.mark.parametrize("encoding", ["latin-1", "gb18030", "utf-16-le"])
def test_an_unknown_encoding_is_refused_with_what_to_do(track, encoding):
    row = [["Émile? 谁" if encoding != "latin-1" else "Émile?", *NAMES, "Ada"]]
    with pytest.raises(ValueError, match=r"save the file as UTF-8|lacks the columns"):
        load_items([track(row, encoding=encoding)])


def test_broken_quotes_are_refused(tmp_path):
    path = tmp_path / "Drama.csv"
    path.write_text('prompt,option1,option2,option3,option4,gt\n"p"x,a,b,c,d,a\n')
    with pytest.raises(ValueError, match="is not CSV"):
        load_items([path])


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("Huck Finn", "Huckleberry Finn", True),
        ("Darcy", "Mr. Darcy", True),
        ("Tywin Lannister", "Tyrion Lannister", False),
        ("Mr. Bennet", "Mrs. Bennet", False),
        ("Ada", "Bo", False),
        ("", "Bo", False),
    ],
)
def test_aliases_are_told_by_their_words(a, b, same):
    assert same_person(a, b) is same is same_person(b, a)


def test_items_are_tagged_and_not_repaired():
    assert tags_of("Eve", ["Ada", "Bo"]) == ()
    assert tags_of("Huck Finn", ["Huckleberry Finn", "Jim"]) == (KNOWN_SPEAKER,)
    assert tags_of("Eve", ["Huckleberry Finn", "Jim", "Huck"]) == (ALIASES,)


def test_the_row_of_an_official_item_keeps_its_prompt(track, tmp_path):
    items = load_items([track([["谁?", *NAMES, "Ada"], [prompt_of(NAMES), *NAMES, "Dan"]])])
    write_jsonl(tmp_path / "copy.jsonl", map(item_row, items))
    assert load_items([tmp_path / "copy.jsonl"]) == items
    assert json.loads((tmp_path / "copy.jsonl").read_text().splitlines()[0])["prompt"] == "谁?"
