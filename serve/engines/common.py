"""What engines do alike: refuse what cannot be served, order replies, split off reasoning."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from data_prep.engine import Operation, Reply, Request

_THINKING = re.compile(r"\s*(?:<think>)?(?P<reasoning>.*?)</think>(?P<answer>.*)", re.DOTALL)


def check_requests(
    operation: Operation,
    requests: Sequence[Request],
    *,
    capabilities: Collection[Operation],
    adapters: Collection[str] | None,
) -> None:
    """Refuse, before any work, what an operation or this engine cannot serve.

    Args:
        adapters: names that may be asked for; None allows any.

    Raises:
        ValueError: names the first such request by its position.
    """
    for index, request in enumerate(requests):
        problem = _problem(operation, request, capabilities)
        if problem is None and adapters is not None and request.adapter is not None:
            if request.adapter not in adapters:
                known = ", ".join(sorted(adapters)) or "none"
                problem = f"asks for adapter {request.adapter!r}; this engine has: {known}"
        if problem is not None:
            raise ValueError(f"request {index} {problem}")


def _problem(
    operation: Operation, request: Request, capabilities: Collection[Operation]
) -> str | None:
    if not request.messages:
        return "has no messages"
    if operation == "choose" and not all(option.strip() for option in request.options or ("",)):
        return "has no options or an empty one; choose needs text in each"
    if operation == "score_text" and not (request.completion or "").strip():
        return "has no completion; score_text needs the answer to score"
    if request.constraint is None:
        return None
    if operation != "generate":
        return f"has a constraint, which {operation} ignores; remove it"
    kind: Operation = "choices" if request.constraint.choices else "json_schema"
    if kind not in capabilities:
        return f"has a {kind} constraint, which this engine lacks; install xgrammar"
    return None


def check_length(
    index: int, num_prompt: int, num_more: int, limit: int, *, what: str = "answer"
) -> None:
    """Raises ValueError when prompt and answer do not fit into the context."""
    if num_prompt + num_more > limit:
        raise ValueError(
            f"request {index} has {num_prompt} prompt tokens and up to {num_more} {what} tokens, "
            f"the context holds {limit}; shorten its context, lower sampling.max_tokens or "
            "raise engine.max_model_len if the model allows"
        )


def in_order(replies: Iterable[tuple[int, Reply]]) -> Iterator[Reply]:
    """Replies by position from 0, each as soon as all before it are there."""
    waiting: dict[int, Reply] = {}
    position = 0
    for index, reply in replies:
        waiting[index] = reply
        while position in waiting:
            yield waiting.pop(position)
            position += 1
    assert not waiting


def split_reasoning(text: str) -> tuple[str, str]:
    """What a model thought aloud, and its answer.

    A template may have written `<think>` into the prompt already; a reply that ends while
    still thinking has no answer.
    """
    if match := _THINKING.fullmatch(text):
        return match["reasoning"].strip(), match["answer"].strip()
    if text.lstrip().startswith("<think>"):
        return text.lstrip().removeprefix("<think>").strip(), ""
    return "", text.strip()
