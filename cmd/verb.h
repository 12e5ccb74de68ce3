/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verbs and their options.
 *
 * A verb is a row in a file of cmd/, and VERB(name) in cmd/verbs.h. The row's table of options is
 * the only place where an option is written down: parsing, checking, `dtrain help VERB`,
 * environment variables and "did you mean" all use it. The values of options are stored in a struct
 * that belongs to the verb and begins with struct common:
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

/* Errors of the catalogue (lib/base/errors.h) that the command line itself reports. */
enum {
    ERROR_VARIABLE =
        11 /* the error's exit code is 78, like that of an error in a key of the job */,
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
    int color; /* whether to use colours: a value of enum color */
    bool quiet, verbose, help, version;
    const char *log_file;
};

/* Options of verbs that open a job. */
struct place {
    const char *directory;
    /* The back end and the plug-in, for verbs that compute. They replace those of the job; NULL:
     * the job's are used. */
    const char *backend, *plugin;
};

/* Options of verbs about slices. */
struct slice {
    /* the slice's name; NULL: the job's slice; "": this machine's, or a simulated v3-8 */
    const char *tpu;
    int64_t cores_per_chip; /* number of cores per chip; 0: the usual number */
};

/* Options of verbs that compute. */
struct compute {
    /* number of threads; 0: as OMP_NUM_THREADS says, else as the library chooses */
    int64_t threads;
    int kernels; /* a value of dt_kernels */
};

enum option_kind {
    OPTION_FLAG, /* stored as bool */
    OPTION_TEXT, /* stored as const char *, NULL if not given */
    /* like OPTION_TEXT, but the value may be missing, which is stored as "": the next word is not
     * the value if it looks like an option, an override or a job */
    OPTION_MAYBE,
    OPTION_LIST,     /* stored as struct words; the option may be given several times */
    OPTION_INTEGER,  /* stored as int64_t, in min..max; max 0: no upper limit */
    OPTION_UNSIGNED, /* stored as uint64_t */
    OPTION_SECONDS,  /* stored as double, in seconds; written as 90s, 55m, 1h30m */
    /* stored as int, the index in `choices`; with min -1, it is -1 if the option is not given */
    OPTION_CHOICE,
};

struct option {
    const char *name, *value, *help; /* for example "steps", "N", "stop after N steps" */
    char letter;                     /* the letter of the short form, such as 'n' for -n; 0: none */
    bool env; /* whether the environment variable DTRAIN_NAME may set the option */
    /* Whether to leave the option out when a command line is printed for the user to repeat
     * (put_again). */
    bool once;
    /* Whether the value is a path. Names of remote storage, such as "s3://...", are then
     * refused. */
    bool path;
    enum option_kind kind;
    size_t at; /* the offset of the option's value in the verb's struct */
    int64_t min, max, fallback;
    const char *const *choices; /* the allowed values; a NULL ends the list */
    /* For OPTION_TEXT and OPTION_LIST: words that shells propose as values, such as "auto never
     * must". */
    const char *words;
};

/* A row of a table of options: the struct and its member, the option's name, the word for its
 * value, its help text, and further members of struct option. */
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
    const char *name;  /* the verb's name, such as "fit" or "data synth" */
    const char *group; /* heading of the usage screen under which the verb is listed */
    const char *line;  /* one line of help */
    const char *operands, *examples;
    const char *more; /* paragraphs below the options; may be NULL */
    const struct option *options;
    /* Whether the verb opens a plug-in that the job names. A plug-in is code that runs, so other
     * verbs open only one that --plugin names. */
    bool runs_jobs;
    /* Whether the verb trains. From its start a signal then means to save and stop, and the verb
     * continues when the reader of standard output goes away. */
    bool trains;
    size_t size; /* the size of the verb's struct of options, in bytes */
    int (*run)(const struct call *call);
};

/* A call of a verb: its options and operands, and where its output goes. */
struct call {
    const struct verb *verb;
    const void *settings; /* the verb's struct, with the values of the options */
    struct words operands;
    struct out *out;
    const char *const *argv; /* the program's arguments; a NULL ends the list */
};

/* The following are defined in verbs.c. */
extern const struct verb *const verbs[]; /* a NULL ends the list */
/* Finds the verb that the first one or two words name, and sets *used to the number of these words.
 * Returns NULL, and sets *s to the error, if they name no verb. */
const struct verb *verb_find(const struct words *words, int *used, dt_status **s);

/* The following are defined in options.c. */
extern const struct option common_options[];
struct parse {
    /* the verb whose options are read; NULL: reads the words before the verb, where only the
     * options of all verbs are allowed */
    const struct verb *verb;
    void *settings;
    struct words words;
};
/* Reads the words into the settings and *operands, whose array must have room for all words. With
 * operands NULL, stops at the first operand. Sets *used to the number of words that were read. */
dt_status *options_parse(const struct parse *p, struct words *operands, int *used);
void options_release(const struct verb *verb, void *settings);
/* Writes the name of an option's environment variable to the caller's buffer: "DTRAIN_LOG_FILE" for
 * "log-file". */
void option_env_name(const struct option *o, char *name, size_t size);

/* The following are defined in option_hints.c. */
/* Whether a word is `name`, or `name` with underscores for dashes. */
bool is_spelt(const char *written, const char *name);
struct foreign_option {
    /* [2] the tables of the verb's options and of the options of all verbs */
    const struct option *const *tables;
    /* name: the option's name without dashes; value NULL: the option was written without a value */
    const char *name, *value;
    bool overrides; /* whether the verb accepts key.path=value */
};
/* Writes to `to` what to use instead of an option that the verb does not have. Returns false if
 * that is unknown. */
bool option_hint(const struct foreign_option *f, dt_str *to);

/* The following are defined in help.c. */
void usage_print(void); /* prints the usage screen on standard error */
/* Prints the page of a verb on standard output, or the usage screen if verb is NULL. */
void help_show(struct out *out, const struct verb *verb);

/* The following are defined in operands.c. */
/* Takes operands that must be exactly one job, then overrides. */
dt_status *take_job(const struct call *call, const struct place *place, dt_job_source *source);
dt_status *take_no_operands(const struct call *call);
/* Whether the operand's name is that of a job: "-", *.yaml or *.yml. */
bool is_job(const char *operand);
/* Takes operands that are runs, checkpoints or files. A job among them is an error, whose message
 * ends with `hint`. */
dt_status *take_no_job(const struct call *call, const char *hint);
bool is_override(const char *operand);
int count_jobs(const struct call *call); /* returns the number of operands that are not overrides */
dt_status *usage_error(const struct call *call, const char *format, ...) DT_FORMAT(2, 3);
/* A word for messages: its first 80 bytes at most, then "..." if that is not all of it. */
struct cut {
    char text[96];
};
struct cut cut_word(const char *word);

/* A job that is opened for another slice than its own: --tpu becomes overrides. */
struct tpu_job {
    /* The source of the job: `word` is an array with the overrides of the command line, those that
     * stand for --tpu, and room for one more; `slice` is the text of one of them. */
    dt_job_source source;
    const char **word;
    char slice[256];
};

/* Returns an error if the slice is unknown, so that users see it as an error of the command line
 * and not of the job. tpu NULL: the option was not given, which is not an error. */
dt_status *tpu_check(const char *tpu);
/* Reads the operands as a job, and adds the overrides for the slice `tpu`. `more` is one more
 * override; NULL: none. The caller releases *out, also after an error. */
dt_status *tpu_take_job(const struct call *call, const struct place *place, const char *tpu,
                        const char *more, struct tpu_job *out);
void tpu_release(struct tpu_job *j);

/* options.c: appends the command line of a call as shell words, so that the user can repeat it:
 * "dtrain fit job.yaml seed=7 --time 90s". It has the operands and the options, but not options
 * whose rows have `.once`, nor the options of all verbs. */
void put_again(dt_str *to, const struct call *call);

/* complete.c: proposes completions of a command line for shells: `dtrain __complete SHELL WORD...`.
 * Returns the exit code. */
int complete_print(struct words words);

#endif
