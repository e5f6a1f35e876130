/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows requests, and counts how long they took. See requests.h.
 *
 * The connections are a table by descriptor, mapped when it is first wanted. Any thread writes an
 * entry, word by word, relaxed. Of two threads at one connection at the same moment, one may have a
 * request begin or end by the other one's time. An entry counts while its descriptor is the same
 * one, and in the opening and the following in which it was written.
 */
#include "requests.h"

#include "clock.h"
#include "descriptors.h"
#include "entries.h"
#include "handles.h"
#include "mapping.h"
#include "strings.h"

#include "in_target.h"

enum {
	STEPS_BITS = 5, /* of a doubling: 32 steps, 3% each */
	STEPS = 1 << STEPS_BITS,
	BUCKETS = 64 * STEPS,
	NAMES_MAX = 2048, /* calls have the first ids */
	LEVELS_MAX = 16   /* of ops within each other that are climbed */
};

uint32_t requests_followed;

struct connection {
	uint64_t begun;      /* ticks; 0: nobody asks just now */
	uint64_t answered;   /* by then; 0: not yet */
	uint64_t descriptor; /* its word (descriptors.h) */
	uint64_t since;      /* see since() */
};

static struct connection *connections; /* [DESCRIPTORS_MAX]; NULL: none are followed */

static struct {
	uint32_t counts[BUCKETS];
	uint32_t sum;   /* of all counts */
	uint32_t ended; /* so far */
} lengths[REQUEST_KINDS];

/* When the thread's request began: on the connection self.request_fd. */
static __thread uint64_t own_begun;

/* --- Who asks --------------------------------------------------------------------------------- */

bool requests_follow(uint32_t who, bool is_wanted)
{
	static uint32_t wanted, number;
	uint32_t before = wanted;

	wanted = is_wanted ? wanted | who : wanted & ~who;
	if (wanted && !connections)
		store_release(&connections,
			      mapping_make(DESCRIPTORS_MAX * sizeof(struct connection), -1));
	if (!wanted)
		store_relaxed(&requests_followed, 0);
	else if (!before)
		store_relaxed(&requests_followed, ++number ? number : ++number);
	return !wanted || connections;
}

static uint64_t since(const struct self *self)
{
	return (uint64_t)self->opening << 32 | load_relaxed(&requests_followed);
}

/* --- How long they took ----------------------------------------------------------------------- */

static uint32_t bucket_of(uint64_t ticks)
{
	uint32_t log;

	if (ticks < STEPS)
		return (uint32_t)ticks;
	log = 63 - (uint32_t)__builtin_clzll(ticks);
	return (log - STEPS_BITS + 1) * STEPS +
	       (uint32_t)(ticks >> (log - STEPS_BITS) & (STEPS - 1));
}

/* The least that is in the bucket. */
static uint64_t least_of(uint32_t bucket)
{
	uint32_t doublings = bucket / STEPS;

	if (doublings == 0)
		return bucket;
	return (uint64_t)(STEPS + bucket % STEPS) << (doublings - 1);
}

static void halve(enum request_kind kind)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < BUCKETS; i++) {
		uint32_t half = load_relaxed(&lengths[kind].counts[i]) / 2;

		store_relaxed(&lengths[kind].counts[i], half);
		sum += half;
	}
	store_relaxed(&lengths[kind].sum, sum);
}

static void count(enum request_kind kind, uint64_t ticks)
{
	add_relaxed(&lengths[kind].counts[bucket_of(ticks)], 1);
	add_relaxed(&lengths[kind].ended, 1);
	/* One thread comes to the number. */
	if (add_relaxed(&lengths[kind].sum, 1) == REQUESTS_HALVED_AT)
		halve(kind);
}

uint32_t requests_ended(enum request_kind kind)
{
	return load_relaxed(&lengths[kind].ended);
}

/* Where it lies in its bucket follows from its rank there. */
uint64_t requests_percentile(enum request_kind kind, uint32_t permille)
{
	uint64_t sum = load_relaxed(&lengths[kind].sum), below = 0;
	uint64_t beyond = sum * (REQUESTS_PERMILLE - permille) / REQUESTS_PERMILLE;
	uint64_t rank = sum - beyond;

	if (beyond < REQUESTS_BEYOND_LEAST)
		return 0;
	for (uint32_t i = 0; i < BUCKETS; i++) {
		uint64_t here = load_relaxed(&lengths[kind].counts[i]);

		if (here && below + here >= rank)
			return least_of(i) +
			       (least_of(i + 1) - least_of(i)) * (rank - below) / here;
		below += here;
	}
	return 0;
}

/* --- Served ----------------------------------------------------------------------------------- */

static bool begins_with(const char *text, const char *begin)
{
	while (*begin && *text == *begin) {
		text++;
		begin++;
	}
	return !*begin;
}

/* Whether the call of that name writes; strings of an arena never change. */
static bool writes(uint32_t name)
{
	static const char *const names[] = {
		"write", "pwrite", "send", "splice", "fwrite", "fflush"
	};
	enum { READS = 1, WRITES = 2 };
	static uint8_t known[NAMES_MAX];
	uint8_t which = name < NAMES_MAX ? __atomic_load_n(&known[name], __ATOMIC_RELAXED) : 0;
	uint32_t bytes;
	const char *text;

	if (which)
		return which == WRITES;
	which = READS;
	text = strings_get(recorder_arena, name, &bytes);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (begins_with(text, names[i]))
			which = WRITES;
	if (name < NAMES_MAX)
		__atomic_store_n(&known[name], which, __ATOMIC_RELAXED);
	return which == WRITES;
}

static void begin(struct connection *connection, const struct self *self, uint64_t descriptor,
		  uint64_t now)
{
	uint64_t begun = load_relaxed(&connection->begun);
	uint64_t answered = load_relaxed(&connection->answered);
	bool counts = load_relaxed(&connection->since) == since(self);

	if (counts && begun && answered > begun)
		count(REQUESTS_SERVED, answered - begun);
	/* The rest of a request: it has begun. */
	if (counts && begun && !answered && now &&
	    load_relaxed(&connection->descriptor) == descriptor)
		return;
	store_relaxed(&connection->answered, 0);
	store_relaxed(&connection->descriptor, descriptor);
	store_relaxed(&connection->since, since(self));
	store_relaxed(&connection->begun, now);
}

static void note_transfer(struct self *self, const struct record *record, int64_t value,
			  uint64_t now)
{
	struct connection *table = load_acquire(&connections), *connection;
	uint64_t descriptor;

	if (!table || value < 0 || (uint32_t)record->fd >= DESCRIPTORS_MAX)
		return;
	connection = &table[record->fd];
	descriptor = load_relaxed(descriptors_word(record->fd));
	if (!writes(record->name)) {
		/* Nothing was read: the client has gone. */
		begin(connection, self, descriptor, value > 0 ? now : 0);
	} else if (value > 0 && load_relaxed(&connection->begun) &&
		   load_relaxed(&connection->since) == since(self) &&
		   load_relaxed(&connection->descriptor) == descriptor) {
		store_relaxed(&connection->answered, now);
	}
	own_begun = load_relaxed(&connection->begun);
	self->request_fd = (uint32_t)record->fd;
}

static bool is_answered(const struct self *self)
{
	const struct connection *table = load_acquire(&connections);

	return !table || load_relaxed(&table[self->request_fd].answered) != 0;
}

void requests_note_call(struct self *self, const struct record *record, int64_t value, uint64_t now)
{
	uint32_t bytes;

	if (record->what == KIND_IO && record->flags & RECORD_ACCEPTED)
		note_transfer(self, record, value, now);
	else if (record->what == KIND_POLL &&
		 (is_answered(self) ||
		  begins_with(strings_get(recorder_arena, record->name, &bytes), "epoll")))
		own_begun = 0;
}

void requests_note_wait(const struct self *self)
{
	if (is_answered(self))
		own_begun = 0;
}

/* Until somebody has read the next one there. */
static bool is_still_there(const struct self *self)
{
	const struct connection *table = load_acquire(&connections);

	return own_begun && table && load_relaxed(&table[self->request_fd].begun) == own_begun &&
	       load_relaxed(&table[self->request_fd].since) == since(self);
}

/* --- Marked ----------------------------------------------------------------------------------- */

static const struct open_entry *user_op(uint64_t id)
{
	uint32_t index = id ? handles_find(recorder_arena, id) : HANDLE_NONE;
	const struct open_entry *entry =
		index != HANDLE_NONE ? handles_at(recorder_arena, index) : NULL;

	if (!entry || load_relaxed(&entry->record.type) != RECORD_OP ||
	    load_relaxed(&entry->record.what) != KIND_OP_USER)
		return NULL;
	return entry;
}

/* The op that is around all others; NULL: there is none. */
static const struct open_entry *outermost_of(const struct open_entry *attached)
{
	const struct open_entry *found = user_op(attached->record.id);

	for (uint32_t i = 0; found && i < LEVELS_MAX; i++) {
		const struct open_entry *parent = user_op(load_relaxed(&found->record.parent));

		if (!parent)
			break;
		found = parent;
	}
	return found;
}

void requests_note_declared(const struct record *record)
{
	if (record->type == RECORD_OP && record->what == KIND_OP_USER && !user_op(record->parent) &&
	    record->end > record->start)
		count(REQUESTS_MARKED, record->end - record->start);
}

struct request_now requests_now(const struct self *self)
{
	for (uint32_t i = 1; self->slot && i < self->depth; i++) {
		const struct open_entry *entry = &self->slot->entries[i];
		const struct open_entry *around =
			entry->record.type == RECORD_ATTACHED ? outermost_of(entry) : NULL;

		if (around)
			return (struct request_now){ load_relaxed(&around->record.start),
						     REQUESTS_MARKED };
	}
	return (struct request_now){ is_still_there(self) ? own_begun : 0, REQUESTS_SERVED };
}

/* --- STATUS ----------------------------------------------------------------------------------- */

static void put_percentile(struct text *text, enum request_kind kind, const char *key,
			   uint32_t permille)
{
	uint64_t ticks = requests_percentile(kind, permille);
	uint64_t rate = ticks ? clock_own_rate(CLOCK_APART_LEAST_NS) : 0;

	if (ticks)
		text_put_key_u64(text, key, (uint64_t)(((unsigned __int128)ticks * rate) >> 32));
}

void requests_put_status(struct text *text)
{
	static const struct {
		const char *ended, *half, *slow, *slowest;
	} keys[REQUEST_KINDS] = {
		[REQUESTS_SERVED] = { "served_requests", "served_p50_ns", "served_p95_ns",
				      "served_p99_ns" },
		[REQUESTS_MARKED] = { "marked_requests", "marked_p50_ns", "marked_p95_ns",
				      "marked_p99_ns" },
	};

	for (int kind = 0; requests_are_followed() && kind < REQUEST_KINDS; kind++) {
		text_put_key_u64(text, keys[kind].ended, requests_ended(kind));
		put_percentile(text, kind, keys[kind].half, 500);
		put_percentile(text, kind, keys[kind].slow, 950);
		put_percentile(text, kind, keys[kind].slowest, 990);
	}
}
