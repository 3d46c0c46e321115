"""Imports point one way, the vocabulary is free of torch, and files stay readable."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LAYERS = ("data_prep", "train", "serve", "eval", "personae")  # each may import those before it
MODULES = sorted(path for layer in LAYERS for path in (ROOT / layer).rglob("*.py"))
VOCABULARY = [
    *(f"data_prep.{name}" for name in ("records", "engine", "prompting", "context", "journal")),
    *(f"data_prep.{name}" for name in ("config", "who", "splits", "sft", "corpus", "prepare")),
    "train.bundle",
]
MAX_LINES = 400


def named(path):
    return path.relative_to(ROOT).as_posix()


def imported_layers(tree):
    """Layers named by imports anywhere in a module, and by texts such as `serve.x:Engine`."""
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "write imports from the root"
            names = [node.module or ""]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            module, colon, _ = node.value.partition(":")
            names = [module] if colon and module.replace(".", "").replace("_", "").isalnum() else []
            names = [name for name in names if "." in name]
        elif isinstance(node, ast.JoinedStr) and isinstance(node.values[0], ast.Constant):
            start = str(node.values[0].value)  # f"personae.commands.{name}:run"
            names = [start] if start.endswith(".") and " " not in start else []
        yield from ((name.split(".")[0], node.lineno) for name in names if name)


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_a_package_imports_only_packages_above_it(path):
    layer = path.relative_to(ROOT).parts[0]
    below = LAYERS[LAYERS.index(layer) + 1 :]
    wrong = [(name, line) for name, line in imported_layers(parse(path)) if name in below]
    assert not wrong


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_a_module_says_why_it_exists(path):
    tree = parse(path)
    docstring = ast.get_docstring(tree) or ""
    first_line = docstring.split("\n")[0]
    assert len(first_line.split()) >= 3 or first_line.startswith("`personae "), first_line
    assert isinstance(tree.body[0], ast.Expr), "the docstring comes first"


def test_the_import_finder_sees_lazy_imports_and_registries():
    source = """
def late():
    from eval.judging import Judge
ENGINES = {"vllm": "serve.engines.vllm:VLLMEngine"}
run = resolve(f"personae.commands.{name}:run")
"""
    assert {name for name, _ in imported_layers(ast.parse(source))} == {"eval", "serve", "personae"}


def test_files_are_short_and_none_is_called_utils():
    lengths = {named(path): path.read_text("utf-8").count("\n") for path in MODULES}
    assert not {name: count for name, count in lengths.items() if count > MAX_LINES}
    assert not [name for name in lengths if Path(name).stem in {"utils", "util", "helpers", "misc"}]


def test_tests_have_no_packages():
    assert not list((ROOT / "tests").rglob("__init__.py"))


def test_the_vocabulary_is_free_of_torch():
    loaded = modules_after(f"import {', '.join(VOCABULARY)}")
    assert not loaded & {"torch", "transformers", "peft", "trl", "datasets", "numpy"}


def test_choosing_an_engine_or_a_judge_imports_no_model_library():
    loaded = modules_after("import serve.engines, serve.answerers, eval.run, train.jobs, train.run")
    assert not loaded & {"torch", "transformers", "peft", "trl", "vllm", "openai"}


def test_help_imports_neither_pydantic_nor_torch():
    code = "from personae.cli import main\nassert main([]) == 0"
    assert not modules_after(code) & {"pydantic", "yaml", "torch", "data_prep", "numpy"}


@pytest.mark.parametrize("command", ["prep", "train", "ask", "eval", "judge", "report", "demo"])
def test_help_of_a_command_imports_no_model_library(command):
    code = f"""
from personae.cli import main
try:
    main(["{command}", "--help"])
except SystemExit as leaving:
    assert leaving.code == 0
"""
    assert not modules_after(code) & {"pydantic", "torch", "transformers"}


def modules_after(code):
    """Top-level modules that are loaded once `code` has run in a fresh interpreter."""
    report = "import sys; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    found = subprocess.run(
        [sys.executable, "-c", f"{code}\n{report}"],
        cwd=ROOT, capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    return set(found.stdout.splitlines()[-1].split())


def parse(path):
    return ast.parse(path.read_text(encoding="utf-8"))
