#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# V08: a word of 100 KB is cut in the message.
. tests/cli/setup.sh
word=$(head -c 100000 /dev/zero | tr '\0' a)
exits 64 "$word"
[ "$(wc -c <"$TEST_DIR/err")" -lt 300 ] || echo "the message of an unknown verb is long"
exits 64 fit --"$word"
[ "$(wc -c <"$TEST_DIR/err")" -lt 300 ] || echo "the message of an unknown option is long"
exits 66 fit "$word"
[ "$(wc -c <"$TEST_DIR/err")" -lt 65536 ] || echo "the message of a missing file is longer than 64 KiB"
