"""Train one adapter with TRL and PEFT on a base that is already in memory.

TRL receives `input_ids` and `labels` as `train/encode.py` made them and prepares nothing
itself. The base is given back as it was, so one load serves many adapters.
"""

from __future__ import annotations

import shutil
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from data_prep.files import make_folder
from data_prep.interrupt import Checkpointed, StopFlag
from data_prep.progress import Progress
from train.config import TrainConfig
from train.encode import IGNORED, Encoded

COMPLETE = "complete"  # written into a checkpoint last, with the names of the files beside it


@dataclass(frozen=True)
class Summary:
    """What training did; `validation_loss` is nats per supervised token at the best epoch."""

    num_steps: int
    num_tokens: int
    num_supervised_tokens: int
    seconds: float
    train_losses: list[float]
    validation_losses: list[float]
    best_epoch: int | None


def train_adapter(
    base: Any,
    tokenizer: Any,
    train: Sequence[Encoded],
    validation: Sequence[Encoded],
    config: TrainConfig,
    *,
    work: Path,
    label: str,
    stop: StopFlag,
) -> tuple[Any, Summary]:
    """Train a LoRA adapter; continues from the last complete checkpoint in `work`.

    Returns:
        The PEFT model (the caller unloads it) at its best epoch by validation loss, or at
        the last epoch when there is no validation set; and the summary.

    Raises:
        Checkpointed: a stop was asked for; the state is in `work`.
        ValueError: the loss is not finite.
    """
    import torch
    from trl import SFTTrainer

    torch.manual_seed(config.seed)
    steps_per_epoch = -(-len(train) // config.batch_size)
    progress = Progress(f"  train {label}", steps_per_epoch * config.epochs)
    watcher = _watcher(progress, stop, steps_per_epoch)
    with _quiet():
        trainer = SFTTrainer(
            model=_with_lora(base, config),
            args=_arguments(config, work, num_train=len(train), has_validation=bool(validation)),
            train_dataset=_dataset(train),
            eval_dataset=_dataset(validation) if validation else None,
            processing_class=tokenizer,
            data_collator=lambda rows: pad(rows, tokenizer.pad_token_id),
            callbacks=[watcher],
        )
        trainer.train(resume_from_checkpoint=_last_complete(make_folder(work)))
    if stop.asked and trainer.state.global_step < trainer.state.max_steps:
        raise Checkpointed(
            f"stopped by a signal; {label} is saved at step {trainer.state.global_step}"
        )
    return trainer.model, _summary(trainer.state, train, config)


def pad(rows: Sequence[dict[str, list[int]]], pad_token_id: int) -> dict[str, Any]:
    """Pad on the right; padding is masked and never supervised, whatever token it is.

    Returns:
        input_ids, attention_mask, labels: each (batch, longest) int64.
    """
    import torch

    longest = max(len(row["input_ids"]) for row in rows)

    def padded(name: str, value: int) -> torch.Tensor:
        return torch.tensor([row[name] + [value] * (longest - len(row[name])) for row in rows])

    lengths = torch.tensor([len(row["input_ids"]) for row in rows])
    return {
        "input_ids": padded("input_ids", pad_token_id),
        "attention_mask": (torch.arange(longest) < lengths[:, None]).long(),
        "labels": padded("labels", IGNORED),
    }


def _with_lora(base: Any, config: TrainConfig) -> Any:
    from peft import LoraConfig, get_peft_model

    target = config.lora.target_modules
    return get_peft_model(
        base,
        LoraConfig(
            r=config.lora.rank,
            lora_alpha=config.lora.alpha,
            lora_dropout=config.lora.dropout,
            target_modules=target if isinstance(target, str) else list(target),
            task_type="CAUSAL_LM",
        ),
    )


def _arguments(config: TrainConfig, work: Path, *, num_train: int, has_validation: bool) -> Any:
    import torch
    from trl import SFTConfig

    steps = -(-num_train // config.batch_size) * config.epochs
    return SFTConfig(
        output_dir=str(work),
        dataset_kwargs={"skip_prepare_dataset": True},
        remove_unused_columns=False,
        max_length=None,  # the encoder has kept to the limit
        num_train_epochs=config.epochs,
        per_device_train_batch_size=config.batch_size,
        per_device_eval_batch_size=config.batch_size,
        learning_rate=config.learning_rate,
        lr_scheduler_type="linear",
        warmup_steps=round(config.warmup_fraction * steps),
        weight_decay=config.weight_decay,
        max_grad_norm=config.max_grad_norm,
        gradient_checkpointing=config.gradient_checkpointing,
        bf16=False,  # the dtype is the base's; LoRA weights stay float32
        use_cpu=not torch.cuda.is_available(),
        dataloader_pin_memory=torch.cuda.is_available(),
        eval_strategy="epoch" if has_validation else "no",
        save_strategy="epoch",
        save_total_limit=2,
        load_best_model_at_end=has_validation,
        metric_for_best_model="eval_loss" if has_validation else None,
        logging_strategy="epoch",
        logging_nan_inf_filter=False,  # it would put an older loss in the place of NaN
        disable_tqdm=True,
        report_to=[],
        seed=config.seed,
    )


def _dataset(examples: Sequence[Encoded]) -> Any:
    from datasets import Dataset

    return Dataset.from_dict(
        {
            "input_ids": [example.input_ids for example in examples],
            "labels": [example.labels for example in examples],
        }
    )


def _watcher(progress: Progress, stop: StopFlag, steps_per_epoch: int) -> Any:
    """A callback that shows progress, heeds the stop flag and marks checkpoints complete.

    It keeps the time in the trainer's log, so that checkpoints carry it over a kill.
    """
    import math
    import time

    from transformers import TrainerCallback

    class Watcher(TrainerCallback):
        inside_epoch = False  # whether a stop fell there
        counted = time.monotonic()

        def count_time(self, state: Any) -> None:
            now = time.monotonic()
            state.log_history.append({"seconds": now - self.counted, "step": state.global_step})
            self.counted = now

        def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            progress.done = state.global_step
            self.counted = time.monotonic()

        def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            self.count_time(state)

        def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            progress.step(f"epoch {-(-state.global_step // steps_per_epoch)}")
            if stop.asked:
                # an epoch's end saves by itself; a checkpoint is never written over
                self.inside_epoch = state.global_step % steps_per_epoch != 0
                control.should_save = self.inside_epoch
                control.should_training_stop = True
                self.count_time(state)

        def on_epoch_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            self.count_time(state)
            if self.inside_epoch:
                # leaving is no end of an epoch: to evaluate here would draw random numbers and
                # could make a half epoch the best one
                control.should_evaluate = control.should_save = control.should_log = False

        def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            folder = Path(args.output_dir) / f"checkpoint-{state.global_step}"
            names = sorted(path.name for path in folder.iterdir())
            (folder / COMPLETE).write_text("\n".join(names), encoding="utf-8")

        def on_log(self, args: Any, state: Any, control: Any, logs: Any, **kwargs: Any) -> None:
            loss = logs.get("loss", 0.0)
            if not math.isfinite(loss):
                raise ValueError(
                    f"the training loss is {loss} at step {state.global_step}; "
                    "lower train.learning_rate"
                )

    return Watcher()


def _last_complete(work: Path) -> str | None:
    """Newest checkpoint that is whole; others are removed.

    A kill leaves one half-written, or, as the oldest is deleted before the newest is marked,
    half-deleted with its mark still there.
    """
    complete = []
    for folder in work.glob("checkpoint-*"):
        mark = folder / COMPLETE
        if mark.exists() and all((folder / name).exists() for name in _lines(mark)):
            complete.append(folder)
        else:
            shutil.rmtree(folder)
    newest = max(complete, key=lambda folder: int(folder.name.split("-")[1]), default=None)
    return str(newest) if newest else None


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def _summary(state: Any, train: Sequence[Encoded], config: TrainConfig) -> Summary:
    validation = [round(e["eval_loss"], 6) for e in state.log_history if "eval_loss" in e]
    losses = [round(e["loss"], 6) for e in state.log_history if "loss" in e]
    seconds = sum(e.get("seconds", 0.0) for e in state.log_history)
    best = validation.index(min(validation)) + 1 if validation else None
    return Summary(
        num_steps=state.global_step,
        num_tokens=config.epochs * sum(len(e.input_ids) for e in train),
        num_supervised_tokens=config.epochs * sum(e.num_supervised for e in train),
        seconds=round(seconds, 2),
        train_losses=losses,
        validation_losses=validation,
        best_epoch=best,
    )


@contextmanager
def _quiet() -> Iterator[None]:
    """Hide the libraries' bars, tables and hints; ours are printed instead."""
    import datasets
    from transformers.trainer_callback import PrinterCallback

    datasets.disable_progress_bars()
    original = PrinterCallback.on_log
    PrinterCallback.on_log = lambda *args, **kwargs: None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        finally:
            PrinterCallback.on_log = original
            sys.stdout.flush()
