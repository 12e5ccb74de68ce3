#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# F01, F02, F03, V09, V12: jobs that are not there.
. tests/cli/setup.sh
show fit "$TEST_DIR/none.yaml"
exits 66 fit "$TEST_DIR"
mkfifo "$TEST_DIR/fifo"
exits 66 fit "$TEST_DIR/fifo"
exits 66 fit -- -job.yaml
exits 66 fit "$(printf 'a\nb\033[2J.yaml')"
wc -l <"$TEST_DIR/err"
grep -c "$(printf '\033')" "$TEST_DIR/err"
show fit "$TEST_DIR/none.yaml" --json
