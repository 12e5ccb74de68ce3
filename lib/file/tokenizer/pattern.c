/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regular expressions, by PCRE2, of which these functions are the same in all versions from 10.30
 * on. The package `tokenizers` has Oniguruma, with the syntax of Ruby. `translate` accepts what
 * both understand alike, and writes \s as a list, because PCRE2's also has U+180E:
 *
 *     literals  .  |  ( )  (?: )  (?i: )  (?= )  (?! )  [ ]  [^ ]
 *     ? * +  also with ? or + behind them;  {m}  {m,}  {m,n}  the last two also with ? behind them
 *     \s \S \d \D \p{L} \P{L} \r \n \t \X, and a backslash before punctuation
 *
 * A pattern that can match an empty string is refused: the package would split a text at such a
 * match, but this code asks PCRE2 for a match of at least one character.
 *
 * The steps, nesting and memory of a match are limited. So is the number of attempts in a text that
 * take more than FEW_STEPS steps and do not match at least LONG bytes. So the steps for a text grow
 * at most in proportion to its length, apart from MOST_DEAR * MOST_STEPS. PCRE2's just-in-time
 * compiler is not used, because it needs memory that is both writable and executable.
 */
#include <dlfcn.h>
#include <string.h>

#include "base/library.h"
#include "file/tokenizer/tokenizer_impl.h"

enum {
    LONGEST_PATTERN = 4096,
    MOST_STEPS = 1 << 20, /* limit of PCRE2's steps for one match */
    /* limit of PCRE2's steps for a cheap match; other matches are called dear */
    FEW_STEPS = 1 << 10,
    MOST_DEAR = 64, /* limit of the dear attempts in a text that match less than LONG bytes */
    LONG = 256,
    DEEPEST = 1 << 16,  /* limit of backtracking points at the same time */
    MOST_KIB = 64 << 10 /* limit of the memory of one match */
};

/* constants of pcre2.h */
#define UTF 0x00080000u
#define UCP 0x00020000u
#define NO_UTF_CHECK 0x40000000u
#define NOT_EMPTY 0x00000004u
#define ANCHORED 0x80000000u
#define NO_MATCH (-1)
#define TOO_MANY_STEPS (-47)
#define INFO_MATCHEMPTY 13

/* The functions of PCRE2: name without its suffix "_8", result, arguments. */
#define FUNCTIONS(X)                                                                               \
    X(general_context_create, void *,                                                              \
      (void *(*)(size_t, void *), void (*)(void *, void *), void *))                               \
    X(compile_context_create, void *, (void *))                                                    \
    X(compile, void *, (const char *, size_t, uint32_t, int *, size_t *, void *))                  \
    X(pattern_info, int, (const void *, uint32_t, void *))                                         \
    X(get_error_message, int, (int, char *, size_t))                                               \
    X(match_context_create, void *, (void *))                                                      \
    X(set_match_limit, int, (void *, uint32_t))                                                    \
    X(set_depth_limit, int, (void *, uint32_t))                                                    \
    X(set_heap_limit, int, (void *, uint32_t))                                                     \
    X(match_data_create, void *, (uint32_t, void *))                                               \
    X(match_data_free, void, (void *))                                                             \
    X(match, int, (const void *, const char *, size_t, size_t, uint32_t, void *, void *))          \
    X(get_ovector_pointer, size_t *, (void *))

typedef struct library {
#define MEMBER(name, result, arguments) result(*name) arguments;
    FUNCTIONS(MEMBER)
#undef MEMBER
} library;

struct dt_regex {
    library lib;
    const char *source;        /* the pattern as it is written in the file */
    void *code, *limits, *few; /* few: limits of a cheap match */
};

static dt_status *load(library *l) {
    static const char *const names[] = {"libpcre2-8.so.0", "libpcre2-8.so", NULL};
    static const dt_library_function rows[] = {
#define ROW(name, result, arguments) {"pcre2_" #name "_8", offsetof(library, name)},
        FUNCTIONS(ROW)
#undef ROW
    };
    void *handle = NULL;
    DT_TRY(dt_library_open(&handle, names, RTLD_NOW | RTLD_LOCAL, NULL));
    if (!handle)
        return dt_suggest(
            dt_fail(DT_E_PLUGIN, NULL, "libpcre2-8, which splits text, is not installed"),
            "install libpcre2-8-0 (Debian, Ubuntu) or pcre2 (Fedora)");
    const char *missing = dt_library_bind(handle, rows, sizeof rows / sizeof *rows, l);
    return missing ? dt_fail(DT_E_PLUGIN, NULL, "libpcre2-8 is of another version: it lacks %s",
                             missing)
                   : NULL;
}

/* ---- syntax ---- */

typedef struct translation {
    const char *at;
    dt_str out;
    bool in_class;
    const char *fault;
} translation;

static void copy(translation *t, size_t n) {
    dt_str_add(&t->out, t->at, n);
    t->at += n;
}

static void refuse(translation *t, const char *fault) {
    if (!t->fault) t->fault = fault;
}

/* Appends the translation of \s or \S. It begins and ends with a property, so that a hyphen next to
 * \s in brackets cannot form a range. */
static void put_blank(translation *t, bool none) {
    static const char blanks[] = "\\p{Z}\\t-\\r\\x{85}\\p{Z}";
    if (t->in_class && none) refuse(t, "\\S in brackets is not supported");
    else if (t->in_class) dt_str_puts(&t->out, blanks);
    else dt_str_printf(&t->out, "[%s%s]", none ? "^" : "", blanks);
    t->at += 2;
}

/* Translates a property. In Oniguruma, \p{Han} matches the characters of that script only; in PCRE2
 * it also matches those that the script shares with others. */
static void take_property(translation *t) {
    static const char *const others[] = {"Any",          "Alphabetic", "Extended_Pictographic",
                                         "Join_Control", "Lowercase",  "Uppercase"};
    const char *name = t->at + 3;
    const size_t n = t->at[2] == '{' ? strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                                    "abcdefghijklmnopqrstuvwxyz_")
                                     : 0;
    bool is_script = n > 2;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (n == strlen(others[i]) && memcmp(name, others[i], n) == 0) is_script = false;
    if (n == 0 || name[n] != '}') {
        refuse(t, "\\p needs a name in braces");
        return;
    }
    copy(t, 3);
    if (is_script) dt_str_puts(&t->out, "sc:");
    copy(t, n + 1);
}

static void take_escape(translation *t) {
    const char c = t->at[1];
    if (c == 's' || c == 'S') put_blank(t, c == 'S');
    else if (c == 'p' || c == 'P') take_property(t);
    else if (c && strchr("dDrntX", c)) copy(t, 2);
    else if (c > ' ' && c < 0x7f && !strchr("0123456789", c) && (c | 0x20) >= 'a' &&
             (c | 0x20) <= 'z')
        refuse(t, "a letter behind a backslash other than s, S, d, D, p, P, r, n, t and X is not "
                  "supported");
    else if (c <= ' ' || c >= 0x7f || strchr("0123456789", c))
        refuse(t, "only letters and punctuation may follow a backslash");
    else copy(t, 2);
}

static void take_class(translation *t) {
    t->in_class = true;
    copy(t, t->at[1] == '^' ? 2 : 1);
    if (*t->at == ']') refuse(t, "']' at the front of brackets is not supported");
    while (!t->fault && *t->at != ']')
        if (!*t->at) refuse(t, "brackets are not closed");
        else if (*t->at == '[' || (*t->at == '&' && t->at[1] == '&'))
            refuse(t, "sets in brackets are not supported");
        else if (*t->at == '\\') take_escape(t);
        else copy(t, 1);
    if (!t->fault) copy(t, 1);
    t->in_class = false;
}

/* Refuses groups such as (?i:ss), which also matches the single letter "ß" in Oniguruma, but not in
 * PCRE2. */
static void check_letters(translation *t, const char *p) {
    static const char *const two[] = {"ss", "ff", "fi", "fl", "st"};
    for (int open = 1; *p && open > 0; p++) {
        if ((unsigned char)*p >= 0x80)
            refuse(t, "a character other than ASCII in (?i: is not supported");
        for (size_t i = 0; i < sizeof two / sizeof *two; i++)
            if ((p[0] | 0x20) == two[i][0] && (p[1] | 0x20) == two[i][1])
                refuse(t, "ss, ff, fi, fl and st in (?i: are not supported");
        if (*p == '\\' && p[1]) p++;
        else open += (*p == '(') - (*p == ')');
    }
}

static void take_group(translation *t) {
    static const char *const begins[] = {"(?:", "(?i:", "(?=", "(?!"};
    if (strncmp(t->at, "(?i:", 4) == 0) check_letters(t, t->at + 4);
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (strncmp(t->at, begins[i], strlen(begins[i])) == 0) {
            copy(t, strlen(begins[i]));
            return;
        }
    if (t->at[1] == '?' || t->at[1] == '*')
        refuse(t, "a group other than (?:, (?i:, (?= and (?! is not supported");
    else copy(t, 1);
}

static void take_count(translation *t) {
    const size_t low = strspn(t->at + 1, "0123456789");
    const char *p = t->at + 1 + low;
    if (*p == ',') p += 1 + strspn(p + 1, "0123456789");
    if (low == 0 || *p != '}') refuse(t, "'{' that does not begin a count is not supported");
    else if (p[1] == '+') refuse(t, "'+' behind a count is not supported");
    else if (p == t->at + 1 + low && p[1] == '?')
        refuse(t, "'?' behind a count without a comma is not supported");
    else if (p - t->at > 8) refuse(t, "a count is too long");
    else copy(t, (size_t)(p + 1 - t->at));
}

static void translate(translation *t) {
    while (!t->fault && *t->at)
        if (*t->at == '\\') take_escape(t);
        else if (*t->at == '[') take_class(t);
        else if (*t->at == '(') take_group(t);
        else if (*t->at == '{') take_count(t);
        else if (*t->at == '^' || *t->at == '$')
            refuse(t, "'^' and '$' mean ends of lines, and are not supported");
        else copy(t, 1);
}

/* ---- compiling ---- */

static void *from_arena(size_t n, void *arena) { return dt_arena_alloc(arena, n); }
static void to_arena(void *p, void *arena) { (void)p, (void)arena; }

static void *limit(const dt_regex *p, uint32_t steps, void *memory) {
    void *limits = p->lib.match_context_create(memory);
    p->lib.set_match_limit(limits, steps);
    p->lib.set_depth_limit(limits, DEEPEST);
    p->lib.set_heap_limit(limits, MOST_KIB);
    return limits;
}

dt_status *dt_regex_compile(dt_arena *arena, const char *source, const dt_regex **out,
                            const char **fault) {
    dt_regex *p = dt_arena_new(arena, dt_regex);
    translation t = {.at = source};
    int error = 0;
    size_t at = 0;
    *out = p;
    *fault = NULL;
    DT_TRY(load(&p->lib));
    if (strlen(source) > LONGEST_PATTERN) t.fault = "longer than 4096 bytes";
    p->source = dt_arena_strdup(arena, source);
    translate(&t);
    void *memory = p->lib.general_context_create(from_arena, to_arena, arena);
    if (!t.fault)
        p->code = p->lib.compile(dt_str_text(&t.out), t.out.size, UTF | UCP, &error, &at,
                                 p->lib.compile_context_create(memory));
    if (!t.fault && !p->code) {
        char text[128] = "";
        p->lib.get_error_message(error, text, sizeof text);
        t.fault = dt_arena_strdup(arena, text);
    }
    uint32_t is_empty = 0;
    if (!t.fault) p->lib.pattern_info(p->code, INFO_MATCHEMPTY, &is_empty);
    if (is_empty) t.fault = "it matches an empty text, which is not supported";
    p->limits = limit(p, MOST_STEPS, memory);
    p->few = limit(p, FEW_STEPS, memory);
    dt_str_release(&t.out);
    *fault = t.fault;
    return NULL;
}

/* ---- matching ---- */

typedef struct search {
    const dt_regex *p;
    const char *text;
    size_t n;
    void *data;
    const size_t *found; /* offsets of the last match: its beginning and its end */
    /* Number of attempts that took many steps, without those that matched at least LONG bytes. */
    int dear;
} search;

static int try(const search *x, size_t at, uint32_t how, void *limits) {
    return x->p->lib.match(x->p->code, x->text, x->n, at, NO_UTF_CHECK | NOT_EMPTY | how, x->data,
                           limits);
}

/* Looks for a match that begins exactly at `at`, in at most MOST_STEPS steps. Returns
 * TOO_MANY_STEPS, too, if MOST_DEAR such attempts did not match at least LONG bytes. */
static int try_dear(search *x, size_t at) {
    if (x->dear++ == MOST_DEAR) return TOO_MANY_STEPS;
    const int got = try(x, at, ANCHORED, x->p->limits);
    if (got > 0) x->dear -= x->found[1] - at >= LONG;
    return got;
}

/* Looks for the first match from `at` on. If FEW_STEPS are not enough, tries each position
 * separately. */
static int find_match(search *x, size_t at) {
    int got = try(x, at, 0, x->p->few);
    if (got != TOO_MANY_STEPS) return got;
    for (uint32_t code; at < x->n; at += dt_utf8_next(x->text + at, x->n - at, &code)) {
        got = try(x, at, ANCHORED, x->p->few);
        if (got == TOO_MANY_STEPS) got = try_dear(x, at);
        if (got != NO_MATCH) break;
    }
    return got;
}

dt_status *dt_regex_split(const dt_regex *p, const char *text, size_t n, dt_see_stretch *see,
                          void *user) {
    search x = {.p = p, .text = text, .n = n, .data = p->lib.match_data_create(1, NULL)};
    dt_status *s = NULL;
    size_t at = 0;
    if (!x.data) return dt_fail(DT_E_NO_MEMORY, NULL, "out of memory to split text");
    x.found = p->lib.get_ovector_pointer(x.data);
    while (!s && at < n) {
        const int got = find_match(&x, at);
        if (got < 0 && got != NO_MATCH)
            s = dt_fail(DT_E_RANGE, NULL,
                        "the pattern '%.80s' needs more than %d steps to split a text%s", p->source,
                        x.dear > MOST_DEAR ? FEW_STEPS : MOST_STEPS,
                        x.dear > MOST_DEAR ? " in too many places" : "");
        const size_t from = got < 0 ? n : x.found[0], to = got < 0 ? n : x.found[1];
        if (!s && from > at) s = see(user, text + at, from - at, false);
        if (!s && to > from) s = see(user, text + from, to - from, true);
        at = to;
    }
    p->lib.match_data_free(x.data);
    return s;
}
