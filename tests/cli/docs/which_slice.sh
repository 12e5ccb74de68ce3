#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check-fast: cost topo coll
# Every command of docs/which-slice.md prints the block below it.
. tests/cli/setup.sh
. tests/cli/jobs.sh
if sanitized; then echo "the numbers are those of the plain build; other cases run this code under sanitizers" && exit 77; fi
command -v python3 >/dev/null || exit 77
python3 - "$DTRAIN" <<'END'
import re, shlex, subprocess, sys
text = open("docs/which-slice.md").read()
for command, shown in re.findall(r"```sh\n(dtrain [^\n]*)\n```\n\n```text\n(.*?)```\n", text, re.S):
    run = subprocess.run([sys.argv[1], *shlex.split(command)[1:]], capture_output=True, text=True)
    print(command)
    print("exit", run.returncode)
    if run.stdout != shown:
        print("it prints", run.stdout, run.stderr)
END
