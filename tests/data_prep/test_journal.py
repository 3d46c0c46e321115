"""What was appended is found again, whatever was interrupted."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data_prep.journal import TABLE, Journal, compact, read_rows, read_table, write_table

word = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | word,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(word, inner, max_size=3),
    max_leaves=6,
)
rows_strategy = st.lists(
    st.fixed_dictionaries(
        {
            "key": word,
            "status": st.sampled_from(["ok", "transport_error", "refused"]),
            "text": st.none() | word,
            "bits": st.none() | st.floats(allow_nan=False, allow_infinity=False),
            "num_tokens": st.integers(0, 2**62),
            "nested": json_values.map(lambda value: [value]),
            "maybe_nested": st.none() | st.dictionaries(word, json_values, max_size=2),
        }
    ),
    max_size=8,
)


def row(key, status="ok", **fields):
    return {"key": key, "status": status, **fields}


def append(folder, *rows, shard=0):
    with Journal(folder, shard=shard) as journal:
        journal.append(rows)


@given(st.lists(rows_strategy, max_size=4))
@settings(deadline=None, max_examples=40)
def test_any_rows_come_back_from_parts_and_from_the_table(attempts):
    with TemporaryDirectory() as name:
        folder = Path(name)
        for rows in attempts:
            append(folder, *rows)
        before = read_rows(folder)
        compact(folder)
        after = read_rows(folder)
        assert after.by_key == before.by_key and list(after.by_key) == sorted(before.by_key)
        assert not list(folder.glob("part-*"))
        expected = {}
        for found in (found for rows in attempts for found in rows):
            if expected.get(found["key"], {}).get("status") != "ok":
                expected[found["key"]] = found
        assert after.by_key == expected


def test_rows_of_different_fields_share_a_table(tmp_path):
    append(tmp_path, row("a", score=3, detail=""), row("b", explanation={"x": 1}))
    compact(tmp_path)
    found = read_rows(tmp_path).by_key
    assert found["a"] == row("a", score=3, detail="", explanation=None)
    assert found["b"] == row("b", score=None, detail=None, explanation={"x": 1})


def test_the_first_ok_row_of_a_key_wins_else_the_last_other_one(tmp_path):
    append(tmp_path, row("a", "transport_error", n=1), row("b", n=1), row("c", "refused", n=1))
    append(tmp_path, row("a", n=2), row("b", n=2), row("c", "transport_error", n=2))
    append(tmp_path, row("a", n=3), row("a", "refused", n=4))
    found = read_rows(tmp_path)
    assert {key: found.by_key[key]["n"] for key in "abc"} == {"a": 2, "b": 1, "c": 2}
    assert found.settled_keys() == {"a", "b"}


def test_a_torn_last_line_is_dropped_and_counted_at_every_byte(tmp_path):
    whole, last = row("a", text="Käse"), row("b", text="Brot \U0001f35e")
    append(tmp_path, whole, last)
    [part] = tmp_path.glob("part-*")
    data = part.read_bytes()
    start = len(data.split(b"\n")[0]) + 1
    for end in range(start, len(data)):
        part.write_bytes(data[:end])
        found = read_rows(tmp_path)
        assert found.by_key == {"a": whole}
        assert found.num_torn == (end > start)
    part.write_bytes(data)
    assert set(read_rows(tmp_path).by_key) == {"a", "b"} and read_rows(tmp_path).num_torn == 0


def test_a_torn_row_is_appended_again_in_a_part_of_its_own(tmp_path):
    append(tmp_path, row("a"), row("b"))
    [part] = tmp_path.glob("part-*")
    part.write_bytes(part.read_bytes()[:-3])
    append(tmp_path, row("b", n=2))
    assert read_rows(tmp_path).by_key["b"] == row("b", n=2)
    assert len(list(tmp_path.glob("part-*"))) == 2


@pytest.mark.parametrize("line", [b"{", b'{"status": "ok"}', b"[]", b'"text"', b'{"key": 1'])
def test_damage_before_the_last_line_is_refused_with_its_place(tmp_path, line):
    (tmp_path / "part-00000-000.jsonl").write_bytes(line + b'\n{"key": "a", "status": "ok"}\n')
    with pytest.raises(ValueError, match=r"part-00000-000.jsonl line 1 is damaged"):
        read_rows(tmp_path)


def test_compacting_that_was_killed_before_the_parts_were_deleted_is_harmless(tmp_path):
    append(tmp_path, row("a", "transport_error"), row("b", n=1))
    append(tmp_path, row("a", n=2))
    parts = {part: part.read_bytes() for part in tmp_path.glob("part-*")}
    compact(tmp_path)
    expected, table = read_rows(tmp_path), (tmp_path / TABLE).read_bytes()
    for part, data in parts.items():  # as a kill right behind the rename leaves it
        part.write_bytes(data)
    assert read_rows(tmp_path) == expected
    compact(tmp_path)
    assert (tmp_path / TABLE).read_bytes() == table and not list(tmp_path.glob("part-*"))


def test_the_table_does_not_depend_on_how_rows_were_spread_over_attempts(tmp_path):
    rows = [row(f"{i}", text=f"answer {i}") for i in range(5)]
    append(tmp_path / "one", *rows)
    append(tmp_path / "two", *rows[3:], shard=1)
    append(tmp_path / "two", *rows[:3])
    assert compact(tmp_path / "one").read_bytes() == compact(tmp_path / "two").read_bytes()


def test_a_folder_without_rows_becomes_an_empty_table(tmp_path):
    assert read_rows(tmp_path / "none").by_key == {}
    append(tmp_path)
    assert read_table(compact(tmp_path)) == [] and read_rows(tmp_path).by_key == {}


def test_every_append_is_on_disk_before_it_returns(tmp_path):
    journal = Journal(tmp_path)
    journal.append([row("a"), row("b")])
    assert set(read_rows(tmp_path).by_key) == {"a", "b"}
    journal.close()


def test_two_open_writers_never_share_a_part(tmp_path):
    one, other = Journal(tmp_path), Journal(tmp_path)
    one.append([row("a")])
    other.append([row("b")])
    assert len(list(tmp_path.glob("part-*"))) == 2 and len(read_rows(tmp_path).by_key) == 2


def test_a_damaged_table_says_what_to_do(tmp_path):
    write_table(tmp_path / TABLE, [row("a")])
    data = (tmp_path / TABLE).read_bytes()
    (tmp_path / TABLE).write_bytes(data[: len(data) // 2])
    with pytest.raises(ValueError, match=r"rows.parquet is damaged .*; delete it"):
        read_rows(tmp_path)


def test_journal_lines_are_ordinary_json_lines(tmp_path):
    append(tmp_path, row("a", text="two\nlines\u2028and more"))
    [part] = tmp_path.glob("part-*")
    assert json.loads(part.read_bytes().split(b"\n")[0])["text"] == "two\nlines\u2028and more"
