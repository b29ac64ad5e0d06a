# make demo and make test need nothing but Python >= 3.11 and pip: they set .venv up by themselves.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test lint docs-check format bench coverage clean

demo: .venv/ready
	$(BIN)/dialoscope score examples/sample.jsonl --suite lexical -o runs/demo --overwrite
	$(BIN)/dialoscope compare runs/demo parrot attentive -m bleu-4 -m distinct-2 -m copying -m rated:coherence
	$(BIN)/dialoscope correlate runs/demo --aspect coherence
	$(BIN)/dialoscope score examples/sample.jsonl -m meteor -m bertscore -m fbd
	echo '{"id": "q", "context": ["My laptop makes a noise like a helicopter. Is that normal?"]}' | $(BIN)/dialoscope augment -
	$(BIN)/dialoscope score examples/sample.jsonl examples/variants.jsonl --suite holistic
	$(BIN)/dialoscope score examples/sample.jsonl -m bleu -m bertscore -m coherence -m composite -o runs/verdict --overwrite
	$(BIN)/dialoscope compare runs/verdict -m composite

test: .venv/ready
	$(BIN)/python -m pytest -n auto --maxprocesses 4 --dist worksteal

coverage: .venv/ready
	$(BIN)/python -m pytest -n auto --maxprocesses 4 --dist worksteal --cov --cov-report=term:skip-covered

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs-check: .venv/ready
	$(BIN)/python scripts/documents.py --check

format: .venv/ready
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: .venv/ready
	$(BIN)/python benchmarks/start.py
	$(BIN)/python benchmarks/lexical.py
	$(BIN)/python benchmarks/memory.py
	$(BIN)/python benchmarks/distribution.py
	$(BIN)/python benchmarks/debiasing.py
	$(BIN)/python benchmarks/intervals.py
	$(BIN)/python benchmarks/comparisons.py
	$(BIN)/python benchmarks/calibration.py
	$(BIN)/python benchmarks/correlation_tests.py
	$(BIN)/python benchmarks/correlations.py
	$(BIN)/python benchmarks/meteor.py
	$(BIN)/python benchmarks/language_model.py
	$(BIN)/python -m pip install --quiet --no-deps bert-score==0.3.13
	$(BIN)/python benchmarks/encoder.py

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Dialoscope needs Python 3.11 or newer; name one with make PYTHON=...")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --constraint constraints.txt --editable '.[dev]'
	touch $@

clean:
	rm -rf .venv .coverage .pytest_cache .mypy_cache .ruff_cache .hypothesis dist build
