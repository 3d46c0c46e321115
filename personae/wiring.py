"""Small joints between packages that more than one command needs."""

from __future__ import annotations

from data_prep.context import select_context
from data_prep.corpus import Corpus
from data_prep.prompting import Context, PromptSpec
from data_prep.sft import read_prompt_spec
from data_prep.who import Who


def default_prompt(corpus: Corpus | None, who: Who) -> PromptSpec | None:
    """The prompt that the corpus gives to a person, if there is a corpus."""
    if corpus is None or who.name is None or who.name not in corpus.splits:
        return None
    return read_prompt_spec(corpus.folder / "sft" / who.name)


def context_for(corpus: Corpus | None, who: Who, question: str) -> Context:
    """The context of one question.

    Raises:
        ValueError: no corpus was named to take it from.
    """
    if corpus is None or who.name is None:
        raise ValueError(f"{who} reads from the interviews; name them with --corpus")
    return select_context(
        who.context,
        persona=corpus.persona(who.name),
        train_pairs=corpus.part(who.name, "train"),
        question=question,
    )
