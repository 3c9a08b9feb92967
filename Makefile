# Everything a newcomer needs. The virtual environment and the extension are built once and again only when their sources change.
SHELL := /bin/bash
PYTHON ?= python3
BIN := .venv/bin
RUST := $(shell find crates kernel -name '*.rs' -o -name Cargo.toml -o -name '*.[ch]') Cargo.toml Cargo.lock
# Controllers in C run in the simulator on Linux.
NATIVE := $(shell test "$$(uname)" = Linux && echo native)
# Live runs and controllers for the kernel are built in where what they need is there: Linux, clang, and libelf and zlib with headers.
LIVE := $(shell test "$$(uname)" = Linux && command -v clang >/dev/null && pkg-config --exists libelf zlib && echo live)
# The engine `quic` takes some twenty crates more: `make build QUIC=1` has it, and so have other targets with QUIC=1.
# QLOG=1 has the log of its stack as well, which takes a dozen more. Once built in they stay, until QUIC=0 or QLOG=0 leaves them out.
QUIC ?= $(if $(wildcard .venv/.with-*-quic*),1)
QLOG ?= $(if $(wildcard .venv/.with-*-qlog),1)
ON_QLOG := $(if $(filter-out 0,$(QLOG)),qlog)
# QUICHE=1 tests quiche as well, which compiles BoringSSL for minutes, with cmake and libclang.
QUICHE ?=
ON_QUICHE := $(filter-out 0,$(QUICHE))
export QUICHE
ON_QUIC := $(if $(ON_QLOG)$(filter-out 0,$(QUIC)),quic)
FEATURES := --no-default-features $(foreach feature,$(NATIVE) $(LIVE) $(ON_QUIC) $(ON_QLOG),--features $(feature))
# Its name says what is built in: a tool that appears or vanishes leaves it missing, and the extension is built again.
BUILT_IN := .venv/.with-$(or $(NATIVE),no)-$(or $(LIVE),no)$(ON_QUIC:%=-%)$(ON_QLOG:%=-%)
WORKSPACE := --workspace $(if $(NATIVE),,--exclude ackclock-shim) $(if $(LIVE),,--exclude ackclock-live --exclude ackclock-kernel) \
	$(if $(ON_QUIC),,--exclude ackclock-quic --exclude ackclock-noq --exclude ackclock-quinn) \
	--exclude ackclock-quiche
# What crates have beyond what other crates ask of them: without it, its tests are not compiled.
TESTED := $(if $(ON_QUIC),$(NATIVE:%=--features ackclock-shim/stacks) $(LIVE:%=--features ackclock-live/quic)) \
	$(ON_QLOG:%=--features ackclock-quic/%)

.PHONY: build demo test test-rust test-optional test-python lock snapshots tables lint format mutants miri fuzz bench papers docs playground crates minimum print-minimum release sdist wheel clean

build: .venv/.built

# The command needs a part of what tests, pages and the linters need, so `make demo` installs that part alone.
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -r
.venv/.installed: requirements.lock
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(INSTALL) $<
	touch $@

.venv/.developing: requirements-dev.lock | .venv/.installed
	$(INSTALL) $<
	touch $@

# Pins the newest versions that the oldest Python takes; those that are pinned stay where they can. UPGRADE=1 renews them.
lock: .venv/.developing
	$(BIN)/uv pip compile --quiet $(UPGRADE:%=--upgrade) pyproject.toml --group build --output-file requirements.lock
	$(BIN)/uv pip compile --quiet $(UPGRADE:%=--upgrade) pyproject.toml --group test --constraints requirements.lock \
		--output-file requirements-dev.lock

$(BUILT_IN): | .venv/.installed
	rm -f .venv/.with-*
	touch $@

.venv/.built: .venv/.installed $(BUILT_IN) $(RUST)
	PIP_QUIET=1 $(BIN)/maturin develop --release --quiet $(FEATURES)
	touch $@

demo: build
	$(BIN)/ackclock reproduce cdg2011-fig4 --out reports/demo --force

test: test-rust test-python
	@.ci/left-out "$(LIVE)" "$(ON_QUIC)" "$(ON_QLOG)" $(ON_QUICHE)

test-rust:
	cargo test $(WORKSPACE) --exclude ackclock-python $(TESTED) --quiet

# What a machine adds that has more than the README names, where `make test` has passed without: SKIPPED lists the Python
# tests that skipped there, as `pytest --skipped=FILE` writes them.
SKIPPED ?= skipped.txt
OPTIONAL := $(if $(LIVE),live kernel) $(if $(ON_QUIC),quic noq quinn $(NATIVE:%=shim))
# One call compiles everything once; tshark reads the captures of two more crates.
test-optional: build .venv/.developing
	cargo test --quiet $(TESTED) $(OPTIONAL:%=--package ackclock-%) --package ackclock-record --package ackclock-sim --lib \
		$(addprefix --test ,$(sort $(basename $(notdir $(wildcard $(OPTIONAL:%=crates/%/tests/*.rs)))) tshark capture))
	$(MAKE) --no-print-directory test-python TESTS=@$(SKIPPED)
	@.ci/left-out "$(LIVE)" "$(ON_QUIC)" "$(ON_QLOG)" $(ON_QUICHE)

# TESTS=@FILE runs those that FILE lists.
TESTS ?=
test-python: build .venv/.developing
	$(BIN)/pytest --quiet --numprocesses logical --dist loadscope --no-loadscope-reorder $(TESTS)

# Writes what a new controller, queue, signal or key adds to snapshots, schema, sources and measurements. Look at the difference.
snapshots: build .venv/.developing
	INSTA_UPDATE=always cargo test --quiet -p ackclock-control --test trajectories --test signals --test recorded
	INSTA_UPDATE=always cargo test --quiet -p ackclock-network --test recorded --lib -- recorded reviewed
	INSTA_UPDATE=always cargo test --quiet -p ackclock-transport --test profiles --test feedback --lib -- recorded profiles reviewed
	INSTA_UPDATE=always cargo test --quiet -p ackclock-sim --test golden --test determinism --test media
	INSTA_UPDATE=always cargo test --quiet -p ackclock-scenario --test language
	PYTHONPATH=tools $(BIN)/python -m written
	UPDATE_DOCS=1 $(BIN)/pytest --quiet tests/python/test_artists.py tests/python/test_neighbours.py tests/python/test_checks_of_ours.py
	$(MAKE) --no-print-directory tables

# Writes the tables of the pages anew, from the program and from measurements/.
tables: build
	PYTHONPATH=tools $(BIN)/python -m pages

# Web pages run the simulator as WebAssembly.
WASM := wasm32-unknown-unknown
HAS_WASM := [ -d "$$(rustc --print target-libdir --target $(WASM))" ]

# Checks the workflows; a module of Go, as its Python package downloads a program from elsewhere.
ACTIONLINT := github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
lint: build .venv/.developing
	cargo fmt --all --check
	cargo fmt --manifest-path fuzz/Cargo.toml --check
	cargo fmt --manifest-path witness/str0m/Cargo.toml --check
	.ci/check_sources.py
	cargo clippy $(WORKSPACE) $(NATIVE:%=--features ackclock-python/%) $(LIVE:%=--features ackclock-python/%) \
		$(ON_QUIC:%=--features ackclock-python/%) --all-targets --quiet \
		-- -D warnings
	cargo clippy --package ackclock-python --no-default-features --quiet -- -D warnings
	$(if $(ON_QUICHE),cargo clippy --package ackclock-quiche --quiet -- -D warnings)
	$(if $(ON_QLOG),cargo clippy --package ackclock-quic --features qlog --all-targets --quiet -- -D warnings)
	@if $(HAS_WASM); then echo "cargo clippy --package ackclock-wasm"; \
		cargo clippy --package ackclock-wasm --target $(WASM) --quiet -- -D warnings; \
	else echo "left out: clippy for web pages. It needs a target of Rust: rustup target add $(WASM)."; fi
	$(BIN)/ruff check python tests papers suites tools witness fuzz .ci
	$(BIN)/ruff format --check python tests papers suites tools witness fuzz .ci
	$(BIN)/mypy
	@if command -v go >/dev/null; then go run $(ACTIONLINT); else echo "left out: actionlint. It needs go: apt install golang-go."; fi

format: .venv/.developing
	cargo fmt --all
	cargo fmt --manifest-path fuzz/Cargo.toml
	cargo fmt --manifest-path witness/str0m/Cargo.toml
	$(BIN)/ruff format python tests papers suites tools witness fuzz .ci
	$(BIN)/ruff check --fix python tests papers suites tools witness fuzz .ci

# How many of a sample of broken versions the tests of a crate notice, or of the Python package: hours for all, and no part
# of `make test`.
SEED ?= 1
CRATES ?=
mutants:
	PYTHONPATH=tools $(PYTHON) -m mutants $(CRATES) --seed $(SEED)

# Undefined behaviour and leaks in the tests of the table of plug-ins and the slot heap. Miri is a part of the nightly
# compiler. It cannot call the system, a shared object or the kernel, as the unsafe code of the other crates does.
MIRI := PROPTEST_CASES=8 MIRIFLAGS="-Zmiri-disable-isolation $(MIRIFLAGS)" cargo +nightly miri test --quiet --target-dir target/miri
miri:
	$(MIRI) --package ackclock-plugin
	$(MIRI) --package ackclock-network --lib slot_heap

# Coverage-guided fuzzers, each for so many seconds: readers and state machines in Rust, readers in Python. A finding is a
# file in fuzz/, and FUZZERS=tc goes on with one. The tests replay fuzz/corpora without instrumentation. libFuzzer takes
# coverage from passes that the stable compiler has.
TIME ?= 60
IN_RUST := scenario runs tables tc endpoints $(NATIVE:%=plugins)
FUZZERS ?= $(IN_RUST) scripts captures logs
FUZZ_FLAGS := --cfg fuzzing -Cpasses=sancov-module $(addprefix -Cllvm-args=-sanitizer-coverage-,\
	level=4 inline-8bit-counters pc-table trace-compares)
FUZZ_HOST = $(shell rustc --print host-tuple)
fuzz: build
	$(if $(filter $(IN_RUST),$(FUZZERS)),RUSTFLAGS="$(FUZZ_FLAGS)" cargo build --quiet --release --target $(FUZZ_HOST) \
		--manifest-path fuzz/Cargo.toml --target-dir target/fuzz $(addprefix --bin ,$(filter $(IN_RUST),$(FUZZERS))))
	test -d target/fuzz/python || $(BIN)/python -m pip install --quiet --no-deps --target target/fuzz/python atheris==3.0.0
	set -e; for fuzzer in $(FUZZERS); do \
		echo "$$fuzzer: $(TIME) s"; \
		mkdir -p target/fuzz/found/$$fuzzer; \
		case " $(IN_RUST) " in \
			*" $$fuzzer "*) program="target/fuzz/$(FUZZ_HOST)/release/$$fuzzer";; \
			*) program="env PYTHONPATH=target/fuzz/python $(BIN)/python fuzz/instrumented.py $$fuzzer";; \
		esac; \
		$$program -max_total_time=$(TIME) -timeout=25 -rss_limit_mb=4096 -artifact_prefix=fuzz/$$fuzzer- -verbosity=0 \
			-print_final_stats=1 target/fuzz/found/$$fuzzer fuzz/corpora/$$fuzzer; \
	done

bench: build
	$(BIN)/ackclock bench

papers: build .venv/.developing
	$(BIN)/ackclock reproduce --out reports/papers --force

docs: build .venv/.developing
	PYTHONPATH=tools $(BIN)/python -m pages.lessons
	$(BIN)/zensical build --strict
	$(MAKE) --no-print-directory playground
	@[ -e $(PLAYGROUND) ] || PYTHONPATH=tools $(BIN)/python -m playground.absent $(PLAYGROUND)
	PYTHONPATH=tools $(BIN)/python -m pages.offline site site/offline.zip

# One file with the simulator in it.
PLAYGROUND := site/playground/app.html
playground: build .venv/.developing
	@command -v wasm-opt >/dev/null || echo "left out: wasm-opt, which makes the playground smaller. It needs apt install binaryen."
	@if $(HAS_WASM); then \
		cargo build --quiet --locked --profile wasm --target $(WASM) --package ackclock-wasm && \
		PYTHONPATH=tools $(BIN)/python -m playground $${CARGO_TARGET_DIR:-target}/$(WASM)/wasm/playground.wasm $(PLAYGROUND); \
	else echo "left out: the playground. It needs a target of Rust: rustup target add $(WASM)."; fi

# The crates for others, packed as a registry gets them; and compiled by the oldest Rust that they promise.
PUBLISHED := $(patsubst %,--package ackclock-%,units control network record transport scenario engine sim)
MINIMUM := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' crates/units/Cargo.toml)
crates:
	cargo package --no-verify --allow-dirty --quiet $(PUBLISHED)

print-minimum:
	@echo $(MINIMUM)

minimum:
	RUSTUP_TOOLCHAIN=$(MINIMUM) CARGO_TARGET_DIR=target/minimum cargo check --quiet $(PUBLISHED)

# Writes the version into all files, and commits. RELEASING.md has the rest.
release:
	PYTHONPATH=tools $(PYTHON) -m release cut $(VERSION)

# Built from the sdist, so that both are tried. Zig links against the glibc of 2014: such a wheel runs on every Linux since.
# Where the tools for libelf and zlib are, these are built from their sources, and live runs are in the wheel.
WHEELS ?= target/wheels
WHEEL_TOOLS := maturin==1.16.0 ziglang==0.17.1
WHEEL_FEATURES := --no-default-features --features native $(if $(LIVE),$(shell \
	for tool in autoreconf autopoint flex bison gawk; do command -v $$tool >/dev/null || exit 0; done; echo --features vendored))
ZIG := target/zig

$(ZIG)/.installed: Makefile
	$(PYTHON) -m venv $(ZIG)
	$(ZIG)/bin/python -m pip install --quiet --disable-pip-version-check $(WHEEL_TOOLS)
	touch $@

# The licences of the crates go along. Files of the archive always have the same time, by which Cargo would take an older build for theirs: -m gives them that of now.
sdist: $(ZIG)/.installed
	rm -rf target/sdist && mkdir -p target/sdist $(WHEELS)
	PYTHONPATH=tools $(PYTHON) -m licences python/ackclock/licences.txt
	$(ZIG)/bin/maturin sdist --out target/sdist
	tar -xzmf target/sdist/ackclock-*.tar.gz -C target/sdist
	cp target/sdist/ackclock-*.tar.gz $(WHEELS)

# The wheel appears only when it is complete. A linker of the environment would take the place of Zig.
wheel: sdist
	cd target/sdist/ackclock-*/ && env -u RUSTFLAGS -u CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUSTFLAGS \
		CARGO_TARGET_DIR="$(CURDIR)/target" PATH="$(CURDIR)/$(ZIG)/bin:$$PATH" maturin build --release --zig --compatibility manylinux2014 \
		--target $(shell uname -m)-unknown-linux-gnu $(WHEEL_FEATURES) --out "$(CURDIR)/target/sdist"
	cp target/sdist/ackclock-*.whl $(WHEELS)

clean:
	rm -rf target .venv reports site .cache
