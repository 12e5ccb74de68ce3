#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A clone is complete: no tracked file names a folder beside the repository, every config finds its data as `make examples` leaves it, and the
# language models train on the text that is drawn there, or on the file that TINYSHAKESPEARE names. Every source file says its licence, whose
# text is here, and every file that names the version names the same.
. tests/cli/setup.sh
. tests/cli/jobs.sh
if sanitized; then echo "the numbers are those of the plain build; other cases run this code under sanitizers" && exit 77; fi
unset TINYSHAKESPEARE
if git rev-parse 2>/dev/null; then
    git grep -l '[.][.]/shared'
    git grep -L SPDX-License-Identifier: -- '*.[ch]' '*.sh' '*.py' '*.awk' '*.css' '*.js' '*.proto' Makefile .ci scripts packaging Dockerfile debian/rules
fi
for page in LICENSE NOTICE CHANGELOG.md CONTRIBUTING.md SECURITY.md CITATION.cff; do
    [ -s "$page" ] || echo "no $page"
done
if [ -e /usr/share/common-licenses/Apache-2.0 ]; then cmp LICENSE /usr/share/common-licenses/Apache-2.0; fi
version=$("$DTRAIN" version | cut -d ' ' -f 2)
grep -q "^version: $version\$" CITATION.cff || echo "CITATION.cff has another version"
grep -q "^## \[$version\]" CHANGELOG.md || echo "CHANGELOG.md has no $version"
head -n 1 debian/changelog | grep -q "^dtrain ($version)" || echo "debian/changelog has another version"
copy=$TEST_DIR/clone
mkdir -p "$copy/build"
cp -r configs "$copy/"
"$DTRAIN" -q data synth digits -o "$copy/build/digits"
"$DTRAIN" -q data synth text -o "$copy/build/text"
for job in "$copy"/configs/*.yaml; do
    case $job in */spatial-cnn.yaml) continue ;; esac # slides of the user's own
    "$DTRAIN" validate "$job" >"$TEST_DIR/out" 2>&1 || { echo "exit $?: ${job##*/}" && cat "$TEST_DIR/out"; }
done
cd "$copy" || exit
"$DTRAIN" fit configs/char-gpt-small.yaml --steps 2 --json 2>&1 | grep -o '"event":"end","exit":[0-9]*'
write_text
"$DTRAIN" data inspect configs/char-gpt-small.yaml >"$TEST_DIR/named" 2>&1 || cat "$TEST_DIR/named"
unset TINYSHAKESPEARE
"$DTRAIN" data inspect configs/char-gpt-small.yaml >"$TEST_DIR/drawn" 2>&1 || cat "$TEST_DIR/drawn"
cmp -s "$TEST_DIR/named" "$TEST_DIR/drawn" && echo "TINYSHAKESPEARE is not heeded"
rm -r build/text
"$DTRAIN" fit configs/char-gpt-small.yaml -n >/dev/null 2>"$TEST_DIR/err" || echo "exit $?"
