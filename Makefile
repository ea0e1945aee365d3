# Every target sets up .venv first if pyproject.toml is newer than the last set-up, and does nothing for it otherwise.
# To choose the interpreter of .venv: make PYTHON=python3.12 (or set PYTHON in the environment).

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
OLD_PYTHON := Concord needs Python 3.11 or newer, and $(PYTHON) is older or absent: try make PYTHON=python3.11
NO_VENV := $(PYTHON) cannot make virtual environments: install the venv package of your system, such as python3-venv

ORDERING ?= pairwise
SCHEDULES ?= 200000
WHOLE ?= 10000
RUNS ?= 3000
ROUTING ?= covering+simple
SEED ?= 0
JOBS ?= 2
MINUTES ?= 10

# One worker goes through the tests that take turns, one waits for Spark (tests/conftest.py), and one computes.
SHARED := --quiet -n 3

INSTALL := $(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check
COMPILED := build/compiled
HOT_TESTS := $(addprefix tests/,broker/client broker/core broker/filters broker/matching broker/node broker/station broker/wire harness/explorer/test_mutants.py ordering test_forms.py)

# What pages say: links, anchors, rules, limits, commands, programs, and the site with its search.
DOCUMENTS := $(addprefix tests/test_,documents.py commands_shown.py readme.py results_age.py site.py snippets.py tried.py)

# What `make check` runs, `make test` leaves out: rules, what pages say, and what is packed.
CHECKED := tests/test_imports.py tests/test_javascript.py tests/test_tidy.py tests/concord/test_wheel.py $(DOCUMENTS)

.DELETE_ON_ERROR:
.PHONY: attack compiled docs help pure run test test-compiled search check format bench explore worlds strategies examples fuzz soak evaluation evaluation-routing results-age spark clean

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 27

run: $(READY) ## compare four orderings on a small overlay, judge them, and write a report
	@$(BIN)/concord harness compare quick --out runs/quick --replace --orderings pairwise,fifo,sequencer,published

test: $(READY) ## run the test suite but what `make check` runs, with the same examples every time
	@$(BIN)/python -m pytest $(SHARED) $(addprefix --ignore=,$(CHECKED))

test-compiled: $(READY) ## run the tests of the hot path and some schedules against the compiled form, built beside the sources
	@CONCORD_COMPILED=1 $(INSTALL) --no-deps --upgrade --target $(COMPILED) .
	@PYTHONPATH=$(COMPILED) $(BIN)/concord --version | grep --fixed-strings '(compiled)'
	@$(BIN)/python -m pytest $(SHARED) --override-ini pythonpath='$(COMPILED) .' $(HOT_TESTS)
	@for faults in none churn crash; do \
	  PYTHONPATH=$(COMPILED) $(BIN)/concord harness explore --faults $$faults --schedules 3000 --jobs $(JOBS) || exit 1; \
	  PYTHONPATH=$(COMPILED) $(BIN)/concord harness explore --whole --faults $$faults --schedules 300 --jobs $(JOBS) || exit 1; \
	done

compiled: $(READY) ## build the hot path as machine code in place, to be built again after a change; `make pure` goes back
	@CONCORD_COMPILED=1 $(INSTALL) --no-deps --editable .

pure: ## remove the machine code of `make compiled`
	@find broker ordering -name '*.so' -delete

search: $(READY) ## run the whole test suite with examples that are drawn anew
	@$(BIN)/python -m pytest $(SHARED) --hypothesis-profile search

check: $(READY) ## check format, lint, types, the rules of the house, and the documents
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/python -m pytest $(SHARED) $(CHECKED)

format: $(READY) ## rewrite the sources in the one format, and repair what lint can repair
	@$(BIN)/ruff format --quiet .
	@$(BIN)/ruff check --quiet --fix .

bench: $(READY) ## measure matching, throughput and latency, and print a table of each
	@$(BIN)/python -m harness.benchmarks

explore: $(READY) ## let simulated brokers go through many schedules (ORDERING=... ROUTING=... SCHEDULES=... WHOLE=... SEED=... JOBS=...)
	@for faults in none churn crash healing lift lower move lower+losses move+losses; do \
	  $(BIN)/concord harness explore --faults $$faults --ordering $(ORDERING) --routing $(ROUTING) --schedules $(SCHEDULES) --seed $(SEED) --jobs $(JOBS) || exit 1; \
	done
	@for faults in lift lower move lower+losses move+losses; do \
	  $(BIN)/concord harness explore --faults $$faults --ordering $(ORDERING) --routing simple --schedules $(SCHEDULES) --seed $(SEED) --jobs $(JOBS) || exit 1; \
	done
	@for faults in none churn crash move lift restart loss roam hostile; do \
	  $(BIN)/concord harness explore --whole --faults $$faults --ordering $(ORDERING) --routing $(ROUTING) --schedules $(WHOLE) --seed $(SEED) --jobs $(JOBS) || exit 1; \
	done

strategies: $(READY) ## let every pair of routing strategies go through churn, and look at every table (RUNS=... SEED=... JOBS=...)
	@$(BIN)/python -m harness.explorer.strategies --runs $(RUNS) --seed $(SEED) --jobs $(JOBS)

worlds: $(READY) ## explore small worlds exhaustively: every interleaving, up to equal states
	@$(BIN)/python -m harness.explorer.worlds
	@$(BIN)/python -m harness.explorer.healing_worlds --brokers 3 --steps 5 --jobs $(JOBS)

examples: $(READY) ## let bots play and trade for a minute, and again while brokers are killed, and count disagreements
	@$(BIN)/python -m examples.pages.measure
	@$(BIN)/python -m examples.pages.measure --kill
	@$(BIN)/python -m examples.pages.measure --bots 100

attack: $(READY) ## attack real brokers, and measure what honest clients get beside each attack (ARGUMENTS=...)
	@$(BIN)/python -m harness.attacks $(ARGUMENTS)

fuzz: $(READY) ## throw damaged frames, journals, filters, TOML, JSON lines and requests at what reads them (SECONDS=...)
	@$(BIN)/python -m harness.fuzz $(if $(SECONDS),--seconds $(SECONDS)) --corpus tests/harness/fuzz/filters.txt

soak: $(READY) ## kill brokers with journals every second, under load (MINUTES=...)
	@$(BIN)/python -m harness.soak --minutes $(MINUTES) --out runs/soak

docs: $(READY) ## build the documentation site into build/site, with warnings as errors
	@$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going --jobs 2 docs build/site

results-age: $(READY) ## say which pages of docs/results are older than the code that they measure
	@$(BIN)/python -m harness.results

evaluation: $(READY) ## perform experiments after the paper's and write docs/results/evaluation.md; goes on where it was interrupted (ARGUMENTS=--list)
	@$(BIN)/python -m harness.evaluation $(ARGUMENTS)

spark: $(READY) ## ship the analysis with spark-submit to a small Spark cluster, and check what it finds
	@$(BIN)/python -m harness.analysis.shipping

evaluation-routing: $(READY) ## measure every routing strategy on 107 brokers and write docs/results/routing.md (ARGUMENTS=--quick)
	@$(BIN)/python -m harness.evaluation.routing $(ARGUMENTS)

clean: pure ## remove caches, builds and results; .venv stays
	@rm -rf build dist runs .hypothesis .mypy_cache .pytest_cache .ruff_cache ./*.egg-info
	@find concord broker ordering harness examples tests -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamp is written last, so an interrupted set-up starts over.
$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { echo "$(OLD_PYTHON)" >&2; exit 1; }
	@.ci/tools
	@$(PYTHON) -m venv $(VENV) >/dev/null || { echo "$(NO_VENV)" >&2; exit 1; }
	@$(INSTALL) --editable '.[test]'
	@touch $@
