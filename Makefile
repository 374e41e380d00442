# Every target makes .venv by itself, from requirements.lock. PYTHON=python3.12 chooses the Python.
.DEFAULT_GOAL := help
.PHONY: help demo test engines cluster serve-test docs docs-test lint types mutants audit bench rivals lock clean set-up

RUN := .venv/bin
# Tests start many processes: one that may not keep its bytecode compiles all packages anew, for ten seconds each time.
unexport PYTHONDONTWRITEBYTECODE

help:  ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1  \2/p' Makefile | awk '{ printf "  %s %-10s", $$1, $$2; $$1 = $$2 = ""; print }'

demo: set-up  ## ask the bundled table of real people; show answers, error bars, a picture and the bill
	@$(RUN)/discreet demo

test: set-up  ## run all tests, the examples in the documents and the gates, on all cores (FUZZ=300: more random examples)
	@# A worker that died ends the run: another one in its place could wait for ever for what the first had open.
	@# A worker takes the tests of a file in a row: what they share is made by one of them.
	@$(RUN)/pytest -n auto --dist worksteal --max-worker-restart=0 $(ARGS)

engines: set-up  ## try every engine for real (installs PostgreSQL and Java on Debian if they are missing)
	@sh scripts/try_engines.sh $(ARGS)

cluster: set-up  ## try Spark on a cluster of processes: speculated tasks, lost executors (two minutes)
	@CLUSTER=1 sh scripts/try_engines.sh $(ARGS)

serve-test: set-up  ## try the service from its far ends: browser, clients, fuzzer (installs them on Debian if missing)
	@sh scripts/try_service.sh $(ARGS)

docs: set-up  ## build the site into build/site, without a network
	@sh scripts/build_site.sh

docs-test: set-up  ## build the site and open every page in a browser (installs Chromium on Debian if it is missing)
	@sh scripts/build_site.sh test $(ARGS)

lint: set-up  ## check style and layout of the code
	@$(RUN)/ruff check
	@$(RUN)/ruff format --check

types: set-up  ## check the types
	@$(RUN)/mypy

mutants: set-up  ## plant every fault of tests/mutants.toml; each must be caught by its test (ARGS="--changed main")
	@$(RUN)/python scripts/mutants.py $(ARGS)

audit: set-up  ## attack every mechanism, aggregate and verb at length; the report goes to build/audit (a quarter of an hour)
	@$(RUN)/python scripts/audit.py $(ARGS)

bench: set-up  ## measure speed and tightness, beside raw SQL and beside other accountants
	@$(MAKE) --no-print-directory rivals || echo "Going on without the rivals: make rivals says why."
	@for script in benchmarks/*.py; do PYTHONPATH=scripts $(RUN)/python "$$script" || exit 1; done

rivals: set-up  ## install the accountants that bench compares with, in .venv-rivals
	@[ .venv-rivals/made -nt benchmarks/rivals/requirements.txt ] || { rm -rf .venv-rivals && \
		$(RUN)/python -m venv .venv-rivals && .venv-rivals/bin/python -m pip install --quiet \
		--disable-pip-version-check --requirement benchmarks/rivals/requirements.txt && touch .venv-rivals/made; }

lock: ## renew requirements.lock from pyproject.toml (needs uv)
	@uv --no-config pip compile --quiet --upgrade --universal --generate-hashes --python-version 3.11 --group dev \
		--extra serve --custom-compile-command "make lock" --default-index https://pypi.org/simple \
		--output-file requirements.lock pyproject.toml
	@uv --no-config pip compile --quiet --universal --generate-hashes --python-version 3.11 \
		--extra postgres --extra spark --constraint requirements.lock \
		--custom-compile-command "make lock" --default-index https://pypi.org/simple \
		--output-file requirements-engines.lock pyproject.toml
	@uv --no-config pip compile --quiet --universal --generate-hashes --python-version 3.11 \
		--extra serve --group far-ends --constraint requirements.lock \
		--custom-compile-command "make lock" --default-index https://pypi.org/simple \
		--output-file requirements-serve.lock pyproject.toml
	@uv --no-config pip compile --quiet --universal --generate-hashes --python-version 3.11 \
		--group docs --constraint requirements.lock --constraint requirements-serve.lock \
		--custom-compile-command "make lock" --default-index https://pypi.org/simple \
		--output-file requirements-docs.lock
	@for tool in dbt superset; do uv --no-config pip compile --quiet --universal --generate-hashes --python-version 3.11 \
		--group $$tool --custom-compile-command "make lock" --default-index https://pypi.org/simple \
		--output-file requirements-$$tool.lock || exit 1; done

clean:  ## remove .venv, caches and what the demo wrote
	@rm -rf .venv .venv-engines .venv-rivals .venv-serve .venv-docs .venv-dbt .venv-superset .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist discreet-demo
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

set-up:
	@PYTHON="$(PYTHON)" sh scripts/set_up.sh
