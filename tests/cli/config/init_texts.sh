#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The jobs of `config init --from` a folder of texts and a table with texts, as written, against a bag of words and logistic regression of scikit-learn.
# shellcheck disable=SC2154 # TEST_DIR, DTRAIN
. tests/cli/setup.sh
. tests/cli/jobs.sh
if sanitized; then echo "the numbers are those of the plain build; other cases run this code under sanitizers" && exit 77; fi
python=$(scripts/python-tools numpy sklearn) || exit 77
OMP_NUM_THREADS=1 "$python" tests/cli/config/init_texts.py "$DTRAIN" "$TEST_DIR"
