# SPDX-License-Identifier: Apache-2.0
"""Runs DIRECTORY/*.mlir by XLA on the CPU, two replicas each, and compares with what stands in the .bin beside it: of each replica the inputs, then the
results, as the reference interpreter had them. An independent reader of the text and of its meaning. Needs jax; see execute_test.c."""
import os
import re
import sys

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
import jax  # noqa: E402
import numpy as np  # noqa: E402
from jax._src.lib import xla_client  # noqa: E402

jax.config.update("jax_enable_x64", True)
DTYPES = {"i1": "?", "ui8": "u1", "i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8", "f32": "f4", "f64": "f8"}


def types_in(text):
    for word in re.findall(r"tensor<([^>]*)>", text):
        *dims, dtype = word.split("x")
        yield [int(d) for d in dims], np.dtype(DTYPES[dtype])


def arrays(types, data, at):
    out = []
    for dims, dtype in types:
        n = int(np.prod(dims, dtype=int))
        out.append(np.frombuffer(data, dtype, n, at[0]).reshape(dims))
        at[0] += n * dtype.itemsize
    return out


def run(path):
    with open(path) as f:
        text = f.read()
    with open(path[:-5] + ".bin", "rb") as f:
        data = f.read()
    head, rest = text.split(") -> (", 1)
    taken, given = list(types_in(head)), list(types_in(rest.split("{", 1)[0]))
    options = xla_client.CompileOptions()
    options.num_replicas = 2
    devices = jax.devices("cpu")
    program = devices[0].client.compile_and_load(text.encode(), xla_client.DeviceList(tuple(devices)), options)
    at, fed, ought = [0], [], []
    for _ in devices:
        fed.append(arrays(taken, data, at))
        ought.append(arrays(given, data, at))
    worst = 0.0
    shards = program.execute_sharded([held(x, devices) for x in zip(*fed)]).disassemble_into_single_device_arrays()
    for i, result in enumerate(shards):
        for r in range(2):
            a, b = np.asarray(result[r]).astype("f8"), ought[r][i].astype("f8")
            if a.size:
                worst = max(worst, float(np.max(np.abs(a - b) / (1 + np.abs(b)))))
    return worst


def held(values, devices):
    """One array whose copies differ: device i holds values[i]."""
    parts = [jax.device_put(x, d) for x, d in zip(values, devices)]
    copies = jax.sharding.NamedSharding(jax.sharding.Mesh(np.array(devices), "r"), jax.sharding.PartitionSpec())
    return jax.make_array_from_single_device_arrays(parts[0].shape, copies, parts)


bad = 0
for name in sorted(os.listdir(sys.argv[1])):
    if name.endswith(".mlir"):
        worst = run(os.path.join(sys.argv[1], name))
        print(f"{name}: {worst:.2g}")
        bad += not worst < 2e-3
sys.exit(bad > 0)
