# SPDX-License-Identifier: Apache-2.0
# Read by tests/tasks after setup.sh: commands and files as a page of docs/ has them. A case names
# only how a command begins, so it fails where the page has it no longer, or where it does not work.
# shellcheck shell=sh
mkdir "$TEST_DIR/bin" "$TEST_DIR/empty"
ln -s "$DTRAIN" "$TEST_DIR/bin/dtrain"
PATH=$TEST_DIR/bin:$PATH
docs=$PWD/docs
cd "$TEST_DIR/empty" || exit 1

# page NAME: the page that the calls behind it are about.
page() {
    page=$docs/$1.md
}

# given FILE.yaml: writes the block of the page whose first line names the file.
given() {
    awk -v file="# $1" '
        /^```/ { inside = !inside; all = ""; if (found) exit; next }
        inside { all = all $0 "\n"; if (all == file "\n") found = 1 }
        inside && found { kept = all }
        END { printf "%s", kept }' "$page" >"$1"
    [ -s "$1" ] || echo "$page has no block for $1"
}

# shown BEGINNING: the command of the page that begins so: behind "$ " with the "> " lines that
# continue it, or a code span.
shown() {
    awk -v want="$1" '
        /^\$ / { if (found) exit; all = substr($0, 3); found = index(all, want) == 1; next }
        found && /^> / { all = all "\n" substr($0, 3); next }
        found { exit }
        { rest = $0
          while (match(rest, /`[^`]*`/)) {
              all = substr(rest, RSTART + 1, RLENGTH - 2)
              rest = substr(rest, RSTART + RLENGTH)
              if (index(all, want) == 1) { found = 1; exit }
          } }
        END { if (found) print all }' "$page"
}

# step BEGINNING [SED]: runs that command, changed by sed where the page has another name. It must
# succeed; its output is in the file `said`.
step() {
    line=$(shown "$1" | sed "${2:-}")
    [ -n "$line" ] || echo "$page has no command that begins with: $1"
    sh -c "$line" >said 2>&1 || { echo "exit $? of: $line" && cat said; }
}

# mentions TEXT: the page names an option or a key that the case uses by itself.
mentions() {
    grep -qF -e "$1" "$page" || echo "$page does not mention $1"
}
