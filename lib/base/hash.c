/* SHA-256 through OpenSSL's EVP, which picks the processor's SHA instructions; and FNV-1a for names. */
#include "base/hash.h"

#include <openssl/evp.h>
#include <stdlib.h>

#include "base/arena.h"

struct dt_sha256 {
    EVP_MD_CTX *context;
};

/* With valid arguments EVP fails only where it finds no memory. */
static void need(int ok)
{
    if (!ok)
        dt_out_of_memory();
}

dt_sha256 *dt_sha256_create(void)
{
    dt_sha256 *h = dt_alloc(sizeof *h);
    h->context = EVP_MD_CTX_new();
    need(h->context != NULL);
    need(EVP_DigestInit_ex(h->context, EVP_sha256(), NULL));
    return h;
}

void dt_sha256_add(dt_sha256 *h, const void *bytes, size_t n)
{
    if (n)
        need(EVP_DigestUpdate(h->context, bytes, n));
}

dt_digest dt_sha256_end(dt_sha256 *h)
{
    static const char hex[] = "0123456789abcdef";
    unsigned char bytes[32];
    dt_digest digest = {{0}};
    need(EVP_DigestFinal_ex(h->context, bytes, NULL));
    for (int i = 0; i < 32; i++) {
        digest.hex[2 * i] = hex[bytes[i] >> 4];
        digest.hex[2 * i + 1] = hex[bytes[i] & 15];
    }
    EVP_MD_CTX_free(h->context);
    free(h);
    return digest;
}

dt_digest dt_sha256_of(const void *bytes, size_t n)
{
    dt_sha256 *h = dt_sha256_create();
    dt_sha256_add(h, bytes, n);
    return dt_sha256_end(h);
}

uint64_t dt_name_hash(const char *name)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    return h;
}
