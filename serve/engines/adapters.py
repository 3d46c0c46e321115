"""Adapters over one base model: loaded when first asked for, switched, dropped again.

While no adapter is active the model is the untouched base; settings that would change the
base's own weights are refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from data_prep.files import read_json
from train.base_model import BaseModel
from train.bundle import PersonaBundle, read_bundle, refuse_other_base

HARMLESS: dict[str, tuple[Any, ...]] = {
    "peft_type": ("LORA",),
    "bias": ("none",),
    "init_lora_weights": (True, False, "gaussian", "orthogonal"),
    "modules_to_save": (None, []),
    "layer_replication": (None, []),
    "trainable_token_indices": (None,),
}


class Adapters:
    """The adapters of one model, at most `max_resident` in memory, the least used go first."""

    def __init__(
        self, model: Any, base: BaseModel, folders: Mapping[str, Path], *, max_resident: int
    ) -> None:
        self.folders = dict(folders)
        self._model = model
        self._base = base
        self._max_resident = max_resident
        self._peft: Any = None  # PEFT wants a first adapter to exist at all
        self._resident: list[str] = []  # least recently used first
        self._bundles: dict[str, PersonaBundle] = {}
        self._active: str | None = None

    def bundle(self, name: str) -> PersonaBundle:
        """The checked bundle of a known name.

        Raises:
            ValueError: damaged, of another name or base, or with settings that are refused.
        """
        if name not in self._bundles:
            folder = self.folders[name]
            bundle = read_bundle(folder)
            if bundle.full_name != name:
                raise ValueError(f"{folder} holds adapter {bundle.full_name!r}, expected {name!r}")
            refuse_other_base(
                bundle, base_model=self._base.name, fingerprint=self._base.fingerprint
            )
            refuse_settings(folder)
            self._bundles[name] = bundle
        return self._bundles[name]

    def activate(self, name: str | None) -> bool:
        """Answer with this adapter from now on, None is the base; True if it was just loaded."""
        is_new = name is not None and name not in self._resident
        if name is not None:
            if is_new:
                self._load(name)
            self._resident.remove(name)
            self._resident.append(name)
        if name != self._active:
            self._switch(name)
        return is_new

    def drop(self, name: str) -> None:
        if self._active is not None:
            self._switch(None)
        self._resident.remove(name)
        if self._resident:
            self._peft.delete_adapter(name)
        else:
            self._model = self._peft.unload()  # the layers of the base itself again
            self._peft = None

    def _load(self, name: str) -> None:
        from peft import PeftModel

        self.bundle(name)
        while len(self._resident) >= self._max_resident:
            self.drop(self._resident[0])
        # full names hold no dot, which PEFT forbids; weights are float32 over any base
        folder = str(self.folders[name])
        if self._peft is None:
            self._peft = PeftModel.from_pretrained(self._model, folder, adapter_name=name)
            self._active = name
        else:
            self._peft.load_adapter(folder, adapter_name=name)
        self._resident.append(name)
        self._peft.eval()

    def _switch(self, name: str | None) -> None:
        if name is None:
            self._peft.base_model.disable_adapter_layers()
        else:
            if self._active is None:
                self._peft.base_model.enable_adapter_layers()
            self._peft.set_adapter(name)
        self._active = name


def refuse_settings(folder: Path) -> None:
    """Raises ValueError for an adapter that would change weights all adapters share."""
    settings = read_json(folder / "adapter_config.json")
    for key, allowed in HARMLESS.items():
        if key in settings and settings[key] not in allowed:
            raise ValueError(
                f"{folder} has {key}={settings[key]!r}, which changes the base model that other "
                f"adapters share; train with {key}={allowed[0]!r}"
            )
