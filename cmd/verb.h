/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verbs and their options.
 *
 * A verb is one file cmd/NAME.c with one row, and VERB(name) in cmd/verbs.h. The row's table of
 * options is the only place where an option is written down: from it come parsing, checking,
 * `dtrain help VERB`, environment variables and "did you mean". Options are stored in a struct of
 * the verb's own, which begins with struct common:
 *
 *     struct lower { struct common common; struct compute compute; int stage; };
 *     static const struct option options[] = {
 *         CHOICE(struct lower, stage, "stage", "STAGE", stages, "how far"),
 *         COMPUTE_OPTIONS(struct lower),
 *         OPTIONS_END
 *     };
 */
#ifndef CMD_VERB_H
#define CMD_VERB_H

#include "base/str.h"
#include "dtrain.h"
#include "out.h"

/* Rows of the error catalogue (lib/base/errors.h) that the command line uses itself. */
enum {
    ERROR_VARIABLE = 11 /* exit code 78, as for a job's key */,
    ERROR_DATA_FILE = 80,
    ERROR_NO_INPUT = 110,
    ERROR_TOO_LARGE = 117,
    ERROR_CHECKPOINTS_DIFFER = 125,
    ERROR_USAGE = 130,
    ERROR_EXPECT_METRIC = 131,
    ERROR_EXPECT = 132,
    ERROR_STDOUT = 133,
    ERROR_CANNOT_CREATE = 113,
    ERROR_IO = 114,
    ERROR_NO_MEMORY = 115
};

enum { EXIT_USAGE = 64, EXIT_MEMORY = 71, EXIT_IO = 74, EXIT_STOPPED = 75, EXIT_JOB = 78 };

struct words {
    const char *const *at;
    int n;
};

/* Options of all verbs. */
struct common {
    int color; /* enum color */
    bool quiet, verbose, help, version;
    const char *log_file;
};

/* Options of verbs that open a job. */
struct place {
    const char *directory;
    const char *backend, *plugin; /* for verbs that compute: replace the job's; or NULL */
};

/* Options of verbs about slices. */
struct slice {
    const char *tpu;        /* NULL: the job's; "": this machine's */
    int64_t cores_per_chip; /* 0: as usual */
};

/* Options of verbs that compute. */
struct compute {
    int64_t threads; /* 0: one per core */
    int kernels;     /* dt_kernels */
};

enum option_kind {
    OPTION_FLAG, /* bool */
    OPTION_TEXT, /* const char *, NULL if not given */
    /* the same, but `--name` without a value is "": the next word is not taken as the value if
     * it looks like an option or a job */
    OPTION_MAYBE,
    OPTION_LIST,     /* struct words: may be repeated */
    OPTION_INTEGER,  /* int64_t in min..max */
    OPTION_UNSIGNED, /* uint64_t */
    OPTION_SECONDS,  /* double, written as 90s, 55m, 1h30m */
    OPTION_CHOICE,   /* int: index in choices; with min -1, that is -1 unless it is given */
};

struct option {
    const char *name, *value, *help; /* "steps", "N", "stop after N steps" */
    char letter;                     /* 'n' for -n; 0: none */
    bool env;                        /* may be set by DTRAIN_NAME in the environment */
    bool once;                       /* left out when the command is repeated: see again.h */
    bool path;                       /* a value that names remote storage is refused */
    enum option_kind kind;
    size_t at; /* offset in the verb's struct */
    int64_t min, max, fallback;
    const char *const *choices; /* ends with NULL */
    /* for OPTION_TEXT and OPTION_LIST: beginnings of values, for completion: "auto never must" */
    const char *words;
};

/* A row: the struct and its field, the option's name, the word for its value, its help, and
 * further members. */
#define FLAG(s, f, n, ...)                                                                         \
    { .kind = OPTION_FLAG, .at = offsetof(s, f), .name = n, .help = __VA_ARGS__ }
#define TEXT(s, f, n, v, ...)                                                                      \
    { .kind = OPTION_TEXT, .at = offsetof(s, f), .name = n, .value = v, .help = __VA_ARGS__ }
/* A TEXT that is the path of a file or a directory. */
#define PATH(s, f, n, v, ...)                                                                      \
    {                                                                                              \
        .kind = OPTION_TEXT, .at = offsetof(s, f), .name = n, .value = v, .path = true,            \
        .help = __VA_ARGS__                                                                        \
    }
#define MAYBE(s, f, n, v, ...)                                                                     \
    { .kind = OPTION_MAYBE, .at = offsetof(s, f), .name = n, .value = v, .help = __VA_ARGS__ }
#define LIST(s, f, n, v, ...)                                                                      \
    { .kind = OPTION_LIST, .at = offsetof(s, f), .name = n, .value = v, .help = __VA_ARGS__ }
#define INTEGER(s, f, n, v, ...)                                                                   \
    { .kind = OPTION_INTEGER, .at = offsetof(s, f), .name = n, .value = v, .help = __VA_ARGS__ }
#define UNSIGNED(s, f, n, v, ...)                                                                  \
    { .kind = OPTION_UNSIGNED, .at = offsetof(s, f), .name = n, .value = v, .help = __VA_ARGS__ }
#define SECONDS(s, f, n, v, ...)                                                                   \
    { .kind = OPTION_SECONDS, .at = offsetof(s, f), .name = n, .value = v, .help = __VA_ARGS__ }
#define CHOICE(s, f, n, v, list, ...)                                                              \
    {                                                                                              \
        .kind = OPTION_CHOICE, .at = offsetof(s, f), .name = n, .value = v, .choices = list,       \
        .help = __VA_ARGS__                                                                        \
    }
#define OPTIONS_END                                                                                \
    { .name = NULL }

#define EXPECT_WORDS "accuracy>= val_accuracy>= loss<= val_loss<="

extern const char *const kernel_choices[];
enum { MOST_THREADS = 4096 };
#define PLACE_OPTIONS(s)                                                                           \
    PATH(s, place.directory, "directory", "DIR",                                                   \
         "resolve output.dir and model.init_from relative to DIR", .letter = 'C')
#define SLICE_OPTIONS(s)                                                                           \
    MAYBE(s, slice.tpu, "tpu", "TYPE",                                                             \
          "the slice: v3-8, v5e-256, v4:4x4x8_twisted; without TYPE, this machine's TPU or a "     \
          "simulated v3-8"),                                                                       \
        INTEGER(s, slice.cores_per_chip, "cores-per-chip", "N",                                    \
                "devices per chip; default: 1 for v4 and v5p, else the cores of a chip", .min = 1, \
                .max = 2)
#define COMPUTE_OPTIONS(s)                                                                         \
    INTEGER(s, compute.threads, "threads", "N",                                                    \
            "number of computing threads (short steps may use one); default: one per core",        \
            .env = true, .min = 1, .max = MOST_THREADS),                                           \
        CHOICE(s, compute.kernels, "kernels", "WHICH", kernel_choices,                             \
               "library for matrix products", .env = true)
#define BACKEND_OPTIONS(s)                                                                         \
    TEXT(s, place.backend, "backend", "NAME",                                                      \
         "what computes, in place of the job's: cpu, or pjrt for a plug-in's devices",             \
         .env = true, .words = "cpu pjrt"),                                                        \
        PATH(s, place.plugin, "plugin", "PATH",                                                    \
             "the PJRT plug-in, in place of the job's or DTRAIN_PJRT_PLUGIN's")

struct call;

struct verb {
    const char *name;  /* "fit", "data synth" */
    const char *group; /* heading of the usage screen that lists it */
    const char *line;  /* its line of help */
    const char *operands, *examples;
    const char *more; /* paragraphs below the options; may be NULL */
    const struct option *options;
    /* opens the plug-in that a job names, which is code; others open one that --plugin names */
    bool runs_jobs;
    /* signals mean save and stop from the start; a closed standard output does not end it */
    bool trains;
    size_t size; /* size of the struct that options are stored in */
    int (*run)(const struct call *call);
};

/* A call of a verb. */
struct call {
    const struct verb *verb;
    const void *settings; /* the verb's struct */
    struct words operands;
    struct out *out;
    const char *const *argv; /* the program's arguments; ends with NULL */
};

/* verbs.c */
extern const struct verb *const verbs[]; /* ends with NULL */
/* The verb that the first one or two words name; *used is their number. NULL: there is none, and
 * *s is the error. */
const struct verb *verb_find(const struct words *words, int *used, dt_status **s);

/* options.c */
extern const struct option common_options[];
struct parse {
    const struct verb *verb; /* NULL: before the verb, where only common options are allowed */
    void *settings;
    struct words words;
};
/* Reads the words into the settings and *operands, whose array has room for all words; NULL: stops
 * at the first operand. *used words were read. */
dt_status *options_parse(const struct parse *p, struct words *operands, int *used);
void options_release(const struct verb *verb, void *settings);
/* "DTRAIN_LOG_FILE" for "log-file", in a buffer of the caller's. */
void option_env_name(const struct option *o, char *name, size_t size);

/* option_hints.c */
/* Whether a word is `name`, or `name` with underscores for dashes. */
bool is_spelt(const char *written, const char *name);
struct foreign_option {
    const struct option *const *tables; /* [2]: the verb's options, and those of all verbs */
    const char *name, *value;           /* name without dashes; value NULL: no value */
    bool overrides;                     /* whether the verb accepts key.path=value */
};
/* Writes what to use instead of an option that the verb does not have into `to`; false: unknown. */
bool option_hint(const struct foreign_option *f, dt_str *to);

/* help.c */
void usage_print(void); /* the usage screen, on standard error */
/* The page of a verb, or with NULL the usage screen, as a result. */
void help_show(struct out *out, const struct verb *verb);

/* operands.c */
/* Exactly one job, then overrides. */
dt_status *take_job(const struct call *call, const struct place *place, dt_job_source *source);
dt_status *take_no_operands(const struct call *call);
bool is_job(const char *operand); /* by its name: "-", or ends in .yaml or .yml */
/* Runs, checkpoints or files, none of them a job; the hint ends the message. */
dt_status *take_no_job(const struct call *call, const char *hint);
bool is_override(const char *operand);
int count_jobs(const struct call *call); /* operands that are not overrides */
dt_status *usage_error(const struct call *call, const char *format, ...) DT_FORMAT(2, 3);
/* At most 80 characters of a word, for messages. */
struct cut {
    char text[96];
};
struct cut cut_word(const char *word);

#endif
