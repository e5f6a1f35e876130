/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Models of how tokens are put to a condition, each held against the recording.
 *
 * Method. Puts, takes and beginnings of waits are gone through in order of time. The tokens at the
 * start are the recording's largest deficit of takes over puts. A wait that begins while there are
 * tokens violates the model. Where takes take all, a take of nothing does so, too.
 *
 * One thread.
 */
#include "base/assumptions.h"
#include "base/memory.h"
#include "tokens_parts.h"

#include <assert.h>
#include <stdlib.h>

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

	for (size_t i = 0; i < count && events[i].at_ns < gate_ns; i++) {
		tokens += events[i].change;
		lowest = tokens < lowest ? tokens : lowest;
	}
	struct token_fit fit = { .model = model,
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

/* Each take takes all that is there; notes how many that is. */
static struct token_fit try_batches(const struct study *study)
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
	return (struct token_fit){ .model = PUT_BATCH,
				   .violations = looks ? (double)violations / (double)looks : 0.0,
				   .left_over = tokens };
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
	struct token_fit batches = try_batches(study);
	bool is_enough = best.violations <= assume.token_misfits && !grows_with_items(study);
	return batches.violations <= assume.token_misfits && !is_enough ? batches : best;
}

void tokens_note_items(const struct study *study)
{
	(void)try_batches(study);
}
