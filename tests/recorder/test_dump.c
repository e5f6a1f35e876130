/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, the analyzer cannot read what was recorded, or a stalled reader costs events. */
#include "dump.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "chunk.h"
#include "modules.h"
#include "recording.h"
#include "stacks.h"
#include "weight.h"
#include "suite.h"

static void setup(void)
{
	recording_begin();
}

static void teardown(void)
{
	recording_end();
}

START_TEST(the_header_counts_its_events)
{
	json_t *lines, *header;

	for (int i = 0; i < 1000; i++)
		record_io(1);
	lines = recording_dump(false);
	header = json_array_get(lines, 0);
	ck_assert_int_eq(number_of(header, "schema_version"), 1);
	ck_assert_int_eq(number_of(header, "event_count"), 1000);
	ck_assert_uint_eq(json_array_size(lines), 1001);
	ck_assert_int_eq(number_of(header, "dropped_events"), 0);
	ck_assert_int_gt(number_of(header, "dumped_unix_nano"),
			 number_of(header, "epoch_unix_nano"));
	ck_assert_str_eq(word_of(json_object_get(header, "recorder"), "name"), "wcprof");
	ck_assert_str_eq(json_string_value(json_array_get(json_object_get(header, "strings"), 0)),
			 "");
	ck_assert_uint_eq(json_array_size(json_array_get(json_object_get(header, "stacks"), 0)), 0);
}
END_TEST

START_TEST(what_is_open_is_in_the_header)
{
	struct self *self = self_enter();
	uint64_t op = op_begin(self, KIND_POLL, CALL_READ, 0, 0, 0, __builtin_frame_address(0));
	json_t *header, *opens, *open;

	wait_begin(self, REASON_COND, CALL_LOCK, &op, 2, 0, __builtin_frame_address(0));
	self_leave(self);
	header = json_array_get(recording_dump(true), 0);
	opens = json_object_get(header, "open_ops");
	ck_assert_uint_eq(json_array_size(opens), 3);
	open = json_array_get(opens, 0);
	ck_assert_str_eq(word_of(open, "kind"), "process");
	ck_assert_int_eq(number_of(open, "op_id"), 1);
	ck_assert_int_gt(number_of(open, "client_id"), 0);
	open = json_array_get(opens, 1);
	ck_assert_str_eq(word_of(open, "kind"), "poll");
	ck_assert_str_eq(word_of(open, "work_type"), "external");
	ck_assert_uint_eq((uint64_t)number_of(open, "op_id"), op);
	/* Descriptor 0 is one; a key that is missing says there is none. */
	ck_assert_ptr_nonnull(json_object_get(open, "fd"));
	open = json_array_get(opens, 2);
	ck_assert_str_eq(word_of(open, "kind"), "thread");
	ck_assert_ptr_null(json_object_get(open, "fd"));
	open = json_array_get(json_object_get(header, "open_waits"), 0);
	ck_assert_str_eq(word_of(open, "rs"), "cond");
	ck_assert_uint_eq((uint64_t)number_of(open, "p"), op);
	ck_assert_int_eq(number_of(open, "c"), CALL_LOCK);
	ck_assert_int_eq(number_of(open, "i"), 2);
}
END_TEST

static json_t *windows_of(json_t *lines)
{
	return json_object_get(json_array_get(lines, 0), "windows");
}

static int64_t time_at(json_t *windows, size_t index)
{
	return json_integer_value(json_array_get(windows, index));
}

START_TEST(the_header_says_when_recording_was_on)
{
	json_t *first, *next, *last;

	record_io(1);
	switch_disable();
	switch_enable();
	first = windows_of(recording_dump(true));
	ck_assert_uint_eq(json_array_size(first), 4);
	/* The process began with the first one. */
	ck_assert_int_eq(time_at(first, 0), 0);
	for (size_t i = 1; i < 4; i++)
		ck_assert_int_ge(time_at(first, i), time_at(first, i - 1));
	/* The second one goes on, and there is another one. */
	switch_disable();
	switch_enable();
	switch_disable();
	next = windows_of(recording_dump(true));
	ck_assert_uint_eq(json_array_size(next), 4);
	ck_assert_int_eq(time_at(next, 0), time_at(first, 3));
	last = windows_of(recording_dump(true));
	ck_assert_uint_eq(json_array_size(last), 0);
}
END_TEST

START_TEST(windows_long_ago_are_not_known)
{
	json_t *windows;

	for (int i = 0; i < OPENINGS_KEPT + 10; i++) {
		switch_disable();
		switch_enable();
	}
	windows = windows_of(recording_dump(true));
	ck_assert_uint_eq(json_array_size(windows), 2 * OPENINGS_KEPT);
	ck_assert_int_gt(time_at(windows, 0), 0);
}
END_TEST

START_TEST(a_pause_is_in_no_count)
{
	struct self *self;
	uint64_t cpu_ns;

	record_io(1);
	switch_disable();
	cpu_ns = load_relaxed(&recorder_arena->usage.cpu_ns);
	for (uint64_t begin = clock_thread_cpu_ns(); clock_thread_cpu_ns() < begin + 20000000;)
		;
	(void)recording_dump(true);
	ck_assert_uint_eq(load_relaxed(&recorder_arena->usage.cpu_ns), cpu_ns);
	switch_enable();
	self = self_enter();
	self_leave(self);
	switch_disable();
	ck_assert_uint_lt(load_relaxed(&recorder_arena->usage.cpu_ns), 20000000);
}
END_TEST

START_TEST(stacks_are_places_in_modules)
{
	uint64_t pcs[] = { (uint64_t)(uintptr_t)recorder_start + 5, 16 };
	json_t *header, *stack, *module;

	ck_assert_uint_eq(stack_intern(pcs, 2), 1);
	header = json_array_get(recording_dump(true), 0);
	stack = json_array_get(json_object_get(header, "stacks"), 1);
	ck_assert_uint_eq(json_array_size(stack), 4);
	module = json_array_get(json_object_get(header, "modules"),
				(size_t)json_integer_value(json_array_get(stack, 0)));
	ck_assert_ptr_nonnull(strstr(word_of(module, "path"), "test_dump"));
	ck_assert_uint_eq(strlen(word_of(module, "build_id")), 40);
	ck_assert_uint_eq((uint64_t)json_integer_value(json_array_get(stack, 1)) +
				  (uint64_t)number_of(module, "base"),
			  pcs[0]);
	ck_assert_int_eq(json_integer_value(json_array_get(stack, 2)), -1);
	ck_assert_int_eq(json_integer_value(json_array_get(stack, 3)), 16);
}
END_TEST

static void *short_life(void *unused)
{
	thread_begin(0, 0, NULL, __builtin_frame_address(0));
	pthread_setname_np(pthread_self(), "renamed \"it\"");
	setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 5);
	thread_end();
	return unused;
}

START_TEST(living_and_ended_threads_are_listed)
{
	pthread_t thread;
	json_t *lines, *threads, *event;

	record_io(1);
	pthread_create(&thread, NULL, short_life, NULL);
	pthread_join(thread, NULL);
	pthread_setname_np(pthread_self(), "first");
	lines = recording_dump(true);
	threads = json_object_get(json_array_get(lines, 0), "threads");
	ck_assert_uint_eq(json_array_size(threads), 2);
	ck_assert_str_eq(word_of(json_array_get(threads, 0), "name"), "first");
	ck_assert_int_eq(number_of(json_array_get(threads, 0), "tid"), getpid());
	ck_assert_str_eq(word_of(json_array_get(threads, 1), "name"), "renamed \"it\"");
	ck_assert_int_eq(number_of(json_array_get(threads, 1), "th"), 2);
	ck_assert_int_gt(number_of(json_array_get(threads, 1), "tid"), 0);
	ck_assert(getpriority(PRIO_PROCESS, 0) != 0 ||
		  !json_object_get(json_array_get(threads, 0), "weight"));
	ck_assert_int_eq(number_of(json_array_get(threads, 1), "weight"), weight_of_nice(5));
	event = event_of(lines, "k", "thread");
	ck_assert_str_eq(name_of(lines, event, "i"), "renamed \"it\"");
	ck_assert_ptr_null(json_object_get(event, "fd"));
}
END_TEST

/* Names as long as they come, of bytes that each take six: no piece overflows the buffer. */
START_TEST(the_longest_strings_fit)
{
	char name[STRING_BYTES_MAX];
	uint64_t pcs[STACK_FRAMES_MAX];
	struct arena *arena = recorder_arena;

	memset(name, '\x01', sizeof(name));
	for (int i = 0; i < 300; i++) {
		snprintf(name, 8, "%d", i);
		strings_intern(arena, name, sizeof(name));
	}
	for (int i = 0; i < STACK_FRAMES_MAX; i++)
		pcs[i] = INT64_MAX - (uint64_t)i;
	stack_intern(pcs, STACK_FRAMES_MAX);
	memset(arena->argv, '\x01', sizeof(arena->argv));
	arena->argv_bytes = sizeof(arena->argv);
	memset(arena->exe, '\x02', sizeof(arena->exe) - 1);
	for (int i = 0; i < 200; i++)
		record_io(UINT64_MAX >> 1);
	ck_assert_uint_eq(json_array_size(recording_dump(true)), 201);
}
END_TEST

START_TEST(a_reader_that_goes_away_costs_nothing)
{
	static char buffer[DUMP_BUFFER_BYTES];
	struct dump dump;
	json_t *lines;

	for (int i = 0; i < 20000; i++)
		record_io((uint64_t)i);
	ck_assert_int_eq(dump_begin(&dump, recorder_arena, buffer, sizeof(buffer), DUMP_AT_END), 0);
	ck_assert(dump_fill(&dump));
	ck_assert(dump_fill(&dump));
	/* Meanwhile the program goes on. */
	record_io(7);
	dump_end(&dump, false);
	lines = recording_dump(true);
	ck_assert_uint_eq(count_events(lines, "k", "io"), 20001);
	ck_assert_uint_eq(json_array_size(recording_dump(true)), 1);
}
END_TEST

/* The same code reads what a killed process left. */
START_TEST(a_dead_processs_arena_can_be_dumped)
{
	int pipe_fds[2];
	char path[128];
	struct arena *found;
	json_t *lines, *header;
	pid_t child;
	int fd;

	recording_end();
	ck_assert_int_eq(pipe(pipe_fds), 0);
	child = fork();
	if (child == 0) {
		recorder_fork_child();
		recorder_wake_up(false);
		record_io(5);
		record_io(6);
		if (write(pipe_fds[1], recorder_arena->path, sizeof(path)) > 0)
			raise(SIGKILL);
		_exit(1);
	}
	ck_assert_int_eq(read(pipe_fds[0], path, sizeof(path)), sizeof(path));
	waitpid(child, NULL, 0);
	fd = open(path, O_RDWR);
	ck_assert_int_ge(fd, 0);
	found = mmap(NULL, ARENA_CHUNKS + 4096 * 1024, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	lines = recording_dump_of(found, DUMP_DEAD, true);
	header = json_array_get(lines, 0);
	ck_assert_int_eq(number_of(json_object_get(header, "process"), "pid"), child);
	ck_assert_uint_eq(count_events(lines, "k", "io"), 2);
	ck_assert_uint_eq(json_array_size(json_object_get(header, "open_ops")), 2);
	/* It ends with the last thing that is known of it. */
	ck_assert_int_eq(number_of(header, "dumped_unix_nano") -
				 number_of(header, "epoch_unix_nano"),
			 number_of(json_array_get(lines, 2), "d"));
	unlink(path);
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(the_header_counts_its_events);
	TEST(what_is_open_is_in_the_header);
	TEST(the_header_says_when_recording_was_on);
	TEST(windows_long_ago_are_not_known);
	TEST(a_pause_is_in_no_count);
	TEST(stacks_are_places_in_modules);
	TEST(living_and_ended_threads_are_listed);
	TEST(the_longest_strings_fit);
	TEST(a_reader_that_goes_away_costs_nothing);
	TEST(a_dead_processs_arena_can_be_dumped);
}
