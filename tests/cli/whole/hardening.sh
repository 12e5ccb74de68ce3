#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The program and the library are built with the hardening flags, and the check sees where one is missing.
. tests/cli/setup.sh
case $BUILD in */*) echo "builds under sanitizers come without hardening" && exit 77 ;; esac
if ! command -v objdump readelf >/dev/null; then
    echo "no binutils"
    exit 77
fi
scripts/check-hardening "$BUILD/dtrain" "$BUILD/libdtrain.so" && echo "hardened"

cat >"$TEST_DIR/plain.c" <<'END'
#include <stdio.h>
int main(void) { return puts("plain") < 0; }
END
cc -O2 -U_FORTIFY_SOURCE -fno-stack-protector -Wl,-z,norelro -Wl,-z,lazy -o "$TEST_DIR/plain" "$TEST_DIR/plain.c" || exit
scripts/check-hardening "$TEST_DIR/plain" | grep -c 'no RELRO\|no BIND_NOW\|no stack protector\|no FORTIFY_SOURCE'
