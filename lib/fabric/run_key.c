/* SPDX-License-Identifier: Apache-2.0 */
/* See run_key.h: HMAC-SHA-256 of a label for each use, with the secret as its key. */
#include "fabric/run_key.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <string.h>

#include "base/file.h"

static dt_status *derive(uint8_t out[DT_KEY_BYTES], const char *use, const void *secret, size_t n) {
    unsigned int size = DT_KEY_BYTES;
    if (!HMAC(EVP_sha256(), secret, (int)n, (const unsigned char *)use, strlen(use), out, &size))
        return dt_fail(DT_E_INTERNAL, NULL, "no key could be derived from the run's secret");
    return NULL;
}

dt_status *dt_run_key_of(dt_run_key *out, const void *secret, size_t n) {
    if (n < DT_SECRET_LEAST || n > DT_SECRET_MOST)
        return dt_suggest(dt_fail(DT_E_SECRET, NULL,
                                  "the run's secret has %zu bytes; it must have %d to %d", n,
                                  DT_SECRET_LEAST, DT_SECRET_MOST),
                          "create one: (umask 077; head -c 32 /dev/urandom | base64 > secret)");
    DT_TRY(derive(out->listens, "dtrain run: those who listen", secret, n));
    return derive(out->connects, "dtrain run: those who connect", secret, n);
}

dt_status *dt_run_key_read(dt_run_key *out, const char *path) {
    dt_str secret = {0};
    DT_TRY(dt_file_read(path, DT_SECRET_MOST + 1, &secret));
    size_t n = secret.size;
    while (n > 0 && (secret.data[n - 1] == '\n' || secret.data[n - 1] == '\r')) n--;
    dt_status *s = dt_run_key_of(out, dt_str_text(&secret), n);
    if (secret.data) OPENSSL_cleanse(secret.data, secret.size);
    dt_str_release(&secret);
    return s ? dt_note(s, "in %s", path) : NULL;
}
