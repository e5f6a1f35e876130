/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The threads of a process, as /proc shows them: this process's or another's.
 *
 * Nothing is stopped or asked: the kernel alone answers. A thread may end at any time; then it has
 * no files any more. Never on a thread that the program waits for: each look is a few microseconds.
 */
#ifndef WCPROF_TASKS_H
#define WCPROF_TASKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder.h"

enum { TASK_NAME_BYTES = 16 };

/* A thread that is blocked in a system call. One that goes on with its sleep after a stop is in the
 * call that it began, or in SYS_restart_syscall if that is not known. */
struct task_call {
	int32_t number;
	uint64_t arguments[6];
	uint64_t sp;
	uint64_t pc; /* behind the call */
};

/* Shows each thread, mostly in the order of their creation. False: there is no such process. */
bool tasks_see(uint32_t pid, void (*see)(uint32_t tid, void *context), void *context) HIDDEN;

/* As the kernel knows it. False: it has ended. */
bool task_name(uint32_t pid, uint32_t tid, char name[TASK_NAME_BYTES]) HIDDEN;
/* R runs or wants to, S sleeps, D sleeps deeply, T stopped, and so on; '?' = it has ended. */
char task_state(uint32_t pid, uint32_t tid) HIDDEN;
/* False: it is not in a system call, or nobody may know. */
bool task_read_call(uint32_t pid, uint32_t tid, struct task_call *) HIDDEN;
/* How often it has left a CPU: one that sleeps again has since. 0: nobody may know. */
uint64_t task_switches(uint32_t pid, uint32_t tid) HIDDEN;
/* CPU time that it has had. 0: nobody may know. */
uint64_t task_ran_ns(uint32_t pid, uint32_t tid) HIDDEN;
/* Whether the thread blocks a signal below 32. */
bool task_blocks_signal(uint32_t pid, uint32_t tid, int number) HIDDEN;
/* Copies memory of the process; how many bytes, from the first on, could be read. */
size_t task_read_memory(uint32_t pid, uint64_t address, void *to, size_t bytes) HIDDEN;

#endif
