#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The page of every verb: the same by `help VERB` and `VERB --help`; examples come first; nothing but verbs that exist.
. tests/cli/setup.sh
export COLUMNS=200
for verb in fit evaluate validate topology explain devices "data synth" lower version help; do
    # shellcheck disable=SC2086 # two words
    "$DTRAIN" help $verb >"$TEST_DIR/a" || echo "help $verb: exit $?"
    # shellcheck disable=SC2086
    "$DTRAIN" $verb --help >"$TEST_DIR/b" || echo "$verb --help: exit $?"
    cmp "$TEST_DIR/a" "$TEST_DIR/b"
    sed -n '1p; 3p' "$TEST_DIR/a"
done
for name in MaxPool2D adam mse; do "$DTRAIN" help "$name" | grep "^[A-Za-z]"; done # other names that a job takes
show help fti
show help fit evaluate
for verb in predict plan sweep report; do exits 64 "$verb"; done
