#!/bin/sh
# Makes the static library that CMake installs from the one that cargo builds:
#
#     cmake/static_library.sh target/release/libfactz.a libfactz.a [--keep-debug]
#
# cargo's archive also defines the functions of the Rust library, among them sqrt, fmod, cbrt and fma. A
# program that links it computes with them instead of those of its own libm, and clashes with other Rust
# libraries. Here all objects become one, in which only factz_* is global. What no function of factz.h reaches
# is left out. Functions stay in sections of their own, so that a program's --gc-sections works, and keep their
# names for profilers.
#
# GNU binutils 2.30 or later do the work; LD, OBJCOPY, NM and AR name other programs than those in PATH.
# `static_library.sh --check` says what is missing.
set -eu

stop() {
    echo "static_library.sh: $*" >&2
    exit 1
}

case "$#:${3-}" in
    2: | 3:--keep-debug) ;;
    *) [ "$*" = --check ] || stop "usage: static_library.sh CARGO_LIBRARY OUTPUT [--keep-debug]" ;;
esac

# Other linkers may be called ld, and cannot do it.
if [ -z "${LD-}" ]; then
    LD=ld
    if command -v ld.bfd > /dev/null; then LD=ld.bfd; fi
fi
: "${OBJCOPY:=objcopy}" "${NM:=nm}" "${AR:=ar}"
for tool in LD:"$LD" OBJCOPY:"$OBJCOPY" NM:"$NM" AR:"$AR"; do
    command -v "${tool#*:}" > /dev/null ||
        stop "${tool#*:} is missing: install GNU binutils, or set ${tool%%:*} to the program"
done
"$LD" --help | grep -q -e --force-group-allocation ||
    stop "$LD is not GNU ld 2.30 or later: install GNU binutils, or set LD to their ld"
if [ "$1" = --check ]; then exit; fi

from=$1 to=$2
[ -f "$from" ] || stop "there is no file $from: build it with cargo build --release"
work=$(mktemp -d "$to.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# LLVM's bitcode serves no other linker, and stops tools that read another version of it.
strip=--strip-debug
if [ $# -eq 3 ]; then strip=; fi
"$OBJCOPY" ${strip:+"$strip"} --remove-section=.llvmbc --remove-section=.llvmcmd "$from" "$work/rust.a"

"$NM" -g --defined-only "$work/rust.a" > "$work/globals" 2> /dev/null
sed -n 's/.* T \(factz_.*\)/--undefined=\1/p' "$work/globals" > "$work/roots"
[ -s "$work/roots" ] || stop "$from has no function factz_*: it is not the static library of factz"

# Groups would be merged by name with those of other Rust libraries, whose symbols are not these.
"$LD" -r --gc-sections --force-group-allocation "@$work/roots" -o "$work/linked.o" "$work/rust.a"

# References of the parts that were left out would still bring parts of the C library into a program.
"$NM" -u "$work/linked.o" | sed 's/.* //' > "$work/references"
"$OBJCOPY" --wildcard '--keep-global-symbol=factz_*' "--strip-unneeded-symbols=$work/references" \
    "$work/linked.o" "$work/factz.o"

others=$("$NM" -g --defined-only "$work/factz.o" | sed 's/.* //; /^factz_/d')
[ -z "$others" ] || stop "$OBJCOPY left other symbols global: $others"
"$AR" rcsD "$work/libfactz.a" "$work/factz.o"

# A library that did not change keeps its time.
cmp -s "$work/libfactz.a" "$to" || mv "$work/libfactz.a" "$to"
