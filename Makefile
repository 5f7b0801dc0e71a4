# Two commands matter: `make book` and `make test`. Both set up what they need.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# All of it, and what the book needs: that has no torch, spaCy, gensim and Dask.
STAMP := $(VENV)/.installed
READ := $(VENV)/.installed-read
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# Every page and many tests are processes of their own: without compiled modules each would compile its libraries anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: install notebooks lab book pdf course zip check test test-quick test-all test-faults bench versions lock clean

install: $(STAMP)

define installed
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(0 if (3, 11) <= v <= (3, 13) else f"Python 3.11 to 3.13 is needed, {v[0]}.{v[1]} was found; name one: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) --no-compile --require-hashes -r $(1)
	$(PIP) --no-build-isolation --no-deps --editable .
endef

$(READ): requirements-read.lock pyproject.toml
	$(call installed,requirements-read.lock)
	@touch $@

$(STAMP): requirements.lock requirements-torch.lock pyproject.toml
	$(call installed,requirements.lock)
	$(PIP) --no-compile -r requirements-torch.lock
	@touch $(READ) $@

notebooks: $(READ)
	$(BIN)/python -m attn_core notebooks

lab: notebooks
	@$(BIN)/python -c 'import jupyterlab' 2> /dev/null || { echo "JupyterLab is not installed; type: $(BIN)/python -m pip install jupyterlab"; exit 1; }
	$(BIN)/python -m jupyterlab notebooks

book: $(READ)
	$(BIN)/python -m attn_core book

pdf: book
	$(BIN)/python -m attn_core pdf

course: book  # notebooks, slides, PDFs, tests and a quiz of five sessions in one archive
	$(BIN)/python -m attn_build.course

zip: book
	cd _build && ../$(BIN)/python -m zipfile -c is-attention-explanation.zip html

check: install  # form, types, who imports whom
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	@! grep -Hn "OWNER" CITATION.cff || echo "before you publish, fill in your own addresses there"

test: install  # for a person: of the pages those that changed, and three always
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not thorough"

test-all: install  # for CI
	$(BIN)/python -m pytest -n 2 --dist worksteal

test-quick: install  # about a minute, for every save
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow"

SEED ?= $(shell date +%s)
test-faults: install  # kills, tampering, lost workers, and random inputs, drawn anew each time: make test-faults SEED=… repeats
	@echo "SEED=$(SEED)"
	ATTN_FAULTS=1 ATTN_SEED=$(SEED) timeout 900 $(BIN)/python -m pytest -n 2 --dist worksteal -m faults --hypothesis-seed=$(SEED)

bench: install
	$(BIN)/python -m benchmarks

versions: install  # lowest and highest of every range, in environments of their own; EXTRA=train takes 5 GB
	$(PIP) uv==0.13.9
	PATH="$(abspath $(BIN)):$$PATH" .ci/versions $(EXTRA)

# Versions that still fit stay; LOCK=--upgrade renews all. For every platform and Python of pyproject.toml at once, with
# the hashes of all files of a release.
UV = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
  --custom-compile-command "make lock" $(LOCK) pyproject.toml --group build --extra book
# When the first file of each release was published, for data/locks.csv.
DATED = $(BIN)/uv pip compile --quiet --no-deps --python-version 3.11 --format pylock.toml
define PUBLISHED
import tomllib
print("package,version,published")
for name in ("_build/pylock.toml", "_build/pylock.torch.toml"):
    for package in tomllib.load(open(name, "rb"))["packages"]:
        files = filter(None, [package.get("sdist"), *package.get("wheels", [])])
        print(package["name"], package["version"], min(file["upload-time"] for file in files).date(), sep=",")
endef
export PUBLISHED
lock: install
	$(PIP) uv==0.13.9
	$(UV) --extra train --extra vectors --extra dev --constraint requirements-torch.lock --no-emit-package torch -o requirements.lock > /dev/null
	$(UV) --constraint requirements.lock -o requirements-read.lock > /dev/null
	@mkdir -p _build
	$(DATED) --universal requirements.lock -o _build/pylock.toml > /dev/null
	$(DATED) requirements-torch.lock -o _build/pylock.torch.toml > /dev/null
	$(BIN)/python -c "$$PUBLISHED" > data/locks.csv

clean:  # notebooks that were edited stay
	if [ -x $(BIN)/python ]; then $(BIN)/python -m attn_core clean; fi
	rm -rf $(VENV) book/status.md $(filter-out _build/executed,$(wildcard _build/* _build/.[!.]*))
