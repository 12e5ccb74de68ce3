#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# -n: everything is read, checked and compiled, nothing is written.
. tests/cli/setup.sh
write_tiny
"$DTRAIN" fit -n "$tiny" --threads 2 | mask
[ ! -e "$TEST_DIR/run" ] || echo "a dry run wrote $TEST_DIR/run"
exits 78 fit -n "$tiny" fit.epochs=abc
head -n 1 "$TEST_DIR/err"
echo '== a strategy without a type is mirrored'
sed -i '/^strategy:/d' "$tiny"
for words in strategy.replicas=4 'strategy={replicas: 4}' 'strategy={type: mirrored, replicas: 4}'; do
    "$DTRAIN" fit -n "$tiny" "$words" --threads 2 | sed -n 's/^job.*sha/sha/p; s/^devices  //p'
done | sort -u | mask
