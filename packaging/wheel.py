#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packs a program and the libraries that it loads as a wheel: wheel.py PROGRAM VERSION DIRECTORY [PLUGIN...]. Prints the file's path.

Beside PROGRAM lies `linked`, the files that its linker took. Plug-ins for MPI are loaded only by jobs that want one, so the wheel needs no MPI.
pip puts the program on PATH (PREFIX/bin) and the libraries into PREFIX/lib/dtrain, where the program looks for them. The wheel needs the
newest version of glibc that one of them asks for, and says so in its name. Needs Debian, Python and binutils: the Debian packages of all
that is inside give the licences and the bill of materials.
"""
import base64
import hashlib
import os
import re
import subprocess
import sys
import zipfile

LOADED = "libopenblas.so.0"
SYSTEM = re.compile(r"lib(c|m|dl|pthread|rt|gcc_s)\.so|ld-linux|linux-vdso")
HEADERS = "/usr/include/Random123/philox.h"  # compiled in, unknown to the linker


def run(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def libraries():
    """OpenBLAS and what it needs, as the loader finds them: {name: path}."""
    cache = dict(re.findall(r"^\s*(\S+) .*=> (\S+)$", run("/sbin/ldconfig", "-p"), re.M)[::-1])
    if LOADED not in cache:
        sys.exit("%s is not installed" % LOADED)
    found = {LOADED: os.path.realpath(cache[LOADED])}
    for name, path in re.findall(r"^\s*(\S+) => (\S+)", run("ldd", found[LOADED]), re.M):
        if not SYSTEM.match(name):
            found[name] = os.path.realpath(path)
    return found


def platform(paths):
    needed = {(2, 17)}
    for path in paths:
        needed |= {(int(a), int(b)) for a, b in re.findall(r"\bGLIBC_(\d+)\.(\d+)", run("objdump", "-T", path))}
    return "manylinux_%d_%d_%s" % (*max(needed), os.uname().machine)


def packages(program, bundled):
    """The Debian packages of what is inside: archives and objects that were linked, headers, libraries beside the program."""
    own = os.path.realpath(".") + os.sep
    linked = {os.path.realpath(path) for path in re.findall(r"[^\s()]+\.[ao]\b", open(os.path.join(os.path.dirname(program), "linked")).read())}
    paths = [path for path in linked if path.startswith("/usr/") and not path.startswith(own)] + [HEADERS] + bundled
    found = set()
    for line in run("dpkg", "-S", *paths).splitlines():
        found.add(line.split(": ")[0].split(":")[0])
    return sorted(found)


def licences(inside):
    for name in ("LICENSE", "NOTICE"):
        yield name, open(name, "rb").read()
    for package in inside:
        yield package + ".txt", open("/usr/share/doc/%s/copyright" % package, "rb").read()


METADATA = """Metadata-Version: 2.4
Name: dtrain
Version: {version}
Summary: Train neural networks from one YAML file
License-Expression: Apache-2.0
Requires-Python: >=3.8
Classifier: Environment :: Console
Classifier: Intended Audience :: Science/Research
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: C
Classifier: Topic :: Scientific/Engineering :: Artificial Intelligence
Description-Content-Type: text/plain

dtrain trains neural networks from one YAML file: layers, losses, optimizers and metrics have the names
of Keras, the whole job is checked before it starts, and a run that was interrupted resumes with the same
bits. It evaluates, predicts, exports ONNX, and plans what a job needs on a slice of TPUs.

This wheel has the program, with the libraries that it needs beside it; there is no Python in it. After
installation: dtrain help

With Open MPI 4 or MPICH 4 on the machine, `mpirun -n 4 dtrain fit job.yaml` trains on four processes.
"""


def main(program, version, directory, *plugins):
    inside = libraries()
    made_of = packages(program, list(inside.values()))
    inside.update((os.path.basename(path), path) for path in plugins)
    tag = "py3-none-" + platform([program, *inside.values()])
    data, info = "dtrain-%s.data" % version, "dtrain-%s.dist-info" % version
    files = {data + "/scripts/dtrain": open(program, "rb").read()}
    for name, path in inside.items():
        files["%s/data/lib/dtrain/%s" % (data, name)] = open(path, "rb").read()
    for name, text in licences(made_of):
        files["%s/licenses/%s" % (info, name)] = text
    files[info + "/sboms/dtrain.cdx.json"] = run("packaging/sbom", version, *made_of).encode()
    files[info + "/METADATA"] = METADATA.format(version=version).encode()
    files[info + "/WHEEL"] = ("Wheel-Version: 1.0\nGenerator: dtrain\nRoot-Is-Purelib: false\nTag: %s\n" % tag).encode()
    record = ""
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record += "%s,sha256=%s,%d\n" % (name, digest, len(content))
    files[info + "/RECORD"] = (record + info + "/RECORD,,\n").encode()
    os.makedirs(directory, exist_ok=True)
    path = os.path.join(directory, "dtrain-%s-%s.whl" % (version, tag))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if "/scripts/" in name else 0o100644) << 16
            z.writestr(entry, content)
    print(path)


if len(sys.argv) < 4:
    sys.exit("usage: wheel.py PROGRAM VERSION DIRECTORY [PLUGIN...]")
main(*sys.argv[1:])
