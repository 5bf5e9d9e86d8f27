# The front door: each target installs the packages it needs, configures, builds and runs.
# The second time it does only what has changed. CMake users: see CMakePresets.json.

PREFIX ?= /usr/local
REPORT ?= tabane-report
SETUP ?= yes
JOBS ?= $(shell cmake/jobs.sh)

# $(call setup,SECTION…): the packages of these sections of packages.txt.
setup = $(if $(filter no,$(SETUP)),@:,@cmake/setup.sh $(1))
# $(call configure,OPTION…): turns options on in build/, which keeps those that were on before.
configure = @cmake/configure.sh $(1)
compile = cmake --build build --parallel $(JOBS)

.PHONY: build help setup survey test bench lint install clean
.NOTPARALLEL:

build: ## build the program and the libraries (default)
	$(call setup,survey)
	$(call configure)
	@$(compile)

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile

setup: ## install the packages for everything
	$(call setup,survey test bench)

survey: ## find this machine's limits, write tabane-report/ (ARGS=--quick: shorter)
	$(call setup,survey)
	$(call configure)
	@$(compile) --target tabane
	build/tabane survey -o $(REPORT) $(ARGS)

test: ## build and run all tests (ARGS='-R Median': some)
	$(call setup,survey test)
	$(call configure,TABANE_TESTS)
	@$(compile)
	ctest --preset release --parallel $(JOBS) $(ARGS)

bench: ## compare with the peers (ONLY=simd: one question)
	$(call setup,survey bench)
	$(call configure,TABANE_BENCH)
	@$(compile)
	build/bench/tabane_bench $(if $(ONLY),--only $(ONLY)) --output build/bench $(ARGS)

lint: ## check layout, layers, headers and scripts
	$(call setup,survey test)
	cmake/lint.sh

# Programs that use the libraries look for the modules for MPI where tabane was configured to go.
install: ## install into PREFIX (/usr/local), below DESTDIR if set
	$(call setup,survey)
	$(call configure)
	@cmake -DCMAKE_INSTALL_PREFIX="$$(realpath -ms $(PREFIX))" build >/dev/null
	@$(compile)
	cmake --install build

clean: ## remove build/
	cmake -E rm -rf build
