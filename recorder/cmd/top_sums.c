/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums over the last seconds; top_sums.h has the contract.
 *
 * An event counts in the second in which it ended. The time of a thread, and that of waits for a
 * lock, is in the seconds in which it passed.
 *
 * One thread.
 */
#include "top_sums.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES = 4 * TOP_ENTRIES_MAX };
#define SECOND_NS UINT64_C(1000000000)

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

/* Where it is, or would be. */
static uint32_t *place_of(const struct top_table *table, const uint64_t key[3])
{
	uint64_t place = mix(key[0] ^ mix(key[1] ^ mix(key[2]))) % PLACES;

	for (;; place = (place + 1) % PLACES) {
		uint32_t number = table->places[place];

		if (number == 0 ||
		    memcmp(table->entries[number - 1].key, key, sizeof(table->entries->key)) == 0)
			return &table->places[place];
	}
}

/* NULL: the table is full. */
static struct top_entry *entry_of(struct top_table *table, uint64_t a, uint64_t b, uint64_t c)
{
	const uint64_t key[3] = { a, b, c };
	uint32_t *place = place_of(table, key);

	if (*place)
		return &table->entries[*place - 1];
	if (table->count == TOP_ENTRIES_MAX) {
		table->left_out++;
		return NULL;
	}
	struct top_entry *entry = &table->entries[table->count++];

	*entry = (struct top_entry){ .key = { a, b, c } };
	*place = (uint32_t)table->count;
	return entry;
}

static bool has_events(const struct top_entry *entry)
{
	for (size_t i = 0; i < TOP_SECONDS; i++)
		if (entry->seconds[i][TOP_TAKEN].count + entry->seconds[i][TOP_WAITED].count > 0)
			return true;
	return false;
}

/* Entries of which nothing happened in the last seconds go. */
static void make_room(struct top_table *table)
{
	size_t kept = 0;

	for (size_t i = 0; i < table->count; i++)
		if (has_events(&table->entries[i]))
			table->entries[kept++] = table->entries[i];
	table->count = kept;
	memset(table->places, 0, PLACES * sizeof(*table->places));
	for (size_t i = 0; i < kept; i++)
		*place_of(table, table->entries[i].key) = (uint32_t)i + 1;
}

static void sum_add(struct top_sum *sum, double ns)
{
	sum->count++;
	sum->ns += ns;
	sum->max_ns = fmax(sum->max_ns, ns);
}

/* The part of a record's time that passed in the second that is `age` old; none from before top
 * began. */
static double ns_in_second(const struct top_sums *sums, const struct record *record, unsigned age)
{
	uint64_t begin = (sums->second - age) * SECOND_NS, end = begin + SECOND_NS;

	begin = record->start > begin ? record->start : begin;
	begin = sums->since_ns > begin ? sums->since_ns : begin;
	end = record->end < end ? record->end : end;
	return begin < end ? (double)(end - begin) : 0;
}

/* How many seconds back that time goes. */
static unsigned last_age(const struct top_sums *sums, const struct record *record)
{
	uint64_t first = record->start / SECOND_NS;
	uint64_t age = first < sums->second ? sums->second - first : 0;

	return age < TOP_SECONDS ? (unsigned)age : TOP_SECONDS - 1;
}

/* --- events --- */

static bool is_op(const struct record *record, enum kind kind)
{
	return record->type == RECORD_OP && record->what == kind;
}

static uint32_t thread_of(const struct record *record)
{
	if (record->type == RECORD_SAMPLE)
		return record->name;
	/* the op that waits may be another thread's */
	if (record->type == RECORD_WAIT)
		return record->count;
	return (uint32_t)((record->type == RECORD_OP ? record->id : record->parent) >> 32);
}

bool top_sums_part(const struct record *record, enum top_part *part)
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

static void wait_add(const struct top_sums *sums, struct top_entry *entry,
		     const struct record *record)
{
	struct top_sum *now = &entry->seconds[sums->second % TOP_SECONDS][TOP_WAITED];

	now->max_ns = fmax(now->max_ns, (double)(record->end - record->start));
	for (unsigned age = 0; age <= last_age(sums, record); age++)
		entry->seconds[(sums->second - age) % TOP_SECONDS][TOP_WAITED].ns +=
			ns_in_second(sums, record, age);
}

static void lock_add(struct top_sums *sums, const struct record *record, double ns)
{
	enum top_part part;
	bool is_wait = record->type == RECORD_WAIT;

	if (!is_op(record, KIND_HOLD) &&
	    !(is_wait && top_sums_part(record, &part) && part == TOP_LOCK))
		return;
	struct top_entry *entry = entry_of(&sums->locks, record->value, 0, 0);

	if (!entry)
		return;
	entry->ident = record->ident ? record->ident : entry->ident;
	entry->stack = entry->stack ? entry->stack : record->stack;
	sum_add(&entry->seconds[sums->second % TOP_SECONDS][is_wait ? TOP_WAITED : TOP_TAKEN],
		is_wait ? 0 : ns);
	if (is_wait)
		wait_add(sums, entry, record);
}

static struct top_entry *thread_add(struct top_sums *sums, const struct record *record)
{
	struct top_entry *entry = entry_of(&sums->threads, thread_of(record), 0, 0);
	enum top_part part;

	if (!entry)
		return NULL;
	entry->seconds[sums->second % TOP_SECONDS][TOP_TAKEN].count++;
	for (unsigned age = 0; top_sums_part(record, &part) && age <= last_age(sums, record); age++)
		entry->parts_ns[(sums->second - age) % TOP_SECONDS][part] +=
			(float)ns_in_second(sums, record, age);
	return entry;
}

/* --- stacks --- */

/* The time that a record tells of, to its stack and its thread's request. */
static void stack_add(struct top_sums *sums, const struct record *record, struct top_entry *thread,
		      enum top_part activity, double ns)
{
	uint32_t number = top_stacks_find(&sums->stacks, activity, record);

	top_stacks_add(&sums->stacks, number, TOP_OF_ALL, sums->second, ns);
	if (thread)
		top_requests_part(&sums->requests, &sums->stacks, thread->ident, record, activity,
				  number, ns);
	top_marks_part(&sums->marks, &sums->stacks, record, thread_of(record), activity, number,
		       ns);
	if (!thread)
		return;
	if (!sums->calls.count)
		top_pieces_forget(&sums->pieces, record->end);
	else if (number)
		thread->last_piece =
			top_pieces_add(&sums->pieces, record->end, thread->last_piece, number, ns);
}

/*
 * A sample stands for the time since the one before of its thread. Records without a stack only say
 * how much CPU time there was. Where samples begin, or begin again, that is too much.
 */
static void sample_add(struct top_sums *sums, const struct record *record, struct top_entry *thread)
{
	double run_ns, queued_ns;

	if (!thread)
		return;
	if (record->stack && thread->sampled_ns) {
		run_ns = fmax((double)record->value - (double)thread->sampled_ns, 0);
		queued_ns = record->id && thread->queued_ns
				    ? fmax((double)record->id - (double)thread->queued_ns, 0)
				    : 0;
		if (sums->sample_ns)
			run_ns = fmin(run_ns, 2 * (double)sums->sample_ns);
		stack_add(sums, record, thread, TOP_RUNNING, run_ns);
		if (queued_ns > 0)
			stack_add(sums, record, thread, TOP_QUEUED, fmin(queued_ns, SECOND_NS));
		sums->samples[sums->second % TOP_SECONDS]++;
	}
	if (record->stack || !thread->sampled_ns)
		thread->sampled_ns = record->value;
	if (record->stack || !thread->queued_ns)
		thread->queued_ns = record->id;
}

/* --- all of it --- */

bool top_sums_begin(struct top_sums *sums, uint64_t now_ns)
{
	*sums = (struct top_sums){ .second = now_ns / SECOND_NS,
				   .since_second = now_ns / SECOND_NS,
				   .since_ns = now_ns };
	bool is_made = table_begin(&sums->classes);

	is_made = table_begin(&sums->locks) && is_made;
	is_made = table_begin(&sums->threads) && is_made;
	is_made = top_requests_begin(&sums->requests) && is_made;
	is_made = top_marks_begin(&sums->marks) && is_made;
	is_made = top_stacks_begin(&sums->stacks) && is_made;
	is_made = top_pieces_begin(&sums->pieces) && is_made;
	top_pieces_forget(&sums->pieces, now_ns);
	return top_calls_begin(&sums->calls) && is_made;
}

void top_sums_end(struct top_sums *sums)
{
	table_end(&sums->classes);
	table_end(&sums->locks);
	table_end(&sums->threads);
	top_requests_end(&sums->requests);
	top_marks_end(&sums->marks);
	top_stacks_end(&sums->stacks);
	top_pieces_end(&sums->pieces);
	top_calls_end(&sums->calls);
	*sums = (struct top_sums){ .second = 0 };
}

static void table_clear(struct top_table *table, uint64_t second)
{
	for (size_t i = 0; i < table->count; i++) {
		struct top_entry *entry = &table->entries[i];

		memset(entry->seconds[second % TOP_SECONDS], 0, sizeof(entry->seconds[0]));
		memset(entry->parts_ns[second % TOP_SECONDS], 0, sizeof(entry->parts_ns[0]));
	}
	if (table->count == TOP_ENTRIES_MAX)
		make_room(table);
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
		top_requests_clear(&sums->requests, sums->second);
		top_stacks_clear(&sums->stacks, sums->second);
		sums->events[sums->second % TOP_SECONDS] = 0;
		sums->samples[sums->second % TOP_SECONDS] = 0;
	}
	if (sums->pieces.generation != sums->stacks.generation)
		top_pieces_forget(&sums->pieces, sums->second * SECOND_NS);
	sums->pieces.generation = sums->stacks.generation;
}

/* The last piece of its thread's time; 0 = none. */
static uint64_t call_add(struct top_sums *sums, const struct record *record,
			 const struct top_names *names)
{
	double ns = (double)(record->end - record->start);
	enum top_part part;

	class_add(sums, record, ns, names);
	lock_add(sums, record, ns);
	struct top_entry *thread = thread_add(sums, record);

	if (top_sums_part(record, &part))
		stack_add(sums, record, thread, part, ns);
	if (top_requests_look_at(&sums->requests, &sums->stacks, record, thread_of(record),
				 names->is_write(names->context, record->name), sums->second) &&
	    thread)
		thread->ident = record->ident;
	if (record->type == RECORD_OP)
		top_marks_op(&sums->marks, &sums->requests, &sums->stacks, record, sums->second);
	return thread ? thread->last_piece : 0;
}

void top_sums_add(struct top_sums *sums, const struct record *record, const struct top_names *names)
{
	uint64_t last_piece = 0;

	go_to_second(sums, record->end / SECOND_NS);
	sums->events[sums->second % TOP_SECONDS]++;
	if (record->type == RECORD_SAMPLE)
		sample_add(sums, record, entry_of(&sums->threads, record->name, 0, 0));
	else if (record->type == RECORD_OP || record->type == RECORD_WAIT)
		last_piece = call_add(sums, record, names);
	top_calls_add(&sums->calls, record, thread_of(record), last_piece);
}

void top_sums_tick(struct top_sums *sums, uint64_t now_ns)
{
	go_to_second(sums, now_ns / SECOND_NS);
	top_requests_tick(&sums->requests, &sums->stacks, now_ns, sums->second);
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
	uint64_t first_age = sums->second - sums->since_second;

	for (unsigned age = 1; age < TOP_SECONDS; age++)
		seconds += top_view_weight(sums, view, age);
	/* nothing was seen of the first one's begin */
	if (first_age < TOP_SECONDS)
		seconds -= top_view_weight(sums, view, (unsigned)first_age) *
			   (double)(sums->since_ns % SECOND_NS) / (double)SECOND_NS;
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

double top_weighted(const struct top_sums *sums, const double by_second[TOP_SECONDS],
		    struct top_view view)
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

double top_stack_ns(const struct top_sums *sums, const struct top_stack *stack,
		    enum top_share share, struct top_view view)
{
	double all = 0;

	for (unsigned age = 0; age < TOP_SECONDS; age++)
		if (top_view_weight(sums, view, age) > 0)
			all += top_view_weight(sums, view, age) *
			       (double)stack->ns[share][(sums->second - age) % TOP_SECONDS];
	return all;
}

double top_view_overlap_ns(const struct top_sums *sums, struct top_view view, uint64_t since_ns,
			   uint64_t now_ns)
{
	double all = 0;

	since_ns = since_ns > sums->since_ns ? since_ns : sums->since_ns;
	for (unsigned age = 0; age < TOP_SECONDS && age <= sums->second; age++) {
		uint64_t begin = (sums->second - age) * SECOND_NS, end = begin + SECOND_NS;

		begin = since_ns > begin ? since_ns : begin;
		end = now_ns < end ? now_ns : end;
		if (begin < end)
			all += top_view_weight(sums, view, age) * (double)(end - begin);
	}
	return all;
}

uint64_t top_view_since_ns(const struct top_sums *sums, struct top_view view, uint64_t now_ns)
{
	uint64_t seconds = view.seconds ? view.seconds : TOP_HALF_LIFE_S;
	uint64_t first = now_ns / SECOND_NS + 1;

	first = first > seconds ? (first - seconds) * SECOND_NS : 0;
	return first > sums->since_ns ? first : sums->since_ns;
}
