"""Which judge a validation is of, and how an evaluation finds it.

A judge is its weights and number format, the words it is asked in, and how its verdicts are
made. A change in any of these is another judge: it has no badge until it earns one. Its name
is only a label, and counts for nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from data_prep.engine import Engine
from data_prep.files import read_json
from data_prep.prompting import read_prompt
from data_prep.records import SCHEMA_VERSION, content_hash
from eval.config import JudgeConfig
from eval.judging import CONTENT_PROMPT
from eval.judging import PROMPTS as JUDGE_PROMPTS
from eval.validation import plan, roleid
from eval.verdicts import CONTENT_SIMILARITY_SCHEMA

HASH_DIGITS = 12
SHOWN = ("badge", "failed", "incomplete", "thresholds", "changed_rules", "signed")


def judge_identity(engine: Engine, judge: JudgeConfig) -> dict[str, Any]:
    """All that decides this judge's verdicts, prompts by hash."""
    prompts = {
        CONTENT_PROMPT: JUDGE_PROMPTS,
        plan.PAIRWISE_PROMPT: plan.PROMPTS,
        roleid.LIKELIHOOD_PROMPT: roleid.PROMPTS,
    }
    return {
        "engine": engine.identity,
        "prompts": {
            name: content_hash(read_prompt(folder, name), digits=HASH_DIGITS)
            for name, folder in prompts.items()
        },
        "schema": content_hash(CONTENT_SIMILARITY_SCHEMA, digits=HASH_DIGITS),
        "constrained": "json_schema" in engine.capabilities,
        "max_tokens": judge.max_tokens,
        "attempts": judge.attempts,
        "retry_temperature": judge.retry_temperature,
    }


def judge_hash(identity: dict[str, Any]) -> str:
    return content_hash(identity, digits=HASH_DIGITS)


def find_validation(judges: Path, engine: Engine, judge: JudgeConfig) -> dict[str, Any] | None:
    """What stands beside this judge's numbers, or None when it was never validated.

    Raises:
        ValueError: its file is damaged, of another judge, or written by a newer tool.
    """
    identity = judge_identity(engine, judge)
    path = judges / f"{judge_hash(identity)}.json"
    if not path.exists():
        return None
    found = read_json(path)
    version = found.get("schema_version") if isinstance(found, dict) else None
    if not isinstance(version, int) or version > SCHEMA_VERSION:
        raise ValueError(
            f"{path} has schema version {version}, this tool reads up to {SCHEMA_VERSION}; "
            "update personae, or run `personae judge validate` again"
        )
    if found.get("identity") != identity or any(name not in found for name in SHOWN):
        raise ValueError(f"{path} is of another judge; run `personae judge validate` again")
    return {"file": path.name, **{name: found[name] for name in SHOWN}}
