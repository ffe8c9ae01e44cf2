# Two commands: `make quick` shows a real benchmark table, `make test` passes the tests.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin

# Outside toolboxes whose adapters are tested, each in an environment of its own under .venv; of sbi,
# which takes longest, one algorithm. `make test-toolboxes TOOLBOXES=sbi` tests all of them.
TOOLBOXES ?= bayesflow elfi sbi_npe pyabc pyabcranger

.PHONY: quick test test-slow test-toolboxes lint docs clean

$(VENV)/done: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $@

quick: $(VENV)/done
	$(BIN)/sbibench suite run suites/quick.toml --out results/quick

test: $(VENV)/done
	$(BIN)/pytest -m "not slow" -n 2 --dist loadfile

test-slow: $(VENV)/done
	$(BIN)/pytest -m slow -n 2

test-toolboxes:
	printf '%s\n' $(TOOLBOXES) | PYTHON=$(PYTHON) xargs -P 2 -n 1 bash tests/toolbox.sh

lint: $(VENV)/done
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(VENV)/done
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --site-dir build/docs

clean:
	rm -rf $(VENV) results/quick build
