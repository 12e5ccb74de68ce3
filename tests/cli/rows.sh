# SPDX-License-Identifier: Apache-2.0
# Read after setup.sh and jobs.sh by tests/cli/catalogue/*.sh: tables of bad inputs. A row is an id, the exit codes that are right, the arguments of
# dtrain; below it, in any order, what is there before and what must be there after:
#
#   F24 0,71 fit job.yaml -q                  the arguments may be missing if they are these
#       < edit 's/^seed: 7/seed: 8/'          a command of the shell before, in the row's folder, which has a job.yaml; see tests/cli/make.sh
#       @ ulimit -n 16                        in the shell that becomes dtrain
#       > [ ! -e pwned ]                      a command after, which must succeed
#       dtrain: error: * [DT115]              a piece of a line of standard error; * stands for anything
#   D73 65+ fit job.yaml                      what is wrong may be found when run/ is there
#   D25 user 77 fit job.yaml                  as a user without rights; not run where that is impossible
#   P01 later workers of several processes    cannot be run yet, and why
#   F09 see tests/cli/fit/full.sh             is shown there
#
# Whatever a row says, these hold for all: nothing is written but the run directory (run/), and that not by what is refused before the first
# step, which also takes less than 2 s (of the processor) and 256 MiB; errors have their form and number; standard error is 64 KiB at most, of characters that
# any terminal shows.
# shellcheck shell=sh
. tests/cli/make.sh

export MAKER="$TEST_DIR/maker"
compile tests/cli/catalogue/watch.c "$TEST_DIR/watch" && compile tests/cli/catalogue/maker.c "$MAKER" || exit 1
# Root becomes another user for those rows.
user='/usr/bin/setpriv --reuid=65534 --regid=65534 --clear-groups'
if [ "$(id -u)" != 0 ]; then user=/usr/bin/env; elif ! $user "$DTRAIN" --version >"$TEST_DIR/user" 2>&1; then user=''; fi
if sanitized; then patience=20; else patience=1; fi
ran=0 failed=0 seen=0 later=0 slowest=0 largest=0

# rows FILE: all rows of a table. Printed are those that fail, those that cannot be run yet, and how many there are.
rows() {
    id=''
    while IFS= read -r line; do
        case $line in
        '' | '#'*) ;;
        '    < '*) before="$before${line#*< }
" ;;
        '    @ '*) around="$around${line#*@ }
" ;;
        '    > '*) after="$after${line#*> }
" ;;
        '    '*) said="$said${line#    }
" ;;
        *) row && id=${line%% *} words=${line#* } before='' around='' after='' said='' ;;
        esac
    done <"$1"
    row
    echo "$ran rows, $failed failed, $seen shown elsewhere, $later later"
    echo "at most $slowest ms and $largest KiB to refuse one" >&2
}

# The row that was read: run, or counted.
row() {
    [ -n "$id" ] || return 0
    codes=${words%% *} words=${words#"${words%% *}"}
    : "${words:= fit job.yaml -q}"
    wrongs='' as=''
    case $codes in
    user)
        ran=$((ran + 1)) words=${words# }
        codes=${words%% *} words=${words#"${words%% *}"} as=$user
        [ -z "$as" ] || run_row
        ;;
    later) later=$((later + 1)) && echo "$id later:$words" ;;
    see) seen=$((seen + 1)) && for file in $words; do [ -f "$file" ] || wrong "$file is not there"; done ;;
    *) ran=$((ran + 1)) && run_row ;;
    esac
    [ -z "$wrongs" ] || { failed=$((failed + 1)) && printf '%s: %s' "$id" "$wrongs"; }
}
wrong() {
    wrongs="$wrongs$1
"
}

# shellcheck disable=SC2120 # its "$@" are the row's words
run_row() {
    place=$TEST_DIR/$id
    mkdir -p "$place/work" "$place/home" "$place/tmp"
    # In a shell of their own: what a row sets is gone with it.
    (cd "$place/work" && tiny run >job.yaml && eval "$before") >"$place.made" 2>&1 || wrong "cannot be made: $(cat "$place.made")"
    listed >"$place.before"
    had=$([ -e "$place/work/run" ] && echo y)
    # shellcheck disable=SC2086,SC2094 # words; and it looks at what was written when all is over
    (
        cd "$place/work" && export HOME="$place/home" TMPDIR="$place/tmp" && eval "$around" && eval "set --$words" &&
            exec "$TEST_DIR/watch" $((20 * patience)) "$place.cost" "$place.err" $as "$DTRAIN" "$@"
    ) >"$place.out" 2>"$place.err" </dev/null
    code='' bytes=0 unclean=1 cpu_ms=0 kib=0
    # shellcheck disable=SC2046 # words
    if [ -f "$place.cost" ]; then eval $(cat "$place.cost"); fi
    check_cost
    check_said
    check_after
    [ -n "$wrongs" ] || rm -rf "$place" "$place".*
}

# Names, sizes, times and rights of all that is not the run directory. Times of folders change with what they hold.
listed() {
    find "$place" -path "$place/work/run" -prune -o -type d -printf '%P %m\n' -o -printf '%P %y %s %m %T@\n'
}

check_cost() {
    case ",${codes%+}," in *",$code,"*) ;; *) wrong "exit $code, not $codes: $(head -n 3 "$place.err" | cut -c1-300)" ;; esac
    [ "$bytes" -le 65536 ] || wrong "$bytes bytes on standard error"
    [ "$unclean" -eq 0 ] || wrong "$unclean bytes on standard error that a terminal may obey"
    case $code in 64 | 65 | 66 | 69 | 73 | 77 | 78) ;; *) return 0 ;; esac
    case $codes$had in *[+y]) ;; *) [ ! -e "$place/work/run" ] || wrong "refused, but run was made" ;; esac
    [ "$cpu_ms" -lt $((2000 * patience)) ] || wrong "took $cpu_ms ms"
    [ "$kib" -lt 262144 ] || [ $patience -gt 1 ] || wrong "took $kib KiB"
    [ "$cpu_ms" -le "$slowest" ] || slowest=$cpu_ms
    [ "$kib" -le "$largest" ] || largest=$kib
}

# What is wrong is said as an error with its number; each piece of the row is in a line.
check_said() {
    [ "$code" = 0 ] || grep -q 'error: ..* \[DT[0-9]*\]$' "$place.err" || wrong "no error: $(head -n 3 "$place.err" | cut -c1-300)"
    while IFS= read -r piece; do
        [ -z "$piece" ] || grep -q -e "$piece" "$place.err" || wrong "not said: '$piece' but: $(grep error: "$place.err" | head -n 3 | cut -c1-300)"
    done <<END
$(printf '%s' "$said" | sed 's/[][\\.^$]/\\&/g; s/\*/.*/g')
END
}

check_after() {
    listed | cmp -s "$place.before" - || wrong "written or gone outside of run: $(listed | diff "$place.before" - | sed -n 's/^[<>] \([^ ]*\).*/\1/p' | head -n 3)"
    while IFS= read -r command; do
        (cd "$place/work" && eval "$command") >"$place.after" 2>&1 || wrong "not so: $command: $(head -n 3 "$place.after")"
    done <<END
$after
END
}
