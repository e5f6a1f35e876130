/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, a queue that holds more, or more permits, would be given the time of another
 * program.
 */
#include "ask/capacity.h"

#include "asking.h"
#include "client_server.h"
#include "rebuilt.h"

#include <math.h>

/* The makespan that a question leads to; NEVER: it is refused, with a line in `error`. */
static double asked_ms(const struct sketch *sketch, const char *name, double times,
		       char error[OPTIONS_ERROR_BYTES])
{
	struct question question = { .queues = { { name, strlen(name), times } },
				     .queue_count = 1 };
	uint32_t wait_name[SKETCH_MAX];

	for (size_t i = 0; i < sketch->rec.wait_count; i++)
		wait_name[i] = (uint32_t)(sketch->rec.waits[i].address - 0x1000);
	question.wait_name = wait_name;
	return asking_ms(sketch, &question, error);
}

/* One item: room for it comes at `room_ms`, after a wait from `from_ms` on if that is earlier. */
static void put_item(struct sketch *sketch, double from_ms, double room_ms)
{
	sketch_hold(sketch, 1, "M", 1, from_ms, room_ms > from_ms ? from_ms : from_ms + 0.001);
	if (room_ms > from_ms) {
		sketch_wait(sketch, 1, REASON_COND, "room", from_ms, room_ms + 0.002, NO_INDEX);
		sketch_hold(sketch, 1, "M", 2, room_ms + 0.002, room_ms + 0.003);
	}
	sketch_link(sketch, 1, LINK_POST, "items", room_ms + 0.004, 0, NO_INDEX);
}

/*
 * Room for one: thread 1 puts four items, sleeps for 40 ms and puts four more; thread 2 takes 10 ms
 * for each. It takes 110 ms; with room for four 80 ms.
 */
static void bursts(struct sketch *sketch)
{
	rebuilt_two(sketch, 100.1, 110.1);
	for (int i = 0; i < 8; i++) {
		double begin_ms = i < 4 ? 10 * i : 30 + 10 * i;
		bool waits = i % 4 != 0;

		put_item(sketch, waits ? begin_ms - 10 + 0.005 : begin_ms, begin_ms);
		if (i == 3)
			sketch_sleep(sketch, 1, "rest", begin_ms + 0.005, 70);
		sketch_wait(sketch, 2, REASON_SEM, "items", i == 4 ? 40 : begin_ms,
			    begin_ms + 0.005, NO_INDEX);
		sketch_sleep(sketch, 2, "job", begin_ms + 0.005, begin_ms + 9.995);
		sketch_hold(sketch, 2, "M", 3, begin_ms + 9.996, begin_ms + 10.001);
		sketch_link(sketch, 2, LINK_WAKE, "room", begin_ms + 10, i % 4 != 3, NO_INDEX);
	}
	sketch_end(sketch);
}

/* One permit: two threads with two jobs of 10 ms each take turns, 40 ms. */
static void permits(struct sketch *sketch)
{
	rebuilt_two(sketch, 30, 40);
	for (int i = 0; i < 4; i++) {
		uint32_t thread = 1 + (uint32_t)i % 2;
		double from_ms = i < 2 ? 0 : 10 * i - 10;

		sketch_wait(sketch, thread, REASON_SEM, "S", from_ms, 10 * i, NO_INDEX);
		sketch_sleep(sketch, thread, "job", 10 * i, 10 * i + 10);
		sketch_link(sketch, thread, LINK_POST, "S", 10 * i + 10, i < 3, NO_INDEX);
	}
	sketch_end(sketch);
}

/* A pipe takes one page: thread 1 writes four, of which thread 2 reads each after 10 ms. */
static void pages(struct sketch *sketch)
{
	rebuilt_two(sketch, 55, 40);
	for (int i = 0; i < 4; i++) {
		sketch_io(sketch, 1, "write", "pipe:[1]", 65536, i > 0 ? 10 * (i - 1) : 0,
			  10 * i + (i > 0 ? 0.1 : 0));
		sketch_sleep(sketch, 2, "job", 10 * i, 10 * i + 10);
		sketch_io(sketch, 2, "read", "pipe:[1]", 65536, 10 * i + 10, 10 * i + 10);
	}
	sketch_sleep(sketch, 1, "rest", 30.1, 55);
	sketch_end(sketch);
}

/* Four items are there at the start, two more are posted: no room, but work. */
static void stock(struct sketch *sketch)
{
	rebuilt_two(sketch, 60, 60);
	for (int i = 0; i < 6; i++) {
		sketch_wait(sketch, 1, REASON_SEM, "work", 10 * i, 10 * i, NO_INDEX);
		sketch_sleep(sketch, 1, "job", 10 * i, 10 * i + 10);
	}
	sketch_link(sketch, 2, LINK_POST, "work", 5, 0, NO_INDEX);
	sketch_link(sketch, 2, LINK_POST, "work", 6, 0, NO_INDEX);
	sketch_sleep(sketch, 2, "rest", 6, 60);
	sketch_end(sketch);
}

/* One byte is the permit of two threads with two jobs of 10 ms each, as in permits(). */
static void job_server(struct sketch *sketch)
{
	rebuilt_two(sketch, 30, 40);
	sketch_io(sketch, 0, "write", "pipe:[1]", 1, 0, 0);
	for (int i = 0; i < 4; i++) {
		uint32_t thread = 1 + (uint32_t)i % 2;

		sketch_io(sketch, thread, "read", "pipe:[1]", 1, i < 2 ? 0.001 : 10 * i - 10,
			  10 * i + 0.002);
		sketch_sleep(sketch, thread, "job", 10 * i + 0.002, 10 * i + 9.998);
		sketch_io(sketch, thread, "write", "pipe:[1]", 1, 10 * i + 10, 10 * i + 10);
	}
	sketch_end(sketch);
}

/* A client asks that is not recorded: its calls have no classes. */
static void clients(struct sketch *sketch)
{
	sketch_begin(sketch);
	sketch_thread(sketch, "serve", 0, 20);
	for (int i = 0; i < 4; i++)
		served_request(sketch, 0, "tcp 1.2.3.4:80>1.2.3.4:5001", 5 * i, 5 * i + 1, 1);
	sketch_end(sketch);
	size_t count = sketch->rec.op_count;
	uint32_t *of_op = realloc(sketch->classes.of_op, 2 * count * sizeof(*of_op));

	ck_assert_ptr_nonnull(of_op);
	memset(of_op + count, 0x7f, count * sizeof(*of_op)); /* no class has this number */
	sketch->classes.of_op = of_op;
}

static const struct {
	void (*run)(struct sketch *);
	const char *name;
	double times;
	double expected_ms;
	const char *said; /* where it is refused */
} cases[] = {
	/*  0 */ { bursts, "room", 1, 110, NULL },
	/*  1 */ { bursts, "room", 4, 80, NULL },
	/*  2 */ { bursts, "room", 100, 80, NULL },
	/*  3 */ { bursts, "items", 4, NEVER, "shows no room" },
	/*  4 */ { permits, "S", 1, 40, NULL },
	/*  5 */ { permits, "S", 2, 20, NULL },
	/*  6 */ { permits, "T", 2, NEVER, "\"queue:T\" is no queue" },
	/*  7 */ { pages, "write", 1, 55, NULL },
	/*  8 */ { pages, "pipe:[1]", 4, 40, NULL },
	/*  9 */ { pages, "read", 4, NEVER, "is no queue" },
	/* 10 */ { stock, "work", 2, NEVER, "did not get back" },
	/* 11 */ { job_server, "read", 1, 40, NULL },
	/* 12 */ { job_server, "write", 2, 20, NULL },
	/* 13 */ { job_server, "pipe:[1]", 10, 20, NULL },
	/* 14 */ { job_server, "read", 0.5, NEVER, "fewer of them are not known" },
	/* 15 */ { clients, "read", 2, NEVER, "is no queue" },
};

START_TEST(a_queue_holds_more)
{
	struct sketch sketch;
	char error[OPTIONS_ERROR_BYTES] = "";

	cases[_i].run(&sketch);
	double ms = asked_ms(&sketch, cases[_i].name, cases[_i].times, error);
	ck_assert_msg(fabs(ms - cases[_i].expected_ms) < 0.3, "%f ms; %s", ms, error);
	if (cases[_i].said)
		ck_assert_msg(strstr(error, cases[_i].said), "says: %s", error);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	EACH(a_queue_holds_more, cases);
}
