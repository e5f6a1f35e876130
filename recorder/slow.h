/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ops that take longer for real, for a trial: those from call stacks that a rule names.
 *
 * The control thread has the rules (slow_rules.c) and says of each stack of the arena what is to be
 * done, in a byte. The program's threads read that byte (slow.c), and sleep or spin for the extra
 * time (slow_end.c). While there is no rule `recorder_gate.slowed` is 0, and they do nothing.
 */
#ifndef WCPROF_SLOW_H
#define WCPROF_SLOW_H

#include <ucontext.h>

#include "arena.h"
#include "gate.h"
#include "record.h"
#include "self.h"

/* Words of a rule for the ops, holds or waits from a stack; and facts of the stack itself. */
enum slow_bit {
	SLOW_HOLD = 1,
	SLOW_CALL = 2,
	SLOW_OP = 4,          /* declared by the program; by the class's name, not by a stack */
	SLOW_WAKE = 8,        /* the end of a wait */
	SLOW_PROGRESS = 16,   /* ends are counted; nothing is added */
	SLOW_ROUTINE = 32,    /* CPU time of threads that began there, outside of recorded calls */
	SLOW_IN_HANDLER = 64, /* it is a signal handler's: nothing is added */
	SLOW_KNOWN = 128,     /* it was looked at */
	SLOW_RANGE = 256      /* CPU time of code; of no key */
};
enum { SLOW_ADDS = SLOW_HOLD | SLOW_CALL | SLOW_OP };

/* --- The program's threads -------------------------------------------------------------------- */

/* An op or hold has begun, which is open by now: from that stack; or with that class name. */
void slow_begin(struct self *, uint64_t op, uint32_t stack) HIDDEN;
void slow_begin_declared(struct self *, uint64_t op, uint32_t name) HIDDEN;
/* A sample is about to be taken of code that a signal has interrupted; all signals are blocked. */
void slow_sample(struct self *, const ucontext_t *) HIDDEN;
/* Just before a declared op ends, outside of the recorder, as slow_end() for others. */
void slow_end_declared(uint64_t op) HIDDEN;
/* A wait of this thread's was so long. */
void slow_waited(struct self *, uint64_t ticks) HIDDEN;

/* --- The control thread ----------------------------------------------------------------------- */

/* 0; -ENOMEM; -ENOSPC: there are too many. A key is never 0. */
int slow_add_rule(enum slow_bit, uint64_t key) HIDDEN;
/* The same for CPU time of code: of the module with that path's key, between these distances from
 * its start. */
int slow_add_range(uint64_t module_key, uint64_t from, uint64_t to) HIDDEN;
/* Changes whenever that thread begins or ends to spin for a sample; odd while it does. Any
 * thread. */
uint64_t slow_spins_of(uint32_t tid) HIDDEN;
/* From now on there are none, and no window. */
void slow_clear(void) HIDDEN;
/* Looks at the stacks and names that are new since the last time. */
void slow_look(struct arena *) HIDDEN;
/* The key of a stack, from its frames: the same in every process of a program. */
uint64_t slow_key_of(const struct arena *, const uint64_t *pcs, uint32_t count) HIDDEN;
/* The key of a class of declared ops; of a module, by its path; "main" of the first thread. */
uint64_t slow_key_of_name(const char *name, size_t bytes) HIDDEN;

/* From now on, for so long, ops of rules take `thousandths` of their length more. */
enum { SLOW_THOUSANDTHS_MAX = 9000 };
#define SLOW_FOR_EVER_NS (UINT64_C(1) << 60)
void slow_begin_window(uint32_t thousandths, uint64_t window_ns) HIDDEN;

struct slow_counts {
	uint64_t progress;
	uint64_t slowed;
	uint64_t extra_ns;
	uint64_t refused; /* a rule named it, and it could not be made longer, or not enough */
};
struct slow_counts slow_count(const struct arena *) HIDDEN;

/* In a forked child: the trial is the parent's. */
void slow_fork_child(void) HIDDEN;

/* --- All three files of it ------------------------------------------------------------ */

/* Where an open op began, from which its length and its CPU time count. */
struct slow_beginning {
	uint64_t op;
	uint64_t start_ticks;
	uint64_t cpu_ns;    /* of the thread, then */
	uint64_t waited_ns; /* the same of the fields below */
	uint64_t blocked_ns;
};

/* Owner: the thread that has the slot. The control thread reads the counts. */
struct slow_thread {
	uint32_t thread; /* whose it is: index, and generation of the process */
	uint32_t generation;
	uint32_t count; /* of the beginnings */
	uint32_t unused;
	uint64_t window;         /* in which the debts were made */
	int64_t spin_debt_ns;    /* to be added yet; < 0: that was too much */
	int64_t sleep_debt_ns;   /* the same */
	uint64_t waited_ns;      /* for others, so far */
	uint64_t blocked_ns;     /* in calls, so far */
	uint64_t progress;       /* ends counted so far */
	int64_t cpu_debt_ns;     /* as spin_debt_ns, for samples */
	uint64_t sampled_cpu_ns; /* CPU time as of the last sample, and what was spun since */
	uint64_t routine; /* index of the thread, and SLOW_ROUTINE_RULED; control thread writes */
	uint64_t spins;   /* odd while it spins for a sample, with all signals blocked */
	struct slow_beginning beginnings[SLOT_ENTRIES];
};

#define SLOW_ROUTINE_RULED (UINT64_C(1) << 32)

/* Code of a rule's, and where it is now. */
struct slow_range {
	uint64_t module_key;
	uint64_t from; /* distances from the module's start */
	uint64_t to;
	uint64_t address;
	uint64_t bytes; /* 0: the module is not there */
};
enum { SLOW_RANGES_MAX = 256 };

struct slow_state {
	void *of_stack; /* uint8_t [STACKS_MAX]: enum slow_bit; the control thread writes */
	void *of_name;  /* the same by string: uint8_t [STRINGS_MAX] */
	void *threads;  /* struct slow_thread [ROSTER_SLOTS] */
	void *ranges;   /* struct slow_range [SLOW_RANGES_MAX] */
	uint32_t range_count;
	uint64_t window;   /* ticks at which it ends; in the lowest bits the thousandths */
	uint64_t rate;     /* nanoseconds per tick, times 2^32 */
	uint64_t clock_ns; /* of a look at a thread's CPU clock */
};
extern struct slow_state slow HIDDEN;

uint64_t slow_to_ns(uint64_t ticks) HIDDEN;
bool slow_is_open(uint64_t window) HIDDEN;
/* Debts are a window's own. */
void slow_enter_window(struct slow_thread *, uint64_t window) HIDDEN;
/* Whether this process has written there, and not its parent alone. */
static inline bool slow_is_own(const struct slow_thread *thread)
{
	return load_acquire(&thread->generation) == gate_generation();
}

/* NULL: there is no memory for it. */
struct slow_thread *slow_thread_of(const struct self *) HIDDEN;
/* Also of a name: `bytes` is a member of struct slow_state. */
uint8_t slow_byte_of(void *const *bytes, uint32_t id) HIDDEN;
/* NULL: it is not known where it began. */
struct slow_beginning *slow_find(struct slow_thread *, uint64_t op) HIDDEN;
void slow_drop(struct slow_thread *, struct slow_beginning *) HIDDEN;

enum { SLOW_FACTOR_MASK = (1 << 14) - 1 };
_Static_assert((int)SLOW_THOUSANDTHS_MAX < (int)SLOW_FACTOR_MASK, "a window has room for them");

#endif
