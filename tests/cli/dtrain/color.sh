#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Colour only on a terminal, and there not against the user's wish.
. tests/cli/setup.sh
needs_terminals
error="$DTRAIN explain 9999"
marked() {
    grep -c '\^\[' || true
}
on_terminal "$error" | marked
on_terminal "NO_COLOR=1 $error" | marked
on_terminal "TERM=dumb $error" | marked
on_terminal "CI=1 $error" | marked
on_terminal "$error --color never" | marked
FORCE_COLOR=1 $error 2>&1 | tr '\033' '^' | grep -c '\^\['
$error --color=always 2>&1 | tr '\033' '^' | grep -c '\^\['
$error 2>&1 | tr '\033' '^' | marked
