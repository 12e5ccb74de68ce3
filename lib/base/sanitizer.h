/* SPDX-License-Identifier: Apache-2.0 */
/* Which sanitizer the code is compiled with: gcc and clang define different macros. */
#ifndef DT_BASE_SANITIZER_H
#define DT_BASE_SANITIZER_H

#ifdef __has_feature
#define DT_CLANG_HAS(feature) __has_feature(feature)
#else
#define DT_CLANG_HAS(feature) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || DT_CLANG_HAS(address_sanitizer)
#define DT_ASAN 1
#else
#define DT_ASAN 0
#endif

#if defined(__SANITIZE_THREAD__) || DT_CLANG_HAS(thread_sanitizer)
#define DT_TSAN 1
#else
#define DT_TSAN 0
#endif

#endif
