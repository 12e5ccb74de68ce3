#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The library in programs of others: headers and library of one version, names exported under the version of the interface, used from the build
# folder, installed stripped below another libdir, and found by pkg-config and by CMake, wherever the folder was moved.
# check-fast: dtrain
. tests/cli/setup.sh
. tests/cli/jobs.sh
command -v pkg-config >/dev/null || { echo "no pkg-config here" && exit 77; }
sanitized && echo "a sanitizer's library does not go with other people's programs" && exit 77
command -v cmake >/dev/null || { echo "no cmake here" && exit 77; }
source=$PWD
case $BUILD in /*) build=$BUILD ;; *) build=$PWD/$BUILD ;; esac
cat >"$TEST_DIR/program.c" <<'END'
#include <dtrain.h>
#include <string.h>

#if !DTRAIN_VERSION_AT_LEAST(0, 2, 0) || DTRAIN_VERSION_AT_LEAST(99, 0, 0) || DTRAIN_VERSION < 200
#error the numbers of the version
#endif

int main(void)
{
    char numbers[64];
    snprintf(numbers, sizeof numbers, "%d.%d.%d", DTRAIN_VERSION_MAJOR, DTRAIN_VERSION_MINOR, DTRAIN_VERSION_PATCH);
    if (strcmp(numbers, DTRAIN_VERSION_STRING) != 0 || strcmp(numbers, dt_version()) != 0)
        return printf("headers %s, %s, library %s\n", numbers, DTRAIN_VERSION_STRING, dt_version());
    dt_model *m = NULL;
    dt_status *s = dt_model_create(&m, "[Input: {name: x, shape: [4]}, Dense: {units: 2}]");
    dt_model_unref(m);
    return dt_report(s);
}
END
version=$("$DTRAIN" version | cut -d ' ' -f 2)
interface=DTRAIN_${version%.*}
cd "$TEST_DIR" || exit 1

echo "== from the build folder"
cc -Wall -Werror -I"$source/lib" -o here program.c -L"$build" -ldtrain -Wl,-rpath,"$build" && ./here
readelf -V here | grep -q "$interface" || echo "the program does not ask for $interface"
readelf --dyn-syms -W "$build/libdtrain.so" | awk -v want="@@$interface" '$7 != "UND" && $8 ~ /^dt_/ && substr($8, length($8) - length(want) + 1) != want { print "without version: " $8 }'

echo "== installed"
make_at() { env -u MAKEFLAGS make -s -C "$source" BUILD="$BUILD" DESTDIR="$TEST_DIR/root" PREFIX=/usr libdir=/usr/lib/machine "$@" >"$TEST_DIR/make" 2>&1 || cat "$TEST_DIR/make"; }
make_at install-strip
readelf -S root/usr/bin/dtrain root/usr/lib/machine/libdtrain.so | grep -c '\.symtab\|\.debug'
mv root moved
find moved/usr/lib -type f -o -type l | grep -v dtrain-fabric | sort | sed "s/${version}/VERSION/"
export PKG_CONFIG_PATH="$TEST_DIR/moved/usr/lib/machine/pkgconfig"
pkg-config --validate dtrain
pkg-config --print-requires-private dtrain | tr '\n' ' '
pkg-config --variable=libdir dtrain

echo "== cmake"
mkdir project
cat >project/CMakeLists.txt <<END
cmake_minimum_required(VERSION 3.16)
project(program C)
find_package(dtrain ${version%.*} REQUIRED)
find_package(dtrain $version EXACT REQUIRED)
foreach(kind dtrain static)
    add_executable(with_\${kind} ../program.c)
    target_link_libraries(with_\${kind} dtrain::\${kind})
endforeach()
find_package(dtrain ${version%.*}.99 QUIET)
message(STATUS "a later patch: \${dtrain_FOUND}")
find_package(dtrain 99 QUIET)
message(STATUS "a later major: \${dtrain_FOUND}")
find_package(dtrain 0.1 QUIET)
message(STATUS "an earlier minor: \${dtrain_FOUND}")
END
cmake -S project -B built -DCMAKE_PREFIX_PATH="$TEST_DIR/moved/usr" -Ddtrain_DIR="$TEST_DIR/moved/usr/lib/machine/cmake/dtrain" >log 2>&1 || cat log
grep -- '-- .* \(patch\|major\|minor\): ' log
cmake --build built >log 2>&1 || cat log
LD_LIBRARY_PATH=$TEST_DIR/moved/usr/lib/machine built/with_dtrain && built/with_static && echo "both run"
cd "$source" || exit 1
mv "$TEST_DIR/moved" "$TEST_DIR/root"
make_at uninstall
find "$TEST_DIR/root" ! -type d
find "$TEST_DIR/root" -name 'dtrain*'
