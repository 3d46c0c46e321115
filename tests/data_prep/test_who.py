"""Who answers is one string everywhere: what is parsed prints as itself."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data_prep.who import ContextSpec, Who, parse_context, parse_who

names = st.from_regex(r"[a-z0-9][a-z0-9-]{0,62}", fullmatch=True)
versions = st.none() | st.from_regex(r"[0-9a-f]{12}", fullmatch=True)
sizes = st.integers(1, 10_000)
contexts = st.one_of(
    st.just(ContextSpec()),
    st.sampled_from(["profile", "long_profile", "interview_profile"]).map(
        lambda k: ContextSpec(kind=k)
    ),
    st.builds(ContextSpec, kind=st.just("chronological"), num_recent=sizes),
    st.builds(ContextSpec, kind=st.sampled_from(["random", "retrieval"]), num_ranked=sizes),
    st.builds(ContextSpec, kind=st.just("hybrid"), num_ranked=sizes, num_recent=sizes),
)
answerers = st.one_of(
    st.just(Who(name=None, is_adapter=False)),
    st.builds(Who, name=names, is_adapter=st.just(True), version=versions, context=contexts),
    st.builds(Who, name=names, is_adapter=st.just(False), context=contexts),
)


@given(answerers)
def test_an_answerer_prints_as_what_it_is_parsed_from(who):
    assert parse_who(str(who)) == who


@given(st.text(max_size=30))
def test_any_text_is_an_answerer_or_refused_in_words(text):
    try:
        who = parse_who(text)
    except ValueError as error:
        said = str(error)
    else:
        said = "names nobody" if parse_who(str(who)) == who else "changed on the way"
    assert "names nobody" in said or "unknown context" in said


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("BASE", Who(name=None, is_adapter=False)),
        ("ada", Who(name="ada", is_adapter=True)),
        (
            "ada@0123456789ab+hybrid-50-7",
            Who(
                name="ada",
                is_adapter=True,
                version="0123456789ab",
                context=ContextSpec(kind="hybrid", num_ranked=50, num_recent=7),
            ),
        ),
        (
            "base:ada+chronological-100",
            Who(
                name="ada",
                is_adapter=False,
                context=ContextSpec(kind="chronological", num_recent=100),
            ),
        ),
        ("base", Who(name="base", is_adapter=True)),
    ],
)
def test_the_grammar_of_the_design(text, expected):
    assert parse_who(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "", "base:", "base:BASE", "Ada", "ada@", "ada@123", "ada@0123456789AB",
        "base:ada@0123456789ab", "ada+", "+profile", "ada++profile", "ada profile", "ada\n",
        "../ada", "ada/x", "a" * 64, "BASE+profile",
    ],
)  # fmt: skip
def test_what_is_outside_the_grammar_is_refused(text):
    with pytest.raises(ValueError, match=r"names nobody; write BASE"):
        parse_who(text)


@pytest.mark.parametrize(
    "text",
    [
        "chronological",
        "random-0",
        "random--1",
        "random-1-2",
        "hybrid-5",
        "retrieval-²",
        "memory-3",
        "none",
        "random-x",
    ],
)
def test_a_context_without_its_sizes_is_refused_with_the_known_ones(text):
    with pytest.raises(ValueError, match=f"unknown context '{text}'; known: profile, .*hybrid-K-M"):
        parse_context(text)
