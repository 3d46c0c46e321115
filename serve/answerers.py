"""From a name such as `ada@0123456789ab+retrieval-10` to what a request needs.

The bundle decides the prompt, for its adapter and for the base prompted as that person, so
that the two are compared under identical messages.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from data_prep.prompting import PromptSpec
from data_prep.who import Who
from train.bundle import find_bundle, list_names, read_bundle


@dataclass(frozen=True, kw_only=True)
class Answerer:
    """Who answers: an adapter or the base (`adapter=None`), and the prompt that names the person.

    Without a prompt (`BASE`) the question is asked as it is.
    """

    who: Who
    prompt: PromptSpec | None = None
    adapter: str | None = None  # NAME@VERSION
    folder: Path | None = None  # of that version
    template_args: dict[str, Any] = field(default_factory=dict)


def resolve_answerer(
    who: Who, *, adapters: Path, default_prompt: PromptSpec | None = None
) -> Answerer:
    """Find the adapter and prompt of an answerer.

    Args:
        default_prompt: the person's prompt in the corpus, for `base:NAME` without an adapter.

    Raises:
        ValueError: no such adapter or version, or nothing tells how to address the person.
    """
    if who.name is None:
        return Answerer(who=who)
    if not who.is_adapter and who.name not in list_names(adapters):
        if default_prompt is None:
            raise ValueError(
                f"{who} has neither an adapter in {adapters} nor a corpus to take a prompt from; "
                f"train {who.name!r} or name the corpus"
            )
        return Answerer(who=who, prompt=default_prompt, template_args=default_prompt.template_args)
    folder = find_bundle(adapters, who.name, who.version)
    bundle = read_bundle(folder)
    return Answerer(
        who=who,
        prompt=bundle.prompt,
        adapter=bundle.full_name if who.is_adapter else None,
        folder=folder if who.is_adapter else None,
        template_args=bundle.prompt.template_args,
    )
