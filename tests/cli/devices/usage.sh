#!/bin/sh
. tests/cli/setup.sh
show devices all
show devices --jsn
