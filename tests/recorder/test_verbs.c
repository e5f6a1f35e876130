/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, the control protocol does not do what it says, or garbage is taken for an
 * order. */
#include "verbs.h"

#include "handout.h"
#include "recording.h"
#include "suite.h"
#include "watch.h"

static struct client client;

/* As a new client's, which has gone away before it is answered. */
static const char *run(const char *line, size_t bytes)
{
	handout_leave();
	handout_reset_answer(&client);
	client.is_dumping = false;
	verbs_run(line, bytes, &client);
	ck_assert(!client.answer.overflowed);
	client.answer_bytes[client.answer.used] = '\0';
	return client.answer_bytes;
}

static void setup(void)
{
	client.fd = -1;
	setenv("WCPROF_ENABLE", "0", 1);
	recording_begin();
}

static void teardown(void)
{
	handout_leave();
	recording_end();
}

static const struct {
	const char *line, *answer;
} rows[] = {
	/*  0 */ { "PING", "OK {\"pid\":" },
	/*  1 */ { "STATUS", "OK {\"pid\":" },
	/*  2 */ { "ENABLE", "OK {\"pid\":" },
	/*  3 */ { "DISABLE", "OK {\"pid\":" },
	/*  4 */ { "RESET", "OK {\"pid\":" },
	/*  5 */ { "HELP", "OK {\"PING\":" },
	/*  6 */ { "", "ERR unknown " },
	/*  7 */ { "ping", "ERR unknown " },
	/*  8 */ { "PINGS", "ERR unknown " },
	/*  9 */ { " PING", "ERR unknown " },
	/* 10 */ { "PIN", "ERR unknown " },
	/* 11 */ { "PING  ", "OK {\"pid\":" },
	/* 12 */ { "PING x", "ERR argument " },
	/* 13 */ { "PING flush=0", "ERR argument " },
	/* 14 */ { "DUMP flush=2", "ERR argument " },
	/* 15 */ { "DUMP flush=", "ERR argument " },
	/* 16 */ { "DUMP =0", "ERR argument " },
	/* 17 */ { "DUMP flus=0", "ERR argument " },
	/* 18 */ { "DUMP flush=0x", "ERR argument " },
	/* 19 */
	{ "DUMP flush=0 flush=0 flush=0 flush=0 flush=0 flush=0 flush=0 flush=0 flush=0",
	  "ERR argument " },
	/* 20 */ { "DUMP", "ERR nothing " },
	/* 21 */ { "GET / HTTP/1.1", "ERR unknown " },
	/* 22 */ { "\x01\x02\xff", "ERR unknown " },
	/* 23 */ { "SET", "OK {\"pid\":" },
	/* 24 */ { "SET holds=all stacks=0 thread=io-* port=80 flows=0", "OK {\"pid\":" },
	/* 25 */ { "ENABLE min_io_ns=100 holds=none", "OK {\"pid\":" },
	/* 26 */ { "SET holds=some", "ERR argument holds is contended, all or none\n" },
	/* 27 */ { "ENABLE port=65536", "ERR argument port is a number from 0 to 65535\n" },
	/* 28 */
	{ "SET color=red",
	  "ERR argument \"color\" is no key of SET, which takes "
	  "keep_s|budget|lease_s|thread|port|flows|holds|stacks|sample_hz|sample_when|min_io_ns|"
	  "peek\n" },
	/* 29 */ { "PING x=1", "ERR argument \"x\" is no key of PING, which takes none\n" },
	/* 30 */ { "SET \x01\x1b=1", "ERR argument \"\\u0001\\u001b\" is no key of SET" },
	/* 31 */ { "ENABLE sample_hz=0", "OK {\"pid\":" },
	/* 32 */ { "ENABLE sample_hz=1001", "ERR argument " },
	/* 33 */ { "ENABLE sample_hz=x", "ERR argument " },
	/* 34 */ { "SET sample_when=request>p95,lock", "OK {\"pid\":" },
	/* 35 */
	{ "SET sample_when=reqest", "ERR argument sample_when is a condition as wcprof-enable(1) "
				    "has them: \"reqest\" at byte 1 is none of request, " },
	/* 36 */ { "DUMP last_ms=10", "ERR argument " },
	/* 37 */ { "DUMP flush=0 last_ms=0", "ERR argument " },
	/* 38 */ { "DUMP flush=0 last_ms=1x", "ERR argument " },
	/* 39 */ { "DUMP flush=0 last_ms=10", "ERR nothing " },
	/* 40 */ { "PROBES lease_s=0", "ERR argument lease_s is a number from 1 to 86400\n" },
	/* 41 */ { "PROBES lease_s=20", "OK {\"pid\":" },
	/* 42 */ { "PROBE lease_s=1x", "ERR argument lease_s is a number from 1 to 86400\n" },
	/* 43 */ { "PROBE lease_s=86401", "ERR argument lease_s " },
	/* 44 */ { "PROBE lease_s=1", "ERR argument no such order: " },
};

START_TEST(a_line_has_one_answer)
{
	const char *answer = run(rows[_i].line, strlen(rows[_i].line));

	ck_assert_msg(strncmp(answer, rows[_i].answer, strlen(rows[_i].answer)) == 0, "%s", answer);
	ck_assert_ptr_eq(strchr(answer, '\n'), answer + strlen(answer) - 1);
	ck_assert(!client.is_dumping && !handout_is_busy());
	if (strncmp(answer, "OK ", 3) == 0)
		recording_keep(json_loads(answer + 3, 0, NULL));
}
END_TEST

START_TEST(on_and_off)
{
	ck_assert(recorder_is_off());
	ck_assert_ptr_nonnull(strstr(run("STATUS", 6), "\"recording\":\"off\""));
	run("ENABLE", 6);
	ck_assert_uint_ne(record_io(1), 0);
	ck_assert_ptr_nonnull(strstr(run("STATUS", 6), "\"recording\":\"on\""));
	ck_assert_ptr_nonnull(strstr(run("STATUS", 6), "\"events\":1,"));
	run("DISABLE", 7);
	ck_assert_uint_eq(record_io(1), 0);
	run("RESET", 5);
	ck_assert_ptr_nonnull(strstr(run("STATUS", 6), "\"events\":0,"));
}
END_TEST

/* All live options are keys of both verbs, and HELP and STATUS show them. */
static const char *const keys[] = { "thread", "port",      "flows",       "holds",
				    "stacks", "sample_hz", "sample_when", "min_io_ns" };

START_TEST(a_setting_can_be_set_and_seen)
{
	char line[64], shown[32];

	snprintf(line, sizeof(line), "SET %s=?", keys[_i]);
	ck_assert_ptr_null(strstr(run(line, strlen(line)), "no key"));
	snprintf(line, sizeof(line), "ENABLE %s=?", keys[_i]);
	ck_assert_ptr_null(strstr(run(line, strlen(line)), "no key"));
	snprintf(shown, sizeof(shown), "\"%s\":", keys[_i]);
	ck_assert_ptr_nonnull(strstr(run("STATUS", 6), shown));
	snprintf(shown, sizeof(shown), "\"SET %s=\":", keys[_i]);
	ck_assert_ptr_nonnull(strstr(run("HELP", 4), shown));
}
END_TEST

/* One wrong value, and nothing is changed, nor turned on. */
START_TEST(a_wrong_value_changes_nothing)
{
	ck_assert(strncmp(run("ENABLE holds=all port=x", 23), "ERR argument port ", 18) == 0);
	ck_assert(recorder_is_off());
	ck_assert_uint_eq(recorder_holds, HOLDS_CONTENDED);
	run("ENABLE holds=all", 16);
	ck_assert(!recorder_is_off());
	ck_assert_uint_eq(recorder_holds, HOLDS_ALL);
}
END_TEST

START_TEST(a_dump_flushes_unless_told_not_to)
{
	run("ENABLE", 6);
	ck_assert_str_eq(run("DUMP", 4), "");
	ck_assert(client.is_dumping && client.flush && !client.wants_ack);
	ck_assert_str_eq(run("DUMP flush=0", 12), "");
	ck_assert(client.is_dumping && !client.flush);
	run("DUMP flush=1 ack=1", 18);
	ck_assert(client.is_dumping && client.flush && client.wants_ack);
}
END_TEST

START_TEST(one_dump_at_a_time)
{
	struct client other = { .fd = -1 };

	run("ENABLE", 6);
	run("DUMP", 4);
	handout_reset_answer(&other);
	verbs_run("DUMP", 4, &other);
	ck_assert(!other.is_dumping);
	ck_assert_int_eq(strncmp(other.answer.bytes, "ERR busy ", 9), 0);
}
END_TEST

START_TEST(stacks_are_answered_later)
{
	ck_assert_str_eq(run("STACKS", 6), "");
	ck_assert(handout_is_asking(&client) && !client.is_dumping);
	run("PING", 4);
	ck_assert(!handout_is_asking(&client));
	ck_assert(strncmp(run("STACKS all=1", 12), "ERR argument ", 13) == 0);
	ck_assert(!handout_is_asking(&client));
}
END_TEST

/* While threads record: nothing crashes, nothing deadlocks, and it ends up as it was told last. */
static uint32_t stop;

static void *work(void *unused)
{
	while (!load_relaxed(&stop))
		record_io(1);
	thread_end();
	return unused;
}

START_TEST(switching_a_thousand_times_is_harmless)
{
	pthread_t threads[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	for (int i = 0; i < 1000; i++) {
		run("ENABLE", 6);
		if (i % 16 == 0)
			run("RESET", 5);
		run(i % 2 ? "SET thread=x* holds=all" : "SET thread= holds=none", i % 2 ? 23 : 22);
		run("DISABLE", 7);
	}
	store_relaxed(&stop, 1);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	ck_assert(recorder_is_off());
	run("ENABLE thread=", 14);
	ck_assert_uint_ne(record_io(1), 0);
	recording_dump(true);
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	LOOP(a_line_has_one_answer, 0, 45);
	EACH(a_setting_can_be_set_and_seen, keys);
	TEST(a_wrong_value_changes_nothing);
	TEST(on_and_off);
	TEST(a_dump_flushes_unless_told_not_to);
	TEST(one_dump_at_a_time);
	TEST(stacks_are_answered_later);
	TEST(switching_a_thousand_times_is_harmless);
}
