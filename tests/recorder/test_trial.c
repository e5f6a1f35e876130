/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a trial outlives its connection or its time, or leaves something behind. */
#include "trial.h"

#include <sys/wait.h>

#include "asking.h"
#include "clients.h"
#include "settings.h"
#include "slow.h"
#include "stacks.h"
#include "suite.h"
#include "switch.h"
#include "watch.h"

enum { MS = 1000000, SLEEPS = 20 };

static void off(void)
{
	setenv("WCPROF_ENABLE", "0", 1);
	setup();
}

static const char *ask(int fd, const char *line)
{
	send_text(fd, line, strlen(line));
	return read_line(fd);
}

static json_t *answer_of(int fd, const char *line)
{
	const char *answer = ask(fd, line);

	ck_assert_msg(strncmp(answer, "OK ", 3) == 0, "%s: %s", line, answer);
	return recording_keep(json_loads(answer + 3, 0, NULL));
}

static void refused(int fd, const char *line, const char *how)
{
	const char *answer = ask(fd, line);

	ck_assert_msg(strncmp(answer, how, strlen(how)) == 0, "%s: %s", line, answer);
}

static uint64_t count(int fd, const char *key)
{
	return (uint64_t)number_of(answer_of(fd, "SLOW\n"), key);
}

static uint32_t stack_here(void)
{
	uint64_t pc = (uint64_t)(uintptr_t)off;

	return stack_intern(&pc, 1);
}

static void sleep_once(void)
{
	struct timespec time = { 0, 100000 };
	struct self *self = self_enter();
	uint64_t op = self ? op_begin(self, KIND_SLEEP, CALL_READ, 0, -1, stack_here(),
				      __builtin_frame_address(0))
			   : 0;

	self_leave(self);
	nanosleep(&time, NULL);
	op_takes_longer(op, false);
	self = op ? self_enter() : NULL;
	if (self)
		op_end(self, op, OUTCOME_OK, 0);
	self_leave(self);
}

/* A trial with a rule for the sleeps, recording. */
static int begin_trial(const char *how_long)
{
	int fd = connect_to_recorder();
	char line[100];
	uint64_t pc = (uint64_t)(uintptr_t)off;

	answer_of(fd, how_long);
	answer_of(fd, "ENABLE holds=all min_io_ns=5\n");
	sleep_once();
	snprintf(line, sizeof(line), "RULES call=%llx progress=%llx\n",
		 (unsigned long long)slow_key_of(recorder_arena, &pc, 1),
		 (unsigned long long)slow_key_of(recorder_arena, &pc, 1));
	answer_of(fd, line);
	return fd;
}

/* The control thread is told by the kernel that the connection is gone, and then does this. */
static void until_over(void)
{
	while (load_relaxed(&recorder_gate.slowed) != 0 ||
	       load_acquire(&recorder_gate.mode) == GATE_ON ||
	       snapshot_pending(recorder_arena) != 0)
		pause_ms(1);
}

static void is_as_before(void)
{
	uint64_t before = slow_count(recorder_arena).slowed;

	until_over();
	ck_assert_uint_eq(load_relaxed(&slow.window), 0);
	ck_assert_uint_eq(load_relaxed(&recorder_holds), HOLDS_CONTENDED);
	ck_assert_uint_eq(load_relaxed(&op_min_io_ticks), 0);
	sleep_once();
	ck_assert_uint_eq(slow_count(recorder_arena).slowed, before);
}

START_TEST(a_trial_has_two_arms)
{
	int fd = begin_trial("TRY ms=60000\n");
	json_t *before = answer_of(fd, "SLOW factor=1 ms=60000\n"), *after;

	for (int i = 0; i < SLEEPS; i++)
		sleep_once();
	after = answer_of(fd, "SLOW factor=2 ms=60000\n");
	ck_assert_int_eq(number_of(after, "progress") - number_of(before, "progress"), SLEEPS);
	ck_assert_int_eq(number_of(after, "slowed"), SLEEPS);
	ck_assert_int_eq(number_of(after, "extra_ns"), 0);
	ck_assert_int_gt(number_of(after, "mono_ns"), number_of(before, "mono_ns"));
	before = after;
	for (int i = 0; i < SLEEPS; i++)
		sleep_once();
	after = answer_of(fd, "SLOW\n");
	ck_assert_int_eq(number_of(after, "progress") - number_of(before, "progress"), SLEEPS);
	ck_assert_int_eq(number_of(after, "slowed"), 2 * SLEEPS);
	ck_assert_int_ge(number_of(after, "extra_ns"), SLEEPS * MS / 10 - 1000 * SLEEPS);
	ck_assert_int_eq(number_of(after, "refused"), 0);
	close(fd);
	is_as_before();
}
END_TEST

/* A stack that comes up during a window is found by the control thread. */
START_TEST(new_stacks_are_looked_at)
{
	uint64_t pc = (uint64_t)(uintptr_t)off + 1, key;
	int fd = connect_to_recorder();
	uint32_t stack;
	char line[100];

	answer_of(fd, "TRY ms=60000\n");
	answer_of(fd, "ENABLE\n");
	key = slow_key_of(recorder_arena, &pc, 1);
	snprintf(line, sizeof(line), "RULES progress=1,%llX,3\n", (unsigned long long)key);
	answer_of(fd, line);
	stack = stack_intern(&pc, 1);
	while (!(load_relaxed((uint8_t *)load_acquire(&slow.of_stack) + stack) & SLOW_PROGRESS))
		pause_ms(1);
	close(fd);
	until_over();
}
END_TEST

START_TEST(it_ends_with_its_connection)
{
	int fd = begin_trial("TRY ms=60000\n");

	answer_of(fd, "SLOW factor=10 ms=60000\n");
	close(fd);
	is_as_before();
}
END_TEST

START_TEST(it_ends_in_time)
{
	int fd = begin_trial("TRY ms=100\n");

	is_as_before();
	refused(fd, "SLOW\n", "ERR trial ");
	answer_of(fd, "PING\n");
	answer_of(fd, "TRY ms=1000\n");
	close(fd);
}
END_TEST

/* A window is over when its time is, whether the control thread runs or not. */
START_TEST(a_window_is_no_longer_than_its_trial)
{
	int fd = begin_trial("TRY ms=3000\n");
	uint64_t until, now;

	answer_of(fd, "SLOW factor=2 ms=60000\n");
	until = load_relaxed(&slow.window);
	now = clock_now_ticks();
	ck_assert_uint_lt(
		(uint64_t)(((unsigned __int128)(until - now) * load_relaxed(&slow.rate)) >> 32),
		UINT64_C(3001) * MS);
	close(fd);
	until_over();
}
END_TEST

START_TEST(there_is_one_trial)
{
	int fd = begin_trial("TRY ms=60000\n"), other = connect_to_recorder();

	refused(fd, "TRY ms=5\n", "ERR busy ");
	refused(other, "TRY ms=5\n", "ERR busy ");
	refused(other, "RULES clear=1\n", "ERR trial ");
	refused(other, "SLOW factor=2 ms=5\n", "ERR trial ");
	refused(other, "SLOW\n", "ERR trial ");
	refused(other, "ENABLE min_io_ns=7\n", "ERR trial ");
	refused(other, "SET min_io_ns=7\n", "ERR trial ");
	refused(other, "DISABLE\n", "ERR trial ");
	refused(other, "RESET\n", "ERR trial ");
	ck_assert_int_eq(load_acquire(&recorder_gate.mode), GATE_ON);
	/* ThreadSanitizer does not see that an answer comes between. */
	ck_assert(SANITIZED || recorder_options.min_io_ns == 5);
	close(other);
	answer_of(fd, "PING\n");
	ck_assert_uint_eq(count(fd, "slowed"), 0);
	ck_assert_uint_ne(load_relaxed(&recorder_gate.slowed), 0);
	close(fd);
	until_over();
}
END_TEST

START_TEST(somebody_elses_recording_is_left_alone)
{
	int fd = connect_to_recorder();

	answer_of(fd, "ENABLE\n");
	refused(fd, "TRY ms=5\n", "ERR recording ");
	close(fd);
	ck_assert_int_eq(load_acquire(&recorder_gate.mode), GATE_ON);
}
END_TEST

/* A flow that the program records is no trial's to discard. */
START_TEST(a_flow_of_the_programs_is_left_alone)
{
	int fd = connect_to_recorder();

	ck_assert(switch_flow_begins());
	refused(fd, "TRY ms=5\n", "ERR recording ");
	switch_flow_ends();
	answer_of(fd, "TRY ms=5\n");
	close(fd);
}
END_TEST

/* A dump of another connection's is under way when the trial ends: its events go later. */
START_TEST(events_are_discarded_after_a_dump_under_way)
{
	int fd = begin_trial("TRY ms=60000\n"), reader = connect_to_recorder();
	char byte;

	send_text(reader, "DUMP flush=0\n", 13);
	ck_assert_int_eq(read(reader, &byte, 1), 1);
	close(fd);
	while (load_relaxed(&recorder_gate.slowed) != 0)
		pause_ms(1);
	close(reader);
	is_as_before();
}
END_TEST

/* Those of the recording after it are not discarded for the trial that was before. */
START_TEST(a_recording_after_the_trial_keeps_its_events)
{
	int fd = begin_trial("TRY ms=60000\n"), reader = connect_to_recorder();
	uint64_t pending;
	char byte;

	send_text(reader, "DUMP flush=0\n", 13);
	ck_assert_int_eq(read(reader, &byte, 1), 1);
	close(fd);
	while (load_relaxed(&recorder_gate.slowed) != 0)
		pause_ms(1);
	fd = connect_to_recorder();
	while (strncmp(ask(fd, "ENABLE\n"), "OK ", 3) != 0)
		pause_ms(1);
	sleep_once();
	pending = snapshot_pending(recorder_arena);
	close(reader);
	/* Two turns of the control thread's. */
	for (int i = 0; i < 2; i++)
		while (strncmp(ask(fd, "DUMP flush=2\n"), "ERR argument", 12) != 0)
			pause_ms(1);
	ck_assert_uint_ge(snapshot_pending(recorder_arena), pending);
	close(fd);
}
END_TEST

/* A child that is born in a trial; what it returns is its exit status. */
static void fork_in_a_trial(bool with_control_thread, int (*child)(void))
{
	int fd = begin_trial("TRY ms=60000\n"), status;
	pid_t pid = fork();

	if (pid == 0) {
		recorder_fork_child();
		recorder_wake_up(with_control_thread);
		_exit(child());
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	close(fd);
	is_as_before();
}

static int wait_for_settings(void)
{
	while (recorder_options.min_io_ns != 0 || load_relaxed(&op_min_io_ticks) != 0)
		pause_ms(1);
	recording_end();
	return 0;
}

/* Nobody would take them back. */
START_TEST(a_child_has_the_settings_from_before)
{
	fork_in_a_trial(true, wait_for_settings);
}
END_TEST

static const char *const wrong[] = {
	"TRY\n",
	"TRY ms=0\n",
	"TRY ms=3600001\n",
	"TRY ms=x\n",
	"TRY s=1\n",
	"RULES call=\n",
	"RULES call=x\n",
	"RULES call=0\n",
	"RULES call=1,\n",
	"RULES call=,1\n",
	"RULES call=1,,2\n",
	"RULES call=12345678901234567\n",
	"RULES clear=0\n",
	"RULES clear=1 call=x\n",
	"RULES other=1\n",
	"SLOW factor=2\n",
	"SLOW ms=2\n",
	"SLOW factor=0.999 ms=5\n",
	"SLOW factor=10.001 ms=5\n",
	"SLOW factor=1.0001 ms=5\n",
	"SLOW factor=1. ms=5\n",
	"SLOW factor=.5 ms=5\n",
	"SLOW factor=2 ms=60001\n",
	"SLOW factor=-2 ms=5\n",
};

START_TEST(a_wrong_line_changes_nothing)
{
	int fd = connect_to_recorder();

	answer_of(fd, "TRY ms=60000\n");
	answer_of(fd, "RULES call=1 progress=ffffffffffffffff\n");
	answer_of(fd, "SLOW factor=1.5 ms=60000\n");
	uint64_t window = load_relaxed(&slow.window);
	ck_assert_uint_eq(window & SLOW_FACTOR_MASK, 500);
	refused(fd, wrong[_i], "ERR ");
	ck_assert_uint_eq(load_relaxed(&slow.window), window);
	ck_assert_uint_ne(load_relaxed(&recorder_gate.slowed), 0);
	close(fd);
}
END_TEST

static int is_recorded(void)
{
	return load_acquire(&recorder_gate.mode) == GATE_ON;
}

/* Nobody would turn its recording off, and a trial of its own begins with none. Without a control
 * thread, whose socket might outlive the child. */
START_TEST(a_child_of_the_trial_is_not_recorded)
{
	fork_in_a_trial(false, is_recorded);
}
END_TEST

static void by_file(void)
{
	static char name[64];
	FILE *file;

	snprintf(name, sizeof(name), "/tmp/wcprof-test-file-%d", getpid());
	file = fopen(name, "w");
	fprintf(file, "factor 2\ncall 1\n");
	fclose(file);
	setenv("WCPROF_SLOW", name, 1);
	setup();
	/* The program begins when its rules are in force. */
	ck_assert_uint_ne(load_relaxed(&slow.window), 0);
}

static void by_file_end(void)
{
	unlink(recorder_options.slow);
	teardown();
}

START_TEST(a_file_is_for_children_too)
{
	int fd = connect_to_recorder(), status;
	pid_t pid;

	refused(fd, "TRY ms=5\n", "ERR recording ");
	answer_of(fd, "DISABLE\n");
	refused(fd, "TRY ms=5\n", "ERR recording ");
	answer_of(fd, "ENABLE\n");
	close(fd);
	pid = fork();
	if (pid == 0) {
		recorder_fork_child();
		recorder_wake_up(true);
		while (load_relaxed(&slow.window) == 0)
			pause_ms(1);
		recording_end();
		_exit(load_relaxed(&recorder_gate.slowed) == 1 ? 0 : 1);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

SUITE()
{
	FIXTURE(by_file, by_file_end);
	/* ThreadSanitizer allows no threads in a forked child. */
	if (!SANITIZED)
		TEST(a_file_is_for_children_too);
	FIXTURE(off, teardown);
	TEST(a_trial_has_two_arms);
	TEST(new_stacks_are_looked_at);
	TEST(it_ends_with_its_connection);
	TEST(it_ends_in_time);
	TEST(a_window_is_no_longer_than_its_trial);
	TEST(there_is_one_trial);
	TEST(somebody_elses_recording_is_left_alone);
	TEST(a_flow_of_the_programs_is_left_alone);
	TEST(events_are_discarded_after_a_dump_under_way);
	TEST(a_recording_after_the_trial_keeps_its_events);
	if (!SANITIZED)
		TEST(a_child_has_the_settings_from_before);
	TEST(a_child_of_the_trial_is_not_recorded);
	EACH(a_wrong_line_changes_nothing, wrong);
}
