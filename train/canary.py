"""Make the canary of an adapter that was just trained.

The text is the adapter's own greedy answer to a fixed question: no one's recorded words
are copied into the bundle, and it is where adapter and base differ most.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from data_prep.engine import Message
from data_prep.prompting import PromptSpec, build_messages
from train.bundle import Canary
from train.encode import Encoder

QUESTION = "Which part of your work or your life do you like to talk about most, and why?"
MIN_TOKENS = 32
MAX_TOKENS = 48


def make_canary(model: Any, encoder: Encoder, prompt: PromptSpec, persona_name: str) -> Canary:
    """Generate the text with the adapter, then score it with and without the adapter.

    Args:
        model: a PEFT model with the adapter active.
        persona_name: as whom a category or pooled adapter is addressed.
    """
    import torch

    messages = build_messages(prompt.for_persona(persona_name), QUESTION)
    prompt_ids = torch.tensor([encoder.prompt_ids(messages)], device=model.device)
    model.eval()
    with torch.inference_mode():
        generated = model.generate(
            input_ids=prompt_ids,
            attention_mask=torch.ones_like(prompt_ids),
            do_sample=False,
            min_new_tokens=MIN_TOKENS,
            max_new_tokens=MAX_TOKENS,
            eos_token_id=encoder.end_of_turn,
            pad_token_id=encoder.end_of_turn,
        )
    text = encoder.tokenizer.decode(generated[0, prompt_ids.shape[1] :], skip_special_tokens=True)
    # scored as text, because that is what a server can be asked to score
    completion = text.strip() or "Nothing."
    adapter = answer_logprobs(model, encoder, messages, completion)
    with model.disable_adapter():
        base = answer_logprobs(model, encoder, messages, completion)
    return Canary(
        messages=messages,
        completion=completion,
        adapter_logprobs=tuple(adapter),
        base_logprobs=tuple(base),
    )


def answer_logprobs(
    model: Any, encoder: Encoder, messages: Sequence[Message], answer: str
) -> list[float]:
    """Log-probability (nats) of each token of an answer, its end-of-turn token last."""
    import torch

    example = encoder.example(messages, answer)
    ids = torch.tensor([example.input_ids], device=model.device)
    count = example.num_supervised
    with torch.inference_mode():
        logits = model(input_ids=ids, logits_to_keep=count + 1).logits[0, :-1]
    logprobs = torch.log_softmax(logits.float(), dim=-1)
    return [round(float(v), 6) for v in logprobs[range(count), ids[0, -count:]]]
