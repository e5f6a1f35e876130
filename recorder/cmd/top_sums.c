/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums over the last seconds; top_sums.h has the contract.
 *
 * An event counts in the second in which it ended. A request begins when a server has read the
 * first bytes of a question on a connection that it accepted. It ends with the last write there
 * before the next question. So time in the kernel's queues before that is not in it. Calls and
 * waits of the thread that serves it are its parts. A thread serves the connection that it read
 * from last.
 *
 * One thread.
 */
#include "top_sums.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	PLACES = 4 * TOP_ENTRIES_MAX,
	CONNECTIONS_MAX = 65536,
	/* An answer without a next question is whole after so long. */
	ANSWER_SETTLES_NS = 50000000
};
#define SECOND_NS UINT64_C(1000000000)

struct top_connection {
	uint64_t begin_ns; /* 0 = no request is under way */
	uint64_t answered_ns;
	uint64_t parts_ns[TOP_PARTS];
	uint32_t ident;
	uint32_t kind;
	uint32_t thread;
};

/* --- tables --- */

static uint64_t mix(uint64_t key)
{
	key ^= key >> 33;
	key *= UINT64_C(0xff51afd7ed558ccd);
	return key ^ key >> 33;
}

static bool table_begin(struct top_table *table)
{
	table->entries = calloc(TOP_ENTRIES_MAX, sizeof(*table->entries));
	table->places = calloc(PLACES, sizeof(*table->places));
	return table->entries && table->places;
}

static void table_end(struct top_table *table)
{
	free(table->entries);
	free(table->places);
}

/* NULL: the table is full. */
static struct top_entry *entry_of(struct top_table *table, uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t place = mix(a ^ mix(b ^ mix(c))) % PLACES;

	for (; table->places[place]; place = (place + 1) % PLACES) {
		struct top_entry *entry = &table->entries[table->places[place] - 1];

		if (entry->key[0] == a && entry->key[1] == b && entry->key[2] == c)
			return entry;
	}
	if (table->count == TOP_ENTRIES_MAX)
		return NULL;
	struct top_entry *entry = &table->entries[table->count++];

	table->places[place] = (uint32_t)table->count;
	entry->key[0] = a;
	entry->key[1] = b;
	entry->key[2] = c;
	return entry;
}

static void sum_add(struct top_sum *sum, double ns)
{
	sum->count++;
	sum->ns += ns;
	sum->max_ns = fmax(sum->max_ns, ns);
}

/* --- events --- */

static bool is_op(const struct record *record, enum kind kind)
{
	return record->type == RECORD_OP && record->what == kind;
}

static uint32_t thread_of(const struct record *record)
{
	uint64_t id = record->type == RECORD_OP ? record->id : record->parent;

	return (uint32_t)(id >> 32);
}

/* The sort of time that an op or a wait of a thread is; false: it is none, as a hold is not. */
static bool part_of(const struct record *record, enum top_part *part)
{
	if (record->type == RECORD_WAIT) {
		bool is_lock = record->what == REASON_MUTEX || record->what == REASON_LOCK ||
			       record->what == REASON_RWLOCK_READ ||
			       record->what == REASON_RWLOCK_WRITE;

		*part = is_lock ? TOP_LOCK : TOP_OTHER;
		return true;
	}
	*part = record->what == KIND_POLL    ? TOP_POLL
		: record->what == KIND_SLEEP ? TOP_SLEEP
		: record->what == KIND_DNS   ? TOP_OTHER
					     : TOP_IO;
	return is_op(record, KIND_IO) || is_op(record, KIND_POLL) || is_op(record, KIND_SLEEP) ||
	       is_op(record, KIND_DNS);
}

static void class_add(struct top_sums *sums, const struct record *record, double ns,
		      const struct top_names *names)
{
	bool is_wait = record->type == RECORD_WAIT;
	bool is_named = is_wait || record->what == KIND_HOLD;

	if (record->type == RECORD_OP &&
	    (record->what == KIND_THREAD || record->what == KIND_PROCESS))
		return;
	struct top_entry *entry =
		entry_of(&sums->classes, (uint64_t)record->type << 8 | record->what,
			 is_named ? record->ident : record->name,
			 is_named ? record->value : names->caller(names->context, record->stack));

	if (!entry)
		return;
	entry->ident = is_named ? record->ident : 0;
	entry->stack = entry->stack ? entry->stack : record->stack;
	sum_add(&entry->seconds[sums->second % TOP_SECONDS][TOP_TAKEN], ns);
}

static void lock_add(struct top_sums *sums, const struct record *record, double ns)
{
	enum top_part part;
	bool is_wait = record->type == RECORD_WAIT;

	if (!is_op(record, KIND_HOLD) && !(is_wait && part_of(record, &part) && part == TOP_LOCK))
		return;
	struct top_entry *entry = entry_of(&sums->locks, record->value, 0, 0);

	if (!entry)
		return;
	entry->ident = record->ident;
	entry->stack = entry->stack ? entry->stack : record->stack;
	sum_add(&entry->seconds[sums->second % TOP_SECONDS][is_wait ? TOP_WAITED : TOP_TAKEN], ns);
}

static struct top_entry *thread_add(struct top_sums *sums, const struct record *record, double ns)
{
	struct top_entry *entry = entry_of(&sums->threads, thread_of(record), 0, 0);
	enum top_part part;

	if (!entry)
		return NULL;
	entry->seconds[sums->second % TOP_SECONDS][TOP_TAKEN].count++;
	if (part_of(record, &part))
		entry->parts_ns[sums->second % TOP_SECONDS][part] += (float)ns;
	return entry;
}

/* --- requests --- */

static void request_end(struct top_sums *sums, struct top_connection *connection)
{
	struct top_request *request = &sums->requests[sums->request_count++ % TOP_REQUESTS_MAX];

	*request = (struct top_request){ .end_ns = connection->answered_ns,
					 .taken_ns = connection->answered_ns - connection->begin_ns,
					 .ident = connection->ident,
					 .kind = connection->kind,
					 .thread = connection->thread };
	memcpy(request->parts_ns, connection->parts_ns, sizeof(request->parts_ns));
	sums->requests_by_second[sums->second % TOP_SECONDS]++;
	connection->begin_ns = connection->answered_ns = 0;
}

/* A part of the request that the thread is at. */
static void request_part(struct top_sums *sums, const struct top_entry *thread,
			 const struct record *record)
{
	struct top_connection *connection =
		thread && thread->ident ? &sums->connections[thread->ident] : NULL;
	enum top_part part;

	if (!connection || !connection->begin_ns || connection->answered_ns ||
	    !part_of(record, &part) || record->end <= connection->begin_ns)
		return;
	uint64_t since_ns =
		record->start > connection->begin_ns ? record->start : connection->begin_ns;

	connection->parts_ns[part] += record->end - since_ns;
}

static void request_look_at(struct top_sums *sums, const struct record *record,
			    struct top_entry *thread, const struct top_names *names)
{
	if (!is_op(record, KIND_IO) || !(record->flags & RECORD_ACCEPTED) || !record->ident ||
	    record->ident >= CONNECTIONS_MAX || (int64_t)record->value <= 0)
		return;
	struct top_connection *connection = &sums->connections[record->ident];

	if (names->is_write(names->context, record->name)) {
		if (connection->begin_ns)
			connection->answered_ns = record->end;
		return;
	}
	if (connection->answered_ns)
		request_end(sums, connection);
	if (!connection->begin_ns)
		*connection = (struct top_connection){ .begin_ns = record->end,
						       .ident = record->ident,
						       .thread = thread_of(record) };
	if (thread)
		thread->ident = record->ident;
	if (record->flags & RECORD_PEEKED)
		connection->kind = record->count & UINT16_MAX;
}

/* --- all of it --- */

bool top_sums_begin(struct top_sums *sums, uint64_t now_ns)
{
	*sums = (struct top_sums){ .second = now_ns / SECOND_NS,
				   .since_second = now_ns / SECOND_NS };
	sums->requests = calloc(TOP_REQUESTS_MAX, sizeof(*sums->requests));
	sums->connections = calloc(CONNECTIONS_MAX, sizeof(*sums->connections));
	bool is_made = table_begin(&sums->classes);

	is_made = table_begin(&sums->locks) && is_made;
	is_made = table_begin(&sums->threads) && is_made;
	return is_made && sums->requests && sums->connections;
}

void top_sums_end(struct top_sums *sums)
{
	table_end(&sums->classes);
	table_end(&sums->locks);
	table_end(&sums->threads);
	free(sums->requests);
	free(sums->connections);
	*sums = (struct top_sums){ .second = 0 };
}

static void table_clear(struct top_table *table, uint64_t second)
{
	for (size_t i = 0; i < table->count; i++) {
		struct top_entry *entry = &table->entries[i];

		memset(entry->seconds[second % TOP_SECONDS], 0, sizeof(entry->seconds[0]));
		memset(entry->parts_ns[second % TOP_SECONDS], 0, sizeof(entry->parts_ns[0]));
	}
}

static void go_to_second(struct top_sums *sums, uint64_t second)
{
	if (second > sums->second + TOP_SECONDS)
		sums->second = second - TOP_SECONDS;
	while (sums->second < second) {
		sums->second++;
		table_clear(&sums->classes, sums->second);
		table_clear(&sums->locks, sums->second);
		table_clear(&sums->threads, sums->second);
		sums->events[sums->second % TOP_SECONDS] = 0;
		sums->requests_by_second[sums->second % TOP_SECONDS] = 0;
	}
}

void top_sums_add(struct top_sums *sums, const struct record *record, const struct top_names *names)
{
	double ns = (double)(record->end - record->start);

	go_to_second(sums, record->end / SECOND_NS);
	sums->events[sums->second % TOP_SECONDS]++;
	if (record->type != RECORD_OP && record->type != RECORD_WAIT)
		return;
	class_add(sums, record, ns, names);
	lock_add(sums, record, ns);
	struct top_entry *thread = thread_add(sums, record, ns);

	request_part(sums, thread, record);
	request_look_at(sums, record, thread, names);
}

void top_sums_tick(struct top_sums *sums, uint64_t now_ns)
{
	go_to_second(sums, now_ns / SECOND_NS);
	for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
		struct top_connection *connection = &sums->connections[i];

		if (connection->answered_ns && connection->answered_ns + ANSWER_SETTLES_NS < now_ns)
			request_end(sums, connection);
	}
}

/* --- views --- */

double top_view_weight(const struct top_sums *sums, struct top_view view, unsigned age)
{
	if (age >= TOP_SECONDS || age > sums->second - sums->since_second)
		return 0;
	if (!view.seconds)
		return exp2(-(double)age / TOP_HALF_LIFE_S);
	return age < view.seconds ? 1 : 0;
}

double top_view_seconds(const struct top_sums *sums, struct top_view view, uint64_t now_ns)
{
	double now = (double)(now_ns % SECOND_NS) / (double)SECOND_NS;
	double seconds = now * top_view_weight(sums, view, 0);

	for (unsigned age = 1; age < TOP_SECONDS; age++)
		seconds += top_view_weight(sums, view, age);
	return fmax(seconds, 0.01);
}

struct top_sum top_sum_of(const struct top_sums *sums, const struct top_entry *entry,
			  enum top_series series, struct top_view view)
{
	struct top_sum all = { 0, 0, 0 };

	for (unsigned age = 0; age < TOP_SECONDS; age++) {
		double weight = top_view_weight(sums, view, age);
		const struct top_sum *sum =
			weight > 0 ? &entry->seconds[(sums->second - age) % TOP_SECONDS][series]
				   : NULL;

		if (!sum)
			continue;
		all.count += weight * sum->count;
		all.ns += weight * sum->ns;
		all.max_ns = fmax(all.max_ns, sum->max_ns);
	}
	return all;
}

static double weighted(const struct top_sums *sums, const double *by_second, struct top_view view)
{
	double all = 0;

	for (unsigned age = 0; age < TOP_SECONDS; age++)
		if (top_view_weight(sums, view, age) > 0)
			all += top_view_weight(sums, view, age) *
			       by_second[(sums->second - age) % TOP_SECONDS];
	return all;
}

double top_part_of(const struct top_sums *sums, const struct top_entry *entry, enum top_part part,
		   struct top_view view)
{
	double all = 0;

	for (unsigned age = 0; age < TOP_SECONDS; age++)
		if (top_view_weight(sums, view, age) > 0)
			all += top_view_weight(sums, view, age) *
			       (double)entry->parts_ns[(sums->second - age) % TOP_SECONDS][part];
	return all;
}

double top_events_of(const struct top_sums *sums, struct top_view view)
{
	return weighted(sums, sums->events, view);
}

double top_requests_of(const struct top_sums *sums, struct top_view view)
{
	return weighted(sums, sums->requests_by_second, view);
}

static int compare_taken(const void *left, const void *right)
{
	const struct top_request *a = left, *b = right;

	return (a->taken_ns < b->taken_ns) - (a->taken_ns > b->taken_ns);
}

struct top_request *top_requests_list(const struct top_sums *sums, struct top_view view,
				      uint64_t now_ns, size_t *count)
{
	uint64_t all =
		sums->request_count < TOP_REQUESTS_MAX ? sums->request_count : TOP_REQUESTS_MAX;
	struct top_request *list = malloc((all ? all : 1) * sizeof(*list));
	uint64_t seconds = view.seconds ? view.seconds : TOP_HALF_LIFE_S;

	*count = 0;
	for (uint64_t i = 0; list && i < all; i++)
		if (sums->requests[i].end_ns + seconds * SECOND_NS >= now_ns)
			list[(*count)++] = sums->requests[i];
	if (list && *count)
		qsort(list, *count, sizeof(*list), compare_taken);
	return list;
}
