/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Learns unwind rules from libunwind, by experiment.
 *
 * libunwind steps through an address space that does not exist (unwind_probe.h), and the tokens
 * that it leaves in the registers are the rule. So no stack is read here, whatever the tables say.
 * A second experiment with other low bits proves that the rule is a sum: where it is not
 * (alignment, say), the stack ends.
 *
 * Code without tables, as made at run time, may keep a frame pointer. Its rule says so, on trial: a
 * walk believes it when it leads behind a call in code that has tables.
 *
 * libunwind has a lock around its pool of parsed entries, held for moments with all signals
 * blocked. It must not be held across a fork: unwind_fork_prepare() waits for learners to finish. A
 * child of a fork that was not prepared never learns again if there were any.
 *
 * Threads: any, at the same time. Never here: a call of libunwind outside learners_enter() and
 * learners_leave().
 */
#include "unwind.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>

#include "atomics.h"
#include "self.h"
#include "spare.h"
#include "syscalls.h"
#include "unwind_probe.h"

#include "in_target.h"

enum { FORK_SPINS_MAX = 1 << 18 }; /* with a yield every 64: some milliseconds at most */

/* --- From tokens to a rule -------------------------------------------------------------------- */

static bool rule_of_cfa(struct probe *probe, uint64_t cfa, struct unwind_rule *rule)
{
	unsigned family = probe_family(cfa);
	uint64_t base = cfa;

	if (family >= TOKEN_READ && family - TOKEN_READ < probe->read_count) {
		if (!probe_offset(probe, cfa, &rule->cfa_after))
			return false;
		base = probe->read_at[family - TOKEN_READ];
		rule->flags |= UNWIND_DEREF;
	}
	rule->cfa_register = (uint8_t)(probe_family(base) - TOKEN_REGISTER);
	return rule->cfa_register < UNWIND_REGISTER_COUNT && rule->cfa_register != UNWIND_PC &&
	       probe_offset(probe, base, &rule->cfa_offset);
}

/* How far `address` is from the value of a register before the step; false if it is not near it. */
static bool is_near(const struct probe *probe, unsigned number, uint64_t address, int32_t *at)
{
	return probe_family(address) == TOKEN_REGISTER + number && probe_offset(probe, address, at);
}

static void rule_of_register(const struct probe *probe, unsigned number, uint64_t value,
			     uint64_t cfa, struct unwind_rule *rule)
{
	uint64_t address = probe_address(probe, value);
	int32_t *at = &rule->at[number];

	if (number != UNWIND_PC && value == probe_token(probe, TOKEN_REGISTER + number)) {
		rule->where[number] = UNWIND_SAME;
	} else if (address && probe_family(address) == probe_family(cfa)) {
		*at = (int32_t)(address - cfa);
		rule->where[number] =
			*at == (int64_t)(address - cfa) ? UNWIND_NEAR_CFA : UNWIND_LOST;
	} else if (is_near(probe, UNWIND_SP, address, at)) {
		rule->where[number] = UNWIND_NEAR_SP;
	} else if (is_near(probe, UNWIND_RBP, address, at)) {
		rule->where[number] = UNWIND_NEAR_RBP;
	} else {
		*at = 0;
		rule->where[number] = UNWIND_LOST;
	}
}

/* Nearly all rules are plain: a walk by one need not look at `where`. */
static void rule_simplify(struct unwind_rule *rule)
{
	if (rule->flags || rule->where[UNWIND_PC] != UNWIND_NEAR_CFA)
		return;
	for (unsigned i = 0; i < UNWIND_PRESERVED_COUNT; i++) {
		if (rule->where[i] == UNWIND_NEAR_CFA)
			rule->saved |= (uint8_t)(1U << i);
		else if (rule->where[i] != UNWIND_SAME)
			return;
	}
	rule->flags = UNWIND_PLAIN;
}

static const struct unwind_rule rule_end = { .flags = UNWIND_END };

/* The rule in a function that begins with push %rbp; mov %rsp, %rbp. */
static const struct unwind_rule rule_trial = {
	.flags = UNWIND_TRIAL,
	.cfa_register = UNWIND_RBP,
	.cfa_offset = 16,
	.at = { [UNWIND_RBP] = -16, [UNWIND_PC] = -8 },
	.where = { [UNWIND_RBP] = UNWIND_NEAR_CFA,
		   [UNWIND_RBX] = UNWIND_LOST,
		   [UNWIND_R12] = UNWIND_LOST,
		   [UNWIND_R13] = UNWIND_LOST,
		   [UNWIND_R14] = UNWIND_LOST,
		   [UNWIND_R15] = UNWIND_LOST,
		   [UNWIND_PC] = UNWIND_NEAR_CFA },
};

static bool rule_of_cursor(struct probe *probe, unw_cursor_t *cursor, struct unwind_rule *rule)
{
	unw_word_t cfa;
	unw_word_t value;

	if (unw_get_reg(cursor, UNW_X86_64_RSP, &cfa) < 0 || !rule_of_cfa(probe, cfa, rule))
		return false;
	for (unsigned i = 0; i < UNWIND_SAVED_COUNT; i++) {
		rule->where[i] = UNWIND_LOST;
		if (unw_get_reg(cursor, probe_registers[i], &value) >= 0)
			rule_of_register(probe, i, value, cfa, rule);
	}
	if (unw_is_signal_frame(cursor) > 0)
		rule->flags |= UNWIND_SIGNAL;
	rule_simplify(rule);
	return rule->where[UNWIND_PC] != UNWIND_LOST;
}

/* Whether a call ends there: to a place that it names (E8), or that a register or memory does (FF
 * /2, of 2 to 7 bytes). */
static bool is_after_call(const struct probe *probe, uint64_t pc)
{
	enum { NEAR = 0xe8, NEAR_BYTES = 5, INDIRECT = 0xff, INDIRECT_BYTES_MAX = 7 };
	const unsigned char *end = (const unsigned char *)(uintptr_t)pc;

	if (!probe_may_read(probe, pc - INDIRECT_BYTES_MAX, INDIRECT_BYTES_MAX))
		return false;
	for (int bytes = 2; bytes <= INDIRECT_BYTES_MAX; bytes++)
		if (end[-bytes] == INDIRECT && (end[1 - bytes] >> 3 & 7) == 2)
			return true;
	return end[-NEAR_BYTES] == NEAR;
}

static struct unwind_rule experiment(uint64_t pc, uint64_t middle)
{
	struct probe probe;
	struct unwind_rule rule;
	unw_cursor_t cursor;

	memset(&rule, 0, sizeof(rule));
	probe_begin(&probe, pc, middle);
	if (!probe_step(&probe, &cursor) || !rule_of_cursor(&probe, &cursor, &rule))
		rule = probe.found ? rule_end : rule_trial;
	rule.follows_call = probe.found && is_after_call(&probe, pc + 1);
	return rule;
}

/* --- Learners --------------------------------------------------------------------------------- */

static struct {
	uint32_t ready;    /* set once, by unwind_warm_up() */
	uint32_t closed;   /* forks under way; for ever where a held lock may have been inherited */
	uint32_t learners; /* threads inside libunwind */
} gate;

static bool is_in_module(uint64_t pc)
{
	struct dl_find_object module;

	return _dl_find_object && _dl_find_object((void *)(uintptr_t)pc, &module) == 0;
}

/* Sequentially consistent, as is unwind_fork_prepare(): either the learner sees `closed`, or the
 * fork sees the learner. Weaker, a fork could copy a held lock. */
static bool learners_enter(void)
{
	add_seq_cst(&gate.learners, 1);
	if (!load_seq_cst(&gate.closed))
		return true;
	add_seq_cst(&gate.learners, -1);
	return false;
}

static void learners_leave(void)
{
	add_seq_cst(&gate.learners, -1);
}

void unwind_fork_prepare(void)
{
	add_seq_cst(&gate.closed, 1);
	for (uint32_t i = 0; i < FORK_SPINS_MAX; i++) {
		if (!load_seq_cst(&gate.learners))
			return;
		if (i % 64 == 63)
			sys_yield();
	}
}

void unwind_fork_parent(void)
{
	add_seq_cst(&gate.closed, -1);
}

/* Single-threaded. Learners that were copied are gone, but not what they held. */
void unwind_fork_child(void)
{
	gate.closed = gate.learners ? 1 : 0;
	gate.learners = 0;
}

struct lesson {
	uint64_t pc;
	struct unwind_rule *rule;
	bool is_learnt;
};

static void learn(struct lesson *lesson)
{
	static const uint64_t middles[2] = { UINT64_C(1) << 47, (UINT64_C(1) << 47) + 0x2b7ac8 };
	struct unwind_rule *rule = lesson->rule;
	struct unwind_rule again;

	*rule = experiment(lesson->pc, middles[0]);
	again = experiment(lesson->pc, middles[1]);
	if (memcmp(rule, &again, sizeof(again)) != 0) {
		*rule = rule_end;
		rule->follows_call = again.follows_call;
	}
	lesson->is_learnt = true;
}

/* With all signals blocked. */
static void try_to_learn(void *context)
{
	struct lesson *lesson = context;
	int saved_errno = errno;
	uint8_t busy = self_of_thread.busy;

	if (!is_in_module(lesson->pc)) {
		*lesson->rule = rule_trial;
		lesson->is_learnt = true;
		return;
	}
	if (!learners_enter())
		return;
	self_of_thread.busy = SELF_LEARNING;
	learn(lesson);
	self_of_thread.busy = busy;
	learners_leave();
	errno = saved_errno;
}

bool unwind_learn(uint64_t pc, struct unwind_rule *rule, void *borrowed)
{
	struct lesson lesson = { pc, rule, false };

	if (!load_acquire(&gate.ready))
		return false;
	if (borrowed)
		spare_call_on(borrowed, try_to_learn, &lesson);
	else
		spare_call_here(try_to_learn, &lesson);
	return lesson.is_learnt;
}

/* --- Set-up ----------------------------------------------------------------------------------- */

/* The two lowest free descriptors, by making a pipe. */
static bool lowest_free(int pair[2])
{
	if (SYS3(pipe2, pair, O_CLOEXEC, 0) < 0)
		return false;
	sys_close(pair[0]);
	sys_close(pair[1]);
	return true;
}

static bool is_pipe(int descriptor, ino_t *inode)
{
	struct stat status;

	if (sys_fstat(descriptor, &status) < 0 || !S_ISFIFO(status.st_mode))
		return false;
	*inode = status.st_ino;
	return true;
}

/* libunwind opens a pipe when it starts, for a purpose that never arises here. */
static void close_pipe(const int pair[2])
{
	ino_t inodes[2];

	if (is_pipe(pair[0], &inodes[0]) && is_pipe(pair[1], &inodes[1]) &&
	    inodes[0] == inodes[1]) {
		sys_close(pair[0]);
		sys_close(pair[1]);
	}
}

void unwind_warm_up(void)
{
	int saved_errno = errno;
	struct unwind_rule rule;
	bool has_pair, is_there;
	void *borrowed;
	int pair[2];

	if (load_acquire(&gate.ready))
		return;
	has_pair = lowest_free(pair);
	is_there = probe_start();
	if (has_pair)
		close_pipe(pair);
	if (!is_there)
		return;
	store_release(&gate.ready, 1);
	/* Binds all symbols. */
	borrowed = spare_borrow();
	unwind_learn((uint64_t)(uintptr_t)__builtin_return_address(0) - 1, &rule, borrowed);
	if (borrowed)
		spare_return(borrowed);
	errno = saved_errno;
}
