/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a child writes into its parent's recording, or what was recorded is lost at the
 * end. */
#include "recorder.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "options.h"
#include "recording.h"
#include "suite.h"
#include "watch.h"

/* Read by the thread sanitizer: children may have threads. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
	return "die_after_fork=0";
}

static char directory[64];

static void setup(void)
{
	char output[96];

	snprintf(directory, sizeof(directory), "/tmp/wcprof-test-%d", getpid());
	ck_assert_int_eq(mkdir(directory, 0700), 0);
	snprintf(output, sizeof(output), "%s/%%e.%%p%%%%.jsonl", directory);
	setenv("WCPROF_OUTPUT", output, 1);
}

static void teardown(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", directory);
	ck_assert_int_eq(system(command), 0);
}

/* The lines that process `pid` wrote at its end; NULL: it wrote none. */
static json_t *output_of(int pid)
{
	static char text[1 << 20];
	char path[160];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "%s/test_process.%d%%.jsonl", directory, pid);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return NULL;
	got = read(fd, text, sizeof(text));
	close(fd);
	return recording_parse(text, (size_t)got);
}

START_TEST(the_end_writes_everything_once)
{
	json_t *lines;
	char path[128];

	recording_begin();
	strcpy(path, recorder_arena->path);
	ck_assert_int_eq(access(path, F_OK), 0);
	record_io(1);
	recorder_image_ends(END_EXIT);
	recorder_image_ends(END_EXIT);
	lines = output_of(getpid());
	ck_assert_uint_eq(count_events(lines, "k", "io"), 1);
	ck_assert_uint_eq(count_events(lines, "k", "thread"), 1);
	ck_assert_uint_eq(count_events(lines, "k", "process"), 1);
	/* This test's own output may be a pipe. */
	ck_assert_uint_eq(json_array_size(lines), 4 + count_events(lines, "lk", "leave"));
	ck_assert_int_eq(number_of(event_of(lines, "k", "process"), "id"), 1);
	ck_assert_uint_eq(json_array_size(json_object_get(json_array_get(lines, 0), "open_ops")),
			  0);
	/* Nothing is left to recover. */
	ck_assert_int_ne(access(path, F_OK), 0);
}
END_TEST

START_TEST(an_exec_keeps_what_was_recorded)
{
	json_t *lines;

	recording_begin();
	record_io(1);
	recorder_image_ends(END_EXEC);
	lines = output_of(getpid());
	ck_assert_uint_eq(count_events(lines, "k", "io"), 1);
	/* The process goes on; and so does this image, if there is no such program. */
	ck_assert_uint_eq(json_array_size(json_object_get(json_array_get(lines, 0), "open_ops")),
			  2);
	ck_assert_uint_ne(record_io(2), 0);
	recorder_image_ends(END_EXIT);
	ck_assert_uint_eq(count_events(output_of(getpid()), "k", "io"), 2);
}
END_TEST

/* As abort() with a handler that jumps: the recording so far is written, and nothing has ended. */
START_TEST(an_end_that_was_survived_is_none)
{
	recording_begin();
	record_io(1);
	recorder_image_ends(END_PERHAPS);
	ck_assert_uint_eq(count_events(output_of(getpid()), "k", "io"), 1);
	ck_assert_int_eq(access(recorder_arena->path, F_OK), 0);
	ck_assert_uint_ne(record_io(2), 0);
	recorder_image_ends(END_EXIT);
	ck_assert_uint_eq(count_events(output_of(getpid()), "k", "io"), 2);
	ck_assert_uint_eq(count_events(output_of(getpid()), "k", "process"), 1);
}
END_TEST

START_TEST(without_an_output_the_recording_stays)
{
	setenv("WCPROF_OUTPUT", "", 1);
	recording_begin();
	record_io(1);
	recorder_image_ends(END_EXIT);
	ck_assert_int_eq(access(recorder_arena->path, F_OK), 0);
	unlink(recorder_arena->path);
}
END_TEST

START_TEST(an_output_that_cannot_be_written_is_no_reason_to_lose_it)
{
	setenv("WCPROF_OUTPUT", "/nonexistent/%p", 1);
	recording_begin();
	record_io(1);
	recorder_image_ends(END_EXIT);
	ck_assert_int_eq(access(recorder_arena->path, F_OK), 0);
	unlink(recorder_arena->path);
}
END_TEST

START_TEST(never_on_means_no_trace)
{
	setenv("WCPROF_ENABLE", "0", 1);
	recording_begin();
	ck_assert(recorder_is_off());
	ck_assert_uint_eq(record_io(1), 0);
	recorder_image_ends(END_EXIT);
	ck_assert_ptr_null(output_of(getpid()));
	ck_assert_ptr_null(recorder_arena);
}
END_TEST

/* How a child comes to be, and whether the hooks are told. */
static pid_t fork_hooked(void)
{
	pid_t pid;

	recorder_fork_prepare();
	pid = fork();
	if (pid == 0)
		recorder_fork_child();
	else
		recorder_fork_parent();
	return pid;
}

static pid_t fork_raw(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static pid_t (*const forks[])(void) = { fork_hooked, fork_raw };

START_TEST(a_child_has_a_recording_of_its_own)
{
	json_t *lines;
	pid_t child;
	int status;

	recording_begin();
	record_io(1);
	child = forks[_i]();
	if (child == 0) {
		/* The kernel has wiped the gate: nothing is recorded before the recorder is
		 * woken. */
		if (recorder_gate.mode != GATE_UNSET || record_io(2) != 0)
			_exit(1);
		recorder_wake_up(false);
		if (recorder_gate.mode != GATE_ON || record_io(3) == 0)
			_exit(2);
		recorder_image_ends(END_EXIT);
		_exit(0);
	}
	waitpid(child, &status, 0);
	ck_assert_int_eq(status, 0);
	record_io(4);
	recorder_image_ends(END_EXIT);
	lines = output_of(child);
	ck_assert_uint_eq(count_events(lines, "k", "io"), 1);
	ck_assert_int_eq(number_of(event_of(lines, "k", "io"), "n"), 3);
	ck_assert_int_eq(number_of(json_object_get(json_array_get(lines, 0), "process"), "ppid"),
			 getpid());
	ck_assert_uint_eq(count_events(output_of(getpid()), "k", "io"), 2);
}
END_TEST

START_TEST(a_child_that_execs_at_once_costs_nothing)
{
	pid_t child;
	int status;

	recording_begin();
	child = forks[_i]();
	if (child == 0) {
		recorder_image_ends(END_EXEC);
		_exit(recorder_arena != NULL);
	}
	waitpid(child, &status, 0);
	ck_assert_int_eq(status, 0);
	ck_assert_ptr_null(output_of(child));
	recorder_image_ends(END_EXIT);
}
END_TEST

START_TEST(children_are_left_alone_when_told_so)
{
	pid_t child;
	int status;

	setenv("WCPROF_FOLLOW", "0", 1);
	recording_begin();
	child = fork_hooked();
	if (child == 0) {
		recorder_wake_up(true);
		if (!recorder_is_off() || record_io(1) != 0)
			_exit(1);
		recorder_image_ends(END_EXIT);
		_exit(0);
	}
	waitpid(child, &status, 0);
	ck_assert_int_eq(status, 0);
	ck_assert_ptr_null(output_of(child));
	recorder_image_ends(END_EXIT);
}
END_TEST

static int in_vfork_child(void *unused)
{
	(void)unused;
	/* Shares the parent's memory: everything must stay as it is. */
	if (!recorder_in_vfork_child())
		return 1;
	recorder_wake_up(true);
	recorder_image_ends(END_EXIT);
	return recorder_gate.mode != GATE_ON;
}

START_TEST(a_vfork_child_touches_nothing)
{
	static char stack[65536];
	pid_t child;
	int status;

	recording_begin();
	record_io(1);
	ck_assert(!recorder_in_vfork_child());
	child = clone(in_vfork_child, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD,
		      NULL);
	waitpid(child, &status, 0);
	ck_assert_int_eq(status, 0);
	ck_assert_uint_ne(record_io(2), 0);
	recorder_image_ends(END_EXIT);
	ck_assert_uint_eq(count_events(output_of(getpid()), "k", "io"), 2);
}
END_TEST

/* Of this process. */
static void await_socket(char *path, size_t path_bytes)
{
	snprintf(path, path_bytes, "%s/%d.sock", directory, getpid());
	while (access(path, F_OK) != 0)
		sched_yield();
}

/* The child's control thread comes with the first call in which a thread may be made. */
START_TEST(a_child_gets_a_control_thread_late)
{
	char path[128];
	pid_t child;
	int status;

	setenv("WCPROF_CONTROL", "on", 1);
	setenv("WCPROF_DIR", directory, 1);
	recording_begin();
	/* A sanitizer's locks stay taken in the child, if another thread is just starting. */
	await_socket(path, sizeof(path));
	child = fork_hooked();
	if (child == 0) {
		recorder_wake_up(false);
		if (!recorder_is_unsettled())
			_exit(1);
		recorder_wake_up(true);
		if (recorder_is_unsettled())
			_exit(2);
		await_socket(path, sizeof(path));
		recorder_image_ends(END_EXIT);
		_exit(access(path, F_OK) == 0 ? 3 : 0);
	}
	waitpid(child, &status, 0);
	ck_assert_int_eq(status, 0);
	recorder_image_ends(END_EXIT);
}
END_TEST

/* By any hook that may make a thread, and also where recording is off. */
START_TEST(the_control_thread_comes_back_from_aside)
{
	char path[128];

	setenv("WCPROF_CONTROL", "on", 1);
	setenv("WCPROF_DIR", directory, 1);
	setenv("WCPROF_ENABLE", _i ? "1" : "0", 1);
	recording_begin();
	await_socket(path, sizeof(path));
	ck_assert(recorder_steps_aside(ASIDE_ALWAYS));
	ck_assert_int_ne(access(path, F_OK), 0);
	ck_assert_int_eq(recorder_is_off(), !_i);
	recorder_steps_back(true);
	while (recorder_is_unsettled()) {
		ck_assert(!recorder_is_off());
		recorder_wake_up(true);
	}
	await_socket(path, sizeof(path));
	ck_assert_int_eq(recorder_is_off(), !_i);
	recorder_image_ends(END_EXIT);
}
END_TEST

/* The only line of a dump of this process that is a header. */
static json_t *process_in(json_t *lines)
{
	return json_object_get(json_array_get(lines, 0), "process");
}

START_TEST(a_filter_ends_the_recording_and_says_so)
{
	struct recorder_confinement before;
	json_t *lines;

	recording_begin();
	record_io(1);
	before = recorder_confine();
	ck_assert(before.was_free);
	lines = output_of(getpid());
	ck_assert_uint_eq(count_events(lines, "k", "io"), 1);
	ck_assert_int_gt(number_of(process_in(lines), "filtered_ns"), 0);
	ck_assert_int_eq(
		number_of(json_object_get(json_array_get(lines, 0), "counters"), "unseen_filtered"),
		1);
	ck_assert(recorder_is_off());
	ck_assert_uint_eq(record_io(2), 0);
	ck_assert(!switch_flow_begins());
	ck_assert(!recorder_confine().was_free);
	/* All that there is was handed over; this would be too late. */
	recorder_image_ends(END_EXIT);
	ck_assert_uint_eq(count_events(output_of(getpid()), "k", "io"), 1);
}
END_TEST

START_TEST(a_filter_that_was_refused_ends_nothing)
{
	struct recorder_confinement before;
	json_t *lines;

	recording_begin();
	before = recorder_confine();
	recorder_unconfine(&before);
	ck_assert_uint_ne(record_io(2), 0);
	lines = recording_dump(true);
	ck_assert_uint_eq(count_events(lines, "k", "io"), 1);
	ck_assert_ptr_null(json_object_get(process_in(lines), "filtered_ns"));
	ck_assert_ptr_null(json_object_get(json_object_get(json_array_get(lines, 0), "counters"),
					   "unseen_filtered"));
}
END_TEST

START_TEST(a_child_behind_a_filter_stays_off)
{
	pid_t child;
	int status;

	recording_begin();
	(void)recorder_confine();
	child = forks[_i]();
	if (child == 0) {
		recorder_wake_up(true);
		recorder_image_ends(END_EXIT);
		_exit(recorder_gate.mode == GATE_OFF && !recorder_is_unsettled() ? 0 : 1);
	}
	waitpid(child, &status, 0);
	ck_assert_int_eq(status, 0);
	ck_assert_ptr_null(output_of(child));
}
END_TEST

static int filter_in_vfork_child(void *unused)
{
	struct recorder_confinement before = recorder_confine();
	uint64_t none = record_io(2);

	(void)unused;
	/* A refused filter is none; the next one stays. */
	recorder_unconfine(&before);
	if (none != 0 || record_io(3) == 0)
		return 1;
	before = recorder_confine();
	return !before.was_vfork || recorder_vfork_begins() || record_io(4) != 0;
}

START_TEST(a_filter_of_a_vfork_child_is_its_own)
{
	static char stack[65536];
	pid_t child;
	int status;

	recording_begin();
	ck_assert(recorder_vfork_begins());
	child = clone(filter_in_vfork_child, stack + sizeof(stack),
		      CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
	recorder_vfork_ends();
	waitpid(child, &status, 0);
	ck_assert_int_eq(status, 0);
	ck_assert_uint_ne(record_io(5), 0);
	ck_assert(!recorder_in_vfork_child());
	recorder_image_ends(END_EXIT);
	ck_assert_uint_eq(count_events(output_of(getpid()), "k", "io"), 2);
}
END_TEST

START_TEST(before_the_start_everything_is_harmless)
{
	ck_assert_ptr_null(self_enter());
	ck_assert_ptr_null(watch_find(directory));
	recorder_wake_up(true);
	recorder_image_ends(END_EXIT);
	recorder_fork_child();
	ck_assert(!recorder_in_vfork_child());
	ck_assert_uint_eq(string_intern("x", 1), 0);
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(the_end_writes_everything_once);
	TEST(an_exec_keeps_what_was_recorded);
	TEST(an_end_that_was_survived_is_none);
	TEST(without_an_output_the_recording_stays);
	TEST(an_output_that_cannot_be_written_is_no_reason_to_lose_it);
	TEST(never_on_means_no_trace);
	LOOP(a_child_has_a_recording_of_its_own, 0, 2);
	LOOP(a_child_that_execs_at_once_costs_nothing, 0, 2);
	TEST(children_are_left_alone_when_told_so);
	TEST(a_vfork_child_touches_nothing);
	TEST(a_child_gets_a_control_thread_late);
	TEST(a_filter_ends_the_recording_and_says_so);
	TEST(a_filter_that_was_refused_ends_nothing);
	LOOP(a_child_behind_a_filter_stays_off, 0, 2);
	TEST(a_filter_of_a_vfork_child_is_its_own);
	LOOP(the_control_thread_comes_back_from_aside, 0, 2);
	TEST(before_the_start_everything_is_harmless);
}
