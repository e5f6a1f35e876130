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
#include "sequence.h"
#include "spare.h"
#include "stack_rules.h"
#include "stack_walk.h"
#include "stacks.h"
#include "unwind.h"

#include "in_target.h"

enum {
	STACK_DEPTH_DEFAULT = 32,
	CAPTURES_MAX = 1 << 13, /* threads times call stacks that block, at the same time */
	CAPTURE_WAYS = 2
};

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

static struct capture_entry *capture_set(uint64_t pc, uint64_t frame)
{
	uint64_t spread = sequence_scatter(pc ^ sequence_scatter(frame)) >> 20;

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

static uint32_t capture_check(const struct capture_entry *entry, uint64_t pc, uint64_t frame,
			      uint64_t limit, uint32_t generation)
{
	uint32_t sequence = load_acquire(&entry->sequence);
	uint32_t stack = load_acquire(&entry->stack);
	uint64_t digest;

	if (load_acquire(&entry->pc) != pc || load_acquire(&entry->frame) != frame ||
	    load_acquire(&entry->generation) != generation)
		return 0;
	if (!capture_digest(entry, (const uint64_t *)(uintptr_t)frame, limit, &digest) ||
	    digest != load_acquire(&entry->digest) || !sequence_is(&entry->sequence, sequence))
		return 0;
	return stack;
}

static uint32_t capture_find(uint64_t pc, uint64_t frame, uint32_t generation)
{
	const struct capture_entry *set = capture_set(pc, frame);
	uint64_t limit = stack_words_above(frame);
	uint32_t stack;

	for (unsigned i = 0; limit && i < CAPTURE_WAYS; i++) {
		stack = capture_check(&set[i], pc, frame, limit, generation);
		if (stack)
			return stack;
	}
	return 0;
}

/* Of two ways, the one that was written longer ago, by its count of writes: good enough. */
static struct capture_entry *capture_victim(uint64_t pc, uint64_t frame, uint32_t generation)
{
	struct capture_entry *set = capture_set(pc, frame);

	for (unsigned i = 0; i < CAPTURE_WAYS; i++)
		if (load_relaxed(&set[i].generation) != generation)
			return &set[i];
	return load_relaxed(&set[0].sequence) <= load_relaxed(&set[1].sequence) ? &set[0] : &set[1];
}

static void capture_remember(const struct stack_walk *walk, uint64_t pc, uint32_t stack,
			     uint32_t generation)
{
	struct capture_entry *entry = capture_victim(pc, walk->frame, generation);

	assert(walk->read_count <= WALK_READS_MAX);
	if (!sequence_claim(&entry->sequence))
		return;
	store_release(&entry->pc, pc);
	store_release(&entry->frame, walk->frame);
	store_release(&entry->digest, walk->digest);
	store_release(&entry->generation, generation);
	store_release(&entry->stack, stack);
	store_release(&entry->read_count, (uint16_t)walk->read_count);
	for (uint32_t i = 0; i < walk->read_count; i++)
		store_release(&entry->reads[i], walk->reads[i]);
	sequence_release(&entry->sequence);
}

/* --- The recorder's side --- */

static uint32_t capture_by(struct stack_walk *walk, uint64_t pc, uint32_t generation)
{
	uint32_t stack = stack_intern(walk->pcs, walk->count);

	if (stack && walk->repeatable)
		capture_remember(walk, pc, stack, generation);
	return stack;
}

/* The walk is not on the program's stack, which may be small. */
static uint32_t capture_anew(uint64_t pc, uint64_t frame, uint32_t depth, uint32_t generation)
{
	struct stack_walk *walk = spare_borrow();
	uint32_t stack;

	if (!walk) {
		arena_count(recorder_arena, COUNTER_short_stacks);
		return stack_intern(&pc, 1);
	}
	stack_walk(walk, pc, frame, depth);
	stack = capture_by(walk, pc, generation);
	spare_return(walk);
	return stack;
}

uint32_t stack_capture(struct self *self, const void *pc, const void *frame)
{
	uint32_t depth = load_relaxed(&stack_depth);
	uint32_t generation = load_relaxed(&capture_generation);
	uint64_t pc_word = (uint64_t)(uintptr_t)pc;
	uint64_t frame_word = (uint64_t)(uintptr_t)frame;
	uint32_t stack;

	(void)self; /* proves that this thread is inside the recorder */
	if (!depth)
		return 0;
	stack = capture_find(pc_word, frame_word, generation);
	return LIKELY(stack) ? stack : capture_anew(pc_word, frame_word, depth, generation);
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
