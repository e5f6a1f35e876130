/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two walks: one finds the sorts of time that matter, one adds them up; latency.h has the contract.
 *
 * On the second walk a thread's time by sort is known at every 64th slice. A request has what came
 * between its begin and its end, so requests of one thread may overlap as they like.
 */
#include "latency.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buckets.h"
#include "base/memory.h"
#include "recording/addresses.h"

enum { ALL = LATENCY_KEYS + 1, CUTS_A_MARK = 64 };

typedef uint64_t amounts[ALL]; /* ns by key */

/* The slices of a thread. */
struct cuts {
	uint64_t *start_ns;
	uint8_t *key;
	amounts *marks; /* the sums of all before every 64th */
	size_t count, start_room, key_room, mark_room;
	uint64_t end_ns;
};

/* Of slow requests, or of the others. */
struct sums {
	double ns[ALL];
	double squared[ALL];
	size_t count;
};

struct latency_builder {
	struct latency *latency;
	struct walk *walk;
	struct addresses found; /* (state and cause, name) */
	uint8_t *key_of_found;  /* LATENCY_KEYS = all others */
	struct cuts cuts;
	struct sums slow;
	struct sums rest;
};

struct latency_key latency_key_of(const struct walk *walk, const struct walk_slice *slice)
{
	bool is_wait = slice->wait != NO_INDEX;
	struct latency_key key = { slice->state, slice->cause, slice->name };
	if (!is_wait && slice->class != NO_INDEX && walk->classes)
		key.name = walk->classes->classes[slice->class].name;
	if (slice->state == WALK_QUEUED || slice->state == WALK_UNEXPLAINED)
		key = (struct latency_key){ slice->state, NO_INDEX, 0 };
	return key;
}

size_t latency_rank(const struct latency *latency, unsigned percent)
{
	size_t rank = latency->count * percent / 100;
	assert(latency->count > 0);
	return rank < latency->count ? rank : latency->count - 1;
}

/* --- The requests --- */

static int compare_taken(const void *left, const void *right)
{
	const struct latency_request *a = left, *b = right;
	if (a->taken_ns != b->taken_ns)
		return a->taken_ns < b->taken_ns ? -1 : 1;
	return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

static void list_requests(struct latency *latency, const struct walk *walk,
			  const struct requests *judged)
{
	size_t count;
	struct walk_request *all = walk_requests(walk, &count);
	latency->requests = memory_new(count, sizeof(*latency->requests));
	for (size_t i = 0; i < count; i++) {
		uint32_t thread = walk->recording->ops[all[i].op].thread;
		if (!request_is_judged(judged, &walk->requests->requests[all[i].request]) ||
		    thread == NO_INDEX)
			continue;
		latency->requests[latency->count++] =
			(struct latency_request){ all[i].start_ns, all[i].end_ns - all[i].start_ns,
						  thread };
	}
	free(all);
	if (latency->count > 1)
		qsort(latency->requests, latency->count, sizeof(*latency->requests), compare_taken);
}

static int compare_ranks(const void *left, const void *right)
{
	const struct latency_pick *a = left, *b = right;
	return (a->rank > b->rank) - (a->rank < b->rank);
}

static void pick(struct latency *latency)
{
	size_t last = latency->count - 1, count = 0, kept = 0;
	struct latency_pick *picks = latency->picks;
	for (size_t i = 0; i <= LATENCY_STEPS; i++)
		picks[count++].rank = last * i / LATENCY_STEPS;
	picks[count++].rank = latency_rank(latency, 50);
	picks[count++].rank = latency_rank(latency, 95);
	picks[count++].rank = latency_rank(latency, 99);
	for (size_t i = 0; i < LATENCY_SLOWEST && i <= last; i++)
		picks[count++].rank = last - i;
	assert(count <= LATENCY_PICKS);
	qsort(picks, count, sizeof(*picks), compare_ranks);
	for (size_t i = 0; i < count; i++)
		if (i == 0 || picks[i].rank != picks[kept - 1].rank)
			picks[kept++].rank = picks[i].rank;
	latency->pick_count = kept;
}

/* --- Sorts of time --- */

static uint32_t thread_of(const void *context, size_t request)
{
	return ((const struct latency *)context)->requests[request].thread;
}

/* A sort of time with its sum, to find the ones with most. */
struct found {
	struct latency_key key;
	uint64_t ns;
	uint32_t index;
};

static int compare_found(const void *left, const void *right)
{
	const struct found *a = left, *b = right;
	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	return (a->index > b->index) - (a->index < b->index);
}

static uint32_t find(struct latency_builder *builder, const struct latency_key *key)
{
	return addresses_add(&builder->found, key->cause * WALK_STATES + key->state, key->name);
}

static struct found *find_all(struct latency_builder *builder, const struct buckets *by_thread)
{
	struct found *found = NULL;
	size_t room = 0, count;
	struct walk_slice slice;
	for (uint32_t t = 0; t < walk_thread_count(builder->walk); t++) {
		(void)buckets_of(by_thread, t, &count);
		if (!count)
			continue;
		walk_thread(builder->walk, t);
		while (walk_next(builder->walk, &slice)) {
			struct latency_key key = latency_key_of(builder->walk, &slice);
			size_t known = builder->found.count;
			uint32_t at = find(builder, &key);
			found = memory_grow(found, &room, at + (size_t)1, sizeof(*found));
			if (at == known)
				found[at] = (struct found){ key, 0, at };
			found[at].ns += slice.end_ns - slice.start_ns;
		}
	}
	return found;
}

/* The sorts with most time get keys. */
static void choose_keys(struct latency_builder *builder, const struct buckets *by_thread)
{
	struct latency *latency = builder->latency;
	struct found *found = find_all(builder, by_thread);
	size_t count = builder->found.count;
	if (count > 1)
		qsort(found, count, sizeof(*found), compare_found);
	builder->key_of_found = memory_new(count, sizeof(*builder->key_of_found));
	for (size_t i = 0; i < count; i++) {
		builder->key_of_found[found[i].index] =
			(uint8_t)(i < LATENCY_KEYS ? i : LATENCY_KEYS);
		if (i < LATENCY_KEYS)
			latency->keys[latency->key_count++] = found[i].key;
	}
	free(found);
}

/* --- Time of requests --- */

static void cut(struct latency_builder *builder, uint32_t thread)
{
	struct cuts *cuts = &builder->cuts;
	amounts sofar = { 0 };
	struct walk_slice slice;
	cuts->count = 0;
	walk_thread(builder->walk, thread);
	while (walk_next(builder->walk, &slice)) {
		struct latency_key key = latency_key_of(builder->walk, &slice);
		size_t at = cuts->count++;
		cuts->start_ns = memory_grow(cuts->start_ns, &cuts->start_room, at + 1,
					     sizeof(*cuts->start_ns));
		cuts->key = memory_grow(cuts->key, &cuts->key_room, at + 1, sizeof(*cuts->key));
		cuts->marks = memory_grow(cuts->marks, &cuts->mark_room, at / CUTS_A_MARK + 1,
					  sizeof(*cuts->marks));
		if (at % CUTS_A_MARK == 0)
			memcpy(cuts->marks[at / CUTS_A_MARK], sofar, sizeof(sofar));
		cuts->start_ns[at] = slice.start_ns;
		cuts->key[at] = builder->key_of_found[find(builder, &key)];
		sofar[cuts->key[at]] += slice.end_ns - slice.start_ns;
	}
	cuts->end_ns = builder->walk->end_ns;
}

/* The thread's time until then. */
static void done_by(const struct cuts *cuts, uint64_t at_ns, amounts done)
{
	size_t low = 0, high = cuts->count;
	memset(done, 0, sizeof(amounts));
	while (low < high) { /* the first slice that begins later */
		size_t middle = low + (high - low) / 2;
		if (cuts->start_ns[middle] <= at_ns)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return;
	size_t in = low - 1;
	memcpy(done, cuts->marks[in / CUTS_A_MARK], sizeof(amounts));
	for (size_t i = in / CUTS_A_MARK * CUTS_A_MARK; i < in; i++)
		done[cuts->key[i]] += cuts->start_ns[i + 1] - cuts->start_ns[i];
	uint64_t until_ns = at_ns < cuts->end_ns ? at_ns : cuts->end_ns;
	done[cuts->key[in]] += until_ns - cuts->start_ns[in];
}

static struct latency_pick *pick_of(struct latency *latency, size_t rank)
{
	const struct latency_pick key = { .rank = rank };
	return bsearch(&key, latency->picks, latency->pick_count, sizeof(*latency->picks),
		       compare_ranks);
}

static void add_request(struct latency_builder *builder, size_t rank)
{
	struct latency *latency = builder->latency;
	const struct latency_request *request = &latency->requests[rank];
	struct sums *sums = rank >= latency->slow_from ? &builder->slow : &builder->rest;
	struct latency_pick *picked = pick_of(latency, rank);
	amounts before, after;
	done_by(&builder->cuts, request->start_ns, before);
	done_by(&builder->cuts, request->start_ns + request->taken_ns, after);
	sums->count++;
	for (size_t k = 0; k < ALL; k++) {
		double ns = (double)(after[k] - before[k]);
		sums->ns[k] += ns;
		sums->squared[k] += ns * ns;
		if (picked)
			picked->parts_ns[k] = after[k] - before[k];
	}
}

/* The square of the standard error of a mean. */
static double variance_of_mean(const struct sums *sums, size_t key)
{
	double count = (double)sums->count, mean = sums->ns[key] / count;
	return fmax(sums->squared[key] / count - mean * mean, 0) / (count - 1);
}

static void compare(struct latency_builder *builder)
{
	const struct sums *slow = &builder->slow, *rest = &builder->rest;
	for (size_t k = 0; k < ALL; k++) {
		struct latency_share *share = &builder->latency->shares[k];
		share->slow_ns = slow->count ? slow->ns[k] / (double)slow->count : 0;
		share->rest_ns = rest->count ? rest->ns[k] / (double)rest->count : 0;
		share->error_ns =
			slow->count < 2 || rest->count < 2
				? -1
				: sqrt(variance_of_mean(slow, k) + variance_of_mean(rest, k));
	}
}

void latency_build(struct latency *latency, struct walk *walk, const struct requests *judged)
{
	struct latency_builder builder = { .latency = latency, .walk = walk };
	struct buckets by_thread;
	size_t count;
	*latency = (struct latency){ 0 };
	list_requests(latency, walk, judged);
	if (latency->count == 0)
		return;
	latency->slow_from = latency_rank(latency, LATENCY_SLOW_FROM);
	pick(latency);
	buckets_build(&by_thread, walk_thread_count(walk), latency->count, thread_of, latency);
	choose_keys(&builder, &by_thread);
	for (uint32_t t = 0; t < walk_thread_count(walk); t++) {
		const uint32_t *ranks = buckets_of(&by_thread, t, &count);
		if (count > 0)
			cut(&builder, t);
		for (size_t i = 0; i < count; i++)
			add_request(&builder, ranks[i]);
	}
	compare(&builder);
	buckets_free(&by_thread);
	addresses_free(&builder.found);
	free(builder.key_of_found);
	free(builder.cuts.start_ns);
	free(builder.cuts.key);
	free(builder.cuts.marks);
}

void latency_free(struct latency *latency)
{
	free(latency->requests);
	*latency = (struct latency){ 0 };
}
