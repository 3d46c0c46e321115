"""What several folders of tests share: fictional interviews, a corpus of them, a tiny model."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from data_prep.corpus import Corpus
from data_prep.files import write_jsonl
from data_prep.prepare import prepare

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SUBJECTS = "harbour kiln orchard telescope bakery choir lighthouse bicycle archive ferry".split()


@pytest.fixture(autouse=True)
def own_cache(request, monkeypatch, tmp_path_factory):
    """Fingerprints of models made here stay out of the user's cache."""
    if "slow" not in request.keywords:  # those may use the packaged model converted there
        monkeypatch.setenv("PERSONAE_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture(scope="session")
def require() -> Callable[[str, bool, str], None]:
    """`require("browser", found, "no Chromium")` skips, or fails where it is demanded."""

    def check(name: str, is_there: bool, reason: str) -> None:
        if is_there:
            return
        if name in os.environ.get("PERSONAE_REQUIRE", "").split(","):
            pytest.fail(f"{name} is required here: {reason}")
        pytest.skip(reason)

    return check


@pytest.fixture(scope="session")
def transcript() -> Callable[..., str]:
    """An interview in plain text; no two answers of one person are alike."""

    def write(name: str, year: int, num_exchanges: int = 4) -> str:
        parts = [f"A talk of {year}\n"]
        for number in range(num_exchanges):
            subject = SUBJECTS[(year + number) % len(SUBJECTS)]
            parts += [
                f"INTERVIEWER: What happened at the {subject} in {year}, part {number + 1}?\n",
                f"{name.upper()}: In {year} I, {name}, went to the {subject} with {number + 3} "
                f"friends, and we mended the roof until the evening bell rang {number + 1} times "
                "and somebody brought warm bread.\n",
            ]
        return "\n".join(parts)

    return write


@pytest.fixture(scope="session")
def write_interviews(transcript) -> Callable[..., Path]:
    """Make the folder of a person with an interview a year, and return it."""

    def write(raw: Path, name: str, years: range, num_exchanges: int = 4) -> Path:
        folder = raw / name.lower().replace(" ", "-")
        folder.mkdir(parents=True, exist_ok=True)
        for year in years:
            path = folder / f"{year}-05-01_talk.txt"
            path.write_text(transcript(name, year, num_exchanges), encoding="utf-8")
        return folder

    return write


@pytest.fixture(scope="session")
def corpus(tmp_path_factory, write_interviews) -> Corpus:
    """Ada and Bo, two potters with five interviews each, and Cleo, a sailor with one. Read only."""
    raw = tmp_path_factory.mktemp("raw")
    write_interviews(raw, "Ada Quill", range(2011, 2016))
    write_interviews(raw, "Bo Fenn", range(2001, 2006))
    write_interviews(raw, "Cleo Marsh", range(2020, 2021), num_exchanges=12)
    write_jsonl(
        raw / "personas.jsonl",
        [
            {"id": "ada-quill", "name": "Ada Quill", "category": "Potters"},
            {"id": "bo-fenn", "name": "Bo Fenn", "category": "Potters"},
            {"id": "cleo-marsh", "name": "Cleo Marsh", "category": "Sailors", "profile": "Sails."},
        ],
    )
    out = tmp_path_factory.mktemp("prepared") / "corpus"
    prepare([raw], out)
    return Corpus(out)


@pytest.fixture(scope="session")
def publish_adapter() -> Callable[..., Path]:
    """Publish a bundle whose weights are no weights: enough for all that loads no model."""
    from data_prep.engine import Sampling
    from data_prep.prompting import persona_prompt
    from train.bundle import WEIGHTS, Canary, PersonaBundle, bundle_version, publish

    def make(adapters: Path, name: str, person: str | None, *, base: str = "0" * 12) -> Path:
        staged = adapters / f".staged-{name}"
        staged.mkdir(parents=True)
        (staged / WEIGHTS).write_bytes(name.encode())
        prompt = persona_prompt(person)
        canary = Canary(messages=(), completion="", adapter_logprobs=(0.0,), base_logprobs=(0.0,))
        bundle = PersonaBundle(
            name=name,
            version=bundle_version(staged / WEIGHTS, prompt, base),
            scope="persona" if person else "pooled",
            persona_ids=(name,),
            base_model="scripted",
            base_fingerprint=base,
            template_hash="",
            prompt=prompt,
            sampling=Sampling(),
            corpus_digest="",
            config_hash="",
            training={"seconds": 1.0},
            canary=canary,
        )
        return publish(adapters, staged, bundle)

    return make


@pytest.fixture(scope="session")
def adapters(tmp_path_factory, publish_adapter) -> Path:
    """Adapters of all three people of `corpus`, of the potters, and of everybody. Read only."""
    folder = tmp_path_factory.mktemp("adapters")
    for name in ("Ada Quill", "Bo Fenn", "Cleo Marsh"):
        publish_adapter(folder, name.lower().replace(" ", "-"), name)
    publish_adapter(folder, "category-potters", None)
    publish_adapter(folder, "pooled", None)
    return folder


@pytest.fixture(scope="session")
def make_base(tmp_path_factory) -> Callable[..., Path]:
    """Makes a random two-layer Llama with a byte tokenizer; end of turn and pad are one token."""

    def make(*, seed: int = 0, window: int = 1024, spread: float = 0.1) -> Path:
        folder = tmp_path_factory.mktemp("tiny-base")
        return save_tiny_base(folder, seed=seed, window=window, spread=spread)

    return make


@pytest.fixture(scope="session")
def tiny_base(make_base) -> Path:
    return make_base()


def save_tiny_base(folder: Path, *, seed: int, window: int, spread: float) -> Path:
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    bytewise = Tokenizer(models.BPE(vocab={c: i for i, c in enumerate(letters)}, merges=[]))
    bytewise.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bytewise.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bytewise,
        bos_token="<|im_start|>",
        eos_token="<|im_end|>",
        pad_token="<|im_end|>",
        chat_template=CHATML,
    )
    torch.manual_seed(seed)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=window,
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
            initializer_range=spread,
        )
    )
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
