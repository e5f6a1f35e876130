/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kinds of requests that a server reads: a request's first bytes, folded to a template.
 *
 * WCPROF_PEEK says how many bytes of a read on an accepted connection are looked at, at most. They
 * are private: of them only the template is kept, which has words of the protocol, of paths and of
 * names of tables. It is made before anything is written to shared memory.
 *
 * The recognisers are pure: they read the bytes that they are given, write to a text, and know
 * nothing of threads. They may be called in a signal handler.
 */
#ifndef WCPROF_PEEK_H
#define WCPROF_PEEK_H

#include "record.h"
#include "text.h"

/* PEEK_TEXT_BYTES: longer than any template. KINDS_MAX: a process has no more of them. */
enum { PEEK_BYTES_MAX = 64, PEEK_TEXT_BYTES = 128, PEEK_KINDS_MAX = 256 };

/* A request as far as it was read. */
struct peeked {
	const uint8_t *bytes; /* the first of them */
	size_t count;         /* how many are there, 1 to PEEK_BYTES_MAX */
	uint64_t amount;      /* how many were read in all */
};

/* PEEK_MORE: nothing is known, and more bytes could tell. */
enum peek_result { PEEK_UNKNOWN, PEEK_MORE, PEEK_KNOWN };

/* Puts the template, if the kind is known; anything else is put in vain. `request_bytes`: how long
 * the first request says that it is; 0: its protocol does not, or not in these bytes. */
enum peek_result peek_fold(const struct peeked *, struct text *to, uint64_t *request_bytes) HIDDEN;

/* One protocol each. */
enum peek_result peek_http(const struct peeked *, struct text *to) HIDDEN;
enum peek_result peek_http2(const struct peeked *, struct text *to) HIDDEN;
enum peek_result peek_tls(const struct peeked *, struct text *to) HIDDEN;
enum peek_result peek_redis(const struct peeked *, struct text *to) HIDDEN;
enum peek_result peek_memcached(const struct peeked *, struct text *to) HIDDEN;
enum peek_result peek_postgres(const struct peeked *, struct text *to) HIDDEN;
enum peek_result peek_mysql(const struct peeked *, struct text *to) HIDDEN;

/* How long the first request says that it is, once the protocol is known; 0 as above. */
uint64_t peek_redis_bytes(const struct peeked *) HIDDEN;
uint64_t peek_memcached_bytes(const struct peeked *) HIDDEN;

/* A statement of SQL up to the name of its first table. `is_whole`: it ends where the bytes do.
 * False: it begins with no word of SQL's. */
bool peek_sql(const uint8_t *bytes, size_t count, bool is_whole, struct text *to) HIDDEN;

/* Whether the bytes, of which there is one at least, begin with that word. PEEK_MORE: they do so as
 * far as they go. Most words are told apart by their first letter. */
enum peek_result peek_begins_further(const struct peeked *, const char *with) HIDDEN;
static inline enum peek_result peek_begins(const struct peeked *read, const char *with)
{
	if (LIKELY(read->bytes[0] != (uint8_t)with[0]))
		return PEEK_UNKNOWN;
	return peek_begins_further(read, with);
}

static inline bool peek_is_letter(uint8_t byte)
{
	return (uint8_t)((byte | 0x20) - 'a') < 26;
}

static inline bool peek_is_digit(uint8_t byte)
{
	return (uint8_t)(byte - '0') < 10;
}

/* The id of a template in the arena. Of the first PEEK_KINDS_MAX: all others are called "other". */
uint32_t peek_intern(const struct text *) HIDDEN;

/* In a forked child, whose arena has no strings yet. */
void peek_forget(void) HIDDEN;

#endif
