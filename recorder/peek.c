/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kinds of requests, from the bytes of a read to a string of the arena. See peek.h.
 *
 * The bytes are copied into memory of the thread's own, which no dump has. A request may come in
 * parts, as MySQL's header and body do. The copy is wiped as soon as the kind is known, or known to
 * be unknown.
 *
 * The table of kinds has a word for each: the upper half of a template's hash, and the id of its
 * string. Two templates are taken for each other if 32 bits of their hashes agree.
 */
#include "peek.h"

#include <assert.h>
#include <sys/uio.h>

#include "entries.h"
#include "fields.h"

#include "in_target.h"

enum { KIND_BUCKETS = 4 * PEEK_KINDS_MAX };

_Static_assert(STRINGS_MAX <= UINT32_MAX, "a string id is half of a word");
_Static_assert(STRINGS_MAX - 1 <= UINT16_MAX, "a kind is half of a field");
_Static_assert(PEEK_BYTES_MAX <= UINT8_MAX, "a count is a byte");

/* How many bytes of a read are looked at. Written by settings.c, read relaxed. */
uint32_t recorder_peek;

/* Written by any thread, by compare and swap, from 0 to a word once. The count may go beyond the
 * most by as many as there are threads. */
static uint64_t kinds[KIND_BUCKETS];
static uint32_t kind_count;

/* The beginning of a request of which this thread has not read enough. */
struct beginning {
	uint64_t amount;
	int fd;
	uint32_t ident; /* of what `fd` was */
	uint8_t count;  /* 0 = there is none */
	uint8_t bytes[PEEK_BYTES_MAX];
};

static __thread struct beginning beginning __attribute__((tls_model("initial-exec")));

/* --- Templates --- */

enum peek_result peek_begins_further(const struct peeked *read, const char *with)
{
	size_t at = 1;

	while (with[at] != '\0' && at < read->count && read->bytes[at] == (uint8_t)with[at])
		at++;
	if (with[at] == '\0')
		return PEEK_KNOWN;
	return at == read->count ? PEEK_MORE : PEEK_UNKNOWN;
}

/* Nothing else gets into a dump, whatever a recogniser puts. */
static bool is_clean(const struct text *text)
{
	for (size_t i = 0; i < text->used; i++) {
		uint8_t byte = (uint8_t)text->bytes[i];

		if (byte < ' ' || byte > '~' || byte == '"' || byte == '\\')
			return false;
	}
	return text->used > 0 && !text->overflowed;
}

/* A protocol: which requests are of it; how long the first one says that it is, NULL = it does
 * not. */
struct protocol {
	enum peek_result (*fold)(const struct peeked *, struct text *);
	uint64_t (*request_bytes)(const struct peeked *);
};

enum peek_result peek_fold(const struct peeked *read, struct text *to, uint64_t *request_bytes)
{
	/* The surest first: text, then what has lengths. */
	static const struct protocol protocols[] = {
		{ peek_http, NULL },
		{ peek_http2, NULL },
		{ peek_redis, peek_redis_bytes },
		{ peek_memcached, peek_memcached_bytes },
		{ peek_tls, NULL },
		{ peek_postgres, NULL },
		{ peek_mysql, NULL },
	};
	enum peek_result found = PEEK_UNKNOWN;
	size_t before = to->used;

	assert(read->count > 0 && read->count <= PEEK_BYTES_MAX && read->count <= read->amount);
	*request_bytes = 0;
	for (size_t i = 0; i < sizeof(protocols) / sizeof(protocols[0]); i++) {
		enum peek_result result = protocols[i].fold(read, to);

		if (result == PEEK_KNOWN && protocols[i].request_bytes)
			*request_bytes = protocols[i].request_bytes(read);
		if (result == PEEK_KNOWN)
			return is_clean(to) ? PEEK_KNOWN : PEEK_UNKNOWN;
		if (result == PEEK_MORE)
			found = PEEK_MORE;
		to->used = before;
	}
	return found;
}

/* --- Their ids --- */

static uint64_t hash_of(const struct text *text)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < text->used; i++)
		hash = (hash ^ (uint8_t)text->bytes[i]) * UINT64_C(0x100000001b3);
	return (hash ^ hash >> 29) * UINT64_C(0x9e3779b97f4a7c15);
}

uint32_t peek_intern(const struct text *text)
{
	uint64_t hash = hash_of(text);
	uint32_t id;

	for (uint64_t probe = 0; probe < KIND_BUCKETS; probe++) {
		uint64_t *bucket = &kinds[(hash + probe) % KIND_BUCKETS];
		/* Relaxed: a word says all that it has to say. */
		uint64_t word = load_relaxed(bucket);

		if (word == 0) {
			if (load_relaxed(&kind_count) >= PEEK_KINDS_MAX)
				break;
			id = string_intern(text->bytes, text->used);
			if (id == 0)
				return 0;
			if (cas_acq_rel(bucket, &word, hash >> 32 << 32 | id)) {
				add_relaxed(&kind_count, 1);
				return id;
			}
		}
		if (word >> 32 == hash >> 32)
			return (uint32_t)word;
	}
	return string_intern("other", sizeof("other") - 1);
}

void peek_forget(void)
{
	for (size_t i = 0; i < KIND_BUCKETS; i++)
		store_relaxed(&kinds[i], 0);
	store_relaxed(&kind_count, 0);
	beginning.count = 0;
}

/* --- What was read --- */

static void begin(struct beginning *to, const struct record *record)
{
	if (to->fd == record->fd && to->ident == record->ident && to->count > 0)
		return;
	to->fd = record->fd;
	to->ident = record->ident;
	to->amount = to->count = 0;
}

/* No byte beyond those that the call has filled, part by part. */
static void gather(struct beginning *to, size_t limit, const struct iovec *parts, size_t count,
		   uint64_t amount)
{
	uint64_t left = amount;

	for (size_t i = 0; i < count && left > 0 && to->count < limit; i++) {
		size_t filled = parts[i].iov_len < left ? parts[i].iov_len : (size_t)left;
		size_t room = limit - to->count;

		if (filled)
			memcpy(to->bytes + to->count, parts[i].iov_base,
			       filled < room ? filled : room);
		to->count += (uint8_t)(filled < room ? filled : room);
		left -= filled;
	}
	to->amount += amount;
}

/* `request_bytes`: of the first request, if there are others behind it; else 0. */
static void set_kind(struct open_entry *entry, uint32_t kind, uint64_t request_bytes)
{
	/* Release: pairs with opens.c, as all of an entry does. */
	store_release(&entry->record.count, field_request(kind, request_bytes));
	store_release(&entry->record.flags, (uint8_t)(entry->record.flags | RECORD_PEEKED));
}

void op_set_request(struct self *self, uint64_t op, const struct iovec *parts, size_t count,
		    uint64_t amount)
{
	struct open_entry *entry = entry_find(self, op);
	size_t limit = load_relaxed(&recorder_peek);
	char template[PEEK_TEXT_BYTES];
	struct text text = { .bytes = template, .size = sizeof(template) };
	enum peek_result result;
	uint64_t bytes;

	assert(amount > 0 && limit <= PEEK_BYTES_MAX);
	if (!entry || !(entry->record.flags & RECORD_ACCEPTED) || limit == 0)
		return;
	begin(&beginning, &entry->record);
	gather(&beginning, limit, parts, count, amount);
	if (beginning.count == 0)
		return;
	result = peek_fold(&(struct peeked){ beginning.bytes, beginning.count, beginning.amount },
			   &text, &bytes);
	if (result == PEEK_MORE && beginning.count == beginning.amount && beginning.count < limit)
		return;
	if (result == PEEK_KNOWN)
		set_kind(entry, peek_intern(&text), bytes < beginning.amount ? bytes : 0);
	else
		self_count(self, COUNTER_unknown_requests);
	memset(&beginning, 0, sizeof(beginning));
}
