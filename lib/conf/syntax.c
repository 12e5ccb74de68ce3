/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Refuses texts that libyaml should not read, and explains syntax errors. libyaml reports the token
 * at which its grammar failed, which is often far behind the mistake: if a bracket is never closed,
 * the rest of the file is one long list. So the text is scanned again from the innermost open
 * bracket, and the message names the bracket if it is never closed. It also names a quote that is
 * never closed.
 */
#include <inttypes.h>
#include <string.h>

#include "conf/conf_impl.h"

dt_status *dt_yaml_check_size(const dt_source *s) {
    if (s->size <= DT_JOB_BYTES) return NULL;
    /* Standard input, which may be endless, was read only a little beyond the limit, so its size is
     * not known. */
    const bool known = s->size >= 2 * DT_JOB_BYTES;
    return dt_fail(DT_E_JOB_LIMIT, &(dt_location){.source = s, .line = 1, .col = 1},
                   "%s; a job may not exceed 1 MiB",
                   known ? dt_text_of_bytes((double)s->size).s : "more than 1 MiB");
}

static bool is_control(uint32_t c) {
    return (c < 0x20 && c != '\t' && c != '\n') || (c >= 0x7f && c < 0xa0);
}

static bool is_refused(uint32_t c) {
    return c == 0x2028 || c == 0x2029 || c == 0xfeff || c == 0xfffe || c == 0xffff;
}

static dt_status *check_char(const dt_yaml *y, size_t i, uint32_t code) {
    const dt_source *s = y->source;
    bool line_end = code == '\r' && i + 1 < s->size && s->text[i + 1] == '\n';
    if (line_end || (!is_control(code) && !is_refused(code))) return NULL;
    dt_location at = dt_yaml_place_at(y, i);
    if (is_control(code))
        return dt_fail(DT_E_JOB_BYTES, &at, "control character 0x%02" PRIx32, code);
    return dt_fail(DT_E_JOB_BYTES, &at, "character U+%04" PRIX32 " is not allowed", code);
}

static dt_status *check_bytes(const dt_yaml *y) {
    const dt_source *s = y->source;
    for (size_t i = y->from, n; i < s->size; i += n) {
        uint32_t code;
        n = dt_utf8_next(s->text + i, s->size - i, &code);
        if (n == 0) {
            dt_location at = dt_yaml_place_at(y, i);
            return dt_suggest(
                dt_fail(DT_E_JOB_BYTES, &at, "byte 0x%02x is not UTF-8", (unsigned char)s->text[i]),
                "save it as UTF-8");
        }
        DT_TRY(check_char(y, i, code));
    }
    return NULL;
}

/* Refuses %TAG directives. They can only be among the directives, blank lines and comments before
 * the document. */
static dt_status *check_directives(const dt_yaml *y) {
    const char *end = y->source->text + y->source->size;
    for (const char *line = y->source->text + y->from; line && line < end;) {
        size_t left = (size_t)(end - line), blanks = 0;
        if (left >= 4 && memcmp(line, "%TAG", 4) == 0) {
            dt_location at = dt_yaml_place_at(y, (size_t)(line - y->source->text));
            return dt_fail(DT_E_YAML_FEATURE, &at, "%%TAG directives are not supported");
        }
        while (blanks < left &&
               (line[blanks] == ' ' || line[blanks] == '\t' || line[blanks] == '\r'))
            blanks++;
        if (blanks < left && !strchr("#%\n", line[blanks])) return NULL;
        line = memchr(line, '\n', left);
        line = line ? line + 1 : NULL;
    }
    return NULL;
}

/* Checks a text before libyaml reads it. Refuses texts that are too large or contain invalid UTF-8
 * or characters that no job needs, and line separators other than LF and CR LF, because libyaml
 * counts lines by them and editors do not. Also refuses %TAG directives, for which libyaml 0.2.5
 * takes quadratic time before its first event. Brackets are not checked: the depth limit stops the
 * event loop at level 65. */
dt_status *dt_yaml_check(const dt_yaml *y) {
    DT_TRY(dt_yaml_check_size(y->source));
    DT_TRY(check_bytes(y));
    return check_directives(y);
}

/* What is known when libyaml reports an error. */
typedef struct failure {
    dt_yaml *y;
    const yaml_parser_t *yaml;
    const dt_yaml_before *before;
    dt_location at;                /* the source location of the problem */
    char c;                        /* the character at that location, '\0' at the end */
    const char *problem, *context; /* libyaml's words about it; "": none */
} failure;

static bool is(const failure *f, const char *problem) { return strcmp(f->problem, problem) == 0; }

static dt_location context_place(const failure *f) {
    dt_location at = dt_yaml_place(f->y, f->yaml->context_mark, f->yaml->context_mark);
    at.width = 1;
    return at;
}

/* ---- brackets ---- */

static char closer(char c) { return c == '[' ? ']' : '}'; }

/* Whether byte i is a quote where a value can begin, so that it probably begins a string: the quote
 * in `don't` does not. */
static bool opens_string(const char *text, size_t from, size_t i) {
    return (text[i] == '"' || text[i] == '\'') && (i == from || strchr(" \t\n[{,:", text[i - 1]));
}

/* Returns the position of the next quote like the one at byte i, not counting escaped ones; at
 * least s->size if there is none. */
static size_t skip_string(const dt_source *s, size_t i) {
    char quote = s->text[i];
    for (i++; i < s->size && s->text[i] != quote; i++)
        if (s->text[i] == '\\' && quote == '"') i++;
    return i;
}

static size_t skip_comment(const dt_source *s, size_t i) {
    const char *end = memchr(s->text + i, '\n', s->size - i);
    return end ? (size_t)(end - s->text) : s->size;
}

/* Whether the bracket at `from` is closed later. True also if the nesting is deeper than a job may
 * have. */
static bool is_closed(const dt_source *s, size_t from) {
    char open[DT_JOB_DEPTH];
    int depth = 0;
    for (size_t i = from; i < s->size; i++) {
        char c = s->text[i];
        if (opens_string(s->text, from, i)) {
            i = skip_string(s, i);
        } else if (c == '#' && strchr(" \t\n", s->text[i - (i > 0)])) {
            i = skip_comment(s, i);
        } else if (c == '[' || c == '{') {
            if (depth == DT_JOB_DEPTH) return true;
            open[depth++] = c;
        } else if (c == ']' || c == '}') {
            if (depth == 1 && closer(open[0]) != c) return false;
            if (--depth == 0) return true;
        }
    }
    return false;
}

static dt_status *in_brackets(const failure *f) {
    dt_location opened = *f->before->bracket;
    opened.width = 1;
    char bracket = f->y->source->text[opened.offset];
    if ((f->c == ']' || f->c == '}') && f->c != closer(bracket))
        return dt_fail(DT_E_YAML_SYNTAX, &f->at, "'%c' closes the '%c' opened at line %d", f->c,
                       bracket, opened.line);
    if (f->c == '\0' || !is_closed(f->y->source, opened.offset))
        return dt_fail(DT_E_YAML_SYNTAX, &opened, "'%c' opened at line %d is never closed", bracket,
                       opened.line);
    dt_status *s =
        dt_fail(DT_E_YAML_SYNTAX, &f->at, "expected ',' or '%c', for the '%c' opened at line %d",
                closer(bracket), bracket, opened.line);
    const bool is_variable = f->at.offset > 0 && f->y->source->text[f->at.offset - 1] == '$';
    return is_variable ? dt_suggest(s, "write a text with ${...} in quotes") : s;
}

/* ---- quotes ---- */

static dt_status *unclosed_quote(const failure *f, yaml_mark_t start) {
    dt_location at = dt_yaml_place(f->y, start, start);
    at.width = 1;
    return dt_fail(DT_E_YAML_SYNTAX, &at, "quoted string opened at line %d is never closed",
                   at.line);
}

/* Whether a quote was probably not closed, so that its string extends to the next quote, on a later
 * line, after which the text is a syntax error. */
static bool swallowed_lines(const failure *f) {
    const dt_yaml_before *s = f->before;
    return s->quoted && s->start.line < s->end.line && s->end.line == f->yaml->problem_mark.line;
}

/* ---- other errors, and which explanation to give ---- */

/* Whether only blanks precede the problem in its line, so that the indentation is probably
 * wrong. */
static bool begins_line(const failure *f) {
    const char *text = f->y->source->text;
    size_t i = f->at.offset;
    while (i > 0 && text[i - 1] == ' ') i--;
    return i == 0 || text[i - 1] == '\n';
}

static dt_status *expected_value(const failure *f) {
    /* strchr also finds '\0', which stands for the end of the text. */
    if (f->before->bracket && strchr("]}", f->c)) return in_brackets(f);
    if (f->c == ']' || f->c == '}')
        return dt_fail(DT_E_YAML_SYNTAX, &f->at, "'%c' closes nothing", f->c);
    return dt_fail(DT_E_YAML_SYNTAX, &f->at, "expected a value");
}

static dt_status *expected_key(const failure *f) {
    if (f->c == ']' || f->c == '}') return expected_value(f);
    if (f->c == ':') return dt_fail(DT_E_YAML_SYNTAX, &f->at, "expected a key before ':'");
    if (begins_line(f)) {
        int line = context_place(f).line;
        dt_status *s =
            dt_fail(DT_E_YAML_SYNTAX, &f->at,
                    "expected another key or item of the block that begins at line %d", line);
        return dt_suggest(s, "does the indentation match that of line %d?", line);
    }
    if (f->before->quoted)
        return dt_suggest(dt_fail(DT_E_YAML_SYNTAX, &f->at, "text follows a quoted string"),
                          "quote the whole value");
    return dt_fail(DT_E_YAML_SYNTAX, &f->at, "text follows a value");
}

static dt_status *unexpected_colon(const failure *f) {
    dt_status *s = dt_fail(DT_E_YAML_SYNTAX, &f->at, "unexpected ':'");
    if (f->before->start.line < f->before->end.line)
        return dt_suggest(s, "line %zu lacks its ':', or this one is indented too far",
                          f->before->start.line + 1);
    return dt_suggest(s, "a value with ': ' in it needs quotes");
}

static dt_status *missing_colon(const failure *f) {
    dt_location at = context_place(f);
    return dt_suggest(dt_fail(DT_E_YAML_SYNTAX, &at, "expected ':' after this key"),
                      "write KEY: VALUE");
}

static dt_status *bad_begin(const failure *f) {
    dt_status *s = dt_fail(DT_E_YAML_SYNTAX, &f->at, "'%c' cannot begin a value", f->c);
    return dt_suggest(s, "put the value in quotes");
}

static dt_status *unexpected_dash(const failure *f) {
    dt_status *s = dt_fail(DT_E_YAML_SYNTAX, &f->at, "unexpected '-'");
    return dt_suggest(s, "start the list on a new line");
}

static dt_status *bad_escape(const failure *f) {
    dt_status *s = dt_fail(DT_E_YAML_SYNTAX, &f->at, "unknown escape in a string in double quotes");
    return dt_suggest(s, "write \\\\ for a backslash");
}

static dt_status *expected_comma(const failure *f) {
    return f->before->bracket ? in_brackets(f) : dt_fail(DT_E_YAML_SYNTAX, &f->at, "expected ','");
}

static dt_status *bad_tag(const failure *f) {
    return dt_fail(DT_E_YAML_FEATURE, &f->at, "tags are not supported");
}

static const struct {
    const char *problem;
    dt_status *(*explain)(const failure *f);
} explanations[] = {
    {"did not find expected ',' or ']'", expected_comma},
    {"did not find expected ',' or '}'", expected_comma},
    {"did not find expected key", expected_key},
    {"did not find expected '-' indicator", expected_key},
    {"did not find expected node content", expected_value},
    {"mapping values are not allowed in this context", unexpected_colon},
    {"could not find expected ':'", missing_colon},
    {"found character that cannot start any token", bad_begin},
    {"block sequence entries are not allowed in this context", unexpected_dash},
    {"found unknown escape character", bad_escape},
    {"found undefined tag handle", bad_tag},
};

static dt_status *explain(const failure *f) {
    if (f->c == '\t' || strstr(f->problem, "tab character"))
        return dt_suggest(dt_fail(DT_E_YAML_SYNTAX, &f->at, "tab character in indentation"),
                          "use spaces");
    if (strcmp(f->context, "while scanning a quoted scalar") == 0)
        return unclosed_quote(f, f->yaml->context_mark);
    if (swallowed_lines(f)) return unclosed_quote(f, f->before->start);
    for (size_t i = 0; i < sizeof explanations / sizeof *explanations; i++)
        if (is(f, explanations[i].problem)) return explanations[i].explain(f);
    return dt_fail(DT_E_YAML_SYNTAX, &f->at, "%s", *f->problem ? f->problem : "not valid YAML");
}

dt_status *dt_yaml_syntax(dt_yaml *y, const yaml_parser_t *yaml, const dt_yaml_before *before) {
    if (yaml->error == YAML_MEMORY_ERROR)
        return dt_fail(DT_E_NO_MEMORY, NULL, "no memory to read %s", y->source->name);
    failure f = {
        .y = y,
        .yaml = yaml,
        .before = before,
        .at = dt_yaml_place(y, yaml->problem_mark, yaml->problem_mark),
        .problem = yaml->problem ? yaml->problem : "",
        .context = yaml->context ? yaml->context : "",
    };
    f.c = f.at.offset < y->source->size ? y->source->text[f.at.offset] : '\0';
    return explain(&f);
}
