#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# scripts/reference writes all pages or none: where it fails, those that are there stay; where it does not, they are replaced.
. tests/cli/setup.sh
pages=$TEST_DIR/pages programs=$TEST_DIR/programs
mkdir "$pages" "$programs"
echo old >"$pages/strategy.md"
echo old >"$pages/gone.md"
printf '#!/bin/sh\nexit 1\n' >"$programs/awk"
chmod +x "$programs/awk"
PATH=$programs:$PATH scripts/reference "$pages" && echo "it does not fail without awk"
cat "$pages/strategy.md" "$pages/gone.md"
scripts/reference "$pages" || echo "exit $?"
diff -r "$pages" docs/reference && echo "as checked in"
