/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All threads of a process, traced but not stopped, and breakpoints in its code.
 *
 * Whoever traces must end before the process can go on untraced: ptrace has no way to let a thread
 * go that runs. So this is for a process of its own, whose only children these threads are.
 */
#ifndef WCPROF_ATTACH_THREADS_H
#define WCPROF_ATTACH_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

enum { ATTACH_TRAPS_MAX = 128 };

/* Which breakpoints are in the code. ENTRY: those that threads are to run into. RETURN: the one to
 * which functions return that are called for us. With it come those of FORK: a thread that hits
 * one of them waits until all is over. */
enum attach_traps { ATTACH_TRAPS_NONE, ATTACH_TRAPS_ENTRY, ATTACH_TRAPS_RETURN, ATTACH_TRAPS_FORK };

struct attach_trap {
	uint64_t address;
	uint8_t byte; /* that was there */
	enum attach_traps when;
};

/* The tracer's; read by who outlives it. A breakpoint is written only once it is counted here. */
struct attach_trap_table {
	size_t count;
	struct attach_trap all[ATTACH_TRAPS_MAX];
};

struct attach_thread {
	pid_t tid;
	bool is_child;    /* of vfork(): another process in the same memory */
	bool is_born;     /* its first stop was seen */
	bool is_hit;      /* by a breakpoint; it is about to stop behind that signal */
	bool is_held;     /* stopped, and left so */
	bool blocks_trap; /* SIGTRAP; the kernel unblocks that when it hits a breakpoint */
	bool is_clear;    /* cannot be on its way into a breakpoint any more */
	uint64_t ran_ns;
};

struct attach_threads {
	pid_t pid;
	int memory;    /* /proc/PID/mem */
	int end;       /* a pipe: when its other end is closed, waiting ends; -1 = none */
	bool is_ended; /* that has come */
	bool is_gone;  /* it has ended, or runs another program */
	pid_t wanted;  /* a thread that is to stop where it is; 0 = none is */
	pid_t caller;  /* the thread that calls a function for us; 0 = none does */
	int fault;     /* a signal of that thread's own doing, which it has not got; 0 = none */
	struct attach_thread *all;
	size_t count;
	struct attach_trap_table *traps;
};

/* Traces them all. 0, or -errno. */
int attach_threads_seize(struct attach_threads *threads, pid_t pid, struct attach_trap_table *traps,
			 int end);
/* Adds a breakpoint, to be set with the others. False: there is no room, or no such memory. */
bool attach_threads_add_trap(struct attach_threads *threads, uint64_t address,
			     enum attach_traps when);
/* Writes those breakpoints, and elsewhere the bytes that were there. */
void attach_threads_set(struct attach_threads *threads, enum attach_traps which);
/*
 * Lets everything happen that is no matter of ours, for at most so long. A thread that has hit a
 * breakpoint is held, before the instruction that was there, and with no signal: it would go on
 * by itself. NULL: none has, or the process is gone, or the wait was ended.
 */
struct attach_thread *attach_threads_wait(struct attach_threads *threads, int timeout_ms);
/* The same until just the caller does, or has a fault. */
struct attach_thread *attach_threads_wait_for_caller(struct attach_threads *threads,
						     int timeout_ms);
/* Has a thread stop in the system call that it is blocked in; NULL: it does not. The kernel ends
 * the call, and the registers say whether it goes on with it. */
struct attach_thread *attach_threads_interrupt(struct attach_threads *threads, pid_t tid,
					       int timeout_ms);
/* Whether nothing is to be waited for any more: the process is gone, or the wait was ended. */
bool attach_threads_are_over(struct attach_threads *threads);
/* Goes on. */
void attach_threads_go(struct attach_thread *thread);
/* All that are held. */
void attach_threads_go_all(struct attach_threads *threads);
/* Takes the breakpoints away, and returns when no thread can hit one any more. */
void attach_threads_release(struct attach_threads *threads);

bool attach_thread_get(pid_t tid, struct user_regs_struct *registers);
bool attach_thread_set(pid_t tid, const struct user_regs_struct *registers);

#endif
