/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether clients wait for answers, and when their questions came; clients.h has the contract.
 *
 * Method. From one question to the next a closed client takes as long as the answer took, and the
 * time that it thinks. An open one takes as long as it likes. The distance to the next question is
 * fitted by the time of the answer. The slope is 1 if the client waits, and 0 if it does not.
 * Only questions count that the server was waiting for, as the times of others are not known.
 *
 * Clients may keep a timetable, by which the distance between questions is always the same. Due
 * times lie on a line then, as close below the times of all questions as can be. A question due
 * before the answer that its client awaited comes with this answer. Clients of which most questions
 * come so do not wait, though long answers put off the questions that are due meanwhile.
 *
 * A closed client's other questions came the usual time after the answer, as far as that is
 * possible. A busy server waits for a question only while all clients think for long. So the usual
 * time must explain the others, too, of which only bounds are known (censored.h). An open client's
 * other questions came when they were due, if they keep a timetable. Without one any time is as
 * likely, and the middle of all that is possible stands for it.
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

/* A timetable is taken for one if it is so many times as likely. */
static const double SURE_ODDS = 1000;

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
		bool is_known = clients_is_known(doing);

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

/* They are put in another order; 0 for none. */
static uint64_t median_ns(uint64_t *values_ns, size_t count)
{
	return count ? percentile_select(values_ns, count, count / 2) : 0;
}

/* From one question to the next by the timetable; 0 = there is none. */
static uint64_t distance_ns(struct pairs *pairs)
{
	if (!pairs->count ||
	    (double)clients_spread_ns(pairs->next_ns, pairs->count) * assume.schedule >
		    (double)clients_spread_ns(pairs->think_ns, pairs->think_count))
		return 0;
	return median_ns(pairs->next_ns, pairs->count);
}

static void closed_time(const struct clients *clients, struct doing *doings, size_t count)
{
	for (struct doing *doing = doings; doing < doings + count; doing++)
		if (doing->is_send && !clients_is_known(doing))
			doing->at_ns = doing->due_ns =
				clients_within(doing->answered_ns + clients->think_ns,
					       doing->early_ns, doing->late_ns);
}

/* --- the timetables of open clients --- */

/* Question number i of a connection was due at first_ns + i * every_ns. */
struct timetable {
	double first_ns, every_ns;
};

struct point {
	double number, ns;
};

static double latest_ns(const struct doing *send)
{
	return (double)(clients_is_known(send) ? send->at_ns : send->late_ns);
}

static bool is_below(struct point a, struct point b, struct point c)
{
	return (b.ns - a.ns) * (c.number - a.number) < (c.ns - a.ns) * (b.number - a.number);
}

/*
 * No question comes before it is due. Of all lines below the latest times, the closest one is the
 * edge of their lower hull at the mean number. False: fewer than two questions.
 */
static bool timetable_fit(struct timetable *timetable, const struct doing *doings, size_t count)
{
	struct point *hull = memory_new(count, sizeof(*hull));
	size_t used = 0, edge = 1;
	double number = 0;

	for (size_t i = 0; i < count; i++) {
		if (!doings[i].is_send || !doings[i].is_first)
			continue;
		struct point point = { number++, latest_ns(&doings[i]) };

		while (used > 1 && !is_below(hull[used - 2], hull[used - 1], point))
			used--;
		hull[used++] = point;
	}
	while (edge + 1 < used && hull[edge].number < (number - 1) / 2)
		edge++;
	if (used > 1) {
		const struct point *from = &hull[edge - 1], *to = &hull[edge];

		timetable->every_ns = (to->ns - from->ns) / (to->number - from->number);
		timetable->first_ns = from->ns - from->number * timetable->every_ns;
	}
	free(hull);
	return used > 1;
}

static uint64_t apart_ns(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns > b_ns ? a_ns - b_ns : b_ns - a_ns;
}

/* Questions that the server was waiting for, and by how much their timetable is off, in all. */
struct waited {
	size_t count;
	double off_ns;
};

/*
 * Whether questions come when they are due, or with the answer before if that is later, rather than
 * a time of thinking after it. The mean errors of both tell how likely they are (Laplace). The line
 * is free to meet two questions. `all` gets what that is of.
 */
static bool timetable_holds(const struct timetable *timetable, const struct doing *doings,
			    size_t count, uint64_t think_ns, struct waited *all)
{
	double next_ns = timetable->first_ns, off_ns = 0, off_closed_ns = 0, waited = 0;

	for (const struct doing *doing = doings; doing < doings + count; doing++) {
		if (!doing->is_send || !doing->is_first)
			continue;
		uint64_t due_ns = next_ns > 0 ? (uint64_t)next_ns : 0;

		next_ns += timetable->every_ns;
		if (!doing->is_exact || !doing->answered_ns)
			continue;
		due_ns = due_ns > doing->answered_ns ? due_ns : doing->answered_ns;
		off_ns += (double)apart_ns(doing->at_ns, due_ns);
		off_closed_ns += (double)apart_ns(doing->at_ns, doing->answered_ns + think_ns);
		waited++;
	}
	*all = (struct waited){ (size_t)waited, off_ns };
	return waited > 2 &&
	       waited * log(off_closed_ns * (waited - 2) / (off_ns * waited)) > log(SURE_ODDS);
}

/* Of one connection. */
static void times_by_table(struct doing *doings, size_t count, const struct timetable *timetable)
{
	const struct doing *asked = NULL;
	double next_ns = timetable->first_ns;

	for (struct doing *doing = doings; doing < doings + count; doing++) {
		if (!doing->is_send)
			continue;
		uint64_t least_ns = asked ? asked->due_ns : doing->early_ns;
		uint64_t due_ns = clients_within(next_ns > 0 ? (uint64_t)next_ns : 0, least_ns,
						 doing->late_ns);

		if (doing->is_first)
			next_ns += timetable->every_ns;
		if (!doing->is_exact || (doing->is_first && due_ns < doing->answered_ns))
			doing->due_ns = due_ns;
		if (!doing->is_exact)
			doing->at_ns =
				clients_within(doing->due_ns, doing->early_ns, doing->late_ns);
		asked = doing;
	}
}

/* Of one connection, from each question to the next; table_ns: 0 = the distances vary. */
static void times_by_distance(struct doing *doings, size_t count, uint64_t table_ns)
{
	const struct doing *asked = NULL;

	for (struct doing *doing = doings; doing < doings + count; doing++) {
		if (!doing->is_send)
			continue;
		if (!doing->is_exact) {
			uint64_t least_ns = asked ? asked->due_ns : doing->early_ns;
			uint64_t next_ns =
				table_ns ? least_ns + table_ns : (least_ns + doing->late_ns) / 2;

			doing->due_ns = clients_within(next_ns, least_ns, doing->late_ns);
			doing->at_ns =
				clients_within(doing->due_ns, doing->early_ns, doing->late_ns);
		} else if (table_ns && asked && asked->due_ns + table_ns < doing->answered_ns) {
			doing->due_ns = asked->due_ns + table_ns;
		}
		asked = doing;
	}
}

/* By connection; the distance from a question to the next is 0 where none is kept. */
struct timetables {
	struct timetable *tables;
	uint64_t *distances_ns; /* of those that are kept */
	size_t count;
	size_t kept_count;
	struct waited waited, waited_kept;
};

static size_t connection_end(const struct doing *doings, size_t count, size_t from)
{
	size_t to = from;

	while (to < count && doings[to].connection == doings[from].connection)
		to++;
	return to;
}

static struct timetables timetables_find(const struct doing *doings, size_t count,
					 uint64_t think_ns)
{
	struct timetables found = { .tables = memory_new(count, sizeof(*found.tables)),
				    .distances_ns = memory_new(count, sizeof(uint64_t)) };

	for (size_t from = 0, to; from < count; from = to) {
		struct timetable *table = &found.tables[found.count++];
		struct waited waited = { 0, 0 };

		to = connection_end(doings, count, from);
		*table = (struct timetable){ 0 };
		bool is_kept = timetable_fit(table, doings + from, to - from) &&
			       timetable_holds(table, doings + from, to - from, think_ns, &waited);

		found.waited.count += waited.count;
		found.waited_kept.count += is_kept ? waited.count : 0;
		found.waited_kept.off_ns += is_kept ? waited.off_ns : 0;
		if (is_kept)
			found.distances_ns[found.kept_count++] = (uint64_t)(table->every_ns + 0.5);
		else
			*table = (struct timetable){ 0 };
	}
	return found;
}

static void timetables_free(struct timetables *timetables)
{
	free(timetables->tables);
	free(timetables->distances_ns);
}

static void open_time(struct doing *doings, size_t count, const struct timetables *timetables,
		      uint64_t table_ns)
{
	const struct timetable *table = timetables->tables;

	for (size_t from = 0, to; from < count; from = to, table++) {
		to = connection_end(doings, count, from);
		if (table->every_ns > 0)
			times_by_table(doings + from, to - from, table);
		else
			times_by_distance(doings + from, to - from, table_ns);
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

static size_t questions_count(const struct doing *doings, size_t count)
{
	size_t questions = 0;

	for (size_t i = 0; i < count; i++)
		questions += doings[i].is_send && doings[i].is_first;
	return questions;
}

void clients_time(struct clients *clients, const struct recording *rec,
		  struct clients_wanted wanted, struct doing *doings, size_t count)
{
	assert(!count || doings);
	struct pairs pairs = pairs_find(doings, count);
	uint64_t think_ns = median_ns(pairs.think_ns, pairs.think_count);
	struct timetables tables = timetables_find(doings, count, think_ns);
	bool are_kept =
		pairs.count >= PAIRS_LEAST && 2 * tables.waited_kept.count > tables.waited.count;
	bool has_table = wanted.word == CLIENTS_AS_RECORDED && are_kept;
	double table_off_ns =
		has_table ? tables.waited_kept.off_ns / fmax((double)tables.waited_kept.count, 1)
			  : INFINITY;

	clients->question_count = questions_count(doings, count);
	clients->think_ns = censored_median(pairs.thoughts_ns, pairs.thought_count);
	sort_find(clients, wanted, &pairs);
	if (has_table) {
		clients->sort = CLIENTS_OPEN;
		clients->is_told = true;
	}
	if (wanted.word != CLIENTS_TAKEN_OPEN &&
	    clients_queue(clients, rec, doings, count, table_off_ns)) {
		clients->sort = CLIENTS_CLOSED;
		clients->is_told = true;
	} else if (clients->sort == CLIENTS_OPEN) {
		clients->think_ns = 0;
		clients->table_ns = are_kept ? median_ns(tables.distances_ns, tables.kept_count)
					     : distance_ns(&pairs);
		open_time(doings, count, &tables, clients->table_ns);
	} else {
		closed_time(clients, doings, count);
	}
	timetables_free(&tables);
	pairs_free(&pairs);
}
