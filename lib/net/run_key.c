/* SPDX-License-Identifier: Apache-2.0 */
/* Implements what run_key.h declares. Each key is derived from the secret: it is the HMAC-SHA-256,
 * keyed by the secret, of a label that names the key's use. */
#include "net/run_key.h"

#include <ctype.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

static dt_status *derive(uint8_t out[DT_KEY_BYTES], const char *use, const void *secret, size_t n) {
    unsigned int size = DT_KEY_BYTES;
    if (!HMAC(EVP_sha256(), secret, (int)n, (const unsigned char *)use, strlen(use), out, &size))
        return dt_fail(DT_E_INTERNAL, NULL, "no key could be derived from the run's secret");
    return NULL;
}

/* Returns the number of bytes after which a secret repeats itself, or n if it does not. Repetitions
 * of fewer than four bytes are ignored, since they may be chance. */
static size_t period_of(const uint8_t *s, size_t n) {
    for (size_t p = 1; p + 4 <= n; p++)
        if (memcmp(s, s + p, n - p) == 0) return p;
    return n;
}

static int count_different(const uint8_t *s, size_t n) {
    bool seen[256] = {false};
    int different = 0;
    for (size_t i = 0; i < n; i++) {
        different += !seen[s[i]];
        seen[s[i]] = true;
    }
    return different;
}

/* Rows, and columns, of keys on the English, German and French keyboards. */
static const char *const keys[] = {
    "1234567890", "qwertyuiop", "asdfghjkl", "zxcvbnm", "qwertzuiop", "yxcvbnm",
    "azertyuiop", "qsdfghjklm", "wxcvbn",    "1qaz",    "2wsx",       "3edc",
    "4rfv",       "5tgb",       "6yhn",      "7ujm",    "8ik",        "9ol"};
/* Words that are common in passwords, to be recognized in secrets. */
static const char *const words[] = {"password", "passwort", "passwd",   "secret",  "geheim",
                                    "admin",    "default",  "changeme", "letmein", "welcome",
                                    "iloveyou", "login",    "dtrain",   "cluster", "training"};

/* Returns 1 if b is the key after a on a keyboard, -1 if b is the key before a, else 0. */
static int key_step(uint8_t a, uint8_t b) {
    for (size_t i = 0; a && b && i < sizeof keys / sizeof *keys; i++) {
        const char *at = strchr(keys[i], a);
        if (at && at[1] == b) return 1;
        if (at && at > keys[i] && at[-1] == b) return -1;
    }
    return 0;
}

/* Whether byte i continues a series with the bytes `lag` and 2 * lag before it. With a lag of 1
 * such series are "abc", "987" and "qwe"; with a lag of 2, "a1b2c3". */
static bool continues(const uint8_t *s, size_t i, size_t lag) {
    if (i < 2 * lag) return false;
    const uint8_t now = s[i], last = s[i - lag], first = s[i - 2 * lag];
    const int step = now - last, key = key_step(last, now);
    if (step == last - first && (lag == 1 || (step >= -1 && step <= 1))) return true;
    return key != 0 && key == key_step(first, last);
}

/* Whether the three bytes that end at byte i also occur earlier. */
static bool repeats(const uint8_t *s, size_t i) {
    for (size_t j = 2; j < i; j++)
        if (memcmp(s + j - 2, s + i - 2, 3) == 0) return true;
    return false;
}

/* Whether the character c is the letter, or a digit or sign that looks like it ("0" for "o"). */
static bool is_letter(uint8_t c, char letter) {
    static const char alike[] = "a4a@e3g9i1i!l1o0s5s$t7t+";
    bool is = c == (uint8_t)letter;
    for (const char *p = alike; *p && !is; p += 2) is = p[0] == letter && (uint8_t)p[1] == c;
    return is;
}

/* If a common word starts at byte i, marks in `foreseen` the letters of the word after its first
 * one. */
static void mark_words(const uint8_t *s, size_t n, size_t i, bool *foreseen) {
    for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
        size_t k = 0;
        while (words[w][k] && i + k < n && is_letter(s[i + k], words[w][k])) k++;
        if (!words[w][k]) memset(foreseen + i + 1, true, k - 1);
    }
}

/* Counts the bytes that cannot be guessed from those before them. */
static int count_unforeseen(const uint8_t *s, size_t n) {
    uint8_t lower[DT_SECRET_MOST];
    bool foreseen[DT_SECRET_MOST] = {false};
    int unforeseen = 0;
    for (size_t i = 0; i < n; i++) lower[i] = (uint8_t)tolower(s[i]);
    for (size_t i = 0; i < n; i++) {
        mark_words(lower, n, i, foreseen);
        for (size_t lag = 1; lag <= 3; lag++) foreseen[i] |= continues(lower, i, lag);
        if (repeats(lower, i)) memset(foreseen + i - 2, true, 3);
    }
    for (size_t i = 0; i < n; i++) unforeseen += !foreseen[i];
    OPENSSL_cleanse(lower, sizeof lower);
    return unforeseen;
}

static dt_status *check_strength(const uint8_t *s, size_t n) {
    const size_t period = period_of(s, n);
    if (n < DT_SECRET_LEAST || n > DT_SECRET_MOST)
        return dt_fail(DT_E_SECRET, NULL, "the run's secret has %zu bytes; it must have %d to %d",
                       n, DT_SECRET_LEAST, DT_SECRET_MOST);
    if (period < DT_SECRET_LEAST)
        return dt_fail(DT_E_SECRET, NULL,
                       "the run's secret repeats its first %zu bytes; it must have %d without "
                       "repetition",
                       period, DT_SECRET_LEAST);
    if (count_different(s, n) < DT_SECRET_LEAST_DIFFERENT)
        return dt_fail(DT_E_SECRET, NULL,
                       "the run's secret has %d different bytes; it must have at least %d",
                       count_different(s, n), DT_SECRET_LEAST_DIFFERENT);
    const int unforeseen = count_unforeseen(s, n);
    if (unforeseen < DT_SECRET_LEAST_UNFORESEEN)
        return dt_fail(DT_E_SECRET, NULL,
                       "the run's secret can be guessed: only %d of its %zu bytes are not words "
                       "such as 'password', series, rows of keys or repetitions; %d must be",
                       unforeseen, n, DT_SECRET_LEAST_UNFORESEEN);
    return NULL;
}

dt_status *dt_run_key_of(dt_run_key *out, const void *secret, size_t n) {
    dt_status *weak = check_strength(secret, n);
    if (weak)
        return dt_suggest(weak,
                          "create one: (umask 077; head -c 32 /dev/urandom | base64 > secret)");
    DT_TRY(derive(out->listens, "dtrain run: those who listen", secret, n));
    return derive(out->connects, "dtrain run: those who connect", secret, n);
}

/* Checks the file's permissions, as ssh does for keys: other users must not be able to read the
 * user's own file. A file of another user may be readable by its group, because service managers
 * and containers provide such files of root, but not by others. */
static dt_status *check_permissions(int fd, const char *path) {
    struct stat st;
    if (fstat(fd, &st) != 0) return dt_fail_errno(DT_E_IO, path);
    const mode_t forbidden = st.st_uid == geteuid() ? S_IRWXG | S_IRWXO : S_IRWXO;
    if ((st.st_mode & forbidden) == 0) return NULL;
    return dt_suggest(dt_fail(DT_E_SECRET, NULL,
                              "others can read or write the run's secret (mode %04o)",
                              (unsigned)st.st_mode & 07777),
                      "make it readable for you alone: chmod 600 FILE; create another secret if "
                      "others may have read it");
}

/* Checks permissions and reads through one descriptor, so that both concern the same file. */
static dt_status *read_secret(const char *path, dt_str *out) {
    int fd = -1;
    int64_t size = 0;
    DT_TRY(dt_file_open(path, &fd, &size));
    dt_status *s = check_permissions(fd, path);
    if (!s && size > DT_SECRET_MOST + 2)
        s = dt_fail(DT_E_SECRET, NULL, "the run's secret has %lld bytes; it must have %d to %d",
                    (long long)size, DT_SECRET_LEAST, DT_SECRET_MOST);
    if (!s) {
        dt_str_reserve(out, (size_t)size);
        s = dt_file_pread(fd, path, out->data, (size_t)size, 0);
        out->size = s ? 0 : (size_t)size;
    }
    close(fd);
    return s;
}

dt_status *dt_run_key_read(dt_run_key *out, const char *path) {
    dt_local_str secret = {0};
    dt_status *s = read_secret(path, &secret);
    size_t n = secret.size;
    while (n > 0 && (secret.data[n - 1] == '\n' || secret.data[n - 1] == '\r')) n--;
    if (!s) s = dt_run_key_of(out, dt_str_text(&secret), n);
    if (secret.data) OPENSSL_cleanse(secret.data, secret.size);
    return s ? dt_note(s, "in %s", path) : NULL;
}
