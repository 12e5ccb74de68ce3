/* SPDX-License-Identifier: Apache-2.0 */
/* The format csv as jobs use it: values, RFC 4180's forms, and the catalogue of bad files (D40 to
 * D50). */
#define HERE "build/tmp/data-csv"
#include "files.h"

#define AB "element: {a: {column: a}, b: {column: b, dtype: int32}}"

static dt_status *open_text(dt_dataset **d, const char *text, size_t n, const char *keys) {
    write_file("x.csv", text, n);
    return dt_dataset_open(d, "{format: csv, train: " HERE "/x.csv, %s, global_batch_size: 2}",
                           keys);
}

/* ---- forms that are valid ---- */

typedef struct good_case {
    const char *id, *keys, *text;
    int rows;
    float a[3];
    int32_t b[3];
} good_case;

static const good_case good_cases[] = {
    {"plain", AB, "a,b\n1,2\n3.5,4\n", 2, {1, 3.5F}, {2, 4}},
    {"no line end at the end", AB, "a,b\n1,2\n3,4", 2, {1, 3}, {2, 4}},
    {"D49 byte order mark and CRLF",
     AB,
     "\xef\xbb\xbf"
     "a,b\r\n1,2\r\n3,4\r\n",
     2,
     {1, 3},
     {2, 4}},
    {"all in quotes", AB, "\"a\",\"b\"\n\"1\",\"2\"\n", 1, {1}, {2}},
    {"columns in another order, one between", AB, "b,z,a\n2,hello,1\n4,,3\n", 2, {1, 3}, {2, 4}},
    {"quotes, delimiters and line ends in a field",
     AB,
     "a,\"z\"\"z\",b\n1,\"x,\"\"y\"\"\r\nz\",2\n3,\"\",4\n",
     2,
     {1, 3},
     {2, 4}},
    {"empty lines", AB, "\na,b\n\n1,2\r\n\r\n3,4\n\n\n", 2, {1, 3}, {2, 4}},
    {"CR in the whole file", AB, "a,b\r1,2\r\r3,4", 2, {1, 3}, {2, 4}},
    {"CR, quoted and commented",
     "comment: '#', " AB,
     "# x\ra,b,z\r1,2,\"x\ry\"\r3,4,#\r",
     2,
     {1, 3},
     {2, 4}},
    {"blanks around numbers", AB, "a,b\n 1 ,\t2\n", 1, {1}, {2}},
    {"exponents and signs",
     AB,
     "a,b\n-1.5e2,-3\n+.25,+7\n1E-2,0\n",
     3,
     {-150, 0.25F, 0.01F},
     {-3, 7, 0}},
    {"no header",
     "header: false, element: {a: {column: 0}, b: {column: 2, dtype: int32}}",
     "1,x,2\n3,y,4\n",
     2,
     {1, 3},
     {2, 4}},
    {"another delimiter", "field_delim: ';', " AB, "a;b\n1;2\n", 1, {1}, {2}},
    {"tabs", "field_delim: \"\\t\", " AB, "a\tb\n1\t2\n", 1, {1}, {2}},
    {"words",
     "element: {a: {column: a}, b: {column: s, dtype: int32, vocabulary: [cat, 'a dog', \"\"]}}",
     "s,a\na dog,1\n\"cat\",2\n,3\n",
     3,
     {1, 2, 3},
     {1, 0, 2}},
    {"words need no dtype",
     "element: {a: {column: a}, b: {column: s, vocabulary: [no, yes]}}",
     "s,a\nyes,1\nno,2\n",
     2,
     {1, 2},
     {1, 0}},
    {"defaults",
     "element: {a: {column: a, default_value: -1.5}, b: {column: b, dtype: int32, default_value: "
     "9}}",
     "a,b\n,\n1,\n ,2\n",
     3,
     {-1.5F, 1, -1.5F},
     {9, 9, 2}},
    {"marks of missing values",
     "element: {a: {column: a, default_value: -1.5}, b: {column: b, dtype: int32, default_value: "
     "9}}",
     "a,b\nNA,?\n NaN ,\"\"\n-,#N/A\n",
     3,
     {-1.5F, -1.5F, -1.5F},
     {9, 9, 9}},
    {"other marks, some of which are numbers",
     "missing_values: [-999, gone], element: {a: {column: a, default_value: 7}, b: {column: b, "
     "dtype: int32, default_value: 9}}",
     "a,b\n-999.0,-999\ngone,2\n1,gone\n",
     3,
     {7, 7, 1},
     {9, 2, 9}},
    {"missing words, and a mark that is a word",
     "element: {a: {column: a}, b: {column: s, vocabulary: [x, NA], default_value: 0}}",
     "a,s\n1,NA\n2,?\n3,\n",
     3,
     {1, 2, 3},
     {1, 0, 0}},
    {"the median replaces missing numbers, the commonest word missing words",
     "element: {a: {column: a}, b: {column: s, vocabulary: [x, y]}}, map: {a: [impute: median], "
     "b: [impute: most_frequent]}",
     "a,s\n1,y\nNA,y\n4,null\n",
     3,
     {1, 2.5F, 4},
     {1, 1, 1}},
    {"a constant replaces them",
     "element: {a: {column: a}, b: {column: s, vocabulary: [x, y]}}, map: {a: [impute: {strategy: "
     "constant, fill_value: -2}], b: [impute: {strategy: constant, fill_value: y}]}",
     "a,s\n1,x\nNA,y\n4,null\n",
     3,
     {1, -2, 4},
     {0, 1, 1}},
    {"D50 a name that stands twice",
     "element: {a: {column: a}, b: {column: a.1, dtype: int32}}",
     "a,a,z\n1,2,3\n",
     1,
     {1},
     {2}},
    {"a name that stands twice, and its number is taken",
     "element: {a: {column: a.2}, b: {column: a.1, dtype: int32}}",
     "a,a.1,a\n1,2,3\n",
     1,
     {3},
     {2}},
    {"columns by number under a header, unless one has that name",
     "element: {a: {column: 2}, b: {column: 1, dtype: int32}}",
     "1,b,c\n7,8,9\n",
     1,
     {9},
     {7}},
    {"a pattern, a range, and all but some",
     "element: {a: {columns: [\"p*\"], shape: [1]}, b: {columns: {all_but: [a..c, px]}, dtype: "
     "int32, shape: [1]}}",
     "a,px,b,c,d\n1,2,3,4,5\n",
     1,
     {2},
     {5}},
    {"texts of two columns",
     "element: {a: {column: a, dtype: string}, b: {column: b, dtype: string}}, map: {a: "
     "[string_lookup: {vocabulary: [x, y, z]}, cast: float32], b: [string_lookup: {vocabulary: [p, "
     "q]}, cast: int32]}",
     "a,b\nx,q\nz,p\ny,q\n",
     3,
     {1, 3, 2},
     {2, 1, 2}},
    {"booleans, and integers as floats",
     "element: {a: {column: a, dtype: bool}, b: {column: b, dtype: int32}}, map: {a: [cast: "
     "float32]}",
     "a,b\nTrue,0.0\nFALSE,2.\nyes,1e3\n",
     3,
     {1, 0, 1},
     {0, 2, 1000}},
    {"thousands",
     "thousands: ',', " AB,
     "a,b\n\"1,234.5\",\"-2,000\"\n12,7\n",
     2,
     {1234.5F, 12},
     {-2000, 7}},
    {"thousands in groups of two, and a fraction without groups",
     "thousands: ',', " AB,
     "a,b\n\"12,34,567.1234\",\"-1,200\"\n1e3,7\n",
     2,
     {1234567.1234F, 1000},
     {-1200, 7}},
    {"symbols, and blanks of three kinds between thousands",
     "field_delim: ';', thousands: ' ', symbols: true, " AB,
     "a;b\n$ 1\u00a0234.5;-12 %\n7\u202f000 $;3%\n-$2;1 000 000 %\n",
     3,
     {1234.5F, 7000, -2},
     {-12, 3, 1000000}},
    {"empty fields before a comment",
     "field_delim: \"\\t\", comment: '#', element: {a: {column: a, default_value: 4}, b: {column: "
     "b, dtype: int32, default_value: 5}}",
     "a\tb\n1\t2\n\t# all empty\n  # no row\n",
     2,
     {1, 4},
     {2, 5}},
    {"a decimal comma",
     "field_delim: ';', decimal: ',', thousands: '.', " AB,
     "a;b\n1.234,5;2.000\n0,25;7\n",
     2,
     {1234.5F, 0.25F},
     {2000, 7}},
    {"comments behind and between rows",
     "comment: '#', " AB,
     "# a \"title\n#\na,b\n1,2 # it's \"odd\"\n  # 5,6\n\"3\",\"4\"#\n",
     2,
     {1, 3},
     {2, 4}},
    {"lines before the header", "skip_rows: 2, " AB, "It's \"odd\n\na,b\n1,2\n", 1, {1}, {2}},
    {"runs of blanks",
     "field_delim: whitespace, " AB,
     "  a \t b  s\n\n 1   2 \"x y\"  \r\n \t\n3\t4\tz",
     2,
     {1, 3},
     {2, 4}},
    {"escapes",
     "escapechar: \"\\\\\", element: {a: {column: a, default_value: 8}, b: {column: s, vocabulary: "
     "['x,y', 'q\"', \"l\\nm\"]}}",
     "a,s\n1,x\\,y\n\\N,\"q\\\"\"\n2,l\\nm\n",
     3,
     {1, 8, 2},
     {0, 1, 2}},
    {"an escaped line end",
     "escapechar: \"\\\\\", element: {a: {column: a}, b: {column: s, vocabulary: [\"l\\nm\"]}}",
     "a,s\n1,l\\\nm\n",
     1,
     {1},
     {0}},
    {"the delimiter in a first line", AB, "sep=;\r\na;b\r\n1;2\r\n", 1, {1}, {2}},
    {"words that are numbers, and their names",
     "element: {a: {column: a}, b: {column: s, vocabulary: {\"1\": died, \"2\": survived}}}",
     "s,a\n1,1\n2.0,2\n",
     2,
     {1, 2},
     {0, 1}},
    {"names in UTF-8",
     "element: {a: {column: \"h\\u00e9\"}, b: {column: \"a b\", dtype: int32}}",
     "h\xc3\xa9,a b\n1,2\n",
     1,
     {1},
     {2}},
};

static void test_forms(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof good_cases / sizeof *good_cases; i++) {
        const good_case *c = &good_cases[i];
        dt_dataset *d = NULL;
        dt_type t;
        OK(dt_note(open_text(&d, c->text, strlen(c->text), c->keys), "%s", c->id));
        assert_int_equal(dt_dataset_examples(d), c->rows);
        float *a = read_all(d, dt_dataset_find(d, "a"), &t);
        int32_t *b = read_all(d, dt_dataset_find(d, "b"), &t);
        for (int k = 0; k < c->rows; k++) {
            assert_true(a[k] == c->a[k]);
            assert_int_equal(b[k], c->b[k]);
        }
        free(a);
        free(b);
        dt_dataset_unref(d);
    }
}

/* How lines end is seen, wherever the first of them ends in the pieces that are read. */
static void test_long_first_lines(void **state) {
    static const char *const ends[] = {"\r", "\n", "\r\n"};
    enum { PIECE = 8192 };
    char text[PIECE + 64];
    (void)state;
    for (size_t header = PIECE - 3; header < PIECE + 3; header++)
        for (int k = 0; k < 3; k++) {
            dt_dataset *d = NULL;
            memset(text, 'x', sizeof text);
            memcpy(text, "a,b,", 4);
            snprintf(text + header, sizeof text - header, "%s1,2,3%s4,5,6", ends[k], ends[k]);
            OK(open_text(&d, text, strlen(text), AB));
            assert_int_equal(dt_dataset_examples(d), 2);
            dt_dataset_unref(d);
        }
}

/* ---- all faults of the first rows ---- */

static void test_faults_come_together(void **state) {
    (void)state;
    dt_dataset *d = NULL;
    dt_str text = {0};
    dt_str_puts(&text, "a,b\n");
    for (int i = 0; i < 999; i++)
        dt_str_puts(&text, i == 10   ? "x,1\n"
                           : i == 20 ? "1\n"
                           : i == 30 ? "NA,y\n"
                           : i == 40 ? "z,1\n"
                                     : "1,2\n");
    dt_status *s = open_text(&d, dt_str_text(&text), text.size, AB);
    assert_non_null(s);
    dt_str all = {0};
    for (const dt_status *each = s; each; each = dt_status_next(each))
        dt_str_printf(&all, "%s\n", dt_status_text(each));
    static const char *const wanted[] = {"x.csv:12:1: column 'a': 'x' is not a number",
                                         "x.csv:22:2: 1 field, expected 2",
                                         "x.csv:32:1: column 'a': 'NA' is a missing value",
                                         "x.csv:32:4: column 'b': 'y' is not a valid int32"};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (!strstr(dt_str_text(&all), wanted[i])) fail_msg("%s\n%s", wanted[i], dt_str_text(&all));
    dt_status_free(s);
    dt_str_release(&all);
    dt_str_release(&text);
}

/* ---- files that are not ---- */

typedef struct bad_case {
    const char *id, *keys, *text;
    size_t n; /* 0: of the text */
    int number, code;
    const char *message;
} bad_case;

#define WITH_NUL(text) text, sizeof text - 1
#define MISSING(steps) "element: {a: {column: a}, b: {column: b, dtype: int32}}, map: {" steps "}"
static const bad_case bad_cases[] = {
    {"a mark where the job says nothing", AB, "a,b\n1,2\nNA,3\n", 0, DT_E_DATA_FILE, 65,
     "x.csv:3:1: column 'a': 'NA' is a missing value"},
    {"an empty field where the job says nothing", AB, "a,b\n1,2\n3,\n", 0, DT_E_DATA_FILE, 65,
     "x.csv:3:3: column 'b': '' is a missing value"},
    {"NA where the job lists other marks", "missing_values: [gone], " AB, "a,b\nNA,2\n", 0,
     DT_E_DATA_FILE, 65, "column 'a': 'NA' is not a number"},
    {"a number that is a mark", "missing_values: [-9], " AB, "a,b\n-9,2\n", 0, DT_E_DATA_FILE, 65,
     "column 'a': '-9' is a missing value"},
    {"impute of integers", MISSING("b: [impute: median]"), "a,b\n1,2\n", 0, DT_E_DATASET_KEYS, 78,
     "'b' is of int32, which has no value that stands for a missing one"},
    {"impute behind another step", MISSING("a: [normalize, impute: mean]"), "a,b\n1,2\n,3\n", 0,
     DT_E_DATASET_KEYS, 78, "impute must be the first step of 'a'"},
    {"nothing to learn", MISSING("a: [impute: mean]"), "a,b\n,2\nNA,3\n", 0, DT_E_DATA_FILE, 65,
     "feature 0 has no values to learn from"},
    {"a value that is not used", MISSING("a: [impute: {strategy: mean, fill_value: 2}]"),
     "a,b\n,2\n", 0, DT_E_DATASET_KEYS, 78, "fill_value needs 'strategy: constant'"},
    {"a mark of two characters", "comment: '\"', " AB, "a,b\n1,2\n", 0, DT_E_DATASET_KEYS, 78,
     "comment must be one ASCII character other than quotes and line ends"},
    {"a decimal comma among thousands", "thousands: ',', " AB, "a,b\n\"1,5\",2\n", 0,
     DT_E_DATA_FILE, 65, "x.csv:2:1: column 'a': '1,5' is not a number"},
    {"a decimal point among thousands", "field_delim: ';', thousands: '.', " AB, "a;b\n1.5;2\n", 0,
     DT_E_DATA_FILE, 65, "x.csv:2:1: column 'a': '1.5' is not a number"},
    {"thousands behind the point", "thousands: ',', " AB, "a,b\n\"1.234,567\",2\n", 0,
     DT_E_DATA_FILE, 65, "x.csv:2:1: column 'a': '1.234,567' is not a number"},
    {"groups of two digits between blanks", "thousands: ' ', " AB, "a,b\n1,1 23 456\n", 0,
     DT_E_DATA_FILE, 65, "column 'b': '1 23 456' is not a valid int32"},
    {"a unit", "symbols: true, " AB, "a,b\n5kg,1\n", 0, DT_E_DATA_FILE, 65,
     "column 'a': '5kg' is not a number"},
    {"two symbols", "symbols: true, " AB, "a,b\n$5%,1\n", 0, DT_E_DATA_FILE, 65,
     "column 'a': '$5%' is not a number"},
    {"two currencies", "symbols: true, " AB, "a,b\n$5,1\n6,2\n\u00a37,3\n", 0, DT_E_DATA_FILE, 65,
     "x.csv:4:1: column 'a': '\u00a37' has another currency or percent sign than numbers above"},
    {"percentages among numbers", "symbols: true, " AB, "a,b\n0.12,1\n12 %,2\n", 0, DT_E_DATA_FILE,
     65, "x.csv:3:1: column 'a': '12 %' has another currency or percent sign than numbers above"},
    {"symbols without the option", AB, "a,b\n\"$1,234\",2\n", 0, DT_E_DATA_FILE, 65,
     "column 'a': '$1,234' is not a number"},
    {"thousands without the option", AB, "a,b\n\"1,234.5\",2\n", 0, DT_E_DATA_FILE, 65,
     "column 'a': '1,234.5' is not a number"},
    {"two points", "decimal: ',', field_delim: ';', " AB, "a;b\n1.5;2\n", 0, DT_E_DATA_FILE, 65,
     "column 'a': '1.5' is not a number"},
    {"a fraction for an integer", AB, "a,b\n1,2.5\n", 0, DT_E_DATA_FILE, 65,
     "column 'b': '2.5' is not a valid int32"},
    {"skipped to the end", "skip_rows: 9, " AB, "a,b\n1,2\n", 0, DT_E_DATA_EMPTY, 65,
     "no examples"},
    {"a pattern that no column matches", "element: {a: {columns: [\"q*\"]}}", "a,b\n1,2\n", 0,
     DT_E_DATA_FILE, 65, "x.csv: no column 'q*'; columns: a, b"},
    {"all but a column that is not there", "element: {a: {columns: {all_but: [z]}}}", "a,b\n1,2\n",
     0, DT_E_DATA_FILE, 65, "x.csv: no column 'z'; columns: a, b"},
    {"no column is left", "element: {a: {columns: {all_but: [\"*\"]}}}", "a,b\n1,2\n", 0,
     DT_E_DATA_FILE, 65, "x.csv: no column is left for 'a'"},
    {"a shape of other size", "element: {a: {columns: [\"*\"], shape: [3]}}", "a,b\n1,2\n", 0,
     DT_E_DATASET_KEYS, 78, "x.csv: 'a' has 2 columns, but its shape has 3 values"},
    {"a default and a step",
     "element: {a: {column: a, default_value: 1}}, map: {a: [impute: mean]}", "a,b\n1,2\n", 0,
     DT_E_DATASET_KEYS, 78, "'a' has both a default_value and a step impute"},
    {"a word twice", "element: {a: {column: a, vocabulary: [x, y, x]}}", "a\nx\ny\n", 0,
     DT_E_DATASET_KEYS, 78, "'x' appears twice in the vocabulary"},
    {"a class twice", "element: {a: {column: a, vocabulary: {x: u, y: u}}}", "a\nx\ny\n", 0,
     DT_E_DATASET_KEYS, 78, "'u' appears twice in the vocabulary"},
    {"a mean of words", "element: {a: {column: a, vocabulary: [x, y]}}, map: {a: [impute: mean]}",
     "a\nx\n\n\"\"\n", 0, DT_E_DATASET_KEYS, 78, "categories have no mean"},
    {"a constant that is not a word",
     "element: {a: {column: a, vocabulary: [x, y]}}, map: {a: [impute: {strategy: constant, "
     "fill_value: z}]}",
     "a\nx\n", 0, DT_E_DATASET_KEYS, 78, "fill_value 'z' is not in the vocabulary"},
    {"D40", AB, "a,b\n1,2\n3,4\n5,6\n7\n", 0, DT_E_DATA_FILE, 65, "x.csv:5:2: 1 field, expected 2"},
    {"D40 more", AB, "a,b\n1,2,3\n", 0, DT_E_DATA_FILE, 65, "x.csv:2:5: 3 fields, expected 2"},
    {"CR alone", AB, "a,b\r1,2\n3,4\n", 0, DT_E_DATA_FILE, 65,
     "x.csv:1:4: a carriage return without a line feed"},
    {"D41", AB, "a,b\n1,2\n1,2\n1,abc\n", 0, DT_E_DATA_FILE, 65,
     "x.csv:4:3: column 'b': 'abc' is not a valid int32"},
    {"D41 real", AB, "a,b\n1,2\n1,2\n \"abc\",1\n", 0, DT_E_DATA_FILE, 65,
     "x.csv:4:2: column 'a': 'abc' is not a number"},
    {"blanks before quotes", AB, "a,b\n1,2 \"3\"\n", 0, DT_E_DATA_FILE, 65,
     "x.csv:2:5: stray quote in an unquoted field"},
    {"blanks behind quotes", AB, "a,b\n\"1\" 2,3\n", 0, DT_E_DATA_FILE, 65,
     "x.csv:2:4: text follows a quoted field"},
    {"D41 number", AB, "a,b\nabc,2\n", 0, DT_E_DATA_FILE, 65,
     "x.csv:2:1: column 'a': 'abc' is not a number"},
    {"column in characters", AB, "z,a,b\n\xc3\xa9\xc3\xa9,x,1\n", 0, DT_E_DATA_FILE, 65,
     "x.csv:2:4: column 'a': 'x' is not a number"},
    {"lines inside fields count", AB, "z,a,b\n\"1\n2\n\",1,1\n1,x,1\n", 0, DT_E_DATA_FILE, 65,
     "x.csv:5:3: column 'a': 'x' is not a number"},
    {"behind lines inside", AB, "z,a,b\n\"1\n2\",x,1\n", 0, DT_E_DATA_FILE, 65,
     "x.csv:3:4: column 'a': 'x' is not a number"},
    {"hexadecimal", AB, "a,b\n0x10,2\n", 0, DT_E_DATA_FILE, 65,
     "x.csv:2:1: column 'a': '0x10' is not a number"},
    {"nan", AB, "a,b\nnan,2\n", 0, DT_E_DATA_FILE, 65,
     "x.csv:2:1: column 'a': 'nan' is a missing value"},
    {"decimal comma", AB, "a,b\n\"1,5\",2\n", 0, DT_E_DATA_FILE, 65,
     "x.csv:2:1: column 'a': '1,5' is not a number"},
    {"fraction", AB, "a,b\n1,2.5\n", 0, DT_E_DATA_FILE, 65,
     "x.csv:2:3: column 'b': '2.5' is not a valid int32"},
    {"escaped", AB, "a,b\n\"\x1b[2J\n\",2\n", 0, DT_E_DATA_FILE, 65,
     "x.csv:2:1: column 'a': '\\x1b[2J\\x0a' is not a number"},
    {"empty field", AB, "a,b\n1,\n", 0, DT_E_DATA_FILE, 65,
     "x.csv:2:3: column 'b': '' is a missing value"},
    {"D42", AB, "", 0, DT_E_DATA_FILE, 65, "x.csv: file is empty"},
    {"only a line end", AB, "\n", 0, DT_E_DATA_EMPTY, 65, "x.csv: no examples"},
    {"D43", AB, "a,b\n", 0, DT_E_DATA_EMPTY, 65, "x.csv: no examples"},
    {"D44", AB, "a,b\n1,2\n1,\"2\n3,4\n5,6\n", 0, DT_E_DATA_FILE, 65,
     "x.csv:3:3: quoted field is never closed"},
    {"text behind quotes", AB, "a,b\n\"1\"2,2\n", 0, DT_E_DATA_FILE, 65,
     "x.csv:2:4: text follows a quoted field"},
    {"quote inside", AB, "a,b\n1\"2,2\n", 0, DT_E_DATA_FILE, 65,
     "x.csv:2:2: stray quote in an unquoted field"},
    {"D46", AB, WITH_NUL("a,b\n1,2\n1,\0\n"), DT_E_DATA_FILE, 65, "x.csv:3:3: NUL byte"},
    {"D46 quoted", AB, WITH_NUL("a,b\n1,2\n1,\"\0\"\n"), DT_E_DATA_FILE, 65, "x.csv:3:4: NUL byte"},
    {"UTF-16", AB,
     WITH_NUL("\xff\xfe"
              "a\0,\0b\0\n\0"),
     DT_E_DATA_FILE, 65, "x.csv: UTF-16 text is not supported"},
    {"Latin-1 in a column that is not read", AB, "a,b,c\n1,2,caf\xe9\n", 0, DT_E_DATA_FILE, 65,
     "x.csv:2:8: byte 0xe9 is not UTF-8"},
    {"Parquet", AB, WITH_NUL("PAR1\x15\x04\x15\x10\0\0"), DT_E_DATA_FILE, 65,
     "x.csv: is a Parquet file, not CSV"},
    {"Excel", AB,
     WITH_NUL("PK\3\4\x14\0\6\0\x08\0\0\0!\0aaaabbbbcccc\x13\0\0\0[Content_Types].xml"),
     DT_E_DATA_FILE, 65, "x.csv: is an Office document (.xlsx, .docx), not CSV"},
    {"SQLite", AB, WITH_NUL("SQLite format 3\0\x10\0"), DT_E_DATA_FILE, 65,
     "x.csv: is an SQLite database, not CSV"},
    {"HTML", AB, "\n <!DOCTYPE html>\n<html>", 0, DT_E_DATA_FILE, 65,
     "x.csv: is an HTML page, not CSV"},
    {"Git LFS", AB, "version https://git-lfs.github.com/spec/v1\noid sha256:0\n", 0, DT_E_DATA_FILE,
     65, "x.csv: is a Git LFS pointer, not CSV"},
    {"JSON", AB, "{\"a\": 1, \"b\": 2}\n", 0, DT_E_DATA_FILE, 65, "x.csv: is JSON, not CSV"},
    {"JSON array", AB, "[\n  {\"a\": 1, \"b\": 2}\n]\n", 0, DT_E_DATA_FILE, 65,
     "x.csv: is JSON, not CSV"},
    {"TFRecord", AB, WITH_NUL("\x18\0\0\0\0\0\0\0\xaa\xbb\xcc\xdd\n\x16"), DT_E_DATA_FILE, 65,
     "x.csv: is a TFRecord file, not CSV"},
    {"a column of that name", AB, "ORC,b\n1,2\n", 0, DT_E_DATA_FILE, 65,
     "x.csv: no column 'a'; columns: ORC, b"},
    {"D47", AB, "a,b\n1,2\n1e999,2\n", 0, DT_E_DATA_FILE, 65,
     "x.csv:3:1: column 'a': '1e999' is out of range"},
    {"D47 float32", AB, "a,b\n1,2\n1e39,2\n", 0, DT_E_DATA_FILE, 65,
     "x.csv:3:1: column 'a': '1e39' is out of range of float32"},
    {"D47 int32", AB, "a,b\n1,2147483648\n", 0, DT_E_DATA_FILE, 65,
     "x.csv:2:3: column 'b': '2147483648' is out of range of int32"},
    {"D47 int64", AB, "a,b\n1,9223372036854775808\n", 0, DT_E_DATA_FILE, 65,
     "x.csv:2:3: column 'b': '9223372036854775808' is out of range"},
    {"D48", "element: {x: {column: label}}", "a,b,c,d,lbl\n1,2,3,4,5\n", 0, DT_E_DATA_FILE, 65,
     "x.csv: no column 'label'; columns: a, b, c, d, lbl"},
    {"D48 numbers", "header: false, element: {x: {column: 5}}", "1,2,3,4,5\n", 0, DT_E_DATA_FILE,
     65, "x.csv: no column '5'; columns: 0 to 4"},
    {"vocabulary", "element: {x: {column: a, dtype: int32, vocabulary: [cat, dog]}}",
     "a\ncat\nbird\n", 0, DT_E_DATA_FILE, 65,
     "x.csv:3:1: column 'a': 'bird' is not in the vocabulary"},
    {"header for numbers", AB, "1,2\n3,4\n", 0, DT_E_DATA_FILE, 65,
     "x.csv: no column 'a'; columns: 1, 2"},
    {"no element", "element: {}", "a\n1\n", 0, DT_E_DATASET_KEYS, 78,
     "'element' must name at least one element"},
    {"no column", "element: {x: {}}", "a\n1\n", 0, DT_E_DATASET_KEYS, 78,
     "'x' lacks 'column', or 'columns' for several"},
    {"both", "element: {x: {column: a, columns: [a]}}", "a\n1\n", 0, DT_E_DATASET_KEYS, 78,
     "'x' has both 'column' and 'columns'"},
    {"shape", "element: {x: {columns: [a, b], shape: [3]}}", "a\n1\n", 0, DT_E_DATASET_KEYS, 78,
     "'x' has 2 columns, but its shape has 3 values"},
    {"names without header", "header: false, element: {x: {column: a}}", "1\n", 0,
     DT_E_DATASET_KEYS, 78, "'x': columns are numbers from 0 where 'header' is false"},
    {"vocabulary of reals", "element: {x: {column: a, dtype: float32, vocabulary: [u]}}", "a\nu\n",
     0, DT_E_DATASET_KEYS, 78, "so its dtype must be one of integers"},
    {"delimiter", "field_delim: '\"', " AB, "a\n1\n", 0, DT_E_DATASET_KEYS, 78,
     "field_delim must be one ASCII character"},
    {"default", "element: {x: {column: a, dtype: uint8, default_value: 0.5}}", "a,b\n,1\n", 0,
     DT_E_DATA_FILE, 65, "is missing, and default_value does not fit uint8"},
};

static void test_bad_files(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof bad_cases / sizeof *bad_cases; i++) {
        const bad_case *c = &bad_cases[i];
        dt_dataset *d = NULL;
        expect_fault(c->id, open_text(&d, c->text, c->n ? c->n : strlen(c->text), c->keys),
                     c->number, c->code, c->message);
    }
}

/* D45: what has no line end, or a quote that never closes, is given up after a megabyte. */
static void test_lines_that_are_too_long(void **state) {
    (void)state;
    enum { SIZE = 4 << 20 };
    char *text = malloc(SIZE);
    dt_dataset *d = NULL;
    assert_non_null(text);
    memset(text, '1', SIZE);
    memcpy(text, "a,b\n", 4);
    expect_fault("D45", open_text(&d, text, SIZE, AB), DT_E_DATA_FILE, 65,
                 "x.csv:2:1: line longer than 1 MiB");
    memcpy(text, "a,b\n1,\"", 7);
    expect_fault("D44", open_text(&d, text, SIZE, AB), DT_E_DATA_FILE, 65,
                 "x.csv:2:3: quoted field is never closed within 1 MiB");
    free(text);
}

/* A vocabulary's default may be another number than a word's: then labels are looked at. */
static void test_default_that_is_no_place(void **state) {
    (void)state;
    static const struct {
        const char *value;
        bool place;
    } cases[] = {{"0", true}, {"1", true}, {"-1", false}, {"2", false}, {"1000000", false}};
    for (int i = 0; i < 5; i++) {
        const char *text = "x,y\n1,no\n2,\n";
        char keys[128], message[64];
        dt_dataset *d = NULL;
        snprintf(
            keys, sizeof keys,
            "element: {y: {column: y, dtype: int32, vocabulary: [no, yes], default_value: %s}}",
            cases[i].value);
        snprintf(message, sizeof message, "x.csv: label %s at record 2 is outside [0, 2)",
                 cases[i].value);
        OK(open_text(&d, text, strlen(text), keys));
        if (cases[i].place) OK(dt_dataset_check_labels(d, 0, 2));
        else
            expect_fault(cases[i].value, dt_dataset_check_labels(d, 0, 2), DT_E_LABEL_RANGE, 65,
                         message);
        dt_dataset_unref(d);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_long_first_lines),
        cmocka_unit_test(test_default_that_is_no_place),
        cmocka_unit_test(test_faults_come_together),
        cmocka_unit_test(test_bad_files),
        cmocka_unit_test(test_lines_that_are_too_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
