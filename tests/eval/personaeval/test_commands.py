"""`personae judge roleid` and `personae judge curate` as a person types them."""

import json
import os
from pathlib import Path

import pytest

from data_prep.files import write_jsonl
from eval.personaeval.items import KNOWN_SPEAKER, item_row, load_items
from personae.cli import main

REPO = Path(__file__).resolve().parents[3]
SHARED = Path(os.environ.get("PERSONAE_SHARED", REPO / "../shared"))
ROLEID = SHARED / "data" / "roleid" / "items.jsonl"
SCRIPTED = ["engine.engine=scripted", "--allow-scripted"]


@pytest.fixture
def judge(capsys):
    """Run `personae judge ...`: exit code, lines on stdout, lines on stderr."""

    def run(*words):
        try:
            code = main(["judge", *map(str, words)])
        except SystemExit as leaving:
            code = leaving.code
        out, err = capsys.readouterr()
        return code, out.splitlines(), err.splitlines()

    return run


@pytest.fixture
def file_of_items(tmp_path, items):
    path = tmp_path / "items.jsonl"
    write_jsonl(path, map(item_row, items))
    return path


def test_a_run_prints_its_table_and_says_where_the_numbers_are(judge, file_of_items, tmp_path):
    words = ["roleid", file_of_items, "--out", tmp_path / "run", "role.mode=likelihood", *SCRIPTED]
    code, out, _ = judge(*words, "role.rotations=all", "role.shots=3")
    assert code == 0 and out[1].startswith("BASE") and "18" in out[1]
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert metrics["answerers"]["BASE"]["order"]["num_rotated"] == 18
    assert judge(*words, "role.rotations=all", "role.shots=3")[1] == out
    code, _, err = judge(*words)
    assert code == 2 and "begun with other settings" in err[-1]


def test_a_dry_run_counts_and_writes_nothing(judge, file_of_items, tmp_path):
    words = ["roleid", file_of_items, "--out", tmp_path / "run", "--dry-run", *SCRIPTED]
    code, out, _ = judge(*words, "role.samples=3")
    assert code == 0 and out[0] == "24 items, 0 examples before each"
    assert out[1].startswith("72 answers from 72 requests")
    assert not (tmp_path / "run").exists()


def test_answers_that_never_arrive_end_with_parts_failed(judge, file_of_items, tmp_path):
    fault = "engine.scripted.transport_error_fraction=0.5"
    words = ["roleid", file_of_items, "--out", tmp_path / "run", "role.attempts=1", *SCRIPTED]
    code, out, _ = judge(*words, fault)
    assert code == 3 and any("run the same command again" in line for line in out)


def test_adapters_are_named_with_or_without_a_version(
    judge, file_of_items, tmp_path, publish_adapter
):
    folder = publish_adapter(tmp_path / "adapters", "ada", "Ada")
    words = ["roleid", file_of_items, "--adapters", tmp_path / "adapters", "role.mode=likelihood"]
    code, _, _ = judge(*words, "--out", tmp_path / "run", "role.adapters=[ada]", *SCRIPTED)
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert code == 0 and list(metrics["answerers"]) == ["BASE", f"ada@{folder.name}"]
    code, _, err = judge(*words, "--out", tmp_path / "no", "role.adapters=[adda]", *SCRIPTED)
    assert code == 2 and "did you mean 'ada'" in err[-1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["none.jsonl"], "no file 'none.jsonl'"),
        (["role.shot=3"], "unknown setting 'role.shot'"),
    ],
)
def test_a_mistake_is_one_line(judge, file_of_items, tmp_path, words, said):
    code, _, err = judge("roleid", file_of_items, *words, "--out", tmp_path / "run")
    assert code == 2 and len(err) == 1 and said in err[0]


def test_the_scripted_engine_needs_permission(judge, file_of_items, tmp_path):
    words = ["roleid", file_of_items, "--out", tmp_path / "run", "engine.engine=scripted"]
    code, _, err = judge(*words)
    assert code == 2 and "--allow-scripted" in err[0]


def test_a_corpus_becomes_items_and_dropped_records(judge, corpus, tmp_path):
    code, _, err = judge("curate", corpus.folder, "--out", tmp_path / "items")
    assert code == 2 and "write profiles" in err[0]  # one of three people has one


def test_hard_items_are_kept_by_the_results_of_runs(judge, file_of_items, tmp_path):
    for model in ("qwen-a", "llama-b"):
        words = ["roleid", file_of_items, "--out", tmp_path / model, "role.mode=likelihood"]
        assert judge(*words, f"engine.base_model={model}", *SCRIPTED)[0] == 0
    results = ["--results", tmp_path / "qwen-a", "--results", tmp_path / "llama-b"]
    code, out, _ = judge("curate", file_of_items, "--out", tmp_path / "hard", *results)
    kept = load_items([tmp_path / "hard" / "items.jsonl"])
    assert code == 0 and out[0] == f"items: {len(kept)}" and 0 < len(kept) < 24
    assert kept[0].filtered_by == ("qwen-a", "llama-b")
    code, _, err = judge("curate", file_of_items, "--out", tmp_path / "x")
    assert code == 2 and "--results" in err[0]


def test_help_lists_what_there_is_and_has_examples(judge):
    assert any("roleid" in line for line in judge("--help")[1])
    for what in ("roleid", "curate"):
        code, out, _ = judge(what, "--help")
        assert code == 0 and any("examples:" in line for line in out)
    code, _, err = judge("nothing")
    assert code == 2 and "roleid" in err[-1]


@pytest.mark.shared
def test_the_real_items_are_read_and_word_overlap_is_what_their_readme_says(require):
    from eval.personaeval.baselines import word_overlap
    from eval.personaeval.metrics import top_k

    require("shared", ROLEID.exists(), f"{ROLEID} is missing")
    items = load_items([ROLEID])
    assert len(items) == 400 and all(item.can_render for item in items)
    assert not any(KNOWN_SPEAKER in item.tags for item in items)
    right = sum(top_k(word_overlap(item), item.truth_index, 1) for item in items) / 400
    assert right == pytest.approx(0.29, abs=0.02)


@pytest.mark.slow
@pytest.mark.shared
def test_the_packaged_model_answers_real_items_by_likelihood(require, tmp_path):
    from eval.personaeval.config import RoleConfig
    from eval.personaeval.run import run_role_identification
    from serve.engines import EngineConfig, load_engine

    require("shared", ROLEID.exists(), f"{ROLEID} is missing")
    items = load_items([ROLEID])[:8]
    engine = load_engine(EngineConfig(dtype="float32"))
    config = RoleConfig(mode="likelihood", rotations=2)
    metrics = run_role_identification(tmp_path / "a", items, engine, config)
    table = metrics["answerers"]["BASE"]["tracks"]["pooled"]
    assert table["valid_share"] == 1 and table["num_items"] == 8
    again = run_role_identification(tmp_path / "b", items, engine, config)
    assert again == metrics  # a run of its own gives the same numbers
