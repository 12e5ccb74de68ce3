/*
 * The catalogue of errors: DT_ERROR(id, number, exit code, kind, title, detail). The detail is what `dtrain explain DTnnn`
 * prints: what the error means, an example, what helps. Kinds are tf.distribute's: ValueError, TypeError, RuntimeError,
 * NotFoundError, ... No include guard: this file is expanded wherever a form of the table is wanted.
 *
 * Numbers: 1-39 job file, 40-59 placement, 60-79 model and graph, 80-109 data, 110-129 checkpoints and files, 130-149 command
 * line, 150-169 devices and running, 170-199 the C API. Numbers are stable; a retired one is not used again.
 */
/* clang-format off */
DT_ERROR(UNKNOWN_KEY, 1, 78, "ValueError", "unknown key",
    "A mapping in the job file has a key that dtrain does not know. Unknown keys are errors, never ignored: a misspelt key\n"
    "would otherwise train something else for hours.\n\n"
    "    model: {layesr: [...]}      did you mean 'layers'?\n\n"
    "'dtrain config schema' lists all keys; the message names the nearest one or all that are possible.")
DT_ERROR(RANGE, 17, 78, "ValueError", "value out of range",
    "A number in the job file lies outside the limits of its field. The message names the limit and the value.\n\n"
    "    Dense: {units: 0}           units must be at least 1, got 0")
DT_ERROR(INTERNAL, 70, 70, "InternalError", "internal error",
    "A fault of dtrain itself: an invariant of the compiler or the runtime does not hold. Please report it with the message\n"
    "and the job file.")
DT_ERROR(NO_INPUT, 110, 66, "NotFoundError", "input missing",
    "A file that the job or the command line names is not there or cannot be opened. Data files are looked for relative to the\n"
    "job file, output relative to the working directory.")
DT_ERROR(NOT_REGULAR, 111, 66, "InvalidArgumentError", "not a regular file",
    "The path names a directory, a FIFO or a device. dtrain reads regular files only, so that it never hangs on one.")
DT_ERROR(PERMISSION, 112, 77, "PermissionDeniedError", "permission denied",
    "The system refuses access, or dtrain refuses it as unsafe (a world-writable run directory without sticky bit).")
DT_ERROR(CANT_CREATE, 113, 73, "PermissionDeniedError", "cannot create output",
    "A directory or file below output.dir cannot be created: it exists as something else, its file system is read-only, or the\n"
    "run directory is in use by another job. This is found before the first step.")
DT_ERROR(IO, 114, 74, "UnavailableError", "read or write failed",
    "The system reported an I/O error: no space left, quota, a broken device. What was complete before stays valid; a checkpoint\n"
    "that could not be written whole is not committed, and a failed fsync is not retried.")
DT_ERROR(NO_MEMORY, 115, 71, "ResourceExhaustedError", "out of memory, threads or descriptors",
    "This host has no memory, threads or file descriptors left. A smaller global batch or fewer threads needs less.")
DT_ERROR(FILE_CHANGED, 116, 65, "DataLossError", "file changed while in use",
    "A data file became shorter while it was read.")
DT_ERROR(TOO_LARGE, 117, 65, "ResourceExhaustedError", "file too large",
    "A file is larger than dtrain reads at once: the message names the limit. Job files, state files and headers are small;\n"
    "a large one is most likely another file under that name.")
