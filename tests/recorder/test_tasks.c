/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, threads are taken for others, or for what they are not doing. */
#include "tasks.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "atomics.h"
#include "recording.h"
#include "suite.h"

static int ends[2];
static uint32_t reader_tid;

static uint32_t own_pid(void)
{
	return (uint32_t)getpid();
}

static void *read_a_byte(void *unused)
{
	char byte;

	prctl(PR_SET_NAME, "a reader)", 0, 0, 0);
	store_release(&reader_tid, (uint32_t)syscall(SYS_gettid));
	(void)!read(ends[0], &byte, 1);
	return unused;
}

/* A thread that is blocked in read(). */
static pthread_t start_reader(struct task_call *call)
{
	pthread_t thread;

	ck_assert_int_eq(pipe(ends), 0);
	pthread_create(&thread, NULL, read_a_byte, NULL);
	while (load_acquire(&reader_tid) == 0)
		continue;
	while (!task_read_call(own_pid(), reader_tid, call) || call->number != SYS_read)
		continue;
	return thread;
}

static void end_reader(pthread_t thread)
{
	ck_assert_int_eq(write(ends[1], "", 1), 1);
	pthread_join(thread, NULL);
}

START_TEST(a_blocked_thread_is_described)
{
	char name[TASK_NAME_BYTES];
	struct task_call call;
	pthread_t thread = start_reader(&call);

	ck_assert(task_name(own_pid(), reader_tid, name));
	ck_assert_str_eq(name, "a reader)");
	ck_assert_int_eq(task_state(own_pid(), reader_tid), 'S');
	ck_assert_uint_eq(call.arguments[0], (uint64_t)ends[0]);
	ck_assert_uint_eq(call.arguments[2], 1);
	ck_assert_uint_ne(call.sp, 0);
	ck_assert_uint_ne(call.pc, 0);
	end_reader(thread);
}
END_TEST

/* Asleep it has left its CPU at least once, and does not again; nobody else has. */
START_TEST(a_sleeping_thread_leaves_no_cpu)
{
	struct task_call call;
	pthread_t thread = start_reader(&call);
	uint64_t before = task_switches(own_pid(), reader_tid);
	uint64_t own = task_switches(own_pid(), own_pid());

	ck_assert_uint_ge(before, 1);
	while (task_switches(own_pid(), own_pid()) == own)
		usleep(1); /* it may be over before its thread has left the CPU */
	ck_assert_uint_eq(task_switches(own_pid(), reader_tid), before);
	ck_assert_uint_eq(task_switches(own_pid(), 1 << 30), 0);
	end_reader(thread);
}
END_TEST

START_TEST(cpu_time_grows_as_a_thread_runs)
{
	uint64_t before = task_ran_ns(own_pid(), own_pid());

	while (task_ran_ns(own_pid(), own_pid()) <= before)
		;
	ck_assert_uint_eq(task_ran_ns(own_pid(), 1 << 30), 0);
}
END_TEST

START_TEST(a_thread_that_has_ended_is_nothing)
{
	char name[TASK_NAME_BYTES];
	struct task_call call;
	pthread_t thread = start_reader(&call);

	end_reader(thread);
	/* The kernel takes a moment after the join. */
	while (task_state(own_pid(), reader_tid) != '?')
		continue;
	ck_assert(!task_name(own_pid(), reader_tid, name));
	ck_assert_str_eq(name, "");
	ck_assert(!task_read_call(own_pid(), reader_tid, &call));
	ck_assert(!task_blocks_signal(own_pid(), reader_tid, SIGUSR1));
}
END_TEST

static uint32_t stop;

static void *compute(void *unused)
{
	store_release(&reader_tid, (uint32_t)syscall(SYS_gettid));
	while (!load_relaxed(&stop))
		continue;
	return unused;
}

START_TEST(a_thread_that_runs_is_in_no_call)
{
	struct task_call call;
	pthread_t thread;

	pthread_create(&thread, NULL, compute, NULL);
	while (load_acquire(&reader_tid) == 0)
		continue;
	ck_assert_int_eq(task_state(own_pid(), reader_tid), 'R');
	ck_assert(!task_read_call(own_pid(), reader_tid, &call));
	store_relaxed(&stop, 1);
	pthread_join(thread, NULL);
}
END_TEST

static void see(uint32_t tid, void *context)
{
	uint32_t *seen = context;

	seen[0]++;
	seen[1] += tid == reader_tid;
	seen[2] += tid == own_pid();
}

START_TEST(every_thread_is_seen_once)
{
	uint32_t seen[3] = { 0 };
	struct task_call call;
	pthread_t thread = start_reader(&call);

	ck_assert(tasks_see(own_pid(), see, seen));
	ck_assert_uint_ge(seen[0], 2);
	ck_assert_uint_eq(seen[1], 1);
	ck_assert_uint_eq(seen[2], 1);
	end_reader(thread);
}
END_TEST

START_TEST(another_process_is_seen_as_well)
{
	uint32_t seen[3] = { 0 };
	pid_t child = fork();
	struct task_call call;

	if (child == 0)
		for (;;)
			pause();
	while (!task_read_call((uint32_t)child, (uint32_t)child, &call) || call.number != SYS_pause)
		continue;
	ck_assert(tasks_see((uint32_t)child, see, seen));
	/* ThreadSanitizer has a thread of its own. */
	ck_assert_uint_ge(seen[0], 1);
	ck_assert_uint_le(seen[0], 2);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	ck_assert(!tasks_see((uint32_t)child, see, seen));
}
END_TEST

/* As the kernel has it: it is another one. */
static bool is_restarted(pid_t pid)
{
	char path[64], line[256] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/syscall", (int)pid);
	file = fopen(path, "re");
	ck_assert_ptr_nonnull(file);
	(void)fgets(line, sizeof(line), file);
	fclose(file);
	return strncmp(line, "219 ", 4) == 0;
}

START_TEST(a_sleep_that_was_stopped_is_still_that_call)
{
	pid_t child = fork();
	struct task_call call;
	int status;

	if (child == 0)
		_exit(poll(NULL, 0, -1));
	while (!task_read_call((uint32_t)child, (uint32_t)child, &call) || call.number != SYS_poll)
		continue;
	kill(child, SIGSTOP);
	ck_assert_int_eq(waitpid(child, &status, WUNTRACED), child);
	kill(child, SIGCONT);
	while (!is_restarted(child))
		continue;
	ck_assert(task_read_call((uint32_t)child, (uint32_t)child, &call));
	ck_assert_int_eq(call.number, SYS_poll);
	ck_assert_int_eq((int)call.arguments[2], -1);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}
END_TEST

START_TEST(which_signals_are_blocked)
{
	uint32_t tid = (uint32_t)syscall(SYS_gettid);
	sigset_t set;

	ck_assert(!task_blocks_signal(own_pid(), tid, SIGUSR2));
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	ck_assert(task_blocks_signal(own_pid(), tid, SIGUSR2));
	ck_assert(!task_blocks_signal(own_pid(), tid, SIGUSR1));
}
END_TEST

/* As far as it goes, and no fault where there is nothing. */
START_TEST(memory_is_read_up_to_its_end)
{
	enum { PAGE = 4096 };
	char to[2 * PAGE];
	char *memory =
		mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(memory, MAP_FAILED);
	memset(memory, 'x', 2 * PAGE);
	ck_assert_uint_eq(task_read_memory(own_pid(), (uintptr_t)memory, to, sizeof(to)), 2 * PAGE);
	munmap(memory + PAGE, PAGE);
	ck_assert_uint_eq(task_read_memory(own_pid(), (uintptr_t)memory, to, sizeof(to)), PAGE);
	ck_assert_int_eq(to[PAGE - 1], 'x');
	ck_assert_uint_eq(task_read_memory(own_pid(), (uintptr_t)memory + PAGE, to, 8), 0);
	munmap(memory, PAGE);
}
END_TEST

SUITE()
{
	TEST(a_blocked_thread_is_described);
	TEST(a_sleeping_thread_leaves_no_cpu);
	TEST(cpu_time_grows_as_a_thread_runs);
	TEST(a_thread_that_has_ended_is_nothing);
	TEST(a_thread_that_runs_is_in_no_call);
	TEST(every_thread_is_seen_once);
	TEST(another_process_is_seen_as_well);
	TEST(a_sleep_that_was_stopped_is_still_that_call);
	TEST(which_signals_are_blocked);
	TEST(memory_is_read_up_to_its_end);
}
