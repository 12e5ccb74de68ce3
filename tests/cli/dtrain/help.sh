#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# V06: help is a result: standard output, exit 0, however it is asked for. It lists every verb of the table.
. tests/cli/setup.sh
show --help | without_verbs
"$DTRAIN" help >"$TEST_DIR/a" && "$DTRAIN" -h >"$TEST_DIR/b" && cmp "$TEST_DIR/a" "$TEST_DIR/b"
sed '/^VERB/!d' cmd/verbs.h | grep -o 'VERB([a-z_]*)' | sed 's/VERB(\(.*\))/\1/; s/_/ /' | while read -r verb; do
    grep -qE "(^|  )$verb(  |\$)" "$TEST_DIR/a" || echo "help lacks '$verb'"
done
