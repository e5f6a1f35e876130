/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, a kind of request would have times of another one, or savings be judged by what
 * nobody asked about.
 */
#include "report/kinds.h"

#include <math.h>

#include "sketch.h"
#include "suite.h"

#define SERVER "tcp 10.0.0.2:80>10.0.0.1:50"

enum { SLOW = 4, QUICK = 3 };

/* Each request begins 10 ms after the one before it. */
struct server {
	struct sketch sketch;
	double at_ms;
	struct analysis analysis;
	struct options options;
	char error[OPTIONS_ERROR_BYTES];
};

static void serve(struct server *server, const char *kind, double taken_ms)
{
	struct sketch *sketch = &server->sketch;
	double at_ms = server->at_ms;
	uint32_t op = sketch_io(sketch, 1, "read", SERVER, 9, at_ms, at_ms + 1);

	sketch->rec.extras[op].accepted = true;
	sketch->rec.extras[op].request_kind = sketch_string(sketch, kind);
	op = sketch_io(sketch, 1, "write", SERVER, 9, at_ms + 1, at_ms + 1 + taken_ms);
	sketch->rec.extras[op].accepted = true;
	server->at_ms += 10;
}

static void serve_all(struct server *server)
{
	*server = (struct server){ .options = { .top = 10,
						.factors = { { 0, 0.5 }, 2 },
						.class_regex = "",
						.model = "threads" } };
	sketch_begin(&server->sketch);
	sketch_thread(&server->sketch, "main", 0, 100);
	sketch_thread(&server->sketch, "server", 0, 100);
	for (int i = 1; i <= SLOW; i++)
		serve(server, "GET /slow", 4 + i);
	for (int i = 1; i <= QUICK; i++)
		serve(server, "GET /quick", i);
	serve(server, "", 2);
	sketch_end(&server->sketch);
}

static int analyse(struct server *server, const char *kind_regex)
{
	server->options.kind_regex = kind_regex;
	return analysis_build(&server->analysis, &server->sketch.rec, &server->options, NULL,
			      server->error);
}

enum { UNKNOWN, SLOW_KIND, QUICK_KIND, CUT_KIND };

/* In no order. */
static const struct request served[] = {
	{ .source = REQUEST_SERVED, .kind = QUICK_KIND, .taken_ns = 3 },
	{ .source = REQUEST_SERVED, .kind = SLOW_KIND, .taken_ns = 70 },
	{ .source = REQUEST_SERVED, .kind = QUICK_KIND, .taken_ns = 1 },
	{ .source = REQUEST_SERVED, .kind = UNKNOWN, .taken_ns = 2 },
	{ .source = REQUEST_SERVED, .kind = SLOW_KIND, .taken_ns = 80 },
	{ .source = REQUEST_SERVED, .kind = CUT_KIND, .taken_ns = 50, .is_unfinished = true },
	{ .source = REQUEST_SERVED, .kind = QUICK_KIND, .taken_ns = 2 },
	{ .source = REQUEST_SERVED, .kind = SLOW_KIND, .taken_ns = 60 },
	{ .source = REQUEST_LOCK, .kind = UNKNOWN, .taken_ns = 1000 },
};

/* Mean, median, 95th and 99th percentile. */
static const struct kind_row expected[] = {
	{ SLOW_KIND, REQUEST_SERVED, { 3, 0, { 70, 70, 80, 80 }, 80 }, 210, true },
	{ CUT_KIND, REQUEST_SERVED, { 1, 1, { NAN, NAN, NAN, NAN }, 50 }, 50, true },
	{ QUICK_KIND, REQUEST_SERVED, { 3, 0, { 2, 2, 3, 3 }, 3 }, 6, true },
	{ UNKNOWN, REQUEST_SERVED, { 1, 0, { 2, 2, 2, 2 }, 2 }, 2, true },
};

static void ck_time(double found_ns, double expected_ns)
{
	if (isnan(expected_ns))
		ck_assert(isnan(found_ns));
	else
		ck_assert_double_eq(found_ns, expected_ns);
}

START_TEST(each_kind_has_its_times)
{
	const struct requests requests = {
		.requests = (struct request *)(uintptr_t)served,
		.count = sizeof(served) / sizeof(served[0]),
		.judged_source = REQUEST_SERVED,
	};
	size_t count;
	struct kind_row *rows = kinds_list(&requests, &count);

	ck_assert_uint_eq(count, sizeof(expected) / sizeof(expected[0]));
	for (size_t i = 0; i < count; i++) {
		ck_assert_uint_eq(rows[i].kind, expected[i].kind);
		ck_assert_int_eq(rows[i].source, expected[i].source);
		ck_assert_uint_eq(rows[i].figures.count, expected[i].figures.count);
		ck_assert_uint_eq(rows[i].total_ns, expected[i].total_ns);
		for (size_t k = 0; k < REQUEST_FIGURES; k++)
			ck_time(rows[i].figures.ns[k], expected[i].figures.ns[k]);
		ck_assert_int_eq(rows[i].is_judged, expected[i].is_judged);
	}
	free(rows);
}
END_TEST

START_TEST(savings_are_judged_by_the_kinds_that_are_named)
{
	struct server server;

	serve_all(&server);
	ck_assert_int_eq(analyse(&server, "quick$"), 0);
	const struct requests *requests = &server.analysis.script.requests;
	ck_assert_uint_eq(requests->judged_count, QUICK);
	for (size_t i = 0; i < requests->count; i++)
		ck_assert_int_eq(request_is_judged(requests, &requests->requests[i]),
				 strcmp(server.sketch.strings[requests->requests[i].kind],
					"GET /quick") == 0);
	analysis_free(&server.analysis);
	sketch_free(&server.sketch);
}
END_TEST

static const struct {
	const char *pattern;
	const char *words;
} bad[] = {
	{ "(", "no regular expression" },
	{ "nothing", "no request is of a kind" },
	{ "^$", "no request is of a kind" },
};

START_TEST(a_kind_that_is_none_is_refused)
{
	struct server server;

	serve_all(&server);
	ck_assert_int_lt(analyse(&server, bad[_i].pattern), 0);
	ck_assert_msg(strstr(server.error, bad[_i].words) != NULL, "%s", server.error);
	sketch_free(&server.sketch);
}
END_TEST

START_TEST(of_no_kind_nothing_is_told)
{
	struct request request = { .source = REQUEST_SERVED, .taken_ns = 1 };
	const struct requests requests = { .requests = &request, .count = 1 };
	size_t count;

	ck_assert_ptr_null(kinds_list(&requests, &count));
	ck_assert_uint_eq(count, 0);
}
END_TEST

SUITE()
{
	TEST(each_kind_has_its_times);
	TEST(savings_are_judged_by_the_kinds_that_are_named);
	EACH(a_kind_that_is_none_is_refused, bad);
	TEST(of_no_kind_nothing_is_told);
}
