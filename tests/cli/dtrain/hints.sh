#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Words of other tools, abbreviations and the first word of a command lead to what was meant.
. tests/cli/setup.sh
. tests/cli/jobs.sh
write_tiny
for word in config ckpt data fit callbacks metrics; do
    echo "$word: $("$DTRAIN" help "$word" | head -n 1)"
done
for word in f1 roc_auc; do "$DTRAIN" help "$word" 2>&1 | grep -o "did you mean.*"; done
for word in config ckpt serve generate sweep tune; do "$DTRAIN" "$word" 2>&1 | head -n 1; done
for metric in f1 roc_auc prec top_k; do
    "$DTRAIN" validate "$tiny" --no-data "compile.metrics=[$metric]" 2>&1 | grep -o "did you mean.*"
done

echo "# a run in place of a checkpoint"
cd "$TEST_DIR" || exit
"$DTRAIN" fit "$tiny" -q fit.epochs=1 output.dir=a
"$DTRAIN" fit "$tiny" fit.epochs=2 output.dir=b --resume a | grep -o '^resumed .*'
mkdir -p none/ckpt
"$DTRAIN" fit "$tiny" output.dir=c --resume none 2>&1 || echo "exit $?"
