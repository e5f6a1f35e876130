/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Models of how tokens are put to a condition, each held against the recording.
 *
 * Method. Puts, takes and beginnings of waits are gone through in order of time. The tokens at the
 * start are the recording's largest deficit of takes over puts. A wait that begins while there are
 * tokens violates the model. Where takes take all, a take of nothing does so, too.
 *
 * Takes of all may wait for several, with a timeout after which they take what is there ("flush
 * when 16 are there, or after 10 ms"). How many, the beginnings of waits tell, and the takes that
 * did not time out. A take of fewer that has not timed out violates the model.
 *
 * One thread.
 */
#include "base/assumptions.h"
#include "base/memory.h"
#include "base/percentile.h"
#include "tokens_parts.h"

#include <assert.h>
#include <stdlib.h>

struct token_event {
	uint64_t at_ns;
	int change;       /* +1 put, -1 take, 0 a wait begins */
	uint32_t section; /* that takes */
};

/* Where takes take all that is there: as many as they wait for, or what came in time. */
struct lot {
	uint32_t least;      /* 1 = they wait for any */
	uint64_t timeout_ns; /* 0 = none */
};

static int compare_events(const void *left, const void *right)
{
	const struct token_event *a = left, *b = right;

	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	return a->change - b->change;
}

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
		if (section_takes(study, section))
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

static struct token_fit try_model(const struct study *study, enum put_model model)
{
	size_t count, waits = 0, violations = 0;
	struct token_event *events = collect_events(study, model, &count);
	uint64_t gate_ns = study->monitors->conditions[study->condition].gate_ns;
	int64_t tokens = 0, lowest = 0;
	size_t early = 0;

	for (; early < count && events[early].at_ns < gate_ns; early++) {
		tokens += events[early].change;
		lowest = tokens < lowest ? tokens : lowest;
	}
	/* Whoever finds none then was let go. */
	for (size_t i = early; i < count; i++)
		tokens += events[i].change > 0 || tokens > 0 ? events[i].change : 0;
	struct token_fit fit = { .model = model,
				 .initial = (uint32_t)-lowest,
				 .left_over = (uint64_t)(tokens < 0 ? -tokens : tokens) };
	tokens = -lowest;
	for (size_t i = 0; i < early; i++) {
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

/* A thread that takes all wakes nobody, and the last one to take is known. */
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

/* The last wait of a section that takes ended by its timeout. */
static bool took_late(const struct study *study, const struct section *section)
{
	return section->last_wait != NO_INDEX && study->rec->waits[section->last_wait].timed_out &&
	       section_takes(study, section);
}

/* From where it began to wait to the deadline of its last wait; 0 = not known. */
static uint64_t timeout_of(const struct study *study, const struct section *section)
{
	const struct rec_wait *last = &study->rec->waits[section->last_wait];

	return last->asked_ns ? last->start_ns + last->asked_ns -
					study->rec->waits[section->first_wait].start_ns
			      : 0;
}

/* The median; 0 = no take timed out. */
static uint64_t find_timeout(const struct study *study)
{
	uint64_t *timeouts = memory_new(study->section_count, sizeof(*timeouts)), median;
	size_t count = 0;

	for (size_t i = 0; i < study->section_count; i++) {
		const struct section *section = &study->monitors->sections[study->sections[i]];

		if (took_late(study, section) && timeout_of(study, section))
			timeouts[count++] = timeout_of(study, section);
	}
	median = count ? percentile_select(timeouts, count, count / 2) : 0;
	free(timeouts);
	return median;
}

struct counted {
	uint32_t least; /* that takes may wait for */
	uint32_t left_over;
};

/* Notes how many each take got. Takes may wait for more than ever were there as a wait began. If
 * that is more than one, it is as few as a take ever got that did not time out. */
static struct counted count_items(const struct study *study, const struct token_event *events,
				  size_t count)
{
	uint64_t gate_ns = study->monitors->conditions[study->condition].gate_ns;
	uint32_t tokens = 0, most = 0, fewest = UINT32_MAX;

	for (size_t i = 0; i < count; i++) {
		bool takes = events[i].change < 0, is_early = events[i].at_ns < gate_ns;

		if (takes) {
			struct section *section = &study->monitors->sections[events[i].section];

			section->items = tokens;
			if (is_early && !took_late(study, section))
				fewest = tokens < fewest ? tokens : fewest;
		} else if (!events[i].change && is_early && tokens > most) {
			most = tokens;
		}
		tokens = takes ? 0 : tokens + (uint32_t)events[i].change;
	}
	bool is_known = most > 0 && fewest > most && fewest < UINT32_MAX;
	return (struct counted){ is_known ? fewest : most + 1, tokens };
}

/* The thread comes back at once: it had nothing to do. */
static bool comes_back(const struct study *study, const struct lot *lot, uint32_t index)
{
	const struct section *section = &study->monitors->sections[index], *next = section + 1;

	return index + 1 == study->monitors->section_count || next->thread != section->thread ||
	       (next->mutex == section->mutex &&
		next->start_ns <= section->end_ns + lot->timeout_ns / assume.retry_parts);
}

static bool may_take(const struct study *study, const struct lot *lot, uint32_t index)
{
	const struct section *section = &study->monitors->sections[index];

	if (section->items >= lot->least)
		return true;
	return lot->timeout_ns && took_late(study, section) &&
	       (section->items || comes_back(study, lot, index));
}

/* The share of looks at the tokens that the lot does not explain. */
static double violations_of(const struct study *study, const struct token_event *events,
			    size_t count, const struct lot *lot)
{
	uint64_t gate_ns = study->monitors->conditions[study->condition].gate_ns;
	size_t looks = 0, violations = 0;
	uint32_t tokens = 0;

	for (size_t i = 0; i < count; i++) {
		bool takes = events[i].change < 0;

		if (events[i].change <= 0 && events[i].at_ns < gate_ns) {
			looks++;
			violations += takes ? !may_take(study, lot, events[i].section)
					    : tokens >= lot->least;
		}
		tokens = takes ? 0 : tokens + (uint32_t)events[i].change;
	}
	return looks ? (double)violations / (double)looks : 0.0;
}

/* Each take takes all that is there; notes how many that is. Takes wait for several only if they
 * are not explained otherwise. */
static struct token_fit try_batches(const struct study *study, struct lot *lot)
{
	size_t count;
	struct token_event *events = collect_events(study, PUT_BATCH, &count);
	struct counted counted = count_items(study, events, count);
	struct token_fit fit = { .model = PUT_BATCH, .left_over = counted.left_over };

	*lot = (struct lot){ 1, find_timeout(study) };
	fit.violations = violations_of(study, events, count, lot);
	if (fit.violations > assume.token_misfits) {
		lot->least = counted.least;
		fit.violations = violations_of(study, events, count, lot);
	}
	free(events);
	return fit;
}

/*
 * Whether the time from a take to the thread's next one goes with how many it got: that explains
 * most of its variance. A line through a few times explains some of it by itself, which is taken
 * off. A signal for each batch obeys the recording too, but says nothing of that.
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
	if (count <= 2 || together <= 0)
		return false;
	double left_over = (1 - together * together / alone) * (count - 1) / (count - 2);
	return 1 - left_over > assume.batch_explains;
}

bool tokens_is_better(const struct token_fit *a, const struct token_fit *b)
{
	assert(a->violations >= 0 && b->violations >= 0);
	double a_violations = a->violations > assume.token_misfits ? a->violations : 0;
	double b_violations = b->violations > assume.token_misfits ? b->violations : 0;

	if (a_violations != b_violations)
		return a_violations < b_violations;
	return a->left_over != b->left_over ? a->left_over < b->left_over : a->initial < b->initial;
}

/* Takes that take all explain more than this model of takes of one each. */
static bool are_batches(const struct study *study, const struct token_fit *best,
			const struct token_fit *batches)
{
	bool is_enough = best->violations <= assume.token_misfits &&
			 best->left_over <= batches->left_over && !grows_with_items(study);

	return batches->violations <= assume.token_misfits && !is_enough;
}

struct token_fit tokens_choose_model(const struct study *study)
{
	assert(study->depth < SITE_KINDS);
	struct token_fit by_signal = try_model(study, PUT_BY_SIGNAL);

	if (sets_meet(&study->putters, &study->takers))
		return by_signal;
	struct token_fit by_section = try_model(study, PUT_BY_SECTION);
	struct token_fit best = tokens_is_better(&by_section, &by_signal) ? by_section : by_signal;

	if (!assume.takes_all || !may_be_batches(study))
		return best;
	struct lot lot;
	struct token_fit batches = try_batches(study, &lot);
	return are_batches(study, &best, &batches) ? batches : best;
}

/* Time of takers for what they took, until they take again. */
static uint64_t busy_ns(const struct study *study)
{
	const struct section *sections = study->monitors->sections, *last = NULL;
	uint64_t ns = 0;

	for (size_t i = 0; i < study->section_count; i++) {
		const struct section *section = &sections[study->sections[i]];

		if (!set_has(&study->takers, section->site[study->depth]))
			continue;
		if (last && last->thread == section->thread && last->items)
			ns += section->start_ns - last->end_ns;
		last = section;
	}
	return ns;
}

/* The first take and the last one may have found less. */
enum { ENDS = 2 };

/* Takes got different numbers, as those do not that always find the queue full. */
static bool do_items_vary(const struct study *study)
{
	const struct section *sections = study->monitors->sections;
	uint64_t *items = memory_new(study->section_count, sizeof(*items));
	size_t count = 0, odd = 0;

	for (size_t i = 0; i < study->section_count; i++)
		if (set_has(&study->takers, sections[study->sections[i]].site[study->depth]))
			items[count++] = sections[study->sections[i]].items;
	uint64_t usual = count ? percentile_select(items, count, count / 2) : 0;

	for (size_t i = 0; i < count; i++)
		odd += items[i] != usual;
	free(items);
	return (double)odd > ENDS + assume.group_varies * (double)count;
}

void tokens_note_batches(const struct study *study, const struct token_fit *best)
{
	struct condition *condition = &study->monitors->conditions[study->condition];
	struct lot lot;

	if (best->model != PUT_BATCH && sets_meet(&study->putters, &study->takers))
		return;
	struct token_fit batches = try_batches(study, &lot);

	if (best->model == PUT_BATCH) {
		condition->least = lot.least;
		condition->timeout_ns = lot.timeout_ns;
	} else if (assume.takes_all && study->taking_threads.count == 1 &&
		   grows_with_items(study) && do_items_vary(study) &&
		   are_batches(study, best, &batches)) {
		condition->lumps_ns = busy_ns(study);
		condition->lumps_of = (uint32_t)study->taking_threads.values[0];
	}
}

static int compare_u64(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

void tokens_find_latency(const struct study *study, const struct releases *releases)
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

bool tokens_are_given_back(const struct study *study, enum put_model model)
{
	const struct monitors *monitors = study->monitors;
	int64_t *more = memory_new(study->rec->thread_count, sizeof(*more)); /* taken than put */
	bool is_even = true;

	for (size_t i = 0; i < study->section_count; i++) {
		const struct section *section = &monitors->sections[study->sections[i]];
		bool puts = put_by_section(model) &&
			    set_has(&study->putters, section->site[study->depth]);

		more[section->thread] += section_takes(study, section) - puts;
	}
	for (size_t i = 0; !put_by_section(model) && i < study->link_count; i++)
		more[study->rec->links[study->links[i]].thread] -=
			!monitors->signals[study->links[i]].is_gate;
	for (size_t i = 0; i < study->taking_threads.count; i++)
		is_even = is_even && llabs(more[study->taking_threads.values[i]]) <= 1;
	free(more);
	return is_even;
}
