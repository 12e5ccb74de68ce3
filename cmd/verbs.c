/* SPDX-License-Identifier: Apache-2.0 */
/* The table of verbs, and functions to find one. */
#include <stdio.h>
#include <string.h>

#include "verb.h"

#define VERB(name) extern const struct verb verb_##name;
#include "verbs.h"
#undef VERB

const struct verb *const verbs[] = {
#define VERB(name) &verb_##name,
#include "verbs.h"
#undef VERB
    NULL};

static const struct verb *find(const char *name) {
    for (int i = 0; verbs[i]; i++)
        if (strcmp(verbs[i]->name, name) == 0) return verbs[i];
    return NULL;
}

/* Names that other programs give to a verb, so that the error about an unknown verb can suggest
 * ours. */
static const struct {
    const char *word, *verb;
} elsewhere[] = {
    {"train", "fit"},
    {"run", "fit"},
    {"resume", "fit"},
    {"finetune", "fit"},
    {"eval", "evaluate"},
    {"test", "evaluate"},
    {"score", "evaluate"},
    {"infer", "predict"},
    {"inference", "predict"},
    {"check", "validate"},
    {"lint", "validate"},
    {"verify", "ckpt verify"},
    {"estimate", "plan"},
    {"new", "config init"},
    {"init", "config init"},
    {"schema", "config schema"},
    {"reference", "config reference"},
    {"show", "config show"},
    {"diff", "config diff"},
    {"inspect", "data inspect"},
    {"convert", "data convert"},
    {"synth", "data synth"},
    {"profile", "trace"},
    {"compile", "lower"},
    {"summary", "lower"},
    {"save", "export"},
    {"onnx", "export"},
    {"info", "doctor"},
    {"list", "ckpt ls"},
    {"search", "sweep"},
    {"tune", "sweep"},
    {"lr-find", "sweep"},
    {"plot", "report"},
    {"dashboard", "report"},
    {"visualize", "report"},
    {"generate-data", "data synth"},
};
enum { ELSEWHERE = sizeof elsewhere / sizeof *elsewhere };

static const char *called_elsewhere(const char *name) {
    for (size_t i = 0; i < ELSEWHERE; i++)
        if (is_spelt(name, elsewhere[i].word))
            return find(elsewhere[i].verb) ? elsewhere[i].verb : NULL;
    return NULL;
}

/* Returns the verb that the user may have meant; NULL: no verb has a similar name. */
static const char *meant(const char *name) {
    enum { MOST = 64 };
    const char *names[MOST + ELSEWHERE], *other = called_elsewhere(name);
    int n = 0;
    if (other) return other;
    for (; verbs[n] && n < MOST; n++) names[n] = verbs[n]->name;
    for (size_t i = 0; i < ELSEWHERE; i++) names[n++] = elsewhere[i].word;
    const char *nearest = dt_nearest(name, names, n);
    return nearest && !find(nearest) ? called_elsewhere(nearest) : nearest;
}

#define MEASUREMENTS                                                                               \
    "scripts/published compares plans with published measurements; see docs/simulator.md"
#define LAUNCH "run: dtrain fit JOB --workers N; or start the job with mpirun, srun or torchrun"

/* Commands of other tools that dtrain lacks, and how to do the same with dtrain. */
static const struct {
    const char *word, *instead;
} ways[] = {
    {"bench", MEASUREMENTS},
    {"benchmark", MEASUREMENTS},
    {"serve", "to answer rows as they arrive, run: dtrain predict JOB --input - --format jsonl"},
    {"chat", "to continue a text with a language model, run: dtrain generate JOB --prompt TEXT"},
    {"deploy", "to serve a model elsewhere, run: dtrain export JOB -o model.onnx"},
    {"launch", LAUNCH},
    {"torchrun", LAUNCH},
    {"accelerate", LAUNCH},
    {"tensorboard", "set output.tensorboard: true, then run: tensorboard --logdir DIR; or 'dtrain "
                    "report RUN...'"},
};

static const char *other_way(const char *name) {
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (is_spelt(name, ways[i].word)) return ways[i].instead;
    return NULL;
}

static dt_status *unknown(const char *name) {
    const char *verb = meant(name);
    if (is_job(name) && name[1])
        return dt_status_create(ERROR_USAGE,
                                "unknown command '%s'; to train this job, run: dtrain fit %s",
                                cut_word(name).text, cut_word(name).text);
    if (other_way(name))
        return dt_status_create(ERROR_USAGE, "unknown command '%s'; %s", cut_word(name).text,
                                other_way(name));
    if (verb)
        return dt_status_create(ERROR_USAGE, "unknown command '%s'; did you mean '%s'?",
                                cut_word(name).text, verb);
    return dt_status_create(ERROR_USAGE, "unknown command '%s'", cut_word(name).text);
}

/* Returns the first verb whose name begins with the word and a blank. */
static const struct verb *find_group(const char *word) {
    size_t n = strlen(word);
    for (int i = 0; verbs[i]; i++)
        if (strncmp(verbs[i]->name, word, n) == 0 && verbs[i]->name[n] == ' ') return verbs[i];
    return NULL;
}

/* Returns an error that lists the words that may follow `word`. */
static dt_status *second_word_missing(const char *word) {
    const size_t n = strlen(word);
    char all[256] = "";
    size_t used = 0;
    for (int i = 0; verbs[i]; i++) {
        const char *name = verbs[i]->name;
        if (strncmp(name, word, n) == 0 && name[n] == ' ' && used < sizeof all)
            used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", used ? ", " : "",
                                     name + n + 1);
    }
    return dt_status_create(ERROR_USAGE, "%s needs a subcommand: %s", word, all);
}

const struct verb *verb_find(const struct words *words, int *used, dt_status **s) {
    const struct verb *verb = find(words->at[0]), *group = verb ? NULL : find_group(words->at[0]);
    char both[2 * sizeof(struct cut)];
    *used = group && words->n > 1 ? 2 : 1;
    *s = NULL;
    if (verb) return verb;
    if (group && words->n == 1) {
        *s = second_word_missing(words->at[0]);
        return NULL;
    }
    snprintf(both, sizeof both, "%s%s%s", cut_word(words->at[0]).text, group ? " " : "",
             group ? cut_word(words->at[1]).text : "");
    verb = find(both);
    if (!verb) *s = unknown(both);
    return verb;
}
