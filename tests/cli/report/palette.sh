#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The colours of runs differ for readers with protanopia, deuteranopia and tritanopia, too, and have
# enough contrast in light and dark.
. tests/cli/setup.sh
command -v python3 >/dev/null || { echo "no python3 here" && exit 77; }
python3 tests/report/palette.py lib/report/page.css
