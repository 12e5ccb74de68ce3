#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# F20: without the usual variables; F31: unknown DTRAIN_ variables are named, with what may have been meant; F28: no directory.
. tests/cli/setup.sh
env -i "$DTRAIN" --version
show_with() {
    env "$1" "$DTRAIN" version 2>&1 && status=0 || status=$?
    echo "exit $status"
}
show_with DTRAIN_FOO=1
show_with DTRAIN_KERNEL=auto
show_with "DTRAIN_$(printf 'A\033[2J')=1"
show_with DTRAIN_COLOR=pink
show_with DTRAIN_COLOR=never
show_with "DTRAIN_LOG_FILE=$TEST_DIR/log"
cat "$TEST_DIR/log"
mkdir "$TEST_DIR/gone" && cd "$TEST_DIR/gone" && rmdir ../gone && "$DTRAIN" version
