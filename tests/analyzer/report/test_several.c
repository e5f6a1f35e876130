/* SPDX-License-Identifier: Apache-2.0 */
/* If this failed, requests that overlap would be called as many as there are answers. */
#include "report/several.h"

#include "base/memory.h"
#include "suite.h"

enum { FOUR = 4, NO_KIND = 0, KIND = 1, STRINGS = 3 };

static const char *strings[STRINGS] = { "", "tcp a>b", "tcp a>c" };

static const struct {
	enum exchange_sharing sharing[FOUR];
	uint32_t connections[FOUR];
	const char *noun;
	const char *said;
} rows[] = {
	/* 0 */ { { 0 }, { 1, 1, 2, 2 }, "requests", "" },
	/* 1 */
	{ { EXCHANGE_STREAMS, EXCHANGE_STREAMS, EXCHANGE_STREAMS, EXCHANGE_STREAMS },
	  { 1, 2, 1, 2 },
	  "busy periods",
	  " These are busy periods of 2 connections, as requests overlap there (HTTP/2)." },
	/* 2 */
	{ { EXCHANGE_STREAMS, EXCHANGE_PLAIN, EXCHANGE_STREAMS, EXCHANGE_HIDDEN },
	  { 1, 2, 1, 2 },
	  "requests",
	  " 2 of them are busy periods of 1 connection, as requests overlap there (HTTP/2). 1 of "
	  "them came encrypted (TLS): if by HTTP/2, each may be several requests." },
	/* 3 */
	{ { EXCHANGE_PIPELINED, EXCHANGE_PLAIN, EXCHANGE_PIPELINED, EXCHANGE_PIPELINED },
	  { 1, 1, 1, 1 },
	  "requests",
	  " 3 of them came before the answer before them was there (pipelined): what was read at "
	  "once counts as one." },
	/* 4 */
	{ { EXCHANGE_BATCH, EXCHANGE_BATCH, EXCHANGE_BATCH, EXCHANGE_BATCH },
	  { 1, 1, 1, 1 },
	  "batches",
	  " These came with others in one read (pipelined): about 64 requests in all." },
	/* 5 */
	{ { EXCHANGE_BATCH, EXCHANGE_PLAIN, EXCHANGE_PLAIN, EXCHANGE_PLAIN },
	  { 1, 1, 1, 1 },
	  "requests",
	  " 1 of them came with others in one read (pipelined): about 19 requests in all." },
};

/* A request of another source is not judged by. */
static void judge(struct requests *requests, struct request all[FOUR + 1], int row)
{
	for (int i = 0; i < FOUR; i++)
		all[i] =
			(struct request){ .source = REQUEST_SERVED,
					  .kind = row == 0 ? NO_KIND : KIND,
					  .sharing = rows[row].sharing[i],
					  .within = rows[row].sharing[i] == EXCHANGE_BATCH ? 16 : 0,
					  .connection = rows[row].connections[i] };
	all[FOUR] = (struct request){
		.source = REQUEST_ASKED, .kind = KIND, .sharing = EXCHANGE_STREAMS, .connection = 2
	};
	*requests = (struct requests){ .requests = all,
				       .count = FOUR + 1,
				       .judged_source = REQUEST_SERVED };
}

START_TEST(what_may_be_several_is_said)
{
	const struct recording rec = { .strings = strings, .string_count = STRINGS };
	struct analysis analysis = { .recording = &rec };
	struct request all[FOUR + 1];
	struct several several;
	char *text = NULL;
	size_t length;

	judge(&analysis.script.requests, all, _i);
	several_find(&several, &analysis);
	FILE *file = memory_stream(&text, &length);
	several_say(&several, file);
	fclose(file);
	ck_assert_uint_eq(several.count, FOUR);
	ck_assert_int_eq(several.is_known, _i > 0);
	ck_assert_str_eq(several_noun(&several), rows[_i].noun);
	ck_assert_str_eq(text, rows[_i].said);
	free(text);
}
END_TEST

SUITE()
{
	EACH(what_may_be_several_is_said, rows);
}
