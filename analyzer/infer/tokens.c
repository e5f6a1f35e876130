/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds, for each condition, a model of tokens that the recording obeys.
 *
 * Method. A section whose site ever waits on the condition takes one token, whether it had to wait
 * or not. One that still waits as the recording ends takes none. Nor does one whose last wait timed
 * out, if most do not, and no model is obeyed otherwise: its thread gave up, or looks again. Nor
 * does one that waited, and whose thread comes back at once, if that explains more. Two
 * ways of putting are tried. Each signal puts one. Or each section of a site that ever signals puts
 * one ("signal only when it was empty"). The tokens at the start are the recording's largest
 * deficit of takes over puts. For a bounded queue this finds its capacity. The model is then held
 * against the recording: nobody may begin to wait while there are tokens. Where that happens too
 * often no token is used. Only the edge from the signal that let a section go is kept.
 *
 * Kinds of sites are tried as well, see tokens_is_better(): how many frames count, or the function,
 * for code of which a compiler has made copies.
 *
 * Or each take takes all that was put since the last one ("drain"). Then nobody begins to wait
 * while something is there, and nobody takes where nothing is. How many a take got is noted. This
 * model is chosen if neither of the others obeys, or leaves tokens that nobody takes. Or if a
 * thread's work after a take is the longer the more it got. It is chosen only where the takers wake
 * nobody: with fewer and larger takes some of these signals would never be given.
 *
 * A signal from a place used once, after which nobody begins to wait, is a gate: it opens the
 * condition for good ("closed"). The section that gives it takes behind it. A site that signals
 * before it waits (a request, then its answer) takes where it waits, not where it locks.
 *
 * One thread.
 */
#include "base/assumptions.h"
#include "base/buckets.h"
#include "base/memory.h"
#include "format.h"
#include "tokens_parts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void set_add(struct set *set, uint64_t value)
{
	if (set_has(set, value))
		return;
	set->values = memory_grow(set->values, &set->capacity, set->count + 1, sizeof(value));
	set->values[set->count++] = value;
}

/* --- gates --- */

/* Where a signal was given: the site of its section; 0 = not known. */
static uint64_t signal_site(const struct study *study, uint32_t link)
{
	uint32_t section = study->monitors->signals[link].section;

	return section == NO_INDEX ? 0 : study->monitors->sections[section].site[SITE_FRAMES - 1];
}

static bool wakes_all(const struct study *study, size_t at)
{
	return study->monitors->signals[study->links[at]].wakes_all;
}

/* One section may tell one thread of more to do, and all of the end. */
static bool is_alone(const struct study *study, size_t at)
{
	uint64_t site = signal_site(study, study->links[at]);

	for (size_t i = 0; i < study->link_count; i++)
		if (i != at && signal_site(study, study->links[i]) == site &&
		    wakes_all(study, i) == wakes_all(study, at))
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
		if (!wakes_all(study, i) && i + 1 != study->link_count)
			continue;
		study->monitors->signals[link].is_gate = true;
		if (condition->gate_ns > links[link].at_ns)
			condition->gate_ns = links[link].at_ns;
	}
}

/* Finding a signal that stands alone costs a walk over all: only places with few signals can
 * have one. */
enum { GATE_SIGNALS_MAX = 1 << 14 };

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

static void study_sites(struct study *study, uint32_t depth)
{
	assert(depth < SITE_KINDS);
	study->depth = depth;
	study->takers.count = study->putters.count = 0;
	study->taking_threads.count = study->putting_threads.count = 0;
	collect_takers(study);
	collect_putters(study);
}

/* Several threads took before a gate let them go: they had more than one message for each other. */
static bool have_taken(const struct study *study)
{
	const struct monitors *monitors = study->monitors;
	uint64_t gate_ns = monitors->conditions[study->condition].gate_ns;
	uint32_t first = NO_INDEX;

	for (size_t i = 0; i < study->section_count; i++) {
		const struct section *section = &monitors->sections[study->sections[i]];

		if (section->end_ns > gate_ns || !section_takes(study, section))
			continue;
		if (first != NO_INDEX && section->thread != first)
			return true;
		first = section->thread;
	}
	return false;
}

/* Threads that live for what they take: of one start routine, as far as that is known. The first
 * thread of a process, which helps now and then, has a life of its own behind its takes. */
static bool are_workers(const struct study *study, enum put_model model)
{
	if (tokens_are_given_back(study, model) || !have_taken(study))
		return false;

	const struct recording *rec = study->rec;
	uint64_t start = 0;

	for (size_t i = 0; i < study->taking_threads.count; i++) {
		const struct rec_thread *thread = &rec->threads[study->taking_threads.values[i]];
		uint64_t at = thread->op == NO_INDEX ? 0 : rec->extras[thread->op].address;

		if (thread->tid == rec->processes[thread->process].pid || (i && at != start))
			return false;
		start = at;
	}
	return true;
}

static struct token_fit best_of_depths(struct study *study)
{
	struct token_fit best = { .violations = 2 };
	uint32_t best_depth = 0;

	for (uint32_t depth = 0; depth < assume.site_kinds; depth++) {
		study_sites(study, depth);
		struct token_fit fit = tokens_choose_model(study);

		if (!tokens_is_better(&fit, &best))
			continue;
		best = fit;
		best_depth = depth;
	}
	study_sites(study, best_depth);
	return best;
}

/* Most waits end by a signal: threads do not come for the timeouts. */
static bool seldom_gives_up(const struct study *study)
{
	size_t timeouts = 0;

	for (size_t i = 0; i < study->wait_count; i++)
		timeouts += study->rec->waits[study->waits[i]].timed_out;
	return timeouts && 2 * timeouts < study->wait_count;
}

/* Threads that come back at once may have been woken in vain. That explains more than that all take
 * all there is: each of these threads is seen to do nothing. */
static void look_for_vain_waits(struct study *study, struct token_fit *best)
{
	if (best->violations <= assume.token_misfits && best->model != PUT_BATCH)
		return;
	study->in_vain = true;
	struct token_fit fit = best_of_depths(study);
	study->in_vain = fit.violations <= assume.token_misfits && fit.model != PUT_BATCH &&
			 !tokens_is_better(best, &fit);
	*best = study->in_vain ? fit : best_of_depths(study);
}

static void study_condition(struct study *study, const struct releases *releases)
{
	struct condition *condition = &study->monitors->conditions[study->condition];
	struct token_fit best;

	collect_takers(study);
	if (study->link_count <= GATE_SIGNALS_MAX)
		find_gates(study);
	best = best_of_depths(study);
	if (best.violations > assume.token_misfits && seldom_gives_up(study)) {
		study->gives_up = true;
		best = best_of_depths(study);
	}
	look_for_vain_waits(study, &best);
	tokens_note_batches(study, &best);
	condition->model = best.model;
	condition->initial = best.initial;
	condition->violations = best.violations;
	tokens_find_latency(study, releases);
	condition->is_fed_back = sets_meet(&study->taking_threads, &study->putting_threads);
	condition->is_pool = study->taking_threads.count > 1 &&
			     (!condition->is_fed_back || are_workers(study, best.model));
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

static void sites_add(struct set sites[SITE_KINDS], const struct section *section)
{
	for (uint32_t depth = 0; depth < SITE_KINDS; depth++)
		set_add(&sites[depth], section->site[depth]);
}

static void sites_free(struct set sites[SITE_KINDS])
{
	for (uint32_t depth = 0; depth < SITE_KINDS; depth++)
		free(sites[depth].values);
}

/*
 * Where a section signals before it waits. Of a site that puts and takes the same, sections that
 * signal may have found enough whenever they came. They gave what they had done, and took the next
 * one, as workers do, unless the site is seen to signal behind a wait.
 */
static void find_late_sites(const struct monitors *monitors, const struct recording *rec,
			    const struct study *studies, struct set late[SITE_KINDS])
{
	struct set early[SITE_KINDS] = { { 0 } };

	for (size_t i = 0; i < monitors->section_count; i++) {
		const struct section *section = &monitors->sections[i];

		if (section->first_wait == NO_INDEX)
			continue;
		if (section->first_wake_ns < rec->waits[section->first_wait].start_ns)
			sites_add(late, section);
		else if (section->first_signal_ns != UINT64_MAX)
			sites_add(early, section);
	}
	for (size_t i = 0; i < rec->link_count; i++) {
		const struct signal_role *role = &monitors->signals[i];

		if (role->section == NO_INDEX || role->condition == NO_INDEX || role->is_gate)
			continue;
		const struct section *section = &monitors->sections[role->section];
		const struct study *study = &studies[role->condition];
		uint64_t site = section->site[study->depth];

		if (section->first_wait == NO_INDEX && set_has(&study->takers, site) &&
		    !set_has(&early[study->depth], site))
			sites_add(late, section);
	}
	sites_free(early);
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

/* It does not wait, and gives the signal that opens the condition for good: a token that it finds
 * is its own. */
static bool is_opener(const struct section *section, const struct condition *condition)
{
	return section->first_wait == NO_INDEX && section->first_signal_ns <= condition->gate_ns &&
	       section->start_ns <= condition->gate_ns && section->end_ns >= condition->gate_ns;
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

		if (section->take == NO_INDEX && section_takes(&studies[c], section))
			section->take = c;
		if (section->put == NO_INDEX && put_by_section(monitors->conditions[c].model) &&
		    set_has(&studies[c].putters, site))
			section->put = c;
	}
	if (section->take != NO_INDEX && section->first_wait != NO_INDEX)
		section->take = monitors->condition_of_wait[section->first_wait];
	if (section->last_wait != NO_INDEX) {
		const struct study *study =
			&studies[monitors->condition_of_wait[section->last_wait]];

		section->in_vain = section_waits_in_vain(study, section) &&
				   monitors->conditions[study->condition].model != PUT_NONE;
	}
	if (section->take != NO_INDEX) {
		uint32_t depth = studies[section->take].depth;

		section->takes_late = set_has(&late[depth], section->site[depth]) ||
				      is_opener(section, &monitors->conditions[section->take]);
	}
}

static uint32_t mutex_of_condition(const void *context, size_t condition)
{
	return ((const struct monitors *)context)->conditions[condition].mutex;
}

/* Other links tell of something else that a thread did. A thread that waits for a lock comes by
 * itself when that is free. */
static bool lets_go(const struct recording *rec, const struct releases *releases,
		    const struct rec_link *link)
{
	if (link->thread == NO_INDEX)
		return false;
	if (link->kind == LINK_POST || link->kind == LINK_SIGNAL)
		return true;
	uint32_t process = rec->threads[link->thread].process;

	return link->kind == LINK_WAKE &&
	       addresses_find(&releases->locks, process, link->address) == NO_INDEX;
}

/* Each condition by itself. */
static void study_all(struct study *studies, struct monitors *monitors, const struct recording *rec,
		      const struct releases *releases)
{
	struct monitors_uses uses;
	size_t conditions = monitors->condition_count;
	uint64_t *last_link_ns = memory_new(rec->thread_count, sizeof(*last_link_ns));

	for (size_t i = 0; i < rec->link_count; i++) {
		const struct rec_link *link = &rec->links[i];

		if (lets_go(rec, releases, link) && link->at_ns > last_link_ns[link->thread])
			last_link_ns[link->thread] = link->at_ns;
	}
	monitors_uses_build(&uses, monitors, rec);
	for (uint32_t c = 0; c < conditions; c++) {
		struct study *study = &studies[c];

		study->monitors = monitors;
		study->rec = rec;
		study->last_link_ns = last_link_ns;
		study->condition = c;
		study->waits = buckets_of(&uses.waits, c, &study->wait_count);
		study->sections = buckets_of(&uses.sections, monitors->conditions[c].mutex,
					     &study->section_count);
		collect_links(study, &uses.links);
		study_condition(study, releases);
	}
	free(last_link_ns);
	monitors_uses_free(&uses);
}

/* Findings of a search before the conditions were split. */
static void forget(struct monitors *monitors, size_t link_count)
{
	for (size_t i = 0; i < monitors->section_count; i++) {
		struct section *section = &monitors->sections[i];

		section->take = section->put = NO_INDEX;
		section->items = 0;
		section->takes_late = section->in_vain = false;
	}
	for (size_t i = 0; i < link_count; i++)
		monitors->signals[i].is_gate = false;
	for (size_t i = 0; i < monitors->condition_count; i++) {
		monitors->conditions[i].gate_ns = UINT64_MAX;
		monitors->conditions[i].least = 1;
		monitors->conditions[i].timeout_ns = 0;
	}
}

void tokens_find(struct monitors *monitors, const struct recording *rec,
		 const struct releases *releases)
{
	struct study *studies = memory_new(monitors->condition_count, sizeof(*studies));
	struct set late[SITE_KINDS] = { { 0 } };
	struct buckets conditions;

	forget(monitors, rec->link_count);
	study_all(studies, monitors, rec, releases);
	agree_per_mutex(monitors);
	find_late_sites(monitors, rec, studies, late);
	buckets_build(&conditions, monitors->mutex_count, monitors->condition_count,
		      mutex_of_condition, monitors);
	for (size_t i = 0; i < monitors->section_count; i++)
		mark_section(&monitors->sections[i], monitors, studies, &conditions, late);
	buckets_free(&conditions);
	for (uint32_t c = 0; c < monitors->condition_count; c++)
		study_free(&studies[c]);
	sites_free(late);
	free(studies);
}
