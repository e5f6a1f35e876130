/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contents of one dump. See snapshot.h.
 *
 * Chunks are pinned first, so that a ring overwrites none of them before it is written out. Then,
 * in this order: (1) copy all that is open; (2) note how far each chunk is published; (3) look
 * again at what was open. Its record is below (2): it has ended. Else it is open, or ended after
 * (2), so for this dump it is open. Records are published before their entries are cleared, so what
 * ended before (1) is below (2). Strings, stacks and modules are counted last, so that whatever the
 * rest refers to is below the count.
 */
#include "snapshot.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "age.h"
#include "census.h"
#include "chunk.h"
#include "clock.h"
#include "delays.h"
#include "fields.h"
#include "idle.h"
#include "mark.h"
#include "modules.h"
#include "objects.h"
#include "opening.h"
#include "opens.h"
#include "peers.h"
#include "roster.h"
#include "stacks.h"
#include "strings.h"
#include "usage.h"
#include "weight.h"
#include "syscalls.h"
#include "tasks.h"

#include "in_target.h"

/* Threads that end, and register, while the memory for their list is being taken. */
enum { THREADS_SLACK = 256 };
/* More have not ended between two dumps, whatever a damaged arena says. */
enum { THREADS_MOST = 1 << 28 };

static const bool counter_is_loss[] = {
#define COUNTER(name, is_loss, meaning) [COUNTER_##name] = (is_loss),
#include "counters.def"
#undef COUNTER
};

uint64_t snapshot_losses(const struct arena *arena)
{
	uint64_t sum = 0;

	for (int i = 0; i < COUNTER_COUNT; i++)
		sum += counter_is_loss[i] ? roster_counter(arena, (enum counter)i) : 0;
	return sum;
}

struct pending snapshot_count_pending(const struct arena *arena)
{
	uint32_t made = arena_chunks_made(arena);
	struct pending sum = { 0, 0 };

	for (uint32_t i = 0; i < made; i++) {
		const struct chunk *chunk = chunk_at(arena, i);
		uint32_t published = chunk_published(chunk);
		uint32_t drained = chunk_begin(load_relaxed(&chunk->drained), published);

		sum.records += extent_records(published) - extent_records(drained);
		sum.words += extent_words(published) - extent_words(drained);
	}
	return sum;
}

/* --- Who is the drainer ---------------------------------------------------------------------- */

bool snapshot_lock(struct arena *arena)
{
	uint32_t me = (uint32_t)sys_gettid() | (arena == recorder_arena ? 0 : DRAIN_OUTSIDE);
	uint32_t owner = load_acquire(&arena->drain_owner);

	/* Chunks that a dead one has pinned are pinned anew, and let go in the end. */
	while (owner == 0 || owner & DRAIN_DIED)
		if (cas_acq_rel(&arena->drain_owner, &owner, me))
			return true;
	return false;
}

void snapshot_unlock(struct arena *arena)
{
	/* Pairs with snapshot_lock(): the next drainer sees all that this one did. */
	store_release(&arena->drain_owner, 0);
}

/* --- What has ended -------------------------------------------------------------------------- */

/* How many words there are of records whose entries are gone: the last one's may be there still,
 * until the chunk is full. */
static uint32_t count_settled(const struct chunk *chunk)
{
	bool is_full = chunk_is_full(chunk);
	uint32_t words = extent_words(chunk_published(chunk));

	return is_full ? words : packed_last(chunk->words, 0, words);
}

/*
 * From here on nothing is overwritten that is in the dump, or that an op of opens_copy() may end
 * in. The newest first: meanwhile the turn comes from the other end, and stops at what is pinned.
 * The oldest that it has not reached, `room` chunks at most, are left to the program's threads.
 */
static void pin_chunks(struct snapshot *snapshot, const struct arena *arena, uint32_t room)
{
	uint32_t count = arena_chunks_made(arena);
	uint64_t turn = load_acquire(&arena->turn);
	uint32_t first = chunk_next(arena, turn, count);

	for (uint32_t i = count; i-- > 0;) {
		struct chunk *chunk = chunk_at(arena, (first + i) % count);

		chunk->snapshot_left = 0;
		chunk->snapshot_since = 0;
		if (!chunk_pin(chunk))
			continue;
		if (i < room && count == arena->chunks.max && chunk_is_full(chunk) &&
		    load_acquire(&arena->turn) <= turn + i) {
			chunk->snapshot_left = 1;
			chunk->snapshot_lap = chunk_lap(chunk);
			chunk_unpin(chunk);
		} else {
			chunk->snapshot_since = count_settled(chunk);
		}
	}
	snapshot->chunk_first = chunk_next(arena, load_acquire(&arena->turn), count);
	snapshot->chunk_count = count;
}

/* Whether it has anything that belongs into the dump; it is pinned then. One that was left to the
 * threads may have what ended since then. */
static bool pin_again(struct chunk *chunk)
{
	if (!chunk_pin(chunk))
		return false;
	if (chunk->snapshot_left && chunk_is_full(chunk) &&
	    chunk->snapshot_lap == chunk_lap(chunk)) {
		chunk_unpin(chunk);
		return false;
	}
	return true;
}

static void count_events(struct snapshot *snapshot, const struct arena *arena)
{
	uint32_t pinned = snapshot->chunk_count;

	snapshot->chunk_count = arena_chunks_made(arena);
	for (uint32_t i = 0; i < snapshot->chunk_count; i++) {
		struct chunk *chunk = chunk_at(arena, i);
		uint32_t begin, end;

		chunk->snapshot = chunk->snapshot_from = 0;
		if (i >= pinned)
			chunk->snapshot_left = chunk->snapshot_since = 0;
		if (!pin_again(chunk))
			continue;
		/* Pairs with the owner's store_release: records below are complete. Before the lap:
		 * an empty chunk may be taken just now, and begin another one. */
		end = chunk_published(chunk);
		chunk->snapshot_lap = chunk_lap(chunk);
		begin = chunk_begin(load_relaxed(&chunk->drained), end);
		chunk->snapshot = end;
		chunk->snapshot_from = begin;
		snapshot->event_count += extent_records(end) - extent_records(begin);
	}
	snapshot->process_op = arena->process_op;
	snapshot->process_op.type = RECORD_OP;
	snapshot->process_op.end = load_acquire(&arena->process_ended);
	if (snapshot->process_op.end != 0)
		snapshot->process_op.outcome = OUTCOME_OK;
	snapshot->has_process_end = snapshot->process_op.end != 0 && !arena->process_end_reported;
	snapshot->event_count += snapshot->has_process_end;
}

static uint64_t later(uint64_t ticks, uint64_t other_ticks)
{
	return ticks > other_ticks ? ticks : other_ticks;
}

/* When a dead process did something last, as far as its arena tells. */
static uint64_t last_sign_of_life(struct snapshot *snapshot, const struct arena *arena)
{
	uint64_t last = later(arena->process_op.start, load_relaxed(&arena->dumped_ticks));

	last = later(last, load_acquire(&arena->process_ended));
	for (uint32_t i = 0; i < snapshot->open_count; i++)
		last = later(later(last, snapshot->opens[i].cut), snapshot->opens[i].record.start);
	for (uint32_t i = 0; i < snapshot->thread_count; i++)
		last = later(last, snapshot->threads[i].marked_ticks);
	for (uint32_t i = 0; i < snapshot->chunk_count; i++) {
		const struct chunk *chunk = chunk_at(arena, i);
		uint32_t end = extent_words(chunk_snapshot_end(chunk)), at = 0;

		while (packed_read(chunk->words, &at, end, &snapshot->seen))
			last = later(last, snapshot->seen.end);
	}
	return last;
}

static uint32_t count_ended_threads(const struct arena *arena)
{
	uint32_t made = arena_chunks_made(arena);
	uint64_t count = 0;

	for (uint32_t i = 0; i < made; i++) {
		uint32_t ended = load_relaxed(&chunk_at(arena, i)->threads_ended);

		count += ended < CHUNK_WORDS / PACKED_LEAST ? ended : CHUNK_WORDS / PACKED_LEAST;
	}
	return count < THREADS_MOST ? (uint32_t)count : THREADS_MOST;
}

/* --- Threads --------------------------------------------------------------------------------- */

/* The thread's name as it is now, or as it was noted last. */
static uint32_t name_thread(struct arena *arena, const struct slot *slot, uint32_t tid, bool own)
{
	char name[TASK_NAME_BYTES];

	if (own && task_name(arena->pid, tid, name))
		return strings_intern(arena, name, strnlen(name, sizeof(name)));
	return strings_intern(arena, slot->name, strnlen(slot->name, sizeof(slot->name)));
}

static void name_open_thread(struct snapshot *snapshot, const struct snapshot_thread *thread)
{
	for (uint32_t i = 0; i < snapshot->open_count; i++)
		if (snapshot->opens[i].handle == thread->op)
			snapshot->opens[i].record.ident = thread->name;
}

/* Then what the thread has done since is not in the dump. */
static bool was_marked_as_recording_ended(const struct arena *arena, const struct slot *slot)
{
	uint64_t last = load_acquire(&slot->last_ticks);

	return !opening_is_on(arena) && last >= opening_begun(arena) && last != 0;
}

static void list_living(struct snapshot *snapshot, struct arena *arena, uint32_t slots, bool own)
{
	for (uint32_t i = 0; i < slots; i++) {
		const struct slot *slot = roster_slot(arena, i);
		struct snapshot_thread *to = &snapshot->threads[snapshot->thread_count];
		bool is_last;

		to->thread = load_acquire(&slot->thread);
		if (to->thread == 0)
			continue;
		to->tid = load_relaxed(&slot->tid);
		to->op = load_relaxed(&slot->op);
		to->name = name_thread(arena, slot, to->tid, own);
		/* It may have ended meanwhile, and another have come into its slot. */
		if (load_acquire(&slot->thread) != to->thread)
			continue;
		name_open_thread(snapshot, to);
		to->weight = own ? weight_of_thread(to->tid) : 0;
		is_last = !own || was_marked_as_recording_ended(arena, slot);
		if (!is_last && mark_gap_ticks != MARK_NEVER)
			delays_update(roster_slot(arena, i));
		to->delay_ns = load_relaxed(&slot->delay_ns);
		to->marked_ticks = is_last ? load_acquire(&slot->last_ticks) : clock_now_ticks();
		to->cpu_ns = load_relaxed(&slot->last_cpu_ns);
		/* A dead one has a later mark than this, if an earlier dump had it. */
		to->is_marked =
			is_last ? to->marked_ticks > (own ? 0 : load_relaxed(&arena->dumped_ticks))
				: mark_gap_ticks != MARK_NEVER &&
					  clock_cpu_ns_of(to->tid, &to->cpu_ns);
		snapshot->event_count += to->is_marked;
		snapshot->thread_count++;
	}
}

static void list_ended(struct snapshot *snapshot, const struct arena *arena, uint32_t most)
{
	const struct record *record = &snapshot->seen;

	for (uint32_t i = 0; i < snapshot->chunk_count; i++) {
		const struct chunk *chunk = chunk_at(arena, i);
		uint32_t end = chunk_snapshot_end(chunk);
		uint32_t at = extent_words(chunk_snapshot_begin(chunk, end));

		if (load_relaxed(&chunk->threads_ended) == 0)
			continue;
		while (snapshot->thread_count < most &&
		       packed_read(chunk->words, &at, extent_words(end), &snapshot->seen))
			if (record->type == RECORD_OP && record->what == KIND_THREAD)
				snapshot->threads[snapshot->thread_count++] =
					(struct snapshot_thread){
						.op = record->id,
						.thread = (uint32_t)(record->id >> 32),
						.tid = record->count,
						.name = record->ident,
						.weight = field_weight(record),
					};
	}
}

/* --- The whole ------------------------------------------------------------------------------- */

/* Frozen by the first dump, so that all dumps of an arena agree. */
static void freeze_clock(struct snapshot *snapshot, struct arena *arena, enum dump_of of)
{
	uint64_t rate = load_relaxed(&arena->clock.mult);

	if (rate == 0 && of == DUMP_DEAD)
		rate = clock_rate_of(&arena->clock, CLOCK_APART_NS);
	else if (rate == 0)
		rate = clock_own_rate(of == DUMP_AT_END ? CLOCK_APART_LEAST_NS : CLOCK_APART_NS);
	store_relaxed(&arena->clock.mult, rate);
	snapshot->clock = arena->clock;
}

/* In a ring, from when on all is in it. */
static uint64_t find_oldest(const struct snapshot *snapshot, const struct arena *arena)
{
	uint64_t oldest = later(load_relaxed(&arena->dumped_ticks), snapshot->limit_ticks);

	for (uint32_t i = 0; arena->is_ring && i < snapshot->chunk_count; i++) {
		const struct chunk *chunk = chunk_at(arena, i);

		oldest = later(oldest, load_relaxed(&chunk->lost_ticks));
		/* It may be overwritten at any moment. */
		if (chunk->snapshot_left && chunk_snapshot_end(chunk) == 0)
			oldest = later(oldest, load_relaxed(&chunk->full_ticks));
	}
	return oldest;
}

/* Those that are not over at the begin of what is in it. */
static void find_openings(struct snapshot *snapshot, const struct arena *arena)
{
	uint32_t now = opening_now(arena), first = now + 1;
	uint64_t opened, closed;

	snapshot->since_ticks = find_oldest(snapshot, arena);
	while (first > 1 && opening_times(arena, first - 1, &opened, &closed) &&
	       (closed == 0 || closed > snapshot->since_ticks))
		first--;
	snapshot->opening_first = first;
	snapshot->opening_count = now + 1 - first;
}

static uint32_t at_most(uint32_t count, uint32_t most)
{
	return count < most ? count : most;
}

static bool take_scratch(struct snapshot *snapshot, uint32_t slots, uint32_t threads)
{
	uint64_t open_bytes = opens_most(slots) * sizeof(struct snapshot_open);
	void *scratch;

	snapshot->scratch_bytes = open_bytes + (uint64_t)threads * sizeof(struct snapshot_thread);
	scratch = sys_mmap(NULL, snapshot->scratch_bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
	if (sys_is_error(scratch))
		return false;
	snapshot->opens = scratch;
	snapshot->open_room = (uint32_t)opens_most(slots);
	snapshot->threads = (struct snapshot_thread *)((char *)scratch + open_bytes);
	return true;
}

int snapshot_take_last(struct snapshot *snapshot, struct arena *arena, enum dump_of of,
		       uint64_t last_ns)
{
	bool own = of != DUMP_DEAD;
	uint32_t slots, threads;

	if (!snapshot_lock(arena))
		return -EBUSY;
	*snapshot = (struct snapshot){ 0 };
	chunk_commit_for_dead(arena);
	if (of == DUMP_RUNNING)
		census_look_again();
	if (own) {
		roster_bury_dead(arena);
		modules_save(arena);
		objects_place(arena);
		peers_find(arena);
	}
	if (own && opening_is_on(arena)) {
		usage_save(arena);
		idle_note(arena, clock_mono_ns());
	}
	slots = roster_made(arena);
	threads = slots + count_ended_threads(arena) + THREADS_SLACK;
	if (!take_scratch(snapshot, slots, threads)) {
		snapshot_unlock(arena);
		return -ENOMEM;
	}
	freeze_clock(snapshot, arena, of);
	pin_chunks(snapshot, arena, of == DUMP_RUNNING ? chunk_ring_room(arena) : 0);
	opens_copy(snapshot, arena, slots);
	count_events(snapshot, arena);
	opens_drop_ended(snapshot, arena, slots);
	list_living(snapshot, arena, slots, own);
	list_ended(snapshot, arena, threads);
	/* After all that is in it. */
	snapshot->now = clock_take_pair();
	if (!own)
		snapshot->now.ticks = last_sign_of_life(snapshot, arena);
	for (int i = 0; i < COUNTER_COUNT; i++)
		snapshot->counters[i] = roster_counter(arena, (enum counter)i);
	age_leave_out(snapshot, arena, last_ns);
	find_openings(snapshot, arena);
	snapshot->losses_total = snapshot_losses(arena);
	snapshot->losses = snapshot->losses_total - arena->losses_reported;
	snapshot->module_count = at_most(load_acquire(&arena->module_count), MODULES_MAX);
	snapshot->object_count = at_most(load_acquire(&arena->object_count), OBJECTS_MAX);
	snapshot->idle_count = idle_count(arena);
	snapshot->peer_count = at_most(load_acquire(&arena->peers_sought), PEERS_MAX);
	snapshot->stack_count = stacks_count(arena);
	snapshot->string_count = strings_count(arena);
	return 0;
}

int snapshot_take(struct snapshot *snapshot, struct arena *arena, enum dump_of of)
{
	return snapshot_take_last(snapshot, arena, of, 0);
}

void snapshot_passed(struct arena *arena, uint32_t index)
{
	if (arena->is_ring)
		chunk_unpin(chunk_at(arena, index));
}

static void commit(struct snapshot *snapshot, struct arena *arena)
{
	arena->losses_reported = snapshot->losses_total;
	store_relaxed(&arena->dumped_ticks, snapshot->now.ticks);
	if (snapshot->has_process_end)
		arena->process_end_reported = 1;
	chunk_commit(arena);
	store_relaxed(&arena->dump_count, arena->dump_count + 1);
}

void snapshot_drop(struct snapshot *snapshot, struct arena *arena, bool done)
{
	if (done)
		commit(snapshot, arena);
	for (uint32_t i = 0; i < snapshot->chunk_count; i++)
		chunk_unpin(chunk_at(arena, i));
	sys_munmap(snapshot->opens, snapshot->scratch_bytes);
	snapshot_unlock(arena);
}

static void discard(struct arena *arena)
{
	uint32_t made;

	chunk_commit_for_dead(arena);
	made = arena_chunks_made(arena);
	for (uint32_t i = 0; i < made; i++) {
		struct chunk *chunk = chunk_at(arena, i);

		if (chunk_pin(chunk))
			chunk_drained(arena, i, chunk_published(chunk));
		chunk_unpin(chunk);
	}
	arena->losses_reported = snapshot_losses(arena);
	store_relaxed(&arena->dumped_ticks, clock_now_ticks());
}

int snapshot_reset(struct arena *arena)
{
	if (!arena)
		return 0;
	if (!snapshot_lock(arena))
		return -EBUSY;
	discard(arena);
	snapshot_unlock(arena);
	return 0;
}
