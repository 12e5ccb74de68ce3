#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# docs/job-file.md is what `config reference` prints; its examples, one behind the other, are a job.
. tests/cli/setup.sh
"$DTRAIN" config reference >"$TEST_DIR/job-file.md" || echo "exit $?"
cmp "$TEST_DIR/job-file.md" docs/job-file.md || echo "docs/job-file.md is stale: $BUILD/dtrain config reference > docs/job-file.md"
# shellcheck disable=SC2016 # backquotes are the page's
sed -n '/^```yaml/,/^```$/{/^```/!p;}' docs/job-file.md >"$TEST_DIR/job.yaml"
"$DTRAIN" validate --no-data "$TEST_DIR/job.yaml" 2>&1 | hide
for name in Dense Adam SparseCategoricalCrossentropy SparseCategoricalAccuracy CosineDecay EarlyStopping tfrecord cast mirrored GlorotUniform; do
    grep -qxF "### $name" docs/job-file.md || echo "there is no $name"
done
grep -c 'as in Keras |' docs/job-file.md
exits 64 config reference job.yaml
