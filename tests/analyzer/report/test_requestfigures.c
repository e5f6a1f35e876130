/* SPDX-License-Identifier: Apache-2.0 */
/* If this failed, a server that hangs would seem quick: its slowest requests never end. */
#include "report/requestfigures.h"

#include "suite.h"

#include "base/memory.h"

#include <math.h>

enum { REQUESTS = 200 };

START_TEST(unfinished_requests_count_as_longer)
{
	struct request requests[REQUESTS] = { 0 };
	struct requests all = { .requests = requests, .count = REQUESTS, .judged_class = 3 };
	struct request_figures figures;
	for (uint64_t i = 0; i < REQUESTS; i++)
		requests[i] = (struct request){ .class = 3, .taken_ns = REQUESTS - i };
	request_figures_judged(&figures, &all);
	ck_assert_uint_eq(figures.count, REQUESTS);
	ck_assert_double_eq(figures.ns[REQUEST_P50], 101);
	ck_assert_double_eq(figures.ns[REQUEST_P99], 199);
	ck_assert_double_eq(figures.ns[REQUEST_MEAN], 100.5);
	ck_assert_uint_eq(figures.longest_ns, 200);
	for (size_t i = 0; i < 4; i++)
		requests[i].is_unfinished = true;
	request_figures_judged(&figures, &all);
	ck_assert_uint_eq(figures.unfinished_count, 4);
	ck_assert_double_eq(figures.ns[REQUEST_P95], 191);
	ck_assert(isnan(figures.ns[REQUEST_P99]));
	ck_assert(isnan(figures.ns[REQUEST_MEAN]));
	ck_assert_double_eq(request_figures_total_ns(&all), REQUESTS * 100.5);
	requests[5].class = 4; /* is not judged */
	request_figures_judged(&figures, &all);
	ck_assert_uint_eq(figures.count, REQUESTS - 1);
	all.judged_class = NO_INDEX;
	ck_assert(isinf(request_figures_total_ns(&all)));
	request_figures_find(&figures, NULL, 0);
	ck_assert(isnan(figures.ns[REQUEST_P50]));
}
END_TEST

/* The second question was due at 20 and came at 50, as its client awaited the first answer. */
START_TEST(questions_that_were_held_back_took_longer)
{
	struct request requests[] = {
		{ .class = 3, .start_ns = 10, .end_ns = 50, .taken_ns = 40 },
		{ .class = 3, .start_ns = 50, .end_ns = 60, .taken_ns = 10 }
	};
	struct requests all = { .requests = requests, .count = 2, .judged_class = 3 };
	uint64_t due_ns[] = { 10, 20 };
	uint32_t send_of[] = { 7, 8 };
	struct clients clients = { .count = 1,
				   .sort = CLIENTS_OPEN,
				   .table_ns = 10,
				   .first_op = 7,
				   .due_ns = due_ns,
				   .send_of = send_of };
	struct request_figures figures;
	requests[1].op = 1;
	ck_assert(request_figures_intended(&figures, &all, &clients));
	ck_assert_double_eq(figures.ns[REQUEST_MEAN], 40);
	clients.table_ns = 0;
	ck_assert(!request_figures_intended(&figures, &all, &clients));
	clients.table_ns = 10;
	clients.sort = CLIENTS_CLOSED;
	ck_assert(!request_figures_intended(&figures, &all, &clients));
	clients = (struct clients){ .count = 0 };
	ck_assert(!request_figures_intended(&figures, &all, &clients));
}
END_TEST

SUITE()
{
	TEST(unfinished_requests_count_as_longer);
	TEST(questions_that_were_held_back_took_longer);
}
