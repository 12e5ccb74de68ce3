#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Words of the command line, verb by verb: what is missing, one too many, or no value of an option.
. tests/cli/setup.sh

# fit: V03, V04, V05 and the forms of options
show fit
show fit a.yaml b.yaml
show fit a=b a.yaml
show fit job.yaml --frob
show fit job.yaml --stesp 3
show fit job.yaml --set fit.epochs=abc
show fit job.yaml --steps
show fit job.yaml --steps 0
show fit job.yaml --steps=1.5
show fit job.yaml --steps 99999999999999999999
show fit job.yaml --threads 0
show fit job.yaml --threads=many
show fit job.yaml --kernels mkl
show fit job.yaml --json=yes
show fit job.yaml -z
show fit job.yaml --resume ''
show fit job.yaml --resume must --fresh
show fit job.yaml -- --fresh
(export DTRAIN_THREADS=0; show fit job.yaml)

# evaluate
show evaluate
show evaluate a.yaml --split tset
show evaluate a.yaml --expect 'loss=<1'
show evaluate a.yaml --resume auto
exits 66 evaluate "$TEST_DIR/a.yaml"

# validate
show validate
show validate a.yaml --format xml
show validate fit.epochs=1
exits 66 validate "$TEST_DIR/a.yaml" "$TEST_DIR/b.yaml"
has "$TEST_DIR/err" "2 of 2 jobs are not valid"

# lower
show lower
show lower a.yaml b.yaml
show lower a.yaml --stage hlo
show lower a.yaml --stage
exits 66 lower "$TEST_DIR/a.yaml"

# topology
show topology
show topology a.yaml b.yaml
show topology --tpv v3-8

# devices
show devices all
show devices --jsn

# data synth
show data synth
show data synth digits
show data synth digits more -o x
show data synth digits -o
show data synth digits -o ''
show data synth digits -o "$TEST_DIR/x" --seed -1
show data synth digits -o "$TEST_DIR/x" --seed 18446744073709551616

# bench, which is a script now
show bench --simulator rows.json
show benchmark

# explain
show explain DT130
"$DTRAIN" explain dt130 >"$TEST_DIR/a" && "$DTRAIN" explain 130 | cmp - "$TEST_DIR/a"
show explain
show explain 9999
show explain DT
show explain 17x

# version
show version
show version more
"$DTRAIN" version --json | sed 's/"compiler":"[^"]*"/"compiler":"..."/'
show fit --version
