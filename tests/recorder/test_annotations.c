/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, what a program says about itself is recorded wrongly, or hurts it. */
#define WCPROF_IS_LIBRARY /* this program has the library inside */
#include "wcprof.h"

#include <signal.h>
#include <sys/wait.h>

#include "recording.h"
#include "suite.h"

static json_t *lines;

static void teardown(void)
{
	json_decref(lines);
	recording_end();
}

static void dump(void)
{
	json_decref(lines);
	lines = recording_dump(true);
}

/* The op with this class; NULL if there is none. */
static json_t *op_of(const char *class_name)
{
	for (size_t i = 1; i < json_array_size(lines); i++) {
		json_t *event = json_array_get(lines, i);

		if (strcmp(word_of(event, "e"), "op") == 0 &&
		    strcmp(name_of(lines, event, "c"), class_name) == 0)
			return event;
	}
	return NULL;
}

static json_t *open_op_of(const char *class_name)
{
	json_t *opens = json_object_get(json_array_get(lines, 0), "open_ops");

	for (size_t i = 0; i < json_array_size(opens); i++)
		if (strcmp(name_of(lines, json_array_get(opens, i), "class_id"), class_name) == 0)
			return json_array_get(opens, i);
	return NULL;
}

static wcprof_op begin(const char *class_name)
{
	return wcprof_v1_begin(0, WCPROF_KIND_USER, class_name, NULL);
}

static void end(wcprof_op op)
{
	wcprof_v1_end(op, WCPROF_OK, 0);
}

START_TEST(an_op_has_all_that_was_said)
{
	wcprof_op outer, inner;
	json_t *op;

	recording_begin();
	outer = begin("outer");
	inner = wcprof_v1_begin(0, WCPROF_KIND_CALL, "inner", "one");
	ck_assert_uint_eq(wcprof_v1_current(), inner);
	wcprof_v1_set_ident(inner, "two");
	wcprof_v1_hint_outcome(inner, WCPROF_HIT);
	wcprof_v1_end(inner, WCPROF_UNSAID, 42);
	ck_assert_uint_eq(wcprof_v1_current(), outer);
	wcprof_v1_end(outer, WCPROF_ERROR, 0);
	dump();
	op = op_of("inner");
	ck_assert_str_eq(word_of(op, "k"), "call");
	ck_assert_str_eq(name_of(lines, op, "i"), "two");
	ck_assert_str_eq(word_of(op, "o"), "hit");
	ck_assert_int_eq(number_of(op, "r"), 42);
	ck_assert_int_eq(number_of(op, "p"), number_of(op_of("outer"), "id"));
	ck_assert_str_eq(word_of(op_of("outer"), "o"), "error");
	ck_assert_str_eq(word_of(op_of("outer"), "k"), "user");
}
END_TEST

START_TEST(the_null_handle_does_nothing)
{
	recording_begin();
	wcprof_v1_end(0, WCPROF_OK, 1);
	wcprof_v1_set_ident(0, "x");
	wcprof_v1_hint_outcome(0, WCPROF_HIT);
	wcprof_v1_wait_set_target(0, 0);
	wcprof_v1_wait_end(0);
	wcprof_v1_adopt(0);
	wcprof_v1_leave(0);
	wcprof_v1_flow_end();
	/* Nor do made-up ones, nor the thread's own op, which is not the program's to end. */
	wcprof_v1_end(12345, WCPROF_OK, 1);
	wcprof_v1_end(UINT64_MAX, WCPROF_OK, 1);
	wcprof_v1_adopt(UINT64_C(1) << 32 | 99);
	end(wcprof_v1_current());
	end(begin(NULL));
	dump();
	ck_assert_uint_eq(count_events(lines, "k", "thread"), 0);
	ck_assert_uint_eq(count_events(lines, "k", "user"), 1);
}
END_TEST

START_TEST(an_op_ends_once)
{
	wcprof_op op;

	recording_begin();
	op = begin("once");
	end(op);
	end(op);
	wcprof_v1_set_ident(op, "late");
	dump();
	ck_assert_uint_eq(count_events(lines, "k", "user"), 1);
	ck_assert_ptr_null(json_object_get(op_of("once"), "i"));
	ck_assert_ptr_null(open_op_of("once"));
}
END_TEST

static void *work_for(void *argument)
{
	wcprof_op op = *(wcprof_op *)argument;

	wcprof_v1_adopt(op);
	ck_assert_uint_eq(wcprof_v1_current(), op);
	record_io(1);
	wcprof_v1_wait_end(wcprof_v1_wait(WCPROF_FOR_IO, 0, "disk"));
	end(op);
	record_io(2);
	return NULL;
}

START_TEST(an_op_is_handed_over)
{
	pthread_t thread;
	wcprof_op op;
	json_t *event;

	recording_begin();
	op = begin("job");
	wcprof_v1_leave(op);
	ck_assert_uint_ne(wcprof_v1_current(), op);
	pthread_create(&thread, NULL, work_for, &op);
	pthread_join(thread, NULL);
	dump();
	event = event_of(lines, "k", "io");
	ck_assert_int_eq(number_of(event, "p"), number_of(op_of("job"), "id"));
	ck_assert_int_eq(number_of(event, "th"), 2);
	ck_assert_int_eq(number_of(op_of("job"), "th"), 1);
	/* The wait is the worker's, whoever began the op. */
	event = event_of(lines, "rs", "io");
	ck_assert_int_eq(number_of(event, "th"), 2);
	ck_assert_int_eq(number_of(event, "p"), number_of(op_of("job"), "id"));
	ck_assert_str_eq(name_of(lines, event, "i"), "disk");
}
END_TEST

/* It was not left here, and ends there: it is not the current op here any more. */
START_TEST(an_op_that_others_end_is_over_here_too)
{
	pthread_t thread;
	wcprof_op before, op;

	recording_begin();
	before = wcprof_v1_current();
	op = begin("job");
	pthread_create(&thread, NULL, work_for, &op);
	pthread_join(thread, NULL);
	ck_assert_uint_eq(wcprof_v1_current(), before);
	for (int i = 0; i < 100; i++) {
		op = begin("job");
		pthread_create(&thread, NULL, work_for, &op);
		pthread_join(thread, NULL);
	}
	ck_assert_uint_ne(record_io(1), 0);
	dump();
	ck_assert_uint_eq(count_events(lines, "k", "user"), 101);
	ck_assert_int_eq(number_of(json_array_get(lines, 0), "dropped_events"), 0);
}
END_TEST

START_TEST(waits_and_links)
{
	wcprof_op first, second;
	wcprof_wait wait;
	json_t *event;

	recording_begin();
	first = begin("first");
	second = begin("second");
	wait = wcprof_v1_wait(WCPROF_FOR_SINGLEFLIGHT, 0, "cache");
	wcprof_v1_wait_set_target(wait, first);
	wcprof_v1_wait_end(wait);
	wcprof_v1_wait_end(wait);
	wcprof_v1_link(WCPROF_LINK_RESULT, 0, first, "answer");
	end(second);
	end(first);
	dump();
	event = event_of(lines, "rs", "singleflight");
	ck_assert_uint_eq(count_events(lines, "e", "wait"), 1);
	ck_assert_int_eq(number_of(event, "p"), number_of(op_of("second"), "id"));
	ck_assert_int_eq(number_of(event, "t"), number_of(op_of("first"), "id"));
	ck_assert_str_eq(name_of(lines, event, "i"), "cache");
	event = event_of(lines, "lk", "result");
	ck_assert_int_eq(number_of(event, "p"), number_of(op_of("second"), "id"));
	ck_assert_int_eq(number_of(event, "t"), number_of(op_of("first"), "id"));
	ck_assert_str_eq(name_of(lines, event, "i"), "answer");
}
END_TEST

START_TEST(a_finished_op_keeps_its_times)
{
	uint64_t start_ns, end_ns;
	json_t *header, *op;
	json_int_t epoch_ns, error_ns;

	recording_begin();
	start_ns = wcprof_v1_now();
	usleep(20000);
	end_ns = wcprof_v1_now();
	ck_assert_uint_ne(wcprof_v1_record(0, WCPROF_KIND_LAZY, "past", "x", start_ns, end_ns,
					   WCPROF_EXECUTED, 3),
			  0);
	/* From the future, backwards, and before the beginning of all. */
	wcprof_v1_record(0, WCPROF_KIND_LAZY, "odd", NULL, UINT64_MAX, 0, WCPROF_OK, 0);
	wcprof_v1_record(0, WCPROF_KIND_LAZY, "odd", NULL, 0, UINT64_MAX, WCPROF_OK, 0);
	dump();
	header = json_array_get(lines, 0);
	op = op_of("past");
	epoch_ns = number_of(header, "epoch_mono_nano");
	error_ns = number_of(op, "s") + epoch_ns - (json_int_t)start_ns;
	ck_assert_msg(llabs(error_ns) < 1000000, "starts %lld ns off", (long long)error_ns);
	error_ns = number_of(op, "d") + epoch_ns - (json_int_t)end_ns;
	ck_assert_msg(llabs(error_ns) < 1000000, "ends %lld ns off", (long long)error_ns);
	ck_assert_str_eq(word_of(op, "o"), "executed");
	ck_assert_int_eq(number_of(op, "r"), 3);
	ck_assert_uint_eq(count_events(lines, "k", "lazy"), 3);
}
END_TEST

START_TEST(what_is_open_is_in_the_dump_as_open)
{
	wcprof_op op;

	recording_begin();
	op = begin("long");
	wcprof_v1_wait(WCPROF_FOR_SERVICE, op, "db");
	dump();
	ck_assert_ptr_nonnull(open_op_of("long"));
	ck_assert_uint_eq(json_array_size(json_object_get(json_array_get(lines, 0), "open_waits")),
			  1);
	ck_assert_ptr_null(op_of("long"));
	end(op);
	dump();
	ck_assert_ptr_null(open_op_of("long"));
	ck_assert_ptr_nonnull(op_of("long"));
}
END_TEST

/* It ends, at the moment when recording went off, and does not stay open for ever. */
START_TEST(an_op_that_ends_while_off_is_over)
{
	enum { PAUSE_NS = 20000000, SLACK_NS = 1000000 };
	wcprof_op op, next;
	json_int_t epoch_ns;
	uint64_t off_ns;

	recording_begin();
	op = begin("over");
	next = begin("goes on");
	switch_disable();
	off_ns = wcprof_v1_now();
	while (wcprof_v1_now() < off_ns + PAUSE_NS)
		continue;
	end(op);
	ck_assert_uint_eq(begin("unheard"), 0);
	ck_assert_int_eq(wcprof_v1_enabled(), 0);
	ck_assert_int_eq(switch_enable(), 0);
	ck_assert_uint_eq(wcprof_v1_current(), next);
	end(next);
	dump();
	epoch_ns = number_of(json_array_get(lines, 0), "epoch_mono_nano");
	ck_assert_int_lt(number_of(op_of("over"), "d") + epoch_ns, off_ns + SLACK_NS);
	ck_assert_int_gt(number_of(op_of("goes on"), "d") + epoch_ns, off_ns + PAUSE_NS - SLACK_NS);
	ck_assert_ptr_null(op_of("unheard"));
	ck_assert_ptr_null(open_op_of("over"));
}
END_TEST

static void *end_within_flows(void *unused)
{
	wcprof_v1_flow_begin();
	wcprof_v1_flow_begin();
	thread_end();
	return unused;
}

/* Pairs nest, and are one flow for the rest of the process. */
START_TEST(a_thread_that_ends_in_flows_ends_its_own)
{
	pthread_t thread;

	setenv("WCPROF_ENABLE", "0", 1);
	recording_begin();
	wcprof_v1_flow_begin();
	pthread_create(&thread, NULL, end_within_flows, NULL);
	pthread_join(thread, NULL);
	ck_assert(!recorder_is_off());
	wcprof_v1_flow_end();
	ck_assert(recorder_is_off());
}
END_TEST

static void *work_and_say_whether_recorded(void *argument)
{
	wcprof_op op = *(wcprof_op *)argument;
	bool before = record_io(1) != 0, during;

	wcprof_v1_adopt(op);
	during = record_io(1) != 0;
	wcprof_v1_leave(op);
	return (void *)(uintptr_t)((before ? 1 : 0) | (during ? 2 : 0) | (record_io(1) ? 4 : 0));
}

START_TEST(a_flow_is_recorded_while_recording_is_off)
{
	pthread_t thread;
	wcprof_op op, none;
	void *said;

	setenv("WCPROF_ENABLE", "0", 1);
	recording_begin();
	ck_assert_uint_eq(record_io(1), 0);
	wcprof_v1_flow_begin();
	ck_assert_int_eq(wcprof_v1_enabled(), 1);
	ck_assert(!gate_is_on());
	ck_assert_uint_ne(record_io(1), 0);
	wcprof_v1_flow_begin();
	op = begin("request");
	wcprof_v1_leave(op);
	wcprof_v1_flow_end();
	ck_assert_uint_ne(record_io(1), 0);
	wcprof_v1_flow_end();
	ck_assert_uint_eq(record_io(1), 0);
	/* It goes on for as long as the op, on the threads that work for it. */
	pthread_create(&thread, NULL, work_and_say_whether_recorded, &op);
	pthread_join(thread, &said);
	ck_assert_uint_eq((uintptr_t)said, 2);
	ck_assert(!recorder_is_off());
	end(op);
	ck_assert(recorder_is_off());
	none = 0;
	pthread_create(&thread, NULL, work_and_say_whether_recorded, &none);
	pthread_join(thread, &said);
	ck_assert_uint_eq((uintptr_t)said, 0);
	dump();
	ck_assert_uint_eq(count_events(lines, "k", "io"), 3);
	ck_assert_ptr_nonnull(op_of("request"));
}
END_TEST

START_TEST(a_thread_that_ends_in_a_flow_ends_it)
{
	setenv("WCPROF_ENABLE", "0", 1);
	recording_begin();
	wcprof_v1_flow_begin();
	wcprof_v1_flow_begin();
	ck_assert(!recorder_is_off());
	thread_end();
	ck_assert(recorder_is_off());
}
END_TEST

START_TEST(a_forked_child_has_nothing_of_its_parents)
{
	wcprof_op op;
	int status;
	pid_t pid;

	recording_begin();
	op = begin("parents");
	recorder_fork_prepare();
	pid = fork();
	if (pid == 0) {
		recorder_fork_child();
		recorder_wake_up(false);
		/* Its own first ops have the same ids. */
		wcprof_op own = begin("own");
		bool is_right = own && own != op && wcprof_v1_enabled();
		end(op);
		is_right = is_right && wcprof_v1_current() == own;
		arena_unlink(recorder_arena);
		_exit(is_right ? 0 : 1);
	}
	recorder_fork_parent();
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	end(op);
	dump();
	ck_assert_ptr_nonnull(op_of("parents"));
}
END_TEST

static wcprof_op shared_op;

static void annotate(int signal)
{
	(void)signal;
	end(shared_op);
	shared_op = begin("handler");
	end(begin("handler"));
}

/* Handlers come at any moment of the program's own annotations. */
START_TEST(signal_handlers_may_annotate)
{
	struct sigaction action = { .sa_handler = annotate };
	sigset_t set;
	pid_t pid = getpid(), child;

	recording_begin();
	sigaction(SIGUSR1, &action, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	child = fork();
	if (child == 0) {
		for (int i = 0; i < 2000; i++) {
			kill(pid, SIGUSR1);
			usleep(20);
		}
		_exit(0);
	}
	while (waitpid(child, NULL, WNOHANG) == 0) {
		wcprof_op op = begin("work");

		wcprof_v1_set_ident(op, "x");
		wcprof_v1_wait_end(wcprof_v1_wait(WCPROF_FOR_LOCK, op, "l"));
		end(op);
	}
	sigprocmask(SIG_BLOCK, &set, NULL);
	end(shared_op);
	dump();
	ck_assert_ptr_nonnull(op_of("handler"));
	ck_assert_ptr_null(open_op_of("work"));
}
END_TEST

START_TEST(more_open_ops_than_places_are_counted)
{
	enum { TOO_MANY = HANDLES_MAX + 100 };
	static wcprof_op ops[TOO_MANY];
	int refused = 0;

	recording_begin();
	for (int i = 0; i < TOO_MANY; i++) {
		ops[i] = begin("many");
		wcprof_v1_leave(ops[i]);
		refused += ops[i] == 0;
	}
	ck_assert_int_ge(refused, 100);
	for (int i = 0; i < TOO_MANY; i++)
		end(ops[i]);
	dump();
	ck_assert_uint_eq(count_events(lines, "k", "user"), (size_t)(TOO_MANY - refused));
	ck_assert_int_eq(number_of(json_array_get(lines, 0), "dropped_events"), refused);
}
END_TEST

SUITE()
{
	FIXTURE(NULL, teardown);
	TEST(an_op_has_all_that_was_said);
	TEST(the_null_handle_does_nothing);
	TEST(an_op_ends_once);
	TEST(an_op_is_handed_over);
	TEST(an_op_that_others_end_is_over_here_too);
	TEST(waits_and_links);
	TEST(a_finished_op_keeps_its_times);
	TEST(what_is_open_is_in_the_dump_as_open);
	TEST(an_op_that_ends_while_off_is_over);
	TEST(a_thread_that_ends_in_flows_ends_its_own);
	TEST(a_flow_is_recorded_while_recording_is_off);
	TEST(a_thread_that_ends_in_a_flow_ends_it);
	TEST(a_forked_child_has_nothing_of_its_parents);
	TEST(signal_handlers_may_annotate);
	TEST(more_open_ops_than_places_are_counted);
}
