#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tf.Examples against protobuf-c, both ways: random ones by seed, numbers packed and one by one, unknown fields, missing features.
. tests/cli/setup.sh
command -v protoc-c >/dev/null || { echo "no protoc-c (Debian: protobuf-c-compiler, libprotobuf-c-dev)" && exit 77; }
protoc-c --c_out="$TEST_DIR" --proto_path=tests/data/oracle example.proto || exit
# the compiler and the flags that the library was built with
eval "$(cat "$BUILD/flags")" -I"$TEST_DIR" -o "$TEST_DIR/oracle" tests/data/oracle/oracle.c "$TEST_DIR/example.pb-c.c" "$BUILD/libdtrain.a" \
    -lprotobuf-c -lyaml -ljansson -lcrypto -lz -lpng -ljpeg -lm -ldl -lpthread >"$TEST_DIR/log" 2>&1 || { cat "$TEST_DIR/log" && exit 1; }
"$TEST_DIR/oracle" 1 2000
