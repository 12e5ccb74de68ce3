#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A page for each verb, for the program and for job files: roff that those who read it have nothing to say against, and what they show is there.
. tests/cli/setup.sh
"$DTRAIN" man --list >"$TEST_DIR/list"
while read -r page; do
    "$DTRAIN" man "$page" >"$TEST_DIR/$page" || echo "$page: exit $?"
    if command -v groff >/dev/null; then groff -man -ww -Tascii -z "$TEST_DIR/$page" 2>&1 | hide; fi
    if command -v mandoc >/dev/null; then mandoc -Tlint -W warning "$TEST_DIR/$page" | grep -v 'missing date' | hide; fi
done <"$TEST_DIR/list"
"$DTRAIN" man >"$TEST_DIR/program"
cmp "$TEST_DIR/program" "$TEST_DIR/dtrain.1"
for verb in fit evaluate topology 'data synth' man; do
    # shellcheck disable=SC2086 # two words
    "$DTRAIN" help $verb | sed -n 's/^ *-\{0,1\}[a-zA-Z]\{0,1\},\{0,1\} *--\([a-z-]*\).*/\1/p' | while read -r option; do
        has "$TEST_DIR/dtrain-$(echo "$verb" | tr ' ' '-').1" "\\-\\-$(echo "$option" | sed 's/-/\\-/g')"
    done
done
for key in fit.epochs dataset.global_batch_size strategy.replicas 'model.layers[].Dense.units' compile.optimizer.Adam.beta_1; do
    has "$TEST_DIR/dtrain-job.5" "\\fB$key\\fR"
done
show man dtrain-nothing.1
show man dtrain.1 dtrain-fit.1
