#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# V03, V04, V05 and the forms of options.
. tests/cli/setup.sh
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
