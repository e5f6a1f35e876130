/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds, for each condition, a model of tokens that the recording obeys.
 *
 * Method. A section whose site ever waits on the condition takes one token, whether it had to wait
 * or not. Two ways of putting are tried: each signal puts one; or each section of a site that ever
 * signals puts one ("signal only when it was empty"). The tokens at the start are the recording's
 * largest deficit of takes over puts: for a bounded queue this finds its capacity. The model is
 * then held against the recording: nobody may begin to wait while there are tokens. Where that
 * happens too often no token is used, and only the edge from the signal that let a section go is
 * kept.
 *
 * What makes a site is tried as well, see is_better(): how many frames, or, for code of which a
 * compiler has made copies, the function.
 *
 * Or each take takes all that was put since the last one ("drain"): then nobody begins to wait
 * while something is there, and nobody takes where nothing is. How many a take got is noted. This
 * is so if neither of the others obeys, or if what a thread does after a take is the longer the
 * more it got; and only where what takes wakes nobody: with fewer and larger takes some of that
 * would never happen.
 *
 * A signal from a place used once, after which nobody begins to wait, is a gate: it opens the
 * condition for good ("closed"). A site that signals before it waits (a request, then its answer)
 * takes where it waits, not where it locks.
 *
 * One thread.
 */
#include "tokens.h"

#include "base/assumptions.h"
#include "base/buckets.h"
#include "base/memory.h"
#include "format.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct set {
	uint64_t *values;
	size_t count;
	size_t capacity;
};

static bool set_has(const struct set *set, uint64_t value)
{
	for (size_t i = 0; i < set->count; i++)
		if (set->values[i] == value)
			return true;
	return false;
}

static void set_add(struct set *set, uint64_t value)
{
	if (set_has(set, value))
		return;
	set->values = memory_grow(set->values, &set->capacity, set->count + 1, sizeof(value));
	set->values[set->count++] = value;
}

static bool sets_meet(const struct set *a, const struct set *b)
{
	for (size_t i = 0; i < a->count; i++)
		if (set_has(b, a->values[i]))
			return true;
	return false;
}

/* All there is to say about one condition while its model is sought. */
struct study {
	struct monitors *monitors;
	const struct recording *rec;
	uint32_t condition;
	const uint32_t *waits; /* on it */
	size_t wait_count;
	const uint32_t *sections; /* of its mutex */
	size_t section_count;
	uint32_t *links; /* its signals, in order of time */
	size_t link_count;
	uint64_t last_wait_ns; /* when the last wait began */
	uint32_t depth;        /* which kind of site counts */
	struct set takers;     /* sites */
	struct set putters;    /* sites */
	struct set taking_threads;
	struct set putting_threads;
	const uint64_t *last_link_ns; /* by thread: when it last let somebody go */
};

struct token_event {
	uint64_t at_ns;
	int change;       /* +1 put, -1 take, 0 a wait begins */
	uint32_t section; /* that takes */
};

static int compare_events(const void *left, const void *right)
{
	const struct token_event *a = left, *b = right;

	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	return a->change - b->change;
}

static int compare_u64(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

/* --- gates --- */

/* Where a signal was given: the site of its section; 0 = not known. */
static uint64_t signal_site(const struct study *study, uint32_t link)
{
	uint32_t section = study->monitors->signals[link].section;

	return section == NO_INDEX ? 0 : study->monitors->sections[section].site[SITE_FRAMES - 1];
}

static bool is_alone(const struct study *study, size_t at)
{
	uint64_t site = signal_site(study, study->links[at]);

	for (size_t i = 0; i < study->link_count; i++)
		if (i != at && signal_site(study, study->links[i]) == site)
			return false;
	return site != 0;
}

static void find_gates(struct study *study)
{
	struct condition *condition = &study->monitors->conditions[study->condition];
	const struct rec_link *links = study->rec->links;

	for (size_t i = 0; i < study->link_count; i++) {
		uint32_t link = study->links[i];

		if (links[link].at_ns <= study->last_wait_ns || !is_alone(study, i))
			continue;
		if (!study->monitors->signals[link].wakes_all && i + 1 != study->link_count)
			continue;
		study->monitors->signals[link].is_gate = true;
		if (condition->gate_ns > links[link].at_ns)
			condition->gate_ns = links[link].at_ns;
	}
}

/* Finding a signal that stands alone costs a walk over all: only places with few signals can
 * have one. */
enum { GATE_SIGNALS_MAX = 1 << 14 };

/* --- the token models --- */

static void push_event(struct token_event **list, size_t *count, size_t *capacity,
		       struct token_event event)
{
	*list = memory_grow(*list, capacity, *count + 1, sizeof(**list));
	(*list)[(*count)++] = event;
}

static struct token_event *collect_events(const struct study *study, enum put_model model,
					  size_t *count)
{
	const struct monitors *monitors = study->monitors;
	const struct recording *rec = study->rec;
	struct token_event *list = NULL;
	size_t capacity = 0;

	*count = 0;
	for (size_t i = 0; model == PUT_BY_SIGNAL && i < study->link_count; i++)
		if (!monitors->signals[study->links[i]].is_gate)
			push_event(&list, count, &capacity,
				   (struct token_event){ rec->links[study->links[i]].at_ns, 1,
							 NO_INDEX });
	for (size_t i = 0; i < study->section_count; i++) {
		const struct section *section = &monitors->sections[study->sections[i]];

		if (put_by_section(model) && set_has(&study->putters, section->site[study->depth]))
			push_event(&list, count, &capacity,
				   (struct token_event){ section->end_ns + 1, 1, NO_INDEX });
		if (set_has(&study->takers, section->site[study->depth]))
			push_event(&list, count, &capacity,
				   (struct token_event){ section->end_ns, -1, study->sections[i] });
	}
	for (size_t i = 0; i < study->wait_count; i++)
		if (!rec->waits[study->waits[i]].open)
			push_event(&list, count, &capacity,
				   (struct token_event){ rec->waits[study->waits[i]].start_ns, 0,
							 NO_INDEX });
	if (*count)
		qsort(list, *count, sizeof(*list), compare_events);
	return list;
}

struct fit {
	enum put_model model;
	double violations;
	uint32_t initial;
	uint64_t left_over; /* tokens at the end, or that nobody had put */
};

static struct fit try_model(const struct study *study, enum put_model model)
{
	size_t count, waits = 0, violations = 0;
	struct token_event *events = collect_events(study, model, &count);
	uint64_t gate_ns = study->monitors->conditions[study->condition].gate_ns;
	int64_t tokens = 0, lowest = 0;

	for (size_t i = 0; i < count && events[i].at_ns < gate_ns; i++) {
		tokens += events[i].change;
		lowest = tokens < lowest ? tokens : lowest;
	}
	struct fit fit = { .model = model,
			   .initial = (uint32_t)-lowest,
			   .left_over = (uint64_t)(tokens < 0 ? -tokens : tokens) };
	tokens = -lowest;
	for (size_t i = 0; i < count && events[i].at_ns < gate_ns; i++) {
		tokens += events[i].change;
		if (events[i].change)
			continue;
		waits++;
		violations += tokens > 0;
	}
	free(events);
	fit.violations = waits ? (double)violations / (double)waits : 0.0;
	return fit;
}

/* What takes all wakes nobody, and who is the last to take is known. */
static bool may_be_batches(const struct study *study)
{
	const struct monitors *monitors = study->monitors;

	if (study->taking_threads.count > 1 &&
	    monitors->conditions[study->condition].gate_ns == UINT64_MAX)
		return false;
	for (size_t i = 0; i < study->section_count; i++) {
		const struct section *section = &monitors->sections[study->sections[i]];

		if (set_has(&study->takers, section->site[study->depth]) &&
		    study->last_link_ns[section->thread] > section->start_ns)
			return false;
	}
	return !sets_meet(&study->putters, &study->takers);
}

/* Each take takes all that is there; notes how many that is. */
static struct fit try_batches(const struct study *study)
{
	size_t count, looks = 0, violations = 0;
	struct token_event *events = collect_events(study, PUT_BATCH, &count);
	uint64_t gate_ns = study->monitors->conditions[study->condition].gate_ns;
	uint32_t tokens = 0;

	for (size_t i = 0; i < count; i++) {
		bool takes = events[i].change < 0;

		if (events[i].change > 0) {
			tokens++;
			continue;
		}
		looks += events[i].at_ns < gate_ns;
		violations += events[i].at_ns < gate_ns && takes == !tokens;
		if (!takes)
			continue;
		study->monitors->sections[events[i].section].items = tokens;
		tokens = 0;
	}
	free(events);
	return (struct fit){ .model = PUT_BATCH,
			     .violations = looks ? (double)violations / (double)looks : 0.0,
			     .left_over = tokens };
}

/*
 * Whether the time from a take to the thread's next one goes with how many it got: that explains
 * most of its variance. A signal for each batch obeys the recording too, but says nothing of that.
 */
static bool grows_with_items(const struct study *study)
{
	const struct monitors *monitors = study->monitors;
	double count = 0, x = 0, y = 0, xx = 0, yy = 0, xy = 0;
	const struct section *last = NULL;

	for (size_t i = 0; i < study->section_count; i++) {
		const struct section *section = &monitors->sections[study->sections[i]];

		if (!set_has(&study->takers, section->site[study->depth]))
			continue;
		if (last && last->thread == section->thread && last->items) {
			double items = last->items;
			double ns = (double)section->start_ns - (double)last->end_ns;

			count++;
			x += items, y += ns;
			xx += items * items, yy += ns * ns, xy += items * ns;
		}
		last = section;
	}
	double together = count * xy - x * y, alone = (count * xx - x * x) * (count * yy - y * y);
	return count >= assume.batch_pairs && together > 0 &&
	       together * together > alone * assume.batch_explains;
}

/*
 * What obeys the recording comes first; of several that do, the one that accounts for most of what
 * was put and taken, then the one that needs fewer tokens at the start.
 */
static bool is_better(const struct fit *a, const struct fit *b)
{
	double a_violations = a->violations > assume.token_misfits ? a->violations : 0;
	double b_violations = b->violations > assume.token_misfits ? b->violations : 0;

	if (a_violations != b_violations)
		return a_violations < b_violations;
	return a->left_over != b->left_over ? a->left_over < b->left_over : a->initial < b->initial;
}

/* The better one of the ways of putting, with sites of the study's depth. */
static struct fit choose_model(const struct study *study)
{
	struct fit by_signal = try_model(study, PUT_BY_SIGNAL);

	if (sets_meet(&study->putters, &study->takers))
		return by_signal;
	struct fit by_section = try_model(study, PUT_BY_SECTION);
	struct fit best = is_better(&by_section, &by_signal) ? by_section : by_signal;

	if (!assume.takes_all || !may_be_batches(study))
		return best;
	struct fit batches = try_batches(study);
	bool is_enough = best.violations <= assume.token_misfits && !grows_with_items(study);
	return batches.violations <= assume.token_misfits && !is_enough ? batches : best;
}

/* --- what is known of a condition --- */

static const struct rec_link *sort_links;

static int compare_links(const void *left, const void *right)
{
	const uint32_t *a = left, *b = right;

	if (sort_links[*a].at_ns != sort_links[*b].at_ns)
		return sort_links[*a].at_ns < sort_links[*b].at_ns ? -1 : 1;
	return *a < *b ? -1 : *a > *b;
}

static void collect_links(struct study *study, const struct buckets *signals)
{
	const uint32_t *links = buckets_of(signals, study->condition, &study->link_count);

	study->links = memory_new(study->link_count, sizeof(*study->links));
	memcpy(study->links, links, study->link_count * sizeof(*study->links));
	sort_links = study->rec->links;
	if (study->link_count)
		qsort(study->links, study->link_count, sizeof(*study->links), compare_links);
}

static void collect_takers(struct study *study)
{
	const struct monitors *monitors = study->monitors;

	for (size_t k = 0; k < study->wait_count; k++) {
		uint32_t i = study->waits[k];

		if (monitors->section_of_wait[i] == NO_INDEX)
			continue;
		const struct section *section = &monitors->sections[monitors->section_of_wait[i]];

		set_add(&study->takers, section->site[study->depth]);
		if (study->rec->waits[i].start_ns > study->last_wait_ns)
			study->last_wait_ns = study->rec->waits[i].start_ns;
	}
	for (size_t i = 0; i < study->section_count; i++) {
		const struct section *section = &monitors->sections[study->sections[i]];

		if (set_has(&study->takers, section->site[study->depth]))
			set_add(&study->taking_threads, section->thread);
	}
}

static void collect_putters(struct study *study)
{
	const struct monitors *monitors = study->monitors;

	for (size_t i = 0; i < study->link_count; i++) {
		const struct signal_role *role = &monitors->signals[study->links[i]];

		if (role->section == NO_INDEX)
			continue;
		set_add(&study->putting_threads, monitors->sections[role->section].thread);
		if (!role->is_gate)
			set_add(&study->putters,
				monitors->sections[role->section].site[study->depth]);
	}
}

static void find_latency(struct study *study, const struct releases *releases)
{
	const struct recording *rec = study->rec;
	struct condition *condition = &study->monitors->conditions[study->condition];
	uint64_t *latencies = NULL;
	size_t count = 0, capacity = 0;

	for (size_t k = 0; k < study->wait_count; k++) {
		uint32_t i = study->waits[k], link = study->monitors->waking_link[i];

		if (link == NO_INDEX ||
		    study->monitors->signals[link].condition != study->condition)
			continue;
		uint32_t section = study->monitors->section_of_wait[i];
		uint32_t hold = section == NO_INDEX ? NO_INDEX
						    : study->monitors->sections[section].last_hold;
		uint64_t from_ns = rec->links[link].at_ns;
		const struct release *release =
			hold == NO_INDEX
				? NULL
				: releases_last(releases, rec, releases->lock_of[hold], from_ns,
						rec->waits[i].end_ns, rec->waits[i].thread);

		latencies = memory_grow(latencies, &capacity, count + 1, sizeof(*latencies));
		latencies[count++] = rec->waits[i].end_ns - (release ? release->at_ns : from_ns);
	}
	if (count) {
		qsort(latencies, count, sizeof(*latencies), compare_u64);
		condition->latency_ns = latencies[count / 2];
	}
	free(latencies);
}

static void study_sites(struct study *study, uint32_t depth)
{
	study->depth = depth;
	study->takers.count = study->putters.count = 0;
	study->taking_threads.count = study->putting_threads.count = 0;
	collect_takers(study);
	collect_putters(study);
}

static void study_condition(struct study *study, const struct releases *releases)
{
	struct condition *condition = &study->monitors->conditions[study->condition];
	struct fit best = { .violations = 2 };
	uint32_t best_depth = 0;

	collect_takers(study);
	if (study->link_count <= GATE_SIGNALS_MAX)
		find_gates(study);
	for (uint32_t depth = 0; depth < assume.site_kinds; depth++) {
		study_sites(study, depth);
		struct fit fit = choose_model(study);

		if (!is_better(&fit, &best))
			continue;
		best = fit;
		best_depth = depth;
	}
	study_sites(study, best_depth);
	if (best.model == PUT_BATCH)
		(void)try_batches(study); /* notes what it found for these sites */
	condition->model = best.model;
	condition->initial = best.initial;
	condition->violations = best.violations;
	find_latency(study, releases);
	condition->is_pool = study->taking_threads.count > 1 &&
			     !sets_meet(&study->taking_threads, &study->putting_threads);
}

static void study_free(struct study *study)
{
	free(study->links);
	free(study->takers.values);
	free(study->putters.values);
	free(study->taking_threads.values);
	free(study->putting_threads.values);
}

/* --- what follows for each section --- */

static void find_late_sites(const struct monitors *monitors, const struct recording *rec,
			    struct set late[SITE_KINDS])
{
	for (size_t i = 0; i < monitors->section_count; i++) {
		const struct section *section = &monitors->sections[i];

		if (section->first_wait == NO_INDEX ||
		    section->first_signal_ns >= rec->waits[section->first_wait].start_ns)
			continue;
		for (uint32_t depth = 0; depth < SITE_KINDS; depth++)
			set_add(&late[depth], section->site[depth]);
	}
}

/* A mutex whose conditions do not all obey tokens has none that is replayed by tokens. */
static void agree_per_mutex(struct monitors *monitors)
{
	bool *is_unruly = memory_new(monitors->mutex_count, sizeof(*is_unruly));

	for (size_t i = 0; i < monitors->condition_count; i++)
		if (monitors->conditions[i].violations > assume.token_misfits)
			is_unruly[monitors->conditions[i].mutex] = true;
	for (size_t i = 0; i < monitors->condition_count; i++)
		if (is_unruly[monitors->conditions[i].mutex])
			monitors->conditions[i].model = PUT_NONE;
	free(is_unruly);
}

static void mark_section(struct section *section, const struct monitors *monitors,
			 const struct study *studies, const struct buckets *conditions,
			 const struct set late[SITE_KINDS])
{
	size_t count;
	const uint32_t *of_mutex = buckets_of(conditions, section->mutex, &count);

	for (size_t i = 0; i < count; i++) {
		uint32_t c = of_mutex[i];
		uint64_t site = section->site[studies[c].depth];

		if (section->take == NO_INDEX && set_has(&studies[c].takers, site))
			section->take = c;
		if (section->put == NO_INDEX && put_by_section(monitors->conditions[c].model) &&
		    set_has(&studies[c].putters, site))
			section->put = c;
	}
	if (section->first_wait != NO_INDEX)
		section->take = monitors->condition_of_wait[section->first_wait];
	if (section->take != NO_INDEX) {
		uint32_t depth = studies[section->take].depth;

		section->takes_late = set_has(&late[depth], section->site[depth]);
	}
}

static uint32_t condition_of_wait(const void *context, size_t wait)
{
	return ((const struct monitors *)context)->condition_of_wait[wait];
}

static uint32_t condition_of_link(const void *context, size_t link)
{
	return ((const struct monitors *)context)->signals[link].condition;
}

static uint32_t mutex_of_section(const void *context, size_t section)
{
	return ((const struct monitors *)context)->sections[section].mutex;
}

static uint32_t mutex_of_condition(const void *context, size_t condition)
{
	return ((const struct monitors *)context)->conditions[condition].mutex;
}

/* Each condition by itself. */
static void study_all(struct study *studies, struct monitors *monitors, const struct recording *rec,
		      const struct releases *releases)
{
	struct buckets waits, signals, sections;
	size_t conditions = monitors->condition_count;
	uint64_t *last_link_ns = memory_new(rec->thread_count, sizeof(*last_link_ns));

	for (size_t i = 0; i < rec->link_count; i++) {
		const struct rec_link *link = &rec->links[i];

		if (link->thread != NO_INDEX && link->at_ns > last_link_ns[link->thread])
			last_link_ns[link->thread] = link->at_ns;
	}
	buckets_build(&waits, conditions, rec->wait_count, condition_of_wait, monitors);
	buckets_build(&signals, conditions, rec->link_count, condition_of_link, monitors);
	buckets_build(&sections, monitors->mutex_count, monitors->section_count, mutex_of_section,
		      monitors);
	for (uint32_t c = 0; c < conditions; c++) {
		struct study *study = &studies[c];

		study->monitors = monitors;
		study->rec = rec;
		study->last_link_ns = last_link_ns;
		study->condition = c;
		study->waits = buckets_of(&waits, c, &study->wait_count);
		study->sections =
			buckets_of(&sections, monitors->conditions[c].mutex, &study->section_count);
		collect_links(study, &signals);
		study_condition(study, releases);
	}
	free(last_link_ns);
	buckets_free(&waits);
	buckets_free(&signals);
	buckets_free(&sections);
}

void tokens_find(struct monitors *monitors, const struct recording *rec,
		 const struct releases *releases)
{
	struct study *studies = memory_new(monitors->condition_count, sizeof(*studies));
	struct set late[SITE_KINDS] = { { 0 } };
	struct buckets conditions;

	study_all(studies, monitors, rec, releases);
	agree_per_mutex(monitors);
	find_late_sites(monitors, rec, late);
	buckets_build(&conditions, monitors->mutex_count, monitors->condition_count,
		      mutex_of_condition, monitors);
	for (size_t i = 0; i < monitors->section_count; i++)
		mark_section(&monitors->sections[i], monitors, studies, &conditions, late);
	buckets_free(&conditions);
	for (uint32_t c = 0; c < monitors->condition_count; c++)
		study_free(&studies[c]);
	for (uint32_t depth = 0; depth < SITE_KINDS; depth++)
		free(late[depth].values);
	free(studies);
}
