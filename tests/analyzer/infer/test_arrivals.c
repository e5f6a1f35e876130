/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a wait for clients is taken for work that could be made faster, or work for such. */
#include "infer/arrivals.h"

#include "sketch.h"
#include "suite.h"

START_TEST(waits_for_clients_are_arrivals)
{
	static const struct {
		enum kind kind;
		const char *call;
		bool accepted;
		int fd;
		enum arrival_sort sort;
	} rows[] = {
		/* 0 */ { KIND_POLL, "poll", false, 3, ARRIVAL_NONE },
		/* 1 */ { KIND_POLL, "poll", true, 3, ARRIVAL_CONNECTION },
		/* 2 */ { KIND_POLL, "poll", false, -1, ARRIVAL_ANY },
		/* 3 */ { KIND_POLL, "epoll_wait", true, 3, ARRIVAL_ANY },
		/* 4 */ { KIND_IO, "read", false, 3, ARRIVAL_NONE },
		/* 5 */ { KIND_IO, "read", true, 3, ARRIVAL_CONNECTION },
		/* 6 */ { KIND_IO, "write", true, 3, ARRIVAL_NONE },
		/* 7 */ { KIND_IO, "accept4", false, 3, ARRIVAL_CONNECTION },
		/* 8 */ { KIND_SLEEP, "usleep", false, -1, ARRIVAL_NONE },
	};
	const size_t count = sizeof(rows) / sizeof(rows[0]);
	struct sketch sketch;
	char names[sizeof(rows) / sizeof(rows[0])][8];
	uint32_t op_names[64];

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 100);
	for (size_t i = 0; i < count; i++) {
		uint32_t op =
			sketch_op(&sketch, rows[i].kind, rows[i].call, 0, (double)i, (double)i + 1);

		sketch.rec.extras[op].accepted = rows[i].accepted;
		sketch.rec.extras[op].fd = rows[i].fd;
	}
	for (uint32_t op = 0; op < sketch.rec.op_count; op++) {
		size_t row = op - (sketch.rec.op_count - count);

		snprintf(names[row % count], sizeof(names[0]), "row%zu", row);
		op_names[op] = op + count < sketch.rec.op_count
				       ? sketch.rec.ops[op].name
				       : sketch_string(&sketch, names[row]);
	}
	class_table_build(&sketch.classes, &sketch.rec, op_names);
	enum arrival_sort *arrivals = arrivals_find(&sketch.rec, &sketch.classes);
	for (size_t i = 0; i < count; i++)
		ck_assert_msg(arrivals[sketch_class(&sketch, names[i])] == rows[i].sort, "row %zu",
			      i);
	free(arrivals);
	sketch_free(&sketch);
}
END_TEST

/* A poll of the descriptor where connections are accepted, as Python's and Java's servers do it. */
START_TEST(a_wait_where_clients_come_is_an_arrival)
{
	static const struct {
		enum kind kind;
		const char *ident;
		bool accepted, timer;
		enum arrival_sort sort;
	} rows[] = {
		/* 0 */ { KIND_POLL, "listens", false, false, ARRIVAL_CONNECTION },
		/* 1 */ { KIND_POLL, "another", false, false, ARRIVAL_NONE },
		/* 2: none ever came */ { KIND_SLEEP, "listens", false, false, ARRIVAL_CONNECTION },
		/* 3: the client is done */
		{ KIND_SLEEP, "client", true, false, ARRIVAL_CONNECTION },
		/* 4 */ { KIND_POLL, "client", true, true, ARRIVAL_CONNECTION },
		/* 5 */ { KIND_POLL, "listens", false, true, ARRIVAL_CONNECTION },
	};
	struct sketch sketch;
	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 100);
	sketch_io(&sketch, 0, "accept4", "listens", 1, 1, 2);
	uint32_t op = sketch_op(&sketch, rows[_i].kind, "poll", 0, 2, 3);
	sketch.rec.ops[op].ident = sketch_string(&sketch, rows[_i].ident);
	sketch.rec.extras[op].fd = 3;
	sketch.rec.extras[op].accepted = rows[_i].accepted;
	sketch.rec.extras[op].timer = rows[_i].timer;
	sketch_end(&sketch);
	enum arrival_sort *arrivals = arrivals_find(&sketch.rec, &sketch.classes);
	ck_assert_int_eq(arrivals[sketch_class(&sketch, "poll")], rows[_i].sort);
	free(arrivals);
	sketch_free(&sketch);
}
END_TEST

/* Two reads of one class, 1 ms of a file and so long of a client. */
START_TEST(a_class_is_what_most_of_its_time_is)
{
	static const struct {
		double client_ms;
		enum arrival_sort sort;
	} rows[] = { { 0.5, ARRIVAL_NONE }, { 2, ARRIVAL_CONNECTION } };
	struct sketch sketch;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 100);
	sketch_io(&sketch, 0, "read", "file", 1, 10, 11);
	uint32_t op = sketch_io(&sketch, 0, "read", "tcp", 1, 20, 20 + rows[_i].client_ms);
	sketch.rec.extras[op].accepted = true;
	sketch_end(&sketch);
	enum arrival_sort *arrivals = arrivals_find(&sketch.rec, &sketch.classes);
	ck_assert_int_eq(arrivals[sketch_class(&sketch, "read")], rows[_i].sort);
	free(arrivals);
	sketch_free(&sketch);
}
END_TEST

/* Stack 1 is of serve, which waits for a client; stack 2 of loop in main, which polls. */
START_TEST(functions_around_waits_for_clients_are_known)
{
	enum { SERVE = 1, LOOP, MAIN, WORK, STRINGS };
	uint32_t first[] = { 0, 0, 1, 3, 4 }, functions[] = { SERVE, LOOP, MAIN, WORK };
	const struct stack_functions of = { .first = first, .functions = functions };
	enum arrival_sort arrivals[] = { ARRIVAL_CONNECTION, ARRIVAL_ANY, ARRIVAL_NONE };
	uint32_t of_op[] = { 0, 0, 1, 2 };
	struct rec_op ops[] = { { .start_ns = 1, .end_ns = 4 },
				{ .start_ns = 5, .end_ns = 9 },
				{ .start_ns = 2, .end_ns = 2 },
				{ .start_ns = 2, .end_ns = 8 } };
	struct rec_op_extra extras[] = {
		{ .stack = 1 }, { .stack = 1 }, { .stack = 2 }, { .stack = 3 }
	};
	const struct class_table classes = { .of_op = of_op, .count = 3 };
	const struct recording rec = { .ops = ops,
				       .extras = extras,
				       .op_count = 4,
				       .stack_count = 4,
				       .string_count = STRINGS };
	uint64_t *waited_ns = arrivals_under(&rec, &classes, arrivals, &of);
	ck_assert_uint_eq(waited_ns[SERVE], 7);
	ck_assert_uint_eq(waited_ns[LOOP], UINT64_MAX);
	ck_assert_uint_eq(waited_ns[MAIN], UINT64_MAX);
	ck_assert_uint_eq(waited_ns[WORK], 0);
	free(waited_ns);
}
END_TEST

SUITE()
{
	TEST(functions_around_waits_for_clients_are_known);
	TEST(waits_for_clients_are_arrivals);
	LOOP(a_wait_where_clients_come_is_an_arrival, 0, 6);
	LOOP(a_class_is_what_most_of_its_time_is, 0, 2);
}
