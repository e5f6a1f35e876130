/* SPDX-License-Identifier: Apache-2.0 */
/* If these fail, top has other requests than the analyzer, or other parts of them. */
#include <check.h>

#include "suite.h"
#include "top_marks.h"

#define S         UINT64_C(1000000000)
#define OP(n)     (UINT64_C(7) << 32 | (n))
#define OTHERS(n) (UINT64_C(8) << 32 | (n))
#define THREAD_OP OP(1)
#define SECOND    UINT64_C(10)

enum { CLASS = 30, OTHER_CLASS = 31, IDENT = 40 };

static struct top_marks marks;
static struct top_requests requests;
static struct top_stacks stacks;

static void look(const struct record *records, uint32_t count)
{
	struct snapshot_open opens[8] = { 0 };

	for (uint32_t i = 0; i < count; i++)
		opens[i].record = records[i];
	top_marks_look(&marks, &requests, &stacks, opens, count, SECOND);
}

static const struct record thread = { .type = RECORD_OP, .what = KIND_THREAD, .id = THREAD_OP };

/* One of the class was seen before: marks are what counts from the next one on. */
static void begin(void)
{
	ck_assert(top_marks_begin(&marks));
	ck_assert(top_requests_begin(&requests));
	ck_assert(top_stacks_begin(&stacks));
	top_requests_mark(&requests, &stacks, CLASS, SECOND);
	look(&thread, 1);
}

static void end(void)
{
	top_marks_end(&marks);
	top_requests_end(&requests);
	top_stacks_end(&stacks);
}

static struct record op(uint64_t id, uint64_t parent, enum kind kind, uint64_t start,
			uint64_t end_ns)
{
	return (struct record){ .type = RECORD_OP,
				.what = (uint8_t)kind,
				.flags = RECORD_ANNOTATED,
				.id = id,
				.parent = parent,
				.name = CLASS,
				.ident = IDENT,
				.start = start,
				.end = end_ns };
}

static struct record probed(uint64_t id, uint64_t parent, uint64_t start, uint64_t end_ns)
{
	struct record record = op(id, parent, KIND_OP_USER, start, end_ns);

	record.flags = 0;
	return record;
}

static void add(struct record record)
{
	top_marks_op(&marks, &requests, &stacks, &record, SECOND);
}

static void part(uint64_t of, uint32_t by, enum top_part part, uint64_t start, uint64_t end_ns)
{
	const struct record record = { .parent = of, .start = start, .end = end_ns };

	top_marks_part(&marks, &stacks, &record, by, part, 0, (double)(end_ns - start));
}

static size_t ended(void)
{
	size_t count;

	free(top_requests_list(&requests, 0, &count));
	return count;
}

static struct top_request only_one(void)
{
	size_t count;
	struct top_request *list = top_requests_list(&requests, 0, &count), one;

	ck_assert_uint_eq(count, 1);
	one = list[0];
	free(list);
	return one;
}

/* Op 10 within op 9, which is within op 8; the others are of the thread. */
static const struct {
	enum kind around, outer;
	bool is_around_probed, is_outer_probed;
	uint64_t expect[2]; /* ops that are requests, in the order of their ends */
} rows[] = {
	/*  0 */ { KIND_OP_USER, KIND_OP_USER, false, false, { OP(8) } },
	/*  1 */ { KIND_OP_USER, KIND_OP_USER, true, false, { OP(8) } },
	/*  2 */ { KIND_OP_USER, KIND_OP_USER, true, true, { OP(10) } },
	/*  3 */ { KIND_OP_USER, KIND_OP_USER, false, true, { OP(9) } },
	/*  4 */ { KIND_HOLD, KIND_OP_USER, false, false, { OP(10), OP(8) } },
	/*  5 */ { KIND_HOLD, KIND_HOLD, false, false, { OP(10) } },
	/*  6 */ { KIND_CALL, KIND_OP_USER, false, false, { OP(10), OP(8) } },
	/*  7 */ { KIND_OP_USER, KIND_CALL, false, false, { OP(9) } },
};

static void check_rows(int row)
{
	size_t count;
	struct top_request *list = top_requests_list(&requests, 0, &count);
	size_t expected = rows[row].expect[1] ? 2 : 1;

	ck_assert_uint_eq(count, expected);
	for (size_t i = 0; i < expected; i++)
		ck_assert(list[0].op == rows[row].expect[i] ||
			  list[count - 1].op == rows[row].expect[i]);
	free(list);
}

START_TEST(the_outermost_is_the_request)
{
	begin();
	add(op(OP(10), OP(9), KIND_OP_USER, 3 * S, 4 * S));
	add(rows[_i].is_around_probed ? probed(OP(9), OP(8), 2 * S, 5 * S)
				      : op(OP(9), OP(8), rows[_i].around, 2 * S, 5 * S));
	add(rows[_i].is_outer_probed ? probed(OP(8), THREAD_OP, 1 * S, 6 * S)
				     : op(OP(8), THREAD_OP, rows[_i].outer, 1 * S, 6 * S));
	check_rows(_i);
	end();
}

/* The ops around go on for hours. */
START_TEST(the_same_while_it_is_open)
{
	const struct record open[] = {
		thread,
		rows[_i].is_around_probed ? probed(OP(9), OP(8), 2 * S, 0)
					  : op(OP(9), OP(8), rows[_i].around, 2 * S, 0),
		rows[_i].is_outer_probed ? probed(OP(8), THREAD_OP, 1 * S, 0)
					 : op(OP(8), THREAD_OP, rows[_i].outer, 1 * S, 0),
	};
	bool is_innermost = rows[_i].expect[0] == OP(10);

	begin();
	add(op(OP(10), OP(9), KIND_OP_USER, 3 * S, 4 * S));
	ck_assert_uint_eq(ended(), 0); /* the op around is not known yet */
	look(open, 3);
	add(op(OP(11), OP(9), KIND_OP_USER, 4 * S, 5 * S));
	look(open, 3);
	ck_assert_uint_eq(ended(), is_innermost ? 2 : 0);
	end();
}

START_TEST(what_takes_no_time_is_none)
{
	begin();
	add(op(OP(10), THREAD_OP, KIND_OP_USER, 3 * S, 3 * S));
	add(probed(OP(11), THREAD_OP, 3 * S, 4 * S));
	add(op(OP(12), THREAD_OP, KIND_CALL, 3 * S, 4 * S));
	ck_assert_uint_eq(ended(), 0);
	end();
}

START_TEST(parts_of_all_within_are_the_requests)
{
	struct top_request request;

	begin();
	part(OP(10), 7, TOP_IO, 2 * S, 3 * S);
	part(OP(11), 7, TOP_SLEEP, 3 * S, 5 * S); /* in a hold */
	add(op(OP(11), OP(10), KIND_HOLD, 3 * S, 5 * S));
	part(OP(12), 7, TOP_LOCK, 5 * S, 6 * S); /* in a mark */
	add(op(OP(12), OP(10), KIND_OP_USER, 5 * S, 6 * S));
	part(THREAD_OP, 7, TOP_IO, 6 * S, 7 * S); /* in none */
	add(op(OP(10), THREAD_OP, KIND_OP_USER, 1 * S, 8 * S));
	request = only_one();
	ck_assert_uint_eq(request.taken_ns, 7 * S);
	ck_assert_uint_eq(request.kind, CLASS);
	ck_assert_uint_eq(request.ident, IDENT);
	ck_assert_uint_eq(request.thread, 7);
	ck_assert_uint_eq(request.parts_ns[TOP_IO], S);
	ck_assert_uint_eq(request.parts_ns[TOP_SLEEP], 2 * S);
	ck_assert_uint_eq(request.parts_ns[TOP_LOCK], S);
	end();
}

/* Thread 7 waits for thread 8, which sleeps for it, and then for nobody. */
START_TEST(a_wait_for_a_thread_that_works_for_it_is_that_work)
{
	struct top_request request;

	begin();
	part(OP(10), 8, TOP_SLEEP, 3 * S, 5 * S);
	part(OP(10), 7, TOP_OTHER, 2 * S, 6 * S);
	add(op(OP(10), THREAD_OP, KIND_OP_USER, 1 * S, 8 * S));
	request = only_one();
	ck_assert_uint_eq(request.parts_ns[TOP_SLEEP], 2 * S);
	ck_assert_uint_eq(request.parts_ns[TOP_OTHER], 2 * S);
	end();
}

static struct record wait_of(uint64_t of, uint32_t by, uint64_t start)
{
	return (struct record){
		.type = RECORD_WAIT, .what = REASON_COND, .parent = of, .count = by, .start = start
	};
}

static struct top_request only_running(uint64_t now_ns)
{
	size_t count;
	struct top_request *list = top_marks_running(&marks, now_ns, &count), one;

	ck_assert_uint_eq(count, 1);
	one = list[0];
	free(list);
	ck_assert(one.is_running);
	return one;
}

START_TEST(one_that_is_open_runs)
{
	struct record open[] = {
		thread,
		op(OP(10), THREAD_OP, KIND_OP_USER, 1 * S, 0),
		op(OP(11), OP(10), KIND_HOLD, 2 * S, 0),
		op(OP(12), OP(11), KIND_IO, 7 * S, 0), /* as calls are, below the thread's op */
		wait_of(OP(10), 7, 5 * S),
		op(OTHERS(13), OP(10), KIND_SLEEP, 6 * S, 0),
	};
	struct top_request request;
	size_t count;

	begin();
	part(OP(11), 7, TOP_LOCK, 2 * S, 4 * S);
	look(open, 6);
	request = only_running(9 * S);
	ck_assert_uint_eq(request.taken_ns, 8 * S);
	ck_assert_uint_eq(request.parts_ns[TOP_LOCK], 2 * S);
	ck_assert_uint_eq(request.parts_ns[TOP_IO], 2 * S);
	ck_assert_uint_eq(request.parts_ns[TOP_SLEEP], 3 * S);
	ck_assert_uint_eq(request.parts_ns[TOP_OTHER], S); /* until thread 8 slept */
	/* It ends. */
	add(op(OP(10), THREAD_OP, KIND_OP_USER, 1 * S, 9 * S));
	free(top_marks_running(&marks, 9 * S, &count));
	ck_assert_uint_eq(count, 0);
	ck_assert_uint_eq(ended(), 1);
	end();
}

START_TEST(one_whose_record_was_lost_is_gone)
{
	const struct record open[] = { thread, op(OP(10), THREAD_OP, KIND_OP_USER, 1 * S, 0) };
	size_t count;

	begin();
	look(open, 2);
	(void)only_running(2 * S);
	look(&thread, 1);
	free(top_marks_running(&marks, 3 * S, &count));
	ck_assert_uint_eq(count, 0);
	/* And leaves no room taken. */
	for (uint64_t i = 0; i < 3 * (uint64_t)TOP_MARKS_OPEN_MAX; i++) {
		part(OP(100 + i), 7, TOP_IO, S, 2 * S);
		if (i % 1000 == 0)
			look(&thread, 1);
	}
	ck_assert_uint_eq(marks.left_out, 0);
	ck_assert_uint_eq(ended(), 0);
	end();
}

START_TEST(two_of_a_class_are_needed)
{
	struct record other = op(OP(11), THREAD_OP, KIND_OP_USER, 1 * S, 2 * S);

	begin();
	other.name = OTHER_CLASS;
	add(other);
	ck_assert_int_eq(requests.source, TOP_SERVED);
	ck_assert_uint_eq(ended(), 0);
	other.id = OP(12);
	add(other);
	ck_assert_int_eq(requests.source, TOP_MARKED);
	ck_assert_uint_eq(ended(), 2);
	/* One that runs is seen, too, and once. */
	end();
	ck_assert(top_marks_begin(&marks));
	ck_assert(top_requests_begin(&requests));
	ck_assert(top_stacks_begin(&stacks));
	other.end = 0;
	look(&other, 1);
	look(&other, 1);
	ck_assert_int_eq(requests.source, TOP_SERVED);
	other.id = OP(13);
	look(&other, 1);
	ck_assert_int_eq(requests.source, TOP_MARKED);
	end();
}

SUITE()
{
	LOOP(the_outermost_is_the_request, 0, 8);
	LOOP(the_same_while_it_is_open, 0, 8);
	TEST(what_takes_no_time_is_none);
	TEST(parts_of_all_within_are_the_requests);
	TEST(a_wait_for_a_thread_that_works_for_it_is_that_work);
	TEST(one_that_is_open_runs);
	TEST(one_whose_record_was_lost_is_gone);
	TEST(two_of_a_class_are_needed);
}
