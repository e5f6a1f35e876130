/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles of waits: of those who waited, and of those who held locks meanwhile.
 */
#include <stdio.h>

#include "measure/blame.h"
#include "pprof_parts.h"

enum { LEAF_BYTES = 512 };

static uint32_t wait_name(const struct pprof *pprof, uint32_t wait)
{
	const struct labels *labels = pprof->analysis->labels;
	return labels && labels->waits ? labels->waits[wait] : pprof->recording->waits[wait].ident;
}

static uint32_t hold_name(const struct pprof *pprof, uint32_t hold)
{
	const struct labels *labels = pprof->analysis->labels;
	return labels && labels->ops ? labels->ops[hold] : pprof->recording->ops[hold].name;
}

static uint32_t class_of(const struct pprof *pprof, uint32_t op)
{
	return op == NO_INDEX ? NO_INDEX : pprof->analysis->classes.of_op[op];
}

/* The request and span that a thread works for at that time. */
static void label_work(struct pprof *pprof, struct pprof_sample *sample, uint32_t thread,
		       uint64_t at_ns)
{
	if (thread == NO_INDEX)
		return;
	const struct walk_request *request = request_spans_at(&pprof->spans, thread, at_ns);
	pprof_label_request(pprof, sample, request);
	pprof_label_ids(pprof, sample, thread, at_ns, request);
}

void pprof_add_waits(struct pprof *pprof)
{
	const struct recording *recording = pprof->recording;
	for (uint32_t i = 0; i < recording->wait_count; i++) {
		const struct rec_wait *wait = &recording->waits[i];
		struct pprof_sample sample = pprof_sample(pprof, PPROF_BLOCK, wait->stack);
		pprof_label_thread(pprof, &sample, wait->thread);
		pprof_label_class(pprof, &sample,
				  class_of(pprof, pprof->analysis->graph.wait_target[i]));
		label_work(pprof, &sample, wait->thread, wait->start_ns);
		pprof_label_state(pprof, &sample, WALK_BLOCKED, wait->reason, wait_name(pprof, i));
		pprof_add(&sample, (uint64_t[]){ 1, wait->end_ns - wait->start_ns });
	}
}

/* "[held] table_lock" */
static void label_lock(struct pprof_sample *sample, const char *what, const char *lock)
{
	char text[LEAF_BYTES];
	snprintf(text, sizeof(text), "%s%s%s", what, *lock ? " " : "", lock);
	sample->leaf = profile_text(sample->profile, text);
	pprof_label(sample, PPROF_LOCK, lock);
}

static void add_hold(struct pprof *pprof, const struct blame *blame, uint32_t hold)
{
	const struct recording *recording = pprof->recording;
	const struct rec_op *op = &recording->ops[hold];
	struct pprof_sample sample = pprof_sample(
		pprof, PPROF_MUTEX, recording->extras ? recording->extras[hold].stack : 0);
	pprof_label_thread(pprof, &sample, op->thread);
	pprof_label_class(pprof, &sample, class_of(pprof, hold));
	label_work(pprof, &sample, op->thread, op->start_ns);
	label_lock(&sample, "[held]", recording->strings[hold_name(pprof, hold)]);
	pprof_add(&sample, (uint64_t[]){ blame->waits[hold], blame->ns[hold] });
}

void pprof_add_holders(struct pprof *pprof)
{
	static const char *const words[] = {
		[BLAME_FREE] = "[free: the waiter wakes up]",
		[BLAME_UNKNOWN] = "[holder not recorded]",
	};
	const struct recording *recording = pprof->recording;
	struct blame blame;
	blame_build(&blame, recording);
	for (uint32_t i = 0; i < recording->op_count; i++)
		if (blame.ns[i] || blame.waits[i])
			add_hold(pprof, &blame, i);
	for (size_t i = 0; i < blame.rest_count; i++) {
		const struct blame_rest *rest = &blame.rests[i];
		struct pprof_sample sample = pprof_sample(pprof, PPROF_MUTEX, 0);
		label_lock(&sample, words[rest->sort],
			   recording->strings[wait_name(pprof, rest->wait)]);
		pprof_add(&sample, (uint64_t[]){ rest->waits, rest->ns });
	}
	blame_free(&blame);
}
