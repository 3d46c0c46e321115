"""Texts made by rule: what they keep, and when a rule has nothing to do."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.validation.tables import original_cell, read_csv, safe_cell, write_csv
from eval.validation.texts import FILLER, padded, paraphrased, part_of, sentences_of, shuffled


@pytest.mark.parametrize(
    ("said", "becomes"),
    [
        ("I can't swim. My aunt could.", "My aunt could. I cannot swim."),
        ("Don’t ask. We're late! Go.", "Go. Do not ask. We are late!"),
        ("I left the farm, and she kept the dogs.", "She kept the dogs; I left the farm."),
        ("The farm was lost, so we went to sea!", "We went to sea; the farm was lost!"),
        ("I'm sure of it", "I am sure of it"),
        ("Never again.", None),
        ("", None),
    ],
)
def test_a_paraphrase_is_light_and_keeps_the_content(said, becomes):
    assert paraphrased(said) == becomes


def test_a_part_is_the_beginning_and_padding_keeps_all():
    said = " ".join(f"w{n}" for n in range(40))
    assert part_of(said, 0.25).startswith("w0 w1") and "w10" not in part_of(said, 0.25)
    assert said in padded(said) and len(padded(said).split()) >= 2 * 40
    long = " ".join(["word"] * 700)
    assert len(padded(long).split()) >= 2 * 700 and FILLER in padded(long)


def test_shuffling_keeps_words_and_depends_on_its_seed():
    said = "The ferry left at nine, and nobody waved."
    assert sorted(shuffled(said, "1").split()) == sorted(said.replace(",", "").rstrip(".").split())
    assert shuffled(said, "1") == shuffled(said, "1") != shuffled(said, "2")
    assert sentences_of("One. Two! “Three?” Four") == ["One.", "Two!", "“Three?”", "Four"]


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=12))
def test_a_cell_comes_back_as_it_was_and_no_spreadsheet_computes_it(text):
    assert original_cell(safe_cell(text)) == text
    assert not safe_cell(text).lstrip(" \n").startswith(("=", "+", "-", "@", "\t", "\r", "＝"))


@pytest.mark.parametrize("text", ["=1+1", "  =1+1", "\t=1", "'=1", "''@x", "-2", "＝A1", "\n+3"])
def test_formulas_come_back_from_a_file(tmp_path, text):
    write_csv(tmp_path / "t.csv", ["a", "b"], [{"a": text, "b": 'x, "y"\nz;'}])
    data = (tmp_path / "t.csv").read_bytes().decode("utf-8-sig")
    assert "'" in data.splitlines()[1][:3] or data.splitlines()[1] == "\"'"
    assert list(read_csv(tmp_path / "t.csv", ["a", "b"])) == [(2, {"a": text, "b": 'x, "y"\nz;'})]


def test_semicolons_part_cells_too_and_broken_tables_are_named(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("item;score\ni1;4\n\n")
    assert list(read_csv(path, ["item", "score"])) == [(2, {"item": "i1", "score": "4"})]
    for data, says in (
        (b"item,mark\n", "lacks columns score; it has item, mark"),
        (b"item,score\ni1\n", "row 2 has 1 cells, expected 2"),
        ("item,score\ni1,é\n".encode("latin-1"), "is not UTF-8"),
        (b"", "lacks columns"),
    ):
        path.write_bytes(data)
        with pytest.raises(ValueError, match=says):
            list(read_csv(path, ["item", "score"]))


def test_random_texts_have_a_paraphrase_of_the_same_words_or_none():
    chance = random.Random(0)
    for _ in range(50):
        said = ". ".join(" ".join(chance.choices("oak elm ash fir".split(), k=5)) for _ in range(3))
        assert sorted(paraphrased(said).replace(".", "").split()) == sorted(
            said.replace(".", "").split()
        )
