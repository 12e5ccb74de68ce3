#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Keys that are not implemented are allowed with their default value, also as the only key of their section.
. tests/cli/setup.sh
write_tiny
sed -n '/^## Not implemented yet/,$p' docs/job-file.md | grep -E '^- (strategy|reproducible|compile): ' | while IFS= read -r line; do
    section=$(echo "$line" | sed 's/^- \([a-z]*\):.*/\1/')
    # shellcheck disable=SC2016 # backquotes of Markdown
    echo "$line" | grep -o '`[a-z_]*` (`[^`]*`)' | tr -d '`()' | while read -r key value; do
        "$DTRAIN" validate "$tiny" "$section.$key=$value" >"$TEST_DIR/out" 2>&1 || cat "$TEST_DIR/out"
        "$DTRAIN" validate "$tiny" "$section.$key=other" >"$TEST_DIR/out" 2>&1 && echo "$section.$key: another value is accepted"
        has "$TEST_DIR/out" 'not implemented yet'
        echo "$section.$key"
    done
done
