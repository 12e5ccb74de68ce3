/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 (OpenSSL's) as lower-case hex, for identities that are printed and for checksums of
 * files, and fast hashes for maps. */
#ifndef DT_BASE_HASH_H
#define DT_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

typedef struct dt_sha256 dt_sha256;
typedef struct dt_digest {
    char hex[65];
} dt_digest;

dt_sha256 *dt_sha256_create(void);
void dt_sha256_add(dt_sha256 *h, const void *bytes, size_t n);
dt_digest dt_sha256_end(dt_sha256 *h); /* returns the digest and destroys h */
dt_digest dt_sha256_of(const void *bytes, size_t n);

/* Hashes beside the caller's other work: on a separate thread from the first MiB on, if there are
 * several cores. Bytes that are put must not change until dt_hash_wait or dt_hash_end returns. */
typedef struct dt_hash_thread dt_hash_thread;
dt_hash_thread *dt_hash_begin(void);
void dt_hash_put(dt_hash_thread *h, const void *bytes, size_t n);
void dt_hash_wait(dt_hash_thread *h);
/* Waits until all bytes are hashed, returns the digest and destroys h. */
dt_digest dt_hash_end(dt_hash_thread *h);

/* Returns a 64-bit hash of bytes, for maps of this process. `h` is the hash of what comes before,
 * or any start value. The padding bytes of a struct must have defined values. */
uint64_t dt_hash_bytes(uint64_t h, const void *bytes, size_t n);
/* Returns a 64-bit hash of a name (FNV-1a), for keys of random streams and maps. */
uint64_t dt_name_hash(const char *name);

#endif
