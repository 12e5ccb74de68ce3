#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# V01, V02, V03: no verb, a misspelt one, an unknown option; nothing on standard output.
. tests/cli/setup.sh
show | without_verbs
show fti
show data
show data snth digits
show --frob
show -z
show --color=blue version
show "$(printf 'a\nb\033[2J')"
for words in "" fti --frob; do
    # shellcheck disable=SC2086 # "" is no word
    "$DTRAIN" $words 2>/dev/null || true
done
