/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, something is recorded that nobody asked for, or nothing although somebody did. */
#include "switch.h"

#include <linux/seccomp.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recording.h"
#include "socket.h"
#include "suite.h"

static void setup(void)
{
	setenv("WCPROF_ENABLE", "0", 1);
	recording_begin();
}

static void teardown(void)
{
	recording_end();
}

/* A step, and whether the gate is open then. */
static const struct {
	char what; /* e, d: on, off; b, f: a flow begins, ends; c, u: confined, no more */
	bool is_open;
} walks[][8] = {
	/* 0 */ { { 'e', true }, { 'd', false }, { 'e', true }, { 'd', false } },
	/* 1 */ { { 'b', true }, { 'b', true }, { 'f', true }, { 'f', false } },
	/* 2 */ { { 'b', true }, { 'e', true }, { 'f', true }, { 'd', false } },
	/* 3 */ { { 'e', true }, { 'b', true }, { 'd', true }, { 'f', false } },
	/* 4 */ { { 'e', true }, { 'c', false }, { 'u', true }, { 'd', false } },
	/* 5 */ { { 'b', true }, { 'c', false }, { 'u', true }, { 'f', false } },
	/* 6: an end too many */ { { 'f', false }, { 'b', true }, { 'f', false } },
	/* 7 */ { { 'c', false }, { 'u', false }, { 'e', true } },
};

static void step(char what)
{
	switch (what) {
	case 'e':
		ck_assert_int_eq(switch_enable(), 0);
		break;
	case 'd':
		switch_disable();
		break;
	case 'b':
		ck_assert(switch_flow_begins());
		break;
	case 'f':
		switch_flow_ends();
		break;
	case 'c':
		switch_confine(true);
		break;
	default:
		switch_confine(false);
		break;
	}
}

START_TEST(the_gate_is_open_while_anybody_wants_it)
{
	for (int i = 0; walks[_i][i].what; i++) {
		step(walks[_i][i].what);
		ck_assert_int_eq(recorder_gate.mode, walks[_i][i].is_open ? GATE_ON : GATE_OFF);
		/* This thread is in no flow. */
		ck_assert_int_eq(record_io(1) != 0, walks[_i][i].is_open && gate_is_on());
	}
}
END_TEST

START_TEST(a_filter_lets_nothing_begin)
{
	switch_confine(true);
	ck_assert_int_ne(switch_enable(), 0);
	ck_assert(!switch_flow_begins());
	ck_assert(!gate_is_on() && recorder_is_off());
	ck_assert_ptr_null(recorder_arena);
}
END_TEST

START_TEST(flows_can_be_forbidden)
{
	ck_assert(switch_flow_begins());
	switch_flow_ends();
	switch_allow_flows(false);
	ck_assert(!switch_flow_begins());
	switch_allow_flows(true);
	ck_assert(switch_flow_begins());
}
END_TEST

static void *flow_often(void *unused)
{
	for (int i = 0; i < 2000; i++) {
		if (!switch_flow_begins())
			return unused;
		if (recorder_gate.mode != GATE_ON)
			return unused;
		switch_flow_ends();
	}
	return NULL;
}

START_TEST(flows_of_several_threads_are_all_counted)
{
	pthread_t threads[4];
	void *failed;

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, flow_often, threads);
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], &failed);
		ck_assert_ptr_null(failed);
	}
	ck_assert(recorder_is_off());
}
END_TEST

static atomic_bool is_over;
static atomic_uint handled;

static void on_signal(int unused)
{
	(void)unused;
	if (switch_flow_begins())
		switch_flow_ends();
	handled++;
}

static void *send_signals(void *to)
{
	while (!is_over)
		pthread_kill(*(pthread_t *)to, SIGUSR1);
	return NULL;
}

/* A handler at any moment that calls the same: it would wait for its own thread. */
START_TEST(a_handler_waits_for_nobody)
{
	struct sigaction action = { .sa_handler = on_signal };
	pthread_t self = pthread_self(), sender;

	sigaction(SIGUSR1, &action, NULL);
	ck_assert(switch_flow_begins());
	pthread_create(&sender, NULL, send_signals, &self);
	while (handled < 20000) {
		ck_assert(switch_flow_begins());
		switch_flow_ends();
	}
	is_over = true;
	pthread_join(sender, NULL);
	switch_flow_ends();
	ck_assert(recorder_is_off());
}
END_TEST

/* The kernel kills it for any other call than read(), write() and exit(). */
START_TEST(under_a_filter_a_flow_ends_without_a_call)
{
	pid_t child;
	int status = -1;

	ck_assert(switch_flow_begins());
	switch_confine(true);
	child = fork();
	if (child == 0) {
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
		switch_flow_ends();
		syscall(SYS_exit, 0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	switch_confine(false);
	switch_flow_ends();
}
END_TEST

START_TEST(the_arena_says_where_the_process_listens)
{
	char before[SOCKET_PATH_BYTES] = "/somewhere/early", after[SOCKET_PATH_BYTES] = "/late";

	switch_listens_at(before);
	ck_assert_int_eq(switch_enable(), 0);
	ck_assert_str_eq(recorder_arena->socket, before);
	switch_listens_at(after);
	ck_assert_str_eq(recorder_arena->socket, after);
}
END_TEST

/* As in a child: its parent's flows are none of its own. */
START_TEST(a_fork_begins_anew)
{
	struct clock_pair now = clock_take_pair();

	ck_assert_int_eq(switch_enable(), 0);
	ck_assert(switch_flow_begins());
	switch_fork_child(&now);
	ck_assert(!gate_is_on());
	switch_disable();
	ck_assert(recorder_is_off());
}
END_TEST

START_TEST(a_late_recording_begins_when_it_is_turned_on)
{
	uint64_t before;

	switch_prepare();
	ck_assert_ptr_nonnull(recorder_arena);
	ck_assert_uint_ne(recorder_gate.mode, GATE_ON);
	before = clock_now_ticks();
	ck_assert_int_eq(switch_enable(), 0);
	ck_assert_uint_ge(recorder_arena->clock.base.ticks, before);
	ck_assert_uint_ge(recorder_arena->process_op.start, before);
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	LOOP(the_gate_is_open_while_anybody_wants_it, 0, 8);
	TEST(a_filter_lets_nothing_begin);
	TEST(flows_can_be_forbidden);
	TEST(flows_of_several_threads_are_all_counted);
	TEST(a_handler_waits_for_nobody);
	/* ThreadSanitizer has a thread of its own, which the child's last call does not end. */
	if (!SANITIZED)
		TEST(under_a_filter_a_flow_ends_without_a_call);
	TEST(the_arena_says_where_the_process_listens);
	TEST(a_fork_begins_anew);
	TEST(a_late_recording_begins_when_it_is_turned_on);
}
