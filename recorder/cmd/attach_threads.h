/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All threads of a process, traced but not stopped, and held one at a time.
 *
 * Nothing in the process is changed for this. So whoever traces may be killed at any moment: the
 * kernel then lets all threads go on, as if nothing had been.
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

/* Of a thread that is watched: it has been held before a system call, and is inside of that. */
enum attach_call_state { ATTACH_CALL_NONE, ATTACH_CALL_SEEN, ATTACH_CALL_MADE };

struct attach_thread {
	pid_t tid;
	bool is_asked;     /* to stop where it is */
	bool is_watched;   /* stops at its system calls */
	bool is_held;      /* stopped, and left so */
	bool is_past_fork; /* in none that began before ran_ns was taken */
	uint64_t ran_ns;   /* CPU time, when forks were looked for */
	uint64_t switches; /* as of the last look at it; 0: there was none */
	uint64_t pause_ms; /* after it was stopped in vain; 0: it never was */
	uint64_t again_ms; /* when it may be stopped again, as attach_now_ms() */
	enum attach_call_state call;
};

struct attach_threads {
	pid_t pid;
	int memory;       /* /proc/PID/mem */
	int end;          /* a pipe: when its other end is closed, waiting ends; -1 = none */
	bool is_ended;    /* that has come */
	bool is_gone;     /* it has ended, or runs another program */
	bool is_watching; /* threads that are watched are held at their next system call */
	pid_t wanted;     /* a thread that is to be held where it stops; 0 = none is */
	pid_t caller;     /* the thread that calls a function for us; 0 = none does */
	int fault;        /* a signal of that thread's own doing, which it has not got; 0 = none */
	struct attach_thread *all;
	size_t count;
};

/* Traces them all. 0, or -errno. */
int attach_threads_seize(struct attach_threads *threads, pid_t pid, int end);
/* A thread that runs stops for a moment, and from then on at each system call, as long as threads
 * are watched. */
void attach_threads_watch(struct attach_threads *threads, struct attach_thread *thread);
/*
 * Lets everything happen that is no matter of ours, for at most so long. A watched thread that is
 * about to make a system call is held before the instruction, once for each call. NULL: there is
 * none, or the process is gone, or the wait was ended.
 */
struct attach_thread *attach_threads_wait(struct attach_threads *threads, int timeout_ms);
/* If it is held; else NULL. */
struct attach_thread *attach_threads_caller(const struct attach_threads *threads);
/* The same as attach_threads_wait(), until the caller begins or ends a system call, or has a
 * fault. */
struct attach_thread *attach_threads_wait_for_caller(struct attach_threads *threads,
						     int timeout_ms);
/* Has a thread stop in the system call that it is blocked in; NULL: it does not. The kernel ends
 * the call, and the registers say whether it goes on with it. */
struct attach_thread *attach_threads_interrupt(struct attach_threads *threads, pid_t tid,
					       int timeout_ms);
/* Whether nothing is to be waited for any more: the process is gone, or the wait was ended. */
bool attach_threads_are_over(struct attach_threads *threads);
/* Of a clock that only goes on. */
uint64_t attach_now_ms(void);
/* Goes on. */
void attach_threads_go(const struct attach_threads *threads, struct attach_thread *thread);
/* No thread is watched or held any more, or about to stop. */
void attach_threads_release(struct attach_threads *threads);

bool attach_thread_get(pid_t tid, struct user_regs_struct *registers);
bool attach_thread_set(pid_t tid, const struct user_regs_struct *registers);

#endif
