/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Captures the call stack of a hook's caller, in nanoseconds when it has been seen before.
 *
 * Three stages, each asked only when the one before has no answer:
 *
 *   1. Captures seen before (here): return address and frame of the hook, and every word of the
 *      stack that the walk read. If all of them are as they were, the walk would end as it did, so
 *      the stack is the same: exactly, not probably, but for a collision of 64 bits.
 *   2. Rules of addresses seen before (stack_rules.c), which stack_walk.c follows from frame to
 *      frame.
 *   3. unwind_learn(), once per address.
 *
 * Functions of interpreted programs (python.c) come between the native frames. A digest of them is
 * part of what must be as it was.
 *
 * The captures are a table of fixed size, shared by all threads (sequence.h); entries of an older
 * generation are absent. A walk has a spare stack of ours for its data, and for what it learns.
 * Where none is free, the stack is the caller's address alone.
 *
 * Never here: a read that is not above the hook's frame and below the thread's top;
 * allocation, locks, waiting; much use of the program's stack.
 */
#include "stack.h"

#include <assert.h>

#include "arena.h"
#include "mapping.h"
#include "own_stack.h"
#include "meter.h"
#include "python.h"
#include "python_copied.h"
#include "sequence.h"
#include "spare.h"
#include "stack_rules.h"
#include "stack_walk.h"
#include "stacks.h"
#include "unwind.h"
#include "vectors.h"

#include "in_target.h"

enum {
	STACK_DEPTH_DEFAULT = 32,
	CAPTURES_MAX = 1 << 13, /* threads times call stacks that block, at the same time */
	CAPTURE_WAYS = 2
};

uint8_t vectors_matter;

/* Relaxed: a capture more or less at the old depth. 0 as long as the tables are not there. */
static uint32_t stack_depth;
static uint32_t wanted_depth = STACK_DEPTH_DEFAULT;

/* Entries begin as 0, which is no generation. Relaxed: see stack_forget_all(). */
static uint32_t capture_generation = 1;

/* --- Captures seen before --- */

struct capture_entry {
	_Alignas(64) uint32_t sequence;
	uint32_t generation;
	uint64_t pc;
	uint64_t frame;
	uint64_t digest;
	uint32_t stack;
	uint16_t read_count;
	uint16_t reads[WALK_READS_MAX]; /* words that the walk read, counted from frame */
};
_Static_assert(sizeof(struct capture_entry) == 192, "a capture is three cache lines");

static void *captures; /* struct capture_entry [CAPTURES_MAX] */

/* A capture is looked up by these. */
struct capture_key {
	uint64_t pc;
	uint64_t frame;
	uint64_t sp;     /* where `pc` goes on */
	uint64_t python; /* digest of the interpreted frames; 0: there are none */
	uint32_t generation;
};

static struct capture_entry *capture_set(const struct capture_key *key)
{
	uint64_t spread =
		sequence_scatter(key->pc ^ sequence_scatter(key->frame ^ key->python)) >> 20;

	return (struct capture_entry *)load_relaxed(&captures) +
	       spread % (CAPTURES_MAX / CAPTURE_WAYS) * CAPTURE_WAYS;
}

/* The digest of the words that the entry names, as they are now. `limit` words can be read. */
READS_STACKS static bool capture_digest(const struct capture_entry *entry, const uint64_t *frame,
					uint64_t limit, uint64_t *digest)
{
	uint32_t count = load_acquire(&entry->read_count);
	uint64_t sum = 0;

	if (count > WALK_READS_MAX)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t index = load_acquire(&entry->reads[i]);

		if (UNLIKELY(index >= limit))
			return false;
		sum += stack_digest_word(frame[index], index);
	}
	*digest = sum;
	return true;
}

static uint32_t capture_check(const struct capture_entry *entry, const struct capture_key *key,
			      uint64_t limit)
{
	uint32_t sequence = load_acquire(&entry->sequence);
	uint32_t stack = load_acquire(&entry->stack);
	uint64_t digest;

	if (load_acquire(&entry->pc) != key->pc || load_acquire(&entry->frame) != key->frame ||
	    load_acquire(&entry->generation) != key->generation)
		return 0;
	if (!capture_digest(entry, (const uint64_t *)(uintptr_t)key->frame, limit, &digest) ||
	    digest + key->python != load_acquire(&entry->digest) ||
	    !sequence_is(&entry->sequence, sequence))
		return 0;
	return stack;
}

static uint32_t capture_find(const struct capture_key *key)
{
	const struct capture_entry *set = capture_set(key);
	uint64_t limit = stack_words_above(key->frame);
	uint32_t stack;

	for (unsigned i = 0; limit && i < CAPTURE_WAYS; i++) {
		stack = capture_check(&set[i], key, limit);
		if (stack)
			return stack;
	}
	return 0;
}

/* Of two ways, the one that was written longer ago, by its count of writes: good enough. */
static struct capture_entry *capture_victim(const struct capture_key *key)
{
	struct capture_entry *set = capture_set(key);

	for (unsigned i = 0; i < CAPTURE_WAYS; i++)
		if (load_relaxed(&set[i].generation) != key->generation)
			return &set[i];
	return load_relaxed(&set[0].sequence) <= load_relaxed(&set[1].sequence) ? &set[0] : &set[1];
}

static void capture_remember(const struct stack_walk *walk, const struct capture_key *key,
			     uint32_t stack)
{
	struct capture_entry *entry = capture_victim(key);

	assert(walk->read_count <= WALK_READS_MAX);
	if (!sequence_claim(&entry->sequence))
		return;
	store_release(&entry->pc, key->pc);
	store_release(&entry->frame, key->frame);
	store_release(&entry->digest, walk->digest + key->python);
	store_release(&entry->generation, key->generation);
	store_release(&entry->stack, stack);
	store_release(&entry->read_count, (uint16_t)walk->read_count);
	for (uint32_t i = 0; i < walk->read_count; i++)
		store_release(&entry->reads[i], walk->reads[i]);
	sequence_release(&entry->sequence);
}

/* --- The recorder's side --- */

/* The room that a thread borrows to capture a stack. */
struct capture_room {
	struct stack_walk walk; /* first: see stack_walk() */
	struct python_frames python;
	struct python_copy copy;
	uint64_t generation;
	uint64_t tops[STACK_FRAMES_MAX];
	uint64_t words[STACK_FRAMES_MAX];
	char name[STRING_BYTES_MAX + 1];
	struct vectors vectors;
};
_Static_assert(sizeof(struct capture_room) < SPARE_BYTES / 2, "the other half is for learning");

/* Puts the interpreted frames that the native one below `top` runs. Returns how many words there
 * are then. */
static uint32_t put_python(struct capture_room *room, uint32_t *next, uint64_t top, uint32_t count)
{
	for (; *next < room->python.count && room->python.native_at[*next] < top; (*next)++) {
		uint64_t word = python_word(&room->python, *next, room->generation, room->name);

		if (word && count < STACK_FRAMES_MAX)
			room->words[count++] = word;
	}
	return count;
}

/* Frames that the walk did not come to are outside of all that it did. */
static uint32_t intern_both(struct capture_room *room)
{
	uint32_t count = 0, next = 0;

	for (uint32_t i = 0; i < room->walk.count; i++) {
		count = put_python(room, &next, room->tops[i], count);
		if (count < STACK_FRAMES_MAX)
			room->words[count++] = room->walk.pcs[i];
	}
	return stack_intern(room->words, put_python(room, &next, UINT64_MAX, count));
}

static uint32_t capture_by(struct capture_room *room, const struct capture_key *key, uint32_t depth)
{
	struct stack_walk *walk = &room->walk;
	uint32_t stack;

	stack_walk(walk, key->pc, key->frame, key->sp, depth, room->tops);
	room->python.count = 0;
	room->generation = key->generation;
	room->python.copy = &room->copy;
	if (key->python && python_frames(key->frame, depth, &room->python) != key->python)
		return stack_intern(walk->pcs, walk->count);
	stack = intern_both(room);
	if (stack && walk->repeatable)
		capture_remember(walk, key, stack);
	return stack;
}

/* The walk is not on the program's stack, which may be small. */
static uint32_t capture_anew(const struct capture_key *key, uint32_t depth)
{
	struct capture_room *room = spare_borrow();
	uint32_t stack;

	if (!room) {
		arena_count(recorder_arena, COUNTER_short_stacks);
		return stack_intern(&key->pc, 1);
	}
	vectors_save(&room->vectors);
	stack = capture_by(room, key, depth);
	vectors_restore(&room->vectors);
	spare_return(room);
	return stack;
}

static uint32_t capture_slowly(struct self *self, const struct capture_key *key, uint32_t depth)
{
	struct slow_path path = short_path_begin(self);
	uint32_t stack = capture_anew(key, depth);

	short_path_end(self, &path);
	return stack;
}

/* An address of code is a return address, or the one behind a probe's place: so the stack pointer
 * need not be compared. */
static inline __attribute__((always_inline)) uint32_t capture(struct self *self, const void *pc,
							      const void *frame, uint64_t sp)
{
	uint32_t depth = load_relaxed(&stack_depth);
	struct capture_key key = {
		.pc = (uint64_t)(uintptr_t)pc,
		.frame = (uint64_t)(uintptr_t)frame,
		.sp = sp,
		.generation = load_relaxed(&capture_generation),
	};
	uint32_t stack;

	if (!depth)
		return 0;
	key.python = python_digest(key.frame, depth);
	stack = capture_find(&key);
	return LIKELY(stack) ? stack : capture_slowly(self, &key, depth);
}

uint32_t stack_capture(struct self *self, const void *pc, const void *frame)
{
	return capture(self, pc, frame, (uint64_t)(uintptr_t)frame + 2 * sizeof(uint64_t));
}

uint32_t stack_capture_within(struct self *self, const void *pc, const void *frame, uint64_t sp)
{
	return capture(self, pc, frame, sp);
}

uint32_t stack_capture_interrupted(struct self *self, const ucontext_t *context)
{
	uint32_t depth = load_relaxed(&stack_depth);
	struct stack_walk walk;

	(void)self;
	if (!depth)
		return 0;
	stack_walk_interrupted(&walk, context->uc_mcontext.gregs, depth);
	walk.pcs[0]++;
	return stack_intern(walk.pcs, walk.count);
}

uint32_t stack_of(const void *pc)
{
	uint64_t word = (uint64_t)(uintptr_t)pc;

	return load_relaxed(&stack_depth) ? stack_intern(&word, 1) : 0;
}

void stack_set_depth(uint32_t frames)
{
	uint32_t depth = frames < STACK_FRAMES_MAX ? frames : STACK_FRAMES_MAX;

	store_relaxed(&wanted_depth, depth);
	if (!load_acquire(&captures))
		return;
	if (exchange_acq_rel(&stack_depth, depth) != depth)
		stack_forget_ids();
}

bool stack_warm_up(void)
{
	if (!spare_start() || !stack_rules_start() ||
	    !mapping_ensure(&captures, CAPTURES_MAX * sizeof(struct capture_entry)))
		return false;
	unwind_warm_up();
	python_start();
	stack_set_depth(load_relaxed(&wanted_depth));
	return true;
}

void stack_forget_ids(void)
{
	add_relaxed(&capture_generation, 1);
}

/* Relaxed is enough: a thread with frames in code that is being unloaded is the program's bug. A
 * walk by a rule that is no longer right reads nothing that it must not. */
void stack_forget_all(void)
{
	stack_rules_forget();
	stack_forget_ids();
}

void stack_fork_prepare(void)
{
	unwind_fork_prepare();
}

void stack_fork_parent(void)
{
	unwind_fork_parent();
}

/* The child's arena is another one; entries that other threads were writing stay odd, thus absent.
 * */
void stack_fork_child(void)
{
	unwind_fork_child();
	stack_forget_ids();
}
