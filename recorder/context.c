/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trace contexts. See context.h.
 *
 * Runs on the program's threads, each for itself, inside the recorder. The place is written by one
 * thread at a time and read by all; a reader that sees its generation change meanwhile reads
 * nothing. Never here: a call of libc's; a look at another thread's record.
 *
 * The tracer owns the record, and may free it when its thread's pointer leads elsewhere. So it is
 * read in one go, by the thread itself. A signal handler may come while the tracer changes it. Its
 * `valid` is not 1 then.
 */
#include "context.h"

#include <string.h>

#include "chunk.h"
#include "clock.h"

#include "in_target.h"

uint32_t context_sources;

static struct context_place context_place;
static uint32_t place_generation; /* 0 = there is none */
static uint32_t places;           /* so far */

/* The tracer's, packed; attributes follow. */
struct published {
	uint8_t trace_id[16];
	uint8_t span_id[8];
	uint8_t valid;
	uint8_t flags;
	uint8_t attribute_bytes[2];
};
_Static_assert(sizeof(struct published) == 28 && _Alignof(struct published) == 1, "it is packed");

enum { VALID = 1, PAGE_BYTES = 4096 };

/* --- The place ------------------------------------------------------------------------------- */

void context_publish(const struct context_place *place)
{
	/* Release, all three: pairs with read_place(), which reads the generation before and
	 * after. */
	store_release(&place_generation, 0);
	if (!place)
		return;
	store_release(&context_place.offset, place->offset);
	store_release(&context_place.module, place->module);
	store_release(&context_place.block_generation, place->block_generation);
	store_release(&place_generation, ++places);
	or_release(&context_sources, CONTEXT_PUBLISHED);
}

static bool read_place(struct context_place *place)
{
	uint32_t generation = load_acquire(&place_generation);

	place->offset = load_acquire(&context_place.offset);
	place->module = load_acquire(&context_place.module);
	place->block_generation = load_acquire(&context_place.block_generation);
	return generation != 0 && load_acquire(&place_generation) == generation;
}

/* A thread's table of blocks, as libc's calling convention for thread-local storage has it. */
union block {
	uint64_t number; /* of the entry before the first: how many there are; of the first: which
			  * generation of objects it knows */
	struct {
		const char *at; /* BLOCK_UNUSED: the thread has not touched it yet */
		void *unused;
	} of;
};
_Static_assert(sizeof(union block) == 16, "libc has two words for each");
#define BLOCK_UNUSED UINTPTR_MAX

struct thread_block {
	void *self;
	const union block *blocks;
};

/* NULL: it has none. */
static const char *find_block(const struct context_place *place)
{
	const struct thread_block *thread = (const struct thread_block *)__builtin_thread_pointer();
	const union block *blocks = thread->blocks;

	if (place->module == 0)
		return (const char *)thread;
	if (blocks[-1].number < place->module || blocks[0].number < place->block_generation)
		return NULL;
	return (uintptr_t)blocks[place->module].of.at == BLOCK_UNUSED ? NULL
								      : blocks[place->module].of.at;
}

/* The tracer's pointer on this thread. */
static const struct published *find_published(void)
{
	struct context_place place;
	const char *block = read_place(&place) ? find_block(&place) : NULL;
	const struct published *const *pointer;

	if (!block)
		return NULL;
	pointer = (const struct published *const *)(block + (int64_t)place.offset);
	/* Relaxed: the tracer's store comes before it on this very thread. */
	return load_relaxed(pointer);
}

/* --- The record ------------------------------------------------------------------------------ */

static uint64_t number_of(const uint8_t *bytes)
{
	uint64_t number;

	memcpy(&number, bytes, sizeof(number));
	return __builtin_bswap64(number);
}

static bool is_same(const uint64_t *a, const uint64_t *b)
{
	return ((a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2])) == 0;
}

/* Whether a reader of the thread's last chunk, or of the next dump, finds its ids there. */
static bool is_in_reach(const struct self *self)
{
	const struct slot *slot = self->slot;

	return self->chunk && slot->context.chunk == slot->chunk &&
	       slot->context.position <= self->position &&
	       slot->context.dump == load_relaxed(&recorder_arena->dump_count);
}

static void write_ids(struct self *self, const uint64_t *ids, uint64_t since_ticks)
{
	struct slot *slot = self->slot;
	uint64_t at = since_ticks ? since_ticks : clock_now_ticks();
	const struct record record = {
		.start = at,
		.end = at,
		.id = ids[0],
		.parent = ids[1],
		.value = ids[2],
		.name = self->thread,
		.fd = -1,
		.type = RECORD_CONTEXT,
	};

	memcpy(slot->context.ids, ids, sizeof(slot->context.ids));
	if (!chunk_append(self, &record))
		return;
	slot->context.chunk = slot->chunk;
	slot->context.position = self->position;
	slot->context.dump = load_relaxed(&recorder_arena->dump_count);
}

static void follow(struct self *self, const uint64_t *ids, uint64_t since_ticks)
{
	const struct slot *slot = self->slot;
	bool has_ids = (ids[0] | ids[1] | ids[2]) != 0;

	if (!is_same(slot->context.ids, ids) || (has_ids && !is_in_reach(self)))
		write_ids(self, ids, since_ticks);
}

void context_look(struct self *self, uint64_t since_ticks)
{
	const struct published *published = self->slot->context.is_said ? NULL : find_published();
	uint64_t ids[3] = { 0, 0, 0 };

	if (self->slot->context.is_said) {
		memcpy(ids, self->slot->context.ids, sizeof(ids));
	} else if (published) {
		/* Something else of that name: a pointer into the first page is none. */
		if ((uintptr_t)published < PAGE_BYTES)
			return;
		if (load_relaxed(&published->valid) != VALID) {
			self_count(self, COUNTER_skipped_contexts);
			return;
		}
		ids[0] = number_of(published->trace_id);
		ids[1] = number_of(published->trace_id + sizeof(uint64_t));
		ids[2] = number_of(published->span_id);
	}
	follow(self, ids, since_ticks);
}

void context_say(struct self *self, const uint8_t trace_id[16], const uint8_t span_id[8])
{
	uint64_t ids[3] = { 0, 0, 0 };

	if (trace_id) {
		ids[0] = number_of(trace_id);
		ids[1] = number_of(trace_id + sizeof(uint64_t));
	}
	if (span_id)
		ids[2] = number_of(span_id);
	self->slot->context.is_said = 1;
	/* Pairs with none: each thread looks at what it has said itself. */
	if (!(load_relaxed(&context_sources) & CONTEXT_SAID))
		or_release(&context_sources, CONTEXT_SAID);
	follow(self, ids, 0);
}
