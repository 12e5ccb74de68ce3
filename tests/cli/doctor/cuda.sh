#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The folder of CUDA's files and the libraries that a CUDA plug-in will find, laid out as pip does it, and what it will not find.
. tests/cli/setup.sh
# A C++ library that is closed again keeps a pool, which is no leak of ours.
export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
fake=$BUILD/tests/pjrt/fake_device.so
[ -f "$fake" ] || { echo "no fake plug-in: 'make tests' builds it"; exit 77; }
site=$TEST_DIR/site-packages
mkdir -p "$site/jax_plugins/xla_cuda13" "$site/nvidia/cu13/nvvm/libdevice" "$site/nvidia/cu13/bin" "$site/nvidia/cudnn/lib"
cp "$fake" "$site/jax_plugins/xla_cuda13/xla_cuda_plugin.so"
touch "$site/nvidia/cu13/nvvm/libdevice/libdevice.10.bc" "$site/nvidia/cu13/bin/ptxas" "$site/nvidia/cudnn/lib/libcudnn.so.9"
export DTRAIN_PJRT_PLUGIN="$site/jax_plugins/xla_cuda13/xla_cuda_plugin.so"
# Libraries of this machine's own may be there, too.
cuda() {
    "$DTRAIN" doctor >"$TEST_DIR/out" || echo "exit $?"
    sed -n '/^cuda/{s/, lib\(cudart\|cublas\)//g;s/, the driver.*//;p;}' "$TEST_DIR/out" | hide
}
cuda
has "$TEST_DIR/out" libcudnn
sed -n '/CUDA plug-in will not find/p' "$TEST_DIR/out" >"$TEST_DIR/problem"
lacks "$TEST_DIR/problem" ptxas
lacks "$TEST_DIR/problem" libcudnn
echo "without ptxas"
rm "$site/nvidia/cu13/bin/ptxas"
cuda
"$DTRAIN" doctor --json | grep -o '"the CUDA plug-in will not find ptxas'
echo "another plug-in"
DTRAIN_PJRT_PLUGIN=$fake cuda
