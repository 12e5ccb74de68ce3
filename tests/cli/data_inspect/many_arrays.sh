#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# An NPZ with more arrays than a job can name is named itself, with the way to look at one of them; so are two files that have too many together.
. tests/cli/setup.sh
command -v python3 >"$TEST_DIR/which" || { echo "no python3 here" && exit 77; }
python3 - "$TEST_DIR" <<'END'
import struct, sys, zipfile
head = b"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }"
head += b' ' * (118 - len(head) - 1) + b'\n'
npy = b'\x93NUMPY\x01\x00' + struct.pack('<H', len(head)) + head + struct.pack('<ff', 1, 2)
for name, n, k in ('many', 20000, 'a'), ('one', 600, 'b'), ('two', 600, 'c'):
    with zipfile.ZipFile(f'{sys.argv[1]}/{name}.npz', 'w') as z:
        for i in range(n): z.writestr(f'{k}{i}.npy', npy)
END
cd "$TEST_DIR" || exit
"$DTRAIN" data inspect many.npz 2>&1 || echo "exit $?"
"$DTRAIN" data inspect one.npz two.npz 2>&1 || echo "exit $?"
"$DTRAIN" data inspect a9=many.npz >one || echo "exit $?"
