#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# docs/errors.md has the numbers, exit codes and kinds of lib/base/errors.h, which lists no error that the program never reports;
# scripts/error-texts names the line of a section that it cannot read.
. tests/cli/setup.sh
awk '/^## Exit code / { code = $4 + 0 } /^### DT/ { number = substr($2, 3) + 0 } /^`[A-Za-z]*`$/ { print number, code, substr($0, 2, length($0) - 2) }' \
    docs/errors.md | sort -n >"$TEST_DIR/written"
sed -n 's/^DT_ERROR([A-Z_0-9]*, *\([0-9]*\), *\([0-9]*\), *"\([A-Za-z]*\)")/\1 \2 \3/p' lib/base/errors.h >"$TEST_DIR/known"
diff "$TEST_DIR/written" "$TEST_DIR/known" && echo "$(wc -l <"$TEST_DIR/known") errors"
sed -n 's/^DT_ERROR(\([A-Z_0-9]*\),.*/\1/p' lib/base/errors.h | while read -r name; do
    grep -rqwE "DT_E_$name|ERROR_$name" lib cmd || echo "nothing reports $name"
done
first=$("$DTRAIN" explain DT017 | head -1)
test "$first" = "DT017  $(sed -n 's/^### DT017 //p' docs/errors.md)" || echo "$first"

refused() {
    printf '%b' "$1" >"$TEST_DIR/errors.md"
    scripts/error-texts "$TEST_DIR/errors.md" 2>&1 >"$TEST_DIR/texts" | sed "s|^$TEST_DIR/||"
}
# shellcheck disable=SC2016 # backquotes of Markdown
{
    refused '### DT17 value out of range\n'
    refused '### DT017\n'
    refused '### DT017 value out of range\n\nA number.\n'
    refused '### DT017 value out of range\n\n`ValueError`\n\n### DT018 b\n'
    refused '### DT017 value out of range\n\n`ValueError`\n'
    refused '### DT017 "\\\\"\n\n`ValueError`\n\n\nA \\ "b".\n\n    c\n\n## d\n'
}
cat "$TEST_DIR/texts"
