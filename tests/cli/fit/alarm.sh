#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check-fast: cmd train strategy
# Signals mean the same from the start: an alarm that the process was started with is a limit of time, SIGUSR1 before the first step asks for a
# checkpoint after that step.
. tests/cli/setup.sh
. tests/cli/jobs.sh
command -v python3 >"$TEST_DIR/which" || { echo "no python3 here" && exit 77; }
write_tiny
python3 - "$DTRAIN" "$tiny" <<'END'
import signal, subprocess, sys, time
program, job = sys.argv[1:]
words = [program, "fit", job, "fit.epochs=100000000", "checkpoint.save_freq=1000000000"]
run = lambda **more: subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)

# `alarm 1; exec dtrain fit ...`: the alarm is inherited
p = run(preexec_fn=lambda: signal.setitimer(signal.ITIMER_REAL, 1.5))
out, err = p.communicate(timeout=60)
print("alarm:", p.returncode, "to resume, run:" in err, "saved " in out)

# a second one within the same run is no impatience
p = run(preexec_fn=lambda: signal.setitimer(signal.ITIMER_REAL, 1.5, 0.001))
out, err = p.communicate(timeout=60)
print("alarms:", p.returncode, "to resume, run:" in err)

# before the first step, while a model of many weights is made
p = subprocess.Popen(words + ["model.layers.1.Dense.units=20000000", "output.dir=" + job + ".large"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
time.sleep(0.3)
p.send_signal(signal.SIGUSR1)
time.sleep(0.05)
p.send_signal(signal.SIGALRM)
out, err = p.communicate(timeout=60)
print("before the first step:", p.returncode, err.strip())

# wished for early, saved after a step
p = run()
time.sleep(0.1)
p.send_signal(signal.SIGUSR1)
for line in p.stdout:
    if line.startswith("saved"):
        print("saved while it trains")
        break
p.send_signal(signal.SIGTERM)
out, err = p.communicate(timeout=60)
print("stopped:", p.returncode)
END
