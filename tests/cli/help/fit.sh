#!/bin/sh
. tests/cli/setup.sh
"$DTRAIN" help fit
