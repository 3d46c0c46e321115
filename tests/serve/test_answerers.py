import pytest

from data_prep.prompting import persona_prompt
from data_prep.who import parse_who
from serve.answerers import resolve_answerer


def test_an_adapter_and_the_base_prompted_as_that_person_get_the_same_prompt(make_adapter):
    name, folder = make_adapter("ada")
    adapters = folder.parent.parent
    by_adapter = resolve_answerer(parse_who("ada+retrieval-10"), adapters=adapters)
    by_base = resolve_answerer(
        parse_who("base:ada"), adapters=adapters, default_prompt=persona_prompt("Someone Else")
    )
    assert by_adapter.prompt == by_base.prompt == persona_prompt("Ada")
    assert (by_adapter.adapter, by_adapter.folder) == (name, folder)
    assert (by_base.adapter, by_base.folder) == (None, None)


def test_without_an_adapter_the_base_is_prompted_as_the_corpus_says(tmp_path):
    prompt = persona_prompt("Ada", template_args={"enable_thinking": False})
    answerer = resolve_answerer(parse_who("base:ada"), adapters=tmp_path, default_prompt=prompt)
    assert answerer.prompt == prompt
    assert answerer.template_args == {"enable_thinking": False}
    with pytest.raises(ValueError, match="train 'ada' or name the corpus"):
        resolve_answerer(parse_who("base:ada"), adapters=tmp_path)


def test_the_bare_base_has_no_persona_prompt(tmp_path):
    assert resolve_answerer(parse_who("BASE"), adapters=tmp_path).prompt is None


def test_an_unknown_adapter_is_refused_with_a_near_name(make_adapter):
    _, folder = make_adapter("ada")
    with pytest.raises(ValueError, match="did you mean 'ada'"):
        resolve_answerer(parse_who("adda"), adapters=folder.parent.parent)
