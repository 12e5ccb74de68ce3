# SPDX-License-Identifier: Apache-2.0
# Reads what strace saw of a program that writes, and says where a power failure could leave a file under its final name that is not whole: a rename
# of a file, or of a directory with files in it, to which anything was written since its last fsync; a directory whose new names were not synced before it
# was itself renamed; a rename that no fsync of the directory followed. Names that end in .tmp are nobody's: what is renamed to them is on its way out.
#
#     strace -f -y -qq -s 0 -e trace=openat,write,pwrite64,ftruncate,fsync,rename,renameat2 -o LOG dtrain ...
#     awk -v here="$PWD" -f tests/faults/order.awk LOG

function whole(path) { return path ~ /^\// ? path : here "/" path }
function parent(path) { sub(/\/[^\/]*$/, "", path); return path }
function wrong(what) { print FILENAME ":" FNR ": " what; bad++ }

# The path in the first <...> of a descriptor; the n-th quoted name.
function of_descriptor(line) { sub(/^[^<]*</, "", line); sub(/>[,)].*/, "", line); return line }
function quoted(line, n, part) { split(line, part, "\""); return whole(part[2 * n]) }

# What is below a directory gets the new name along with it.
function move(from, to, path) {
    for (path in dirty)
        if (index(path, from "/") == 1 || path == from) {
            moved[to substr(path, length(from) + 1)] = dirty[path]
            delete dirty[path]
        }
    for (path in moved) {
        dirty[path] = moved[path]
        delete moved[path]
    }
}

function renamed(from, to, path) {
    renames++
    if (to !~ /\.tmp$/)
        for (path in dirty)
            if ((path == from || index(path, from "/") == 1) && dirty[path])
                wrong("renamed to " to " before " path " was synced")
    move(from, to)
    pending[parent(to)] = FNR
}

/ = -1 / { next }
{ sub(/^[0-9]+ +/, "") }
/^openat\(.*O_CREAT/ {
    path = quoted($0, 1)
    dirty[path] = 1
    dirty[parent(path)] = 1
}
/^(write|pwrite64|ftruncate)\([0-9]+<\// { dirty[of_descriptor($0)] = 1 }
/^fsync\(/ {
    path = of_descriptor($0)
    dirty[path] = 0
    delete pending[path]
}
/^rename\(/ { renamed(quoted($0, 1), quoted($0, 2)) }
/^renameat2\(/ { renamed(quoted($0, 1), quoted($0, 2)) }
END {
    for (path in pending)
        wrong(path " was not synced after the rename in line " pending[path])
    if (!bad)
        print renames + 0 " renames in order"
}
