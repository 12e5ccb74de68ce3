/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SHA-256 by OpenSSL's SHA256_* functions, which use the processor's SHA instructions, and fast
 * hashes for maps.
 *
 * EVP is not used: since OpenSSL 3 its first call reads a configuration file and sets up
 * providers, with 4,500 allocations in a millisecond, and may crash when one of them fails.
 * SHA256_* allocate nothing. OpenSSL 3.0 deprecates them, hence OPENSSL_API_COMPAT.
 */
#define OPENSSL_API_COMPAT 0x10101000L
#include "base/hash.h"

#include <openssl/sha.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

struct dt_sha256 {
    SHA256_CTX context;
};

dt_sha256 *dt_sha256_create(void) {
    dt_sha256 *h = dt_alloc(sizeof *h);
    SHA256_Init(&h->context);
    return h;
}

void dt_sha256_add(dt_sha256 *h, const void *bytes, size_t n) {
    if (n) SHA256_Update(&h->context, bytes, n);
}

dt_digest dt_sha256_end(dt_sha256 *h) {
    static const char hex[] = "0123456789abcdef";
    unsigned char bytes[SHA256_DIGEST_LENGTH];
    dt_digest digest = {{0}};
    SHA256_Final(bytes, &h->context);
    for (int i = 0; i < SHA256_DIGEST_LENGTH; i++) {
        digest.hex[2 * i] = hex[bytes[i] >> 4];
        digest.hex[2 * i + 1] = hex[bytes[i] & 15];
    }
    free(h);
    return digest;
}

dt_digest dt_sha256_of(const void *bytes, size_t n) {
    dt_sha256 *h = dt_sha256_create();
    dt_sha256_add(h, bytes, n);
    return dt_sha256_end(h);
}

uint64_t dt_name_hash(const char *name) {
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (; *name; name++) h = (h ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    return h;
}

static uint64_t mix(uint64_t h, uint64_t word) {
    h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 29;
}

/* Hashes eight bytes at a time. */
uint64_t dt_hash_bytes(uint64_t h, const void *bytes, size_t n) {
    const unsigned char *p = bytes;
    uint64_t word;
    for (; n >= 8; n -= 8, p += 8) {
        memcpy(&word, p, 8);
        h = mix(h, word);
    }
    word = 0;
    for (size_t i = 0; i < n; i++) word |= (uint64_t)p[i] << 8 * i;
    return n > 0 ? mix(h, word) : h;
}
