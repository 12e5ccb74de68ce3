#!/bin/sh
. tests/cli/setup.sh
show topology
show topology a.yaml b.yaml
show topology --tpv v3-8
