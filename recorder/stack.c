/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Captures the call stack of a hook's caller, in nanoseconds when it has been seen before.
 *
 * Three stages, each asked only when the one before has no answer:
 *
 *   1. Captures seen before: return address and frame of the hook, and every word of the stack that the
 *      walk read. If all of them are as they were, the walk would end as it did, so the stack is the same:
 *      exactly, not probably, but for a collision of 64 bits.
 *   2. Rules of addresses seen before: how to get from a frame to its caller (unwind.h). A walk follows
 *      them, a few nanoseconds a frame.
 *   3. unwind_learn(), once per address.
 *
 * Both memories are tables of fixed size, shared by all threads. An entry is written by whoever claims
 * it by making its sequence number odd; a reader that sees the number change takes the entry for absent.
 * Entries of an older generation are absent as well. Nobody waits for anybody.
 *
 * Every read of a stack is bounded. A thread's own stack is known from where the C library put it: from
 * the lowest page that was ever found readable without a gap up to its top. Anywhere else (an alternate
 * signal stack, a coroutine's) each page is tried by a system call first, in every capture.
 *
 * Never here: a read that did not go through read_word() or lies outside [frame, top) of the thread's own
 * stack; allocation, locks, blocking.
 */
#include "stack.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "atomics.h"
#include "stacks.h"
#include "syscalls.h"
#include "unwind.h"

#include "in_target.h"

enum {
	PAGE_BYTES = 4096,
	STACK_REACH_BYTES = 8 << 20, /* no thread is believed to go deeper between two captures */
	REFUSED_BYTES = 1 << 16,
	STACK_DEPTH_DEFAULT = 32,
	READS_MAX = 77,              /* words of a walk that is remembered: 64 pcs and some rbp */
	RULES_MAX = 1 << 14,         /* return addresses of a large program's blocking calls: some 1000 */
	RULE_WAYS = 4,
	CAPTURES_MAX = 1 << 13,      /* threads times call stacks that block, at the same time */
	CAPTURE_WAYS = 2
};

/* A stack is data of many functions: the sanitizers' view of whose it is does not apply. */
#define READS_STACKS __attribute__((no_sanitize("address", "thread")))

static uint32_t stack_depth = STACK_DEPTH_DEFAULT; /* relaxed: a capture more or less at the old depth */

/* Generations of the two tables; entries start as 0, which is none. Relaxed: see stack_forget_all(). */
static uint32_t rule_generation = 1;
static uint32_t capture_generation = 1;

/* --- An entry that many read and one writes ------------------------------------------------------ */

/*
 * Readers take the number, read the data with load_acquire, and take the number again: acquire keeps the
 * second look after the data, so that data of two writers is never believed. Writers claim, write the data
 * with store_release, and release: release keeps the data after the claim.
 */
static bool sequence_is(const uint32_t *sequence, uint32_t before)
{
	return !(before & 1) && load_relaxed(sequence) == before;
}

/* False if another thread is writing. */
static bool sequence_claim(uint32_t *sequence)
{
	uint32_t before = load_relaxed(sequence);

	return !(before & 1) && cas_acq_rel(sequence, &before, before + 1);
}

static void sequence_release(uint32_t *sequence)
{
	assert(load_relaxed(sequence) & 1);
	store_release(sequence, load_relaxed(sequence) + 1);
}

/* Scatters what differs in few bits over the whole word. */
static uint64_t scatter(uint64_t value)
{
	value *= UINT64_C(0x9e3779b97f4a7c15);
	return value ^ value >> 29;
}

/* --- Rules of addresses seen before -------------------------------------------------------------- */

enum { RULE_WORDS = sizeof(struct unwind_rule) / sizeof(uint64_t) };

/* A rule as it is copied: word by word, and used from there, which the processor forwards from its stores. */
union rule_copy {
	uint64_t words[RULE_WORDS];
	struct unwind_rule rule;
};

struct rule_entry {
	_Alignas(64) uint32_t sequence;
	uint32_t generation;
	uint64_t pc;
	uint64_t words[RULE_WORDS]; /* a struct unwind_rule */
};
_Static_assert(sizeof(struct rule_entry) == 64, "a rule is one cache line");

static struct rule_entry rules[RULES_MAX];

static struct rule_entry *rule_set(uint64_t pc)
{
	return &rules[(scatter(pc) >> 20) % (RULES_MAX / RULE_WAYS) * RULE_WAYS];
}

static bool rule_read(const struct rule_entry *entry, uint64_t pc, uint32_t generation,
		      union rule_copy *copy)
{
	uint32_t sequence = load_acquire(&entry->sequence);

	if (load_acquire(&entry->pc) != pc || load_acquire(&entry->generation) != generation)
		return false;
	for (unsigned i = 0; i < RULE_WORDS; i++)
		copy->words[i] = load_acquire(&entry->words[i]);
	return sequence_is(&entry->sequence, sequence);
}

/* The entry to write: one of no use if there is any, else one by chance. */
static struct rule_entry *rule_victim(uint64_t pc, uint32_t generation)
{
	struct rule_entry *set = rule_set(pc);

	for (unsigned i = 0; i < RULE_WAYS; i++)
		if (load_relaxed(&set[i].generation) != generation)
			return &set[i];
	return &set[pc % RULE_WAYS];
}

static void rule_remember(uint64_t pc, uint32_t generation, const union rule_copy *copy)
{
	struct rule_entry *entry = rule_victim(pc, generation);

	if (!sequence_claim(&entry->sequence))
		return;
	store_release(&entry->pc, pc);
	store_release(&entry->generation, generation);
	for (unsigned i = 0; i < RULE_WORDS; i++)
		store_release(&entry->words[i], copy->words[i]);
	sequence_release(&entry->sequence);
}

/* False: not known now, and not to be had. */
static bool rule_find(uint64_t pc, union rule_copy *copy)
{
	uint32_t generation = load_relaxed(&rule_generation);
	const struct rule_entry *set = rule_set(pc);

	for (unsigned i = 0; i < RULE_WAYS; i++)
		if (rule_read(&set[i], pc, generation, copy))
			return true;
	if (!unwind_learn(pc, &copy->rule))
		return false;
	rule_remember(pc, generation, copy);
	return true;
}

/* --- Which memory may be read ---------------------------------------------------------------------- */

/* The thread's own stack: [low, top) can be read as long as the thread lives. */
static __thread struct {
	uint64_t low;
	uint64_t top;     /* 0: not looked up yet */
	uint64_t refused; /* block of memory in which a frame was found to be on another stack */
} own;

/* Whether a word can be read: the kernel is asked to, for a call that then fails for another reason. */
static bool page_is_readable(uint64_t page)
{
	enum { NO_SUCH_ACTION = 99 };

	return sys_call(SYS_rt_sigprocmask, NO_SUCH_ACTION, (long)page, 0, sizeof(uint64_t), 0, 0) == -EINVAL;
}

/* The C library keeps a thread's descriptor at the top of its stack, also when the program gave the
 * stack; the first thread's stack ends where the loader says. */
extern void *__libc_stack_end;

static uint64_t own_top(void)
{
	bool is_first = sys_getpid() == sys_gettid();

	return (uint64_t)(uintptr_t)(is_first ? __libc_stack_end : __builtin_thread_pointer());
}

/* Lowers `own.low` to the frame's page if all pages between can be read. */
static bool own_extend(uint64_t frame)
{
	uint64_t lowest = frame & -(uint64_t)PAGE_BYTES;

	if (!own.top)
		own.low = own.top = own_top();
	if (frame >= own.low)
		return frame < own.top;
	if (own.low - frame > STACK_REACH_BYTES || own.refused == frame / REFUSED_BYTES)
		return false;
	for (uint64_t page = lowest; page < own.low; page += PAGE_BYTES) {
		if (page_is_readable(page))
			continue;
		own.refused = frame / REFUSED_BYTES;
		return false;
	}
	own.low = lowest;
	return true;
}

static bool own_has(uint64_t frame)
{
	return LIKELY(frame >= own.low && frame < own.top) || own_extend(frame);
}

/* --- The walk ---------------------------------------------------------------------------------------- */

/* One capture, on the capturing thread's stack. */
struct walk {
	uint64_t frame;                 /* of the hook */
	uint64_t low;                   /* [low, high) can be read now */
	uint64_t high;
	uint64_t sp;                    /* of the frame that the walk has reached */
	uint64_t saved[UNWIND_PRESERVED_COUNT]; /* where its registers are in memory, 0 = nowhere known */
	uint64_t digest;                /* of all words read, and where */
	uint64_t pcs[STACK_FRAMES_MAX];
	uint32_t count;
	uint32_t read_count;
	uint16_t reads[READS_MAX];      /* words read, counted from frame */
	bool repeatable;                /* the reads tell all that the result depends on */
};

/* What one word adds to a digest. A sum of these, so that the processor can work on several at a time. */
static uint64_t digest_word(uint64_t value, uint64_t index)
{
	unsigned __int128 product = (unsigned __int128)(value ^ UINT64_C(0xa0761d6478bd642f)) *
				    (index * UINT64_C(0xe7037ed1a0b428db) + UINT64_C(0x8ebc6af09c88c6e3));

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Moves or widens the readable window to include the address. */
static bool walk_reach(struct walk *walk, uint64_t address)
{
	uint64_t page = address & -(uint64_t)PAGE_BYTES;

	if (address >= own.low && address < own.top) {
		walk->low = own.low;
		walk->high = own.top;
		return own.top - address >= sizeof(uint64_t);
	}
	if (!page_is_readable(page))
		return false;
	if (page != walk->high)
		walk->low = page;
	walk->high = page + PAGE_BYTES;
	return true;
}

READS_STACKS static inline bool read_word(struct walk *walk, uint64_t address, uint64_t *value)
{
	uint64_t index = (address - walk->frame) / sizeof(uint64_t);

	if (address % sizeof(uint64_t))
		return false;
	if (UNLIKELY(address < walk->low || address >= walk->high) && !walk_reach(walk, address))
		return false;
	*value = *(const uint64_t *)(uintptr_t)address;
	if (UNLIKELY(index > UINT16_MAX || walk->read_count == READS_MAX)) {
		walk->repeatable = false;
		return true;
	}
	walk->reads[walk->read_count++] = (uint16_t)index;
	walk->digest += digest_word(*value, index);
	return true;
}

/* The value of a register in the frame that the walk has reached. */
static bool register_value(struct walk *walk, unsigned number, uint64_t *value)
{
	assert(number < UNWIND_REGISTER_COUNT && number != UNWIND_PC);
	if (number == UNWIND_SP) {
		*value = walk->sp;
		return true;
	}
	return walk->saved[number] && read_word(walk, walk->saved[number], value);
}

static bool saved_address(struct walk *walk, const struct unwind_rule *rule, unsigned number, uint64_t cfa,
			  uint64_t *address)
{
	uint64_t base;

	switch ((enum unwind_where)rule->where[number]) {
	case UNWIND_NEAR_CFA:
		*address = cfa + (uint64_t)(int64_t)rule->at[number];
		return true;
	case UNWIND_NEAR_SP:
		*address = walk->sp + (uint64_t)(int64_t)rule->at[number];
		return true;
	case UNWIND_NEAR_RBP:
		if (!register_value(walk, UNWIND_RBP, &base))
			return false;
		*address = base + (uint64_t)(int64_t)rule->at[number];
		return true;
	case UNWIND_SAME:
		*address = number == UNWIND_PC ? 0 : walk->saved[number];
		return true;
	case UNWIND_LOST:
		break;
	}
	*address = 0;
	return true;
}

static bool canonical_address(struct walk *walk, const struct unwind_rule *rule, uint64_t *cfa)
{
	if (!register_value(walk, rule->cfa_register, cfa))
		return false;
	*cfa += (uint64_t)(int64_t)rule->cfa_offset;
	if (!(rule->flags & UNWIND_DEREF))
		return true;
	if (!read_word(walk, *cfa, cfa))
		return false;
	*cfa += (uint64_t)(int64_t)rule->cfa_after;
	return true;
}

/* Stacks grow downwards, so a caller's frame lies higher, unless a signal moved the thread to another. */
static bool walk_step_odd(struct walk *walk, const struct unwind_rule *rule, uint64_t *pc)
{
	uint64_t saved[UNWIND_PRESERVED_COUNT];
	uint64_t return_address_at;
	uint64_t cfa;

	if ((rule->flags & UNWIND_END) || !canonical_address(walk, rule, &cfa))
		return false;
	if (cfa <= walk->sp && !(rule->flags & UNWIND_SIGNAL))
		return false;
	for (unsigned i = 0; i < UNWIND_PRESERVED_COUNT; i++)
		if (!saved_address(walk, rule, i, cfa, &saved[i]))
			return false;
	if (!saved_address(walk, rule, UNWIND_PC, cfa, &return_address_at) ||
	    !read_word(walk, return_address_at, pc))
		return false;
	memcpy(walk->saved, saved, sizeof(saved));
	walk->sp = cfa;
	return *pc != 0;
}

static bool walk_step_plain(struct walk *walk, const struct unwind_rule *rule, uint64_t *pc)
{
	uint64_t cfa;

	if (!register_value(walk, rule->cfa_register, &cfa))
		return false;
	cfa += (uint64_t)(int64_t)rule->cfa_offset;
	if (cfa <= walk->sp)
		return false;
	for (unsigned left = rule->saved; left; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctz(left);

		walk->saved[i] = cfa + (uint64_t)(int64_t)rule->at[i];
	}
	walk->sp = cfa;
	return read_word(walk, cfa + (uint64_t)(int64_t)rule->at[UNWIND_PC], pc) && *pc != 0;
}

/* From a frame to its caller: `pc` becomes the caller's. False: there is none. */
static bool walk_step(struct walk *walk, const struct unwind_rule *rule, uint64_t *pc)
{
	return LIKELY(rule->flags & UNWIND_PLAIN) ? walk_step_plain(walk, rule, pc) :
						    walk_step_odd(walk, rule, pc);
}

/* The hook has pushed rbp below its return address, so that its caller's rbp is at `frame`. What the
 * caller had in the other registers is not known: the hook may have put them anywhere. */
static void walk_begin(struct walk *walk, uint64_t frame)
{
	walk->frame = frame;
	walk->low = walk->high = 0;
	walk->sp = frame + 2 * sizeof(uint64_t);
	memset(walk->saved, 0, sizeof(walk->saved));
	walk->saved[UNWIND_RBP] = frame;
	walk->digest = 0;
	walk->count = 0;
	walk->read_count = 0;
	walk->repeatable = own_has(frame);
}

static void walk_all(struct walk *walk, uint64_t pc, uint32_t depth)
{
	bool called = true; /* pc is a return address: the frame is in the instruction before */
	union rule_copy found;

	assert(depth <= STACK_FRAMES_MAX);
	for (;;) {
		walk->pcs[walk->count++] = pc;
		if (walk->count == depth)
			return;
		if (!rule_find(called ? pc - 1 : pc, &found)) {
			walk->repeatable = false;
			return;
		}
		if (!walk_step(walk, &found.rule, &pc))
			return;
		called = !(found.rule.flags & UNWIND_SIGNAL);
	}
}

/* --- Captures seen before ------------------------------------------------------------------------------ */

struct capture_entry {
	_Alignas(64) uint32_t sequence;
	uint32_t generation;
	uint64_t pc;
	uint64_t frame;
	uint64_t digest;
	uint32_t stack;
	uint16_t read_count;
	uint16_t reads[READS_MAX]; /* words that the walk read, counted from frame */
};
_Static_assert(sizeof(struct capture_entry) == 192, "a capture is three cache lines");

static struct capture_entry captures[CAPTURES_MAX];

static struct capture_entry *capture_set(uint64_t pc, uint64_t frame)
{
	uint64_t spread = scatter(pc ^ scatter(frame)) >> 20;

	return &captures[spread % (CAPTURES_MAX / CAPTURE_WAYS) * CAPTURE_WAYS];
}

/* The digest of the words that the entry names, as they are now. `limit` words can be read. */
READS_STACKS static bool capture_digest(const struct capture_entry *entry, const uint64_t *frame,
					uint64_t limit, uint64_t *digest)
{
	uint32_t count = load_acquire(&entry->read_count);
	uint64_t sum = 0;

	if (count > READS_MAX)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t index = load_acquire(&entry->reads[i]);

		if (UNLIKELY(index >= limit))
			return false;
		sum += digest_word(frame[index], index);
	}
	*digest = sum;
	return true;
}

static uint32_t capture_check(const struct capture_entry *entry, uint64_t pc, uint64_t frame, uint64_t limit,
			      uint32_t generation)
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
	uint64_t limit;
	uint32_t stack;

	if (!own_has(frame) || frame % sizeof(uint64_t))
		return 0;
	limit = (own.top - frame) / sizeof(uint64_t);
	for (unsigned i = 0; i < CAPTURE_WAYS; i++) {
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

static void capture_remember(const struct walk *walk, uint64_t pc, uint32_t stack, uint32_t generation)
{
	struct capture_entry *entry = capture_victim(pc, walk->frame, generation);

	assert(walk->read_count <= READS_MAX);
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

/* --- The recorder's side ------------------------------------------------------------------------------ */

static uint32_t capture_anew(uint64_t pc, uint64_t frame, uint32_t depth, uint32_t generation)
{
	struct walk walk;
	uint32_t stack;

	walk_begin(&walk, frame);
	walk_all(&walk, pc, depth);
	stack = stack_intern(walk.pcs, walk.count);
	if (stack && walk.repeatable)
		capture_remember(&walk, pc, stack, generation);
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

void stack_set_depth(uint32_t frames)
{
	uint32_t depth = frames < STACK_FRAMES_MAX ? frames : STACK_FRAMES_MAX;

	if (exchange_acq_rel(&stack_depth, depth) != depth)
		stack_forget_ids();
}

void stack_warm_up(void)
{
	unwind_warm_up();
}

void stack_forget_ids(void)
{
	add_relaxed(&capture_generation, 1);
}

/* Relaxed is enough: a thread with frames in code that is being unloaded is the program's bug, and a walk
 * by a rule that is no longer right reads nothing that it must not. */
void stack_forget_all(void)
{
	add_relaxed(&rule_generation, 1);
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

/* The child's arena is another one; entries that other threads were writing stay odd, thus absent. */
void stack_fork_child(void)
{
	unwind_fork_child();
	stack_forget_ids();
}
