# The front door: each target installs the packages it needs, configures, builds and runs.
# The second time it does only what has changed. CMake users: see CMakePresets.json.

PREFIX ?= /usr/local
SETUP ?= yes
JOBS ?= $(shell cmake/jobs.sh)

# $(call setup,SECTION…): the packages of these sections of packages.txt.
setup = $(if $(filter no,$(SETUP)),@:,@cmake/setup.sh $(1))
# $(call configure,OPTION…): turns options on in build/, which keeps those that were on before.
configure = @cmake/configure.sh $(1)
# $(call compile,TARGET,THEN): says how many files that are, how long it takes and what comes THEN.
compile = @cmake/announce.sh $(JOBS) "$(1)" "$(2)"; \
  cmake --build build --parallel $(JOBS) $(1:%=--target %)

# Each target that help lists.
.PHONY: $(shell sed -n 's/^\([a-z0-9-]*\):.*\#\#.*/\1/p' $(firstword $(MAKEFILE_LIST)))
.NOTPARALLEL:

build: ## build the program and the libraries (default)
	$(call setup,survey)
	$(call configure)
	$(call compile)

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

setup: ## install the packages for all targets but test-slurm and test-aarch64
	$(call setup,survey study test bench package python docs)

survey: ## find this machine's limits, write tabane-report/ (ARGS=--quick: shorter)
	$(call setup,survey)
	$(call configure)
	$(call compile,tabane,measuring takes two minutes (ARGS=--quick: half a minute))
	build/tabane survey$(REPORT:%= -o %) $(ARGS)

# Words that begin with 1 are one name.
STUDIES = $(subst _,-,$(notdir $(patsubst %/,%,$(wildcard tabane/studies/*/))))

study: ## repeat a published report here (NAME=process-thread ARGS=--quick)
	@$(if $(filter $(words $(NAME))$(NAME),$(STUDIES:%=1%)),:,echo "make study: \
	  NAME='$(NAME)' is no study; use NAME= and one of $(STUDIES)" >&2; exit 2)
	$(call setup,survey study/$(subst -,_,$(NAME)))
	$(call configure)
	$(call compile,tabane tabane_$(subst -,_,$(NAME))_verb,the study begins)
	build/tabane study $(NAME) $(ARGS)

test: ## build and run all tests (ARGS='-R Median': some)
	$(call setup,survey test)
	$(call configure,TABANE_TESTS)
	$(call compile)
	ctest --preset release --parallel $$((3 * $(JOBS))) $(ARGS)

# The suites Algorithms and Wait are left out for their time; the preset tsan runs them, too.
tsan: ## look for data races in comm and team (ThreadSanitizer)
	$(call setup,survey test)
	cmake --preset tsan -DTABANE_TESTS=ON -DTABANE_UNITY=ON >/dev/null
	cmake --build build-tsan --parallel $(JOBS) --target comm_test comm_shm_test team_test
	ctest --preset tsan --parallel $(JOBS) -E 'Algorithms|Wait' \
	  -R '^(comm_shm|team)\.|^comm\.(BoardOnThreads|Channel|DirectCopy|PageSet|Window|World)$$'

mutants: ## weaken each memory order of lock-free parts: does a test notice? (PARTS='wait board')
	$(call setup,survey test)
	$(call configure,TABANE_TESTS)
	$(call compile,tabane_comm,each mutant takes some seconds)
	tests/mutants.py --self-test
	tests/mutants.py build $(PARTS)

bench: ## compare with the peers (ONLY=simd: one question)
	$(call setup,survey bench)
	$(call configure,TABANE_BENCH)
	$(call compile)
	build/bench/tabane_bench $(if $(ONLY),--only $(ONLY)) --output build/bench $(ARGS)

new-study: ## make the folder of a new study (NAME=word-count)
	@cmake/new_slice.sh study "$(NAME)"

new-tool: ## make the folder of a new tool, with a verb of its own
	@cmake/new_slice.sh tool "$(NAME)"

lint: ## check layout, layers, headers and scripts
	$(call setup,survey test)
	cmake/lint.sh

# Programs that use the libraries look for the modules for MPI where tabane was configured to go.
install: ## install into PREFIX (/usr/local), below DESTDIR if set
	$(call setup,survey)
	$(call configure)
	@cmake -DCMAKE_INSTALL_PREFIX="$$(realpath -ms $(PREFIX))" build >/dev/null
	$(call compile)
	cmake --install build

package: ## make Debian packages and a tarball that runs anywhere, in build-package/packages/
	$(call setup,survey package)
	JOBS=$(JOBS) packaging/make.sh

test-package: ## try them in fresh Debians and an Ubuntu (as root)
	$(call setup,package)
	packaging/try.sh

test-slurm: ## run jobs on a Slurm of two nodes in namespaces (as root)
	$(call setup,survey slurm)
	$(call configure)
	$(call compile)
	python3 tests/slurm/slurm_test.py build/tabane build/lib || [ $$? -eq 77 ]

python: ## make the wheel of `pip install .`, and run its example in a fresh environment
	$(call setup,survey python)
	python/wheel_test.sh || [ $$? -eq 77 ]

# What can run there. Not what forks: a thread of QEMU's runs in each process, and a team forks
# beside no other thread. Nor scripts, which start programs, nor fuzzers, which need Clang.
# cmake/aarch64.cmake names other tests that QEMU cannot run.
EMULATED = core simd crypto team comm comm_shm comm_sim solver linpack scg slalom matmul mine \
  encrypt

# The vectors of SVE have 256 bits at first.
test-aarch64: ## run the tests that neither fork nor measure on an emulated aarch64
	$(call setup,survey test aarch64)
	cmake/aarch64_sysroot.sh
	cmake --preset aarch64 -DTABANE_TESTS=ON >/dev/null
	cmake --build build-aarch64 --parallel $(JOBS) --target $(EMULATED:%=%_test)
	QEMU_CPU=max,sve256=on ctest --preset aarch64 --parallel $(JOBS) \
	  -R '^($(subst $(eval) ,|,$(EMULATED)))\.' -E '\.script\.|Fuzzer'
	for bits in 128 512; do QEMU_CPU=max,sve$$bits=on ctest --preset aarch64 -R '^simd\.' || exit; done

docs: ## make the documents as pages that open offline, in build/site/
	$(call setup,survey docs)
	$(call configure)
	$(call compile,tabane_documents)
	docs/site/make.py build build/site

clean: ## remove the build folders of these targets
	cmake -E rm -rf build build-aarch64 build-package build-tsan build-wheel
