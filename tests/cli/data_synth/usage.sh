#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
. tests/cli/setup.sh
show data synth
show data synth digits
show data synth digits more -o x
show data synth digits -o
show data synth digits -o ''
show data synth digits -o "$TEST_DIR/x" --seed -1
show data synth digits -o "$TEST_DIR/x" --seed 18446744073709551616
