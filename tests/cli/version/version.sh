#!/bin/sh
. tests/cli/setup.sh
show version
show version more
show fit --version
