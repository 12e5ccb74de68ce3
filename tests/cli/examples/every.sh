#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every example has a test that runs it.
for source in examples/*.c; do
    name=$(basename "$source" .c)
    grep -qw "$name" tests/cli/examples/documented.sh tests/cli/examples/programs.sh tests/cli/examples/workers.sh || echo "$source is run by no test"
done
