/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether clients wait for answers, and when their questions came; clients.h has the contract.
 *
 * Method. From one question to the next a closed client takes as long as the answer took, and the
 * time that it thinks. An open one takes as long as it likes. The distance to the next question is
 * fitted by the time of the answer. The slope is 1 if the client waits, and 0 if it does not.
 * Only questions count that the server was waiting for, as the times of others are not known.
 * Clients whose distances vary much less than the times that they would think keep a timetable. A
 * few long answers, which put off what was due meanwhile, do not hide that.
 *
 * A closed client's other questions came the usual time after the answer, as far as that is
 * possible. A busy server waits for a question only while all clients think for long. So the usual
 * time must explain the others, too, of which only bounds are known (censored.h). An open client's
 * other questions came one distance after the question before, if they keep a timetable. If that
 * was before the answer, the question was late. Without a timetable any time is as likely, and the
 * middle of what is possible stands for it.
 *
 * One thread.
 */
#include "clients_parts.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/assumptions.h"
#include "base/censored.h"
#include "base/memory.h"
#include "base/percentile.h"
#include "base/regression.h"

/* The slope is so many times its error away from what would be the other sort. */
static const double SURE_ERRORS = 2;

enum { PAIRS_LEAST = 3 };

/* Of all pairs of questions in a row that the server was waiting for; and how long clients thought,
 * as far as that is known. */
struct pairs {
	uint64_t *answered_ns; /* after the first one came */
	uint64_t *next_ns;     /* so long after it the second one came */
	size_t count;
	uint64_t *think_ns; /* from an answer on */
	size_t think_count;
	struct censored *thoughts_ns; /* the same, and its bounds where it is not known */
	size_t thought_count;
};

static bool follows(const struct doing *doing, const struct doing *before)
{
	return before && before->connection == doing->connection;
}

static struct pairs pairs_find(const struct doing *doings, size_t count)
{
	struct pairs pairs = { memory_new(count, sizeof(*pairs.answered_ns)),
			       memory_new(count, sizeof(*pairs.next_ns)),
			       0,
			       memory_new(count, sizeof(*pairs.think_ns)),
			       0,
			       memory_new(count, sizeof(*pairs.thoughts_ns)),
			       0 };
	const struct doing *asked = NULL, *got = NULL;

	for (const struct doing *doing = doings; doing < doings + count; doing++) {
		if (!doing->is_send) {
			got = doing->is_connect ? got : doing;
			continue;
		}
		if (!doing->is_first)
			continue;
		bool is_next = follows(doing, asked) && follows(doing, got) && got > asked;

		bool is_known = doing->is_exact || doing->is_near;

		if (is_next && is_known)
			pairs.think_ns[pairs.think_count++] = doing->at_ns - got->at_ns;
		if (is_next)
			pairs.thoughts_ns[pairs.thought_count++] = (struct censored){
				(is_known ? doing->at_ns : doing->early_ns) - got->at_ns,
				(is_known ? doing->at_ns : doing->late_ns) - got->at_ns
			};
		if (is_next && asked->is_exact && doing->is_exact) {
			pairs.answered_ns[pairs.count] = got->at_ns - asked->at_ns;
			pairs.next_ns[pairs.count++] = doing->at_ns - asked->at_ns;
		}
		asked = doing;
	}
	return pairs;
}

static void pairs_free(struct pairs *pairs)
{
	free(pairs->answered_ns);
	free(pairs->next_ns);
	free(pairs->think_ns);
	free(pairs->thoughts_ns);
}

static void sort_find(struct clients *clients, struct clients_wanted wanted,
		      const struct pairs *pairs)
{
	struct regression fit;

	clients->sort = wanted.word == CLIENTS_TAKEN_OPEN ? CLIENTS_OPEN : CLIENTS_CLOSED;
	clients->is_told = wanted.word != CLIENTS_AS_RECORDED;
	if (clients->is_told || pairs->count < PAIRS_LEAST)
		return;
	double *x = memory_new(pairs->count, sizeof(*x)), *y = memory_new(pairs->count, sizeof(*y));

	for (size_t i = 0; i < pairs->count; i++) {
		x[i] = (double)pairs->answered_ns[i];
		y[i] = (double)pairs->next_ns[i];
	}
	regression_fit(&fit, x, y, pairs->count, 1);
	clients->is_told = fabs(fit.slope[0] - 0.5) > SURE_ERRORS * fit.error[0];
	if (clients->is_told && fit.slope[0] < 0.5)
		clients->sort = CLIENTS_OPEN;
	free(x);
	free(y);
}

uint64_t clients_spread_ns(uint64_t *values_ns, size_t count)
{
	if (!count)
		return 0;
	uint64_t low_ns = percentile_select(values_ns, count, count / 4);

	return percentile_select(values_ns, count, count - 1 - count / 4) - low_ns;
}

/* From one question to the next by the timetable; 0 = there is none. */
static uint64_t distance_ns(struct pairs *pairs)
{
	if (!pairs->count ||
	    (double)clients_spread_ns(pairs->next_ns, pairs->count) * assume.schedule >
		    (double)clients_spread_ns(pairs->think_ns, pairs->think_count))
		return 0;
	return percentile_select(pairs->next_ns, pairs->count, pairs->count / 2);
}

/* The distances are put in another order. */
static bool keep_timetable(struct pairs *pairs)
{
	return pairs->count >= PAIRS_LEAST &&
	       (double)clients_spread_ns(pairs->next_ns, pairs->count) * assume.schedule <
		       (double)clients_spread_ns(pairs->think_ns, pairs->think_count);
}

static uint64_t within(uint64_t ns, uint64_t least_ns, uint64_t most_ns)
{
	return ns < least_ns ? least_ns : ns > most_ns ? most_ns : ns;
}

static void closed_time(const struct clients *clients, struct doing *doings, size_t count)
{
	for (struct doing *doing = doings; doing < doings + count; doing++)
		if (doing->is_send && !doing->is_exact && !doing->is_near)
			doing->at_ns = doing->due_ns =
				within(doing->answered_ns + clients->think_ns, doing->early_ns,
				       doing->late_ns);
}

static void open_time(struct doing *doings, size_t count, uint64_t table_ns)
{
	const struct doing *asked = NULL;

	for (struct doing *doing = doings; doing < doings + count; doing++) {
		if (!doing->is_send)
			continue;
		if (!doing->is_exact) {
			uint64_t least_ns = follows(doing, asked) ? asked->due_ns : doing->early_ns;
			uint64_t next_ns =
				table_ns ? least_ns + table_ns : (least_ns + doing->late_ns) / 2;

			doing->due_ns = within(next_ns, least_ns, doing->late_ns);
			doing->at_ns = within(doing->due_ns, doing->early_ns, doing->late_ns);
		} else if (table_ns && follows(doing, asked) &&
			   asked->due_ns + table_ns < doing->answered_ns) {
			doing->due_ns = asked->due_ns + table_ns;
		}
		asked = doing;
	}
}

bool clients_parse(const char *word, struct clients_wanted *wanted)
{
	static const char *const words[] = { [CLIENTS_AS_RECORDED] = "recorded",
					     [CLIENTS_TAKEN_CLOSED] = "closed",
					     [CLIENTS_TAKEN_OPEN] = "open" };
	char *end;

	*wanted = (struct clients_wanted){ .word = CLIENTS_AS_RECORDED };
	if (!word || !word[0])
		return true;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(word, words[i]) != 0)
			continue;
		wanted->word = (enum clients_word)i;
		return true;
	}
	unsigned long count = strtoul(word, &end, 10);

	*wanted = (struct clients_wanted){ CLIENTS_TAKEN_CLOSED, (uint32_t)count };
	return word[0] >= '1' && word[0] <= '9' && !*end && count < NO_INDEX;
}

void clients_time(struct clients *clients, struct clients_wanted wanted, struct doing *doings,
		  size_t count)
{
	struct pairs pairs = pairs_find(doings, count);

	for (size_t i = 0; i < count; i++)
		clients->question_count += doings[i].is_send && doings[i].is_first;

	assert(!count || doings);
	sort_find(clients, wanted, &pairs);
	if (wanted.word == CLIENTS_AS_RECORDED && keep_timetable(&pairs)) {
		clients->sort = CLIENTS_OPEN;
		clients->is_told = true;
	}
	if (clients->sort == CLIENTS_OPEN) {
		clients->table_ns = distance_ns(&pairs);
		open_time(doings, count, clients->table_ns);
	} else {
		clients->think_ns = censored_median(pairs.thoughts_ns, pairs.thought_count);
		closed_time(clients, doings, count);
	}
	pairs_free(&pairs);
}
