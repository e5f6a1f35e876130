/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong if a saving where bytes go through pipes is not what the change would really bring.
 */
#include "replayed.h"
#include "suite.h"

START_TEST(a_reader_waits_for_its_bytes)
{
	struct sketch sketch;

	/* one asks, two answers after 6 ms, one thinks for 4 ms: a closed loop over a connection */
	sketch_begin(&sketch);
	sketch_join_two(&sketch, "one", "two", 100, 96);
	for (int i = 0; i < 10; i++) {
		double ask_ms = 10 * i;

		sketch_io(&sketch, 1, "write", "tcp a>b", 10, ask_ms, ask_ms);
		sketch_io(&sketch, 2, "read", "tcp b>a", 10, i ? ask_ms - 4 : 0,
			  ask_ms + (i ? 0 : 0.001));
		sketch_sleep(&sketch, 2, "serve", ask_ms + (i ? 0 : 0.001), ask_ms + 6);
		sketch_io(&sketch, 2, "write", "tcp b>a", 20, ask_ms + 6, ask_ms + 6);
		sketch_io(&sketch, 1, "recv", "tcp a>b", 20, ask_ms, ask_ms + 6);
		sketch_sleep(&sketch, 1, "think", ask_ms + 6, ask_ms + 10);
	}
	sketch_end(&sketch);
	replayed_expect(&sketch, 1, NULL, 1, 100);
	replayed_expect(&sketch, 2, "serve", 0.5, 70);
	replayed_expect(&sketch, 3, "think", 0, 60);
	sketch_free(&sketch);
}
END_TEST

START_TEST(a_full_pipe_stops_its_writer)
{
	struct sketch sketch;

	/* one writes 40000 bytes every 2 ms, two reads them every 10 ms: two fit, the third has
	 * to wait */
	sketch_begin(&sketch);
	sketch_join_two(&sketch, "one", "two", 24, 42);
	for (int i = 0; i < 4; i++) {
		double write_ms = i < 2 ? 2 * (i + 1) : 2 + 10 * (i - 1);

		sketch_sleep(&sketch, 1, "make", i < 2 ? 2 * i : write_ms - 10 + (i == 2 ? 2 : 0),
			     i < 2 ? 2 * i + 2 : write_ms - 10 + (i == 2 ? 4 : 2));
		sketch_io(&sketch, 1, "write", "pipe:[1]", 40000,
			  i < 1    ? 2
			  : i == 1 ? 4
				   : write_ms - 8 + (i == 2 ? 2 : 0),
			  i < 1    ? 2
			  : i == 1 ? 4
				   : write_ms);
		sketch_io(&sketch, 2, "read", "pipe:[1]", 40000, i ? 2 + 10 * i : 0, 2 + 10 * i);
		sketch_sleep(&sketch, 2, "use", 2 + 10 * i, 12 + 10 * i);
	}
	sketch_end(&sketch);
	replayed_expect(&sketch, 1, NULL, 1, 42);
	replayed_expect(&sketch, 2, "use", 0.1,
			10); /* the writer makes four and runs on for 2 ms */
	replayed_expect(&sketch, 3, "make", 0, 40);
	sketch_free(&sketch);
}
END_TEST

START_TEST(a_stream_reads_more_than_a_pipe_holds)
{
	struct sketch sketch;

	/* one writes 40000 bytes every 2 ms; two wants all of 160000, and uses them for 10 ms */
	sketch_begin(&sketch);
	sketch_join_two(&sketch, "one", "two", 8, 18);
	for (int i = 0; i < 4; i++) {
		sketch_sleep(&sketch, 1, "make", 2 * i, 2 * i + 2);
		sketch_io(&sketch, 1, "write", "pipe:[1]", 40000, 2 * i + 2, 2 * i + 2);
	}
	sketch_io(&sketch, 2, "fread", "pipe:[1]", 160000, 0, 8);
	sketch_sleep(&sketch, 2, "use", 8, 18);
	sketch_end(&sketch);
	replayed_expect(&sketch, 1, NULL, 1, 18);
	replayed_expect(&sketch, 2, "make", 0.5, 14);
	replayed_expect(&sketch, 3, "use", 0, 8);
	sketch_free(&sketch);
}
END_TEST

START_TEST(what_does_not_fit_is_written_later)
{
	struct sketch sketch;

	/* one writes 100000 bytes at 2; two makes room for the last of them at 20 */
	sketch_begin(&sketch);
	sketch_join_two(&sketch, "one", "two", 35, 31);
	sketch_sleep(&sketch, 1, "make", 0, 2);
	sketch_io(&sketch, 1, "write", "pipe:[1]", 100000, 2, 20);
	sketch_sleep(&sketch, 1, "after", 20, 35);
	for (int i = 0; i < 3; i++) {
		sketch_sleep(&sketch, 2, "use", 10 * i, 10 * i + 10);
		sketch_io(&sketch, 2, "read", "pipe:[1]", i < 2 ? 20000 : 60000, 10 * i + 10,
			  10 * i + 10);
	}
	sketch_end(&sketch);
	replayed_expect(&sketch, 1, NULL, 1, 35);
	replayed_expect(&sketch, 2, "use", 0.5, 25);
	replayed_expect(&sketch, 3, "after", 0, 31);
	sketch_free(&sketch);
}
END_TEST

START_TEST(a_poll_ends_though_another_thread_reads_first)
{
	struct sketch sketch;

	/* one writes after 10 ms; two waits for that, and three only looks on */
	sketch_begin(&sketch);
	sketch_thread(&sketch, "one", 0, 20);
	sketch_thread(&sketch, "two", 0, 15);
	sketch_thread(&sketch, "three", 0, 40);
	sketch_sleep(&sketch, 0, "make", 0, 10);
	sketch_io(&sketch, 0, "write", "pipe:[1]", 4, 10, 10);
	sketch_sleep(&sketch, 0, "after", 10, 20);
	sketch_io(&sketch, 1, "read", "pipe:[1]", 4, 0, 10);
	sketch_sleep(&sketch, 1, "use", 10, 15);
	uint32_t poll = sketch_op(&sketch, KIND_POLL, "poll", 2, 0.1, 10);

	sketch.rec.ops[poll].ident = sketch_string(&sketch, "pipe:[1]");
	sketch.rec.extras[poll].amount = 1;
	sketch_sleep(&sketch, 2, "late", 10, 40);
	sketch_end(&sketch);
	replayed_expect(&sketch, 1, NULL, 1, 40);
	replayed_expect(&sketch, 2, "make", 0.5, 35);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(a_poll_ends_though_another_thread_reads_first);
	TEST(a_reader_waits_for_its_bytes);
	TEST(a_full_pipe_stops_its_writer);
	TEST(a_stream_reads_more_than_a_pipe_holds);
	TEST(what_does_not_fit_is_written_later);
}
