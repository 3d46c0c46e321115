"""A random two-layer base model with a byte tokenizer, and adapters trained by chance."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from data_prep.engine import Message, Sampling
from data_prep.prompting import persona_prompt
from serve.engines import EngineConfig
from train.base_model import BaseModel, resolve
from train.bundle import Canary, PersonaBundle, bundle_version, publish
from train.encode import Encoder

CANARY_MESSAGES: tuple[Message, ...] = ({"role": "user", "content": "Who taught you chess?"},)
CANARY_ANSWER = "My aunt, every Sunday of that long winter."

MakeAdapter = Callable[..., tuple[str, Path]]


@pytest.fixture(scope="session")
def tiny_folder(make_base) -> Path:
    # with the usual 0.02 all tokens would be about equally likely
    return make_base(window=512, spread=0.3)


@pytest.fixture
def tiny(tiny_folder) -> EngineConfig:
    return EngineConfig(base_model=str(tiny_folder), dtype="float32")


@pytest.fixture
def make_adapter(tiny_folder, tmp_path) -> MakeAdapter:
    def make(name: str, *, seed: int = 0, **settings) -> tuple[str, Path]:
        return save_adapter(
            tmp_path / "adapters", name, resolve(str(tiny_folder)), seed, **settings
        )

    return make


def save_adapter(
    adapters: Path,
    name: str,
    base: BaseModel,
    seed: int,
    *,
    targets: tuple[str, ...] = ("q_proj", "v_proj", "down_proj"),
    strength: float = 0.3,
    canary_shift: float = 0.0,
    fingerprint: str | None = None,
    **lora: object,
) -> tuple[str, Path]:
    """A bundle with random weights and the canary of a plain forward pass."""
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(base.folder, dtype=torch.float32).eval()
    encoded = Encoder(AutoTokenizer.from_pretrained(base.folder)).example(
        CANARY_MESSAGES, CANARY_ANSWER
    )
    base_logprobs = plain_logprobs(model, encoded.input_ids, encoded.num_supervised)
    torch.manual_seed(seed)
    peft = get_peft_model(model, LoraConfig(r=4, target_modules=list(targets), **lora)).eval()
    for key, weight in peft.named_parameters():
        if "lora_B" in key:
            torch.nn.init.normal_(weight, std=strength)
    logprobs = plain_logprobs(peft, encoded.input_ids, encoded.num_supervised)
    staged = adapters / f".staged-{name}"
    peft.save_pretrained(staged)
    prompt = persona_prompt(name.title())
    fingerprint = fingerprint or base.fingerprint
    bundle = PersonaBundle(
        name=name,
        version=bundle_version(staged / "adapter_model.safetensors", prompt, fingerprint),
        scope="persona",
        persona_ids=(name,),
        base_model=base.name,
        base_fingerprint=fingerprint,
        template_hash="",
        prompt=prompt,
        sampling=Sampling(),
        corpus_digest="",
        config_hash="",
        training={},
        canary=Canary(
            messages=CANARY_MESSAGES,
            completion=CANARY_ANSWER,
            adapter_logprobs=tuple(value + canary_shift for value in logprobs),
            base_logprobs=base_logprobs,
        ),
    )
    return bundle.full_name, publish(adapters, staged, bundle)


def plain_logprobs(model, input_ids: list[int], num_scored: int) -> tuple[float, ...]:
    """Log-probabilities of the last tokens by one ordinary forward pass."""
    import torch

    with torch.no_grad():
        logits = model(input_ids=torch.tensor([input_ids])).logits[0].float()
    found = torch.log_softmax(logits[:-1], -1).gather(1, torch.tensor(input_ids[1:])[:, None])
    return tuple(found[-num_scored:, 0].tolist())


@pytest.fixture
def change_settings() -> Callable[..., None]:
    def change(folder: Path, **settings: object) -> None:
        path = folder / "adapter_config.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **settings}))

    return change
