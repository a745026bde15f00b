# make demo    builds the command line and shows it on a real wind field
# make test    formatting, lints, Python checks, all tests
# make bench   ratio, speed and what is kept, for both modes and three bounds
#
# Each sets up what it needs first: Debian packages for programs that are missing (apt-get, with sudo if
# need be), and numpy in .venv. A Rust toolchain must be there.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.DEFAULT_GOAL := help
.PHONY: help demo test bench toolchain packages python lints checks clean

PYTHON := $(CURDIR)/.venv/bin/python
PICTURE := target/demo/wind_global.png
# make bench U=path V=path DIMS=NXxNY measures another field.
U := data/wind_global/u.f32
V := data/wind_global/v.f32
DIMS := 360x181

# Installs what is missing of a list of program:package.
define install_missing
missing=()
for pair in $(1); do
  command -v "$${pair%%:*}" > /dev/null || missing+=("$${pair##*:}")
done
if (( $${#missing[@]} )); then
  echo "== installing $${missing[*]}"
  as_root=()
  if (( EUID )); then as_root=(sudo); fi
  command -v apt-get > /dev/null || { echo "make: please install $${missing[*]}: there is no apt-get here to do it" >&2; exit 1; }
  if (( EUID )) && ! command -v sudo > /dev/null; then
    echo "make: please install $${missing[*]} as root: there is no sudo here to do it" >&2; exit 1
  fi
  { "$${as_root[@]}" apt-get update -qq && DEBIAN_FRONTEND=noninteractive "$${as_root[@]}" apt-get install -y -qq --no-install-recommends "$${missing[@]}"; } \
    || { echo "make: apt-get could not install $${missing[*]}; please install them by hand" >&2; exit 1; }
fi
endef

help:
	@sed -n '1,/^$$/s/^# \{0,1\}//p' Makefile

demo: toolchain
	@echo "== building the command line (a minute or two at first)"
	cargo build --release --features cli --bin factz
	echo "== compressing, decompressing and verifying"
	cargo run --quiet --release --features cli --bin factz -- demo --picture $(PICTURE)

bench: toolchain
	@cargo build --release --features cli --bin factz
	cargo run --quiet --release --features cli --bin factz -- bench "$(U)" "$(V)" --dims $(DIMS)

# The tests come last, so that the runner's summary ends the output.
test: toolchain packages python lints checks
	@export FACTZ_PYTHON="$(PYTHON)" PATH="$(dir $(PYTHON)):$$PATH"
	if cargo nextest --version > /dev/null 2>&1; then
	  echo "== tests on a CUDA device, if there is one"
	  cargo test --profile checked --all-features --test gpu
	  echo "== tests (cargo nextest, optimised, with debug assertions)"
	  # The GPU tests have a runner of their own, which nextest cannot list.
	  names=(tests/*.rs)
	  names=("$${names[@]#tests/}")
	  wanted=()
	  for name in "$${names[@]%.rs}"; do
	    if [[ $$name != gpu ]]; then wanted+=(--test "$$name"); fi
	  done
	  cargo nextest run --no-fail-fast --cargo-profile checked --all-features --lib --bins "$${wanted[@]}"
	else
	  echo "== tests (cargo test, optimised, with debug assertions)"
	  cargo test --no-fail-fast --profile checked --all-features
	fi

toolchain:
	@command -v cargo > /dev/null || { echo "make: cargo is missing: install Rust 1.86 or later (https://rustup.rs)" >&2; exit 1; }
	$(call install_missing,cc:gcc)

packages:
	@$(call install_missing,gcc:gcc g++:g++ nm:binutils valgrind:valgrind gfortran:gfortran cmake:cmake pkg-config:pkg-config mpicc:libopenmpi-dev mpirun:openmpi-bin clang-format:clang-format)

python:
	@$(call install_missing,python3:python3)
	if ! $(PYTHON) -c 'import numpy' 2> /dev/null; then
	  if ! python3 -c 'import ensurepip, venv' 2> /dev/null; then
	    $(call install_missing,python3-venv-is-missing:python3-venv)
	  fi
	  echo "== setting up .venv with numpy"
	  python3 -m venv --system-site-packages .venv
	  $(PYTHON) -c 'import numpy' 2> /dev/null || $(PYTHON) -m pip install --quiet --disable-pip-version-check numpy \
	    || { echo "make: pip could not install numpy into .venv; install it (Debian: python3-numpy) and run again" >&2; exit 1; }
	fi

lints:
	@for tool in fmt clippy; do
	  cargo $$tool --version > /dev/null 2>&1 && continue
	  component=$${tool/fmt/rustfmt}
	  command -v rustup > /dev/null || { echo "make: cargo $$tool is missing: install your toolchain's $$component" >&2; exit 1; }
	  rustup component add $$component
	done
	echo "== formatting"
	cargo fmt --check
	echo "== lints"
	cargo clippy --quiet --all-targets --all-features -- -D warnings

checks:
	@echo "== Python checks"
	$(PYTHON) -m py_compile tests/*.py examples-c/*.py cmake/spack/*.py
	$(PYTHON) tests/verify_batch.py --self-test
	examples-c/gpu/compile.sh include target/examples-c-gpu

clean:
	@cargo clean
	rm -rf .venv
