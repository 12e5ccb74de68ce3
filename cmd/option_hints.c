/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Suggests what to write instead of an option that a verb does not have. It may be an option of
 * another program (in the table below), an option of another verb, or a key of the job; else the
 * most similar option of the verb is suggested.
 */
#include <stdio.h>
#include <string.h>

#include "print.h"
#include "verb.h"

#define PLUGIN "a GPU is used with --backend pjrt --plugin PATH (docs/accelerators.md)"
#define WORKERS "use --workers N on one machine, or a launcher such as mpirun or torchrun"
#define STOPPING "add EarlyStopping to fit.callbacks; see 'dtrain help EarlyStopping'"
#define SCHEDULE                                                                                   \
    "a schedule takes the place of the learning rate: learning_rate: {CosineDecay: {...}}; see "   \
    "'dtrain help CosineDecay'"

/* An option of another program, and its replacement in dtrain: `option`, an option of a verb;
 * `key`, a key of the job, with the value, if any, that the foreign option implies; or `instead`, a
 * description. */
static const struct foreign {
    const char *name, *option, *key, *value, *instead;
} rows[] = {
    {"epoch", .key = "fit.epochs"},
    {"num-epochs", .key = "fit.epochs"},
    {"n-epochs", .key = "fit.epochs"},
    {"max-epochs", .key = "fit.epochs"},
    {"num-train-epochs", .key = "fit.epochs"},
    {"batch-size", .key = "dataset.global_batch_size"},
    {"batch", .key = "dataset.global_batch_size"},
    {"bs", .key = "dataset.global_batch_size"},
    {"train-batch-size", .key = "dataset.global_batch_size"},
    {"per-device-batch-size", .key = "dataset.per_replica_batch_size"},
    {"per-device-train-batch-size", .key = "dataset.per_replica_batch_size"},
    {"lr", .key = "compile.optimizer.NAME.learning_rate"},
    {"learning-rate", .key = "compile.optimizer.NAME.learning_rate"},
    {"weight-decay", .key = "compile.optimizer.NAME.weight_decay"},
    {"momentum", .key = "compile.optimizer.NAME.momentum"},
    {"grad-clip", .key = "compile.optimizer.NAME.global_clipnorm"},
    {"max-grad-norm", .key = "compile.optimizer.NAME.global_clipnorm"},
    {"gradient-clip-val", .key = "compile.optimizer.NAME.global_clipnorm"},
    {"accumulate-grad-batches", .key = "fit.gradient_accumulation_steps"},
    {"grad-accum", .key = "fit.gradient_accumulation_steps"},
    {"eval-steps", .key = "fit.validation_freq"},
    {"eval-every", .key = "fit.validation_freq"},
    {"check-val-every-n-epoch", .key = "fit.validation_freq"},
    {"output", .key = "output.dir"},
    {"output-dir", .key = "output.dir"},
    {"out", .key = "output.dir"},
    {"out-dir", .key = "output.dir"},
    {"outdir", .key = "output.dir"},
    {"logdir", .key = "output.dir"},
    {"log-dir", .key = "output.dir"},
    {"save-dir", .key = "output.dir"},
    {"checkpoint-dir", .key = "output.dir"},
    {"run-dir", .key = "output.dir"},
    {"default-root-dir", .key = "output.dir"},
    {"data", .key = "dataset.train"},
    {"data-dir", .key = "dataset.train"},
    {"train-data", .key = "dataset.train"},
    {"train-file", .key = "dataset.train"},
    {"dataset", .key = "dataset.train"},
    {"val-data", .key = "dataset.validation"},
    {"validation-file", .key = "dataset.validation"},
    {"val-split", .key = "dataset.validation_split"},
    {"devices", .key = "strategy.devices"},
    {"device", .key = "strategy.devices"},
    {"num-replicas", .key = "strategy.replicas"},
    {"strategy", .key = "strategy.type"},
    {"amp", .key = "compile.precision"},
    {"dtype", .key = "compile.precision"},
    {"mixed-precision", .key = "compile.precision"},
    {"fp16", .key = "compile.precision", .value = "mixed_float16"},
    {"bf16", .key = "compile.precision", .value = "mixed_bfloat16"},
    {"save-steps", .key = "checkpoint.save_freq"},
    {"save-total-limit", .key = "checkpoint.max_to_keep"},
    {"callbacks", .key = "fit.callbacks"},
    {"optimizer", .key = "compile.optimizer"},
    {"random-seed", .key = "seed"},
    {"pretrained", .key = "model.init_from"},
    {"weights", .key = "model.init_from"},
    {"deterministic", .key = "reproducible.strict", .value = "true"},
    {"resume-from-checkpoint", .option = "resume"},
    {"resume-from", .option = "resume"},
    {"ckpt-path", .option = "resume"},
    {"ckpt-path", .option = "ckpt"},
    {"checkpoint", .option = "resume"},
    {"checkpoint", .option = "ckpt"},
    {"fast-dev-run", .option = "dry-run"},
    {"check", .option = "dry-run"},
    {"overwrite", .option = "fresh"},
    {"force", .option = "fresh"},
    {"overwrite-output-dir", .option = "fresh"},
    {"max-time", .option = "time"},
    {"gpu", .instead = PLUGIN},
    {"gpus", .instead = PLUGIN},
    {"cuda", .instead = PLUGIN},
    {"accelerator", .instead = PLUGIN},
    {"num-nodes", .instead = WORKERS},
    {"nnodes", .instead = WORKERS},
    {"nproc-per-node", .instead = WORKERS},
    {"num-processes", .instead = WORKERS},
    {"patience", .instead = STOPPING},
    {"early-stopping", .instead = STOPPING},
    {"scheduler", .instead = SCHEDULE},
    {"lr-scheduler", .instead = SCHEDULE},
    {"lr-scheduler-type", .instead = SCHEDULE},
    {"warmup-steps", .instead = SCHEDULE},
    {"warmup-ratio", .instead = SCHEDULE},
    {"logging-steps", .instead = "leave it out; --json --every-step prints every step"},
    {"log-every-n-steps", .instead = "leave it out; --json --every-step prints every step"},
    {"profile", .instead = "to see where the time goes, run: dtrain trace JOB"},
    {"profiler", .instead = "to see where the time goes, run: dtrain trace JOB"},
    {"config", .instead = "the job file is an operand: dtrain fit JOB"},
    {"config-file", .instead = "the job file is an operand: dtrain fit JOB"},
};

bool is_spelt(const char *written, const char *name) {
    for (; *written && *name; written++, name++)
        if (*written != *name && !(*written == '_' && *name == '-')) return false;
    return *written == *name;
}

static const struct option *find(const struct option *table, const char *name) {
    for (const struct option *o = table; o->name; o++)
        if (is_spelt(name, o->name)) return o;
    return NULL;
}

static void put_key(dt_str *to, const char *key, const char *value) {
    dt_str_printf(to, "settings of a job have no dashes: write %s=%s%s", key,
                  value ? cut_word(value).text : "VALUE",
                  strstr(key, ".NAME.") ? ", where NAME is the job's optimizer" : "");
}

/* A search through the keys of jobs for the one whose last component is the option's name. */
struct wanted {
    char word[64], key[128];
};

static void match_key(const dt_job_key *k, void *user) {
    struct wanted *x = user;
    const char *dot = strrchr(k->path, '.'), *last = dot ? dot + 1 : k->path;
    bool plain = !k->kind && !k->refused && !strpbrk(k->path, "[*");
    if (plain && strcmp(last, x->word) == 0 && (!*x->key || strlen(k->path) < strlen(x->key)))
        snprintf(x->key, sizeof x->key, "%s", k->path);
}

static bool put_own_key(dt_str *to, const struct foreign_option *f) {
    struct wanted x = {0};
    if (!f->overrides) return false;
    snprintf(x.word, sizeof x.word, "%s", f->name);
    for (char *p = x.word; *p; p++) *p = *p == '-' ? '_' : *p;
    dt_job_keys(match_key, &x);
    if (*x.key) put_key(to, x.key, f->value);
    return *x.key;
}

static bool put_foreign(dt_str *to, const struct foreign_option *f) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct foreign *row = &rows[i];
        if (!is_spelt(f->name, row->name) || (row->key && !f->overrides) ||
            (row->option && !find(f->tables[0], row->option)))
            continue;
        if (row->key) put_key(to, row->key, row->value ? row->value : f->value);
        else if (row->option) dt_str_printf(to, "did you mean '--%s'?", row->option);
        else dt_str_puts(to, row->instead);
        return true;
    }
    return false;
}

static bool is_choice(const struct option *o, const char *value) {
    for (int i = 0; o->choices && o->choices[i] && value; i++)
        if (strcmp(o->choices[i], value) == 0) return true;
    return false;
}

/* Writes the names of the verbs that have the option, and returns whether there is one. certain:
 * only the verbs whose option lists the given value among its choices. */
static bool put_verbs(dt_str *to, const struct foreign_option *f, bool certain) {
    int n = 0;
    for (int i = 0; verbs[i]; i++) {
        const struct option *o = find(verbs[i]->options, f->name);
        if (!o || (certain && !is_choice(o, f->value))) continue;
        dt_str_printf(to, "%s%s", n++ ? ", " : "it is an option of: ", verbs[i]->name);
    }
    return n > 0;
}

static bool put_nearest(dt_str *to, const struct foreign_option *f) {
    const char *names[64];
    int n = 0;
    for (int t = 0; t < 2; t++)
        for (const struct option *o = f->tables[t]; o->name && n < 64; o++) names[n++] = o->name;
    const char *nearest = dt_nearest(f->name, names, n);
    if (nearest) dt_str_printf(to, "did you mean '--%s'?", nearest);
    return nearest;
}

/* Suggests the override fit.epochs=2 if the user wrote "--fit.epochs=2" for a verb that accepts
 * overrides, and returns whether that is so. */
static bool put_path(dt_str *to, const struct foreign_option *f) {
    const bool is_path = f->overrides && strchr(f->name, '.');
    if (is_path) put_key(to, f->name, f->value);
    return is_path;
}

bool option_hint(const struct foreign_option *f, dt_str *to) {
    return put_path(to, f) || put_foreign(to, f) || put_verbs(to, f, true) || put_own_key(to, f) ||
           put_verbs(to, f, false) || put_nearest(to, f);
}
