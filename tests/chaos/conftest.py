"""Parts of the chaos tests: the command, random moments, raw interviews and their corpus."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
import yaml

from tests.chaos.harness import DONE, Personae, copy_code
from tests.chaos.people import NAMES, write_people


@pytest.fixture(scope="session")
def code(tmp_path_factory) -> Path:
    return copy_code(tmp_path_factory.mktemp("code"))


@pytest.fixture(scope="session")
def cache(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("chaos-cache")


@pytest.fixture
def personae(code, cache, tmp_path) -> Personae:
    """The command, in this test's own folder."""
    return Personae(code, cache, tmp_path)


@pytest.fixture
def chance(request) -> random.Random:
    """Where random moments come from; a failure shows the seed."""
    seed = os.environ.get("CHAOS_SEED", "0")
    print(f"again with the same moments: CHAOS_SEED={seed} pytest '{request.node.nodeid}'")
    return random.Random(f"{seed} {request.node.name}")


@pytest.fixture(scope="session")
def raw(tmp_path_factory) -> Path:
    """Six people with eight interviews each, and a document that is none. Read only."""
    raw = write_people(
        tmp_path_factory.mktemp("six") / "raw", NAMES, num_interviews=8, num_exchanges=8
    )
    (raw / "ada-quill" / "2011-01-01_bill.txt").write_text("Two chairs, one lamp. Paid.\n")
    return raw


@pytest.fixture(scope="session")
def prepared(raw, code, cache, tmp_path_factory) -> Path:
    """The corpus of `raw` as an undisturbed run leaves it. Read only."""
    folder = tmp_path_factory.mktemp("undisturbed")
    ended = Personae(code, cache, folder).run("prep", raw, "--out", "corpus")
    assert ended.code == DONE, ended.err
    return folder / "corpus"


METHODS = ("base:{persona}", "base:{persona}+chronological-5", "base:{persona}+random-5")


@pytest.fixture(scope="session")
def eval_config(prepared, tmp_path_factory) -> Path:
    """An evaluation whose replies are made up, each after a moment, and some fail."""
    slowly = {"delay_seconds": 0.001, "refusal_fraction": 0.02, "truncation_fraction": 0.05}
    judge = {"engine": "scripted", "base_model": "a judge", "scripted": slowly}
    config = {
        "corpus": str(prepared),
        "out": "run",
        "engine": {"engine": "scripted", "scripted": slowly},
        "eval": {
            "methods": list(METHODS),
            "primary": METHODS[-1],
            "judge": {"name": "made up", "engine": judge},
        },
    }
    path = tmp_path_factory.mktemp("config") / "eval.yaml"
    path.write_text(yaml.safe_dump(config))
    return path


@pytest.fixture(scope="session")
def evaluated(code, cache, eval_config, tmp_path_factory) -> Path:
    """The run that `eval_config` makes undisturbed. Read only."""
    folder = tmp_path_factory.mktemp("undisturbed-eval")
    ended = Personae(code, cache, folder).run("eval", eval_config, "--allow-scripted")
    assert ended.code == DONE, ended.err
    return folder / "run"
