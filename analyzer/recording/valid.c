/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The promises of the reader (read.h), checked over a whole recording: for asserts, tests, fuzzers.
 *
 * Reads only; takes as long as reading the recording once. Any thread.
 */
#include "recording.h"

#include "samples.h"

#include <string.h>

static bool is_index(uint32_t index, size_t count)
{
	return index == NO_INDEX || index < count;
}

static bool ops_are_valid(const struct recording *recording)
{
	size_t i;

	for (i = 0; i < recording->op_count; i++) {
		const struct rec_op *op = &recording->ops[i];

		if (op->start_ns > op->end_ns || !is_index(op->parent, recording->op_count) ||
		    op->parent == i || op->name >= recording->string_count ||
		    op->ident >= recording->string_count || op->client >= recording->string_count ||
		    op->kind >= recording->kinds.count ||
		    op->outcome >= recording->outcomes.count ||
		    !is_index(op->thread, recording->thread_count))
			return false;
		if (recording->extras && recording->extras[i].stack >= recording->stack_count)
			return false;
	}
	return recording->open_op_count <= recording->op_count;
}

static bool waits_are_valid(const struct recording *recording)
{
	size_t i;

	for (i = 0; i < recording->wait_count; i++) {
		const struct rec_wait *wait = &recording->waits[i];

		if (wait->start_ns > wait->end_ns || !is_index(wait->waiter, recording->op_count) ||
		    !is_index(wait->target, recording->op_count) ||
		    wait->ident >= recording->string_count ||
		    wait->name >= recording->string_count ||
		    wait->reason >= recording->reasons.count ||
		    wait->stack >= recording->stack_count ||
		    !is_index(wait->thread, recording->thread_count))
			return false;
	}
	return true;
}

static bool links_are_valid(const struct recording *recording)
{
	size_t i;

	for (i = 0; i < recording->link_count; i++) {
		const struct rec_link *link = &recording->links[i];

		if (!is_index(link->from, recording->op_count) ||
		    !is_index(link->to, recording->op_count) ||
		    link->ident >= recording->string_count ||
		    link->kind >= recording->link_kinds.count ||
		    link->stack >= recording->stack_count ||
		    !is_index(link->thread, recording->thread_count))
			return false;
	}
	return true;
}

static bool samples_are_valid(const struct recording *recording)
{
	size_t i;

	for (i = 0; i < recording->sample_count; i++) {
		const struct rec_sample *sample = &recording->samples[i];

		if (sample->thread >= recording->thread_count ||
		    !is_index(sample->op, recording->op_count) ||
		    sample->stack >= recording->stack_count)
			return false;
		if (i > 0 && sample_compare(sample - 1, sample) > 0)
			return false;
	}
	return true;
}

static bool owners_are_valid(const struct recording *recording)
{
	size_t i;

	for (i = 0; i < recording->thread_count; i++)
		if (recording->threads[i].process >= recording->process_count ||
		    recording->threads[i].name >= recording->string_count ||
		    !is_index(recording->threads[i].op, recording->op_count))
			return false;
	for (i = 0; i < recording->process_count; i++)
		if (recording->processes[i].exe >= recording->string_count ||
		    recording->processes[i].host >= recording->string_count ||
		    recording->processes[i].client >= recording->string_count ||
		    !is_index(recording->processes[i].op, recording->op_count))
			return false;
	for (i = 0; i < recording->idle_count; i++)
		if (recording->idles[i].process >= recording->process_count)
			return false;
	for (i = 0; i < recording->window_count; i++)
		if (recording->windows[i].process >= recording->process_count ||
		    recording->windows[i].from_ns > recording->windows[i].to_ns)
			return false;
	for (i = 0; i < recording->counter_count; i++)
		if (recording->counters[i].process >= recording->process_count ||
		    recording->counters[i].name >= recording->string_count)
			return false;
	return true;
}

static bool stacks_are_valid(const struct recording *recording)
{
	size_t i;

	for (i = 0; i < recording->module_count; i++)
		if (recording->modules[i].process >= recording->process_count ||
		    recording->modules[i].path >= recording->string_count ||
		    recording->modules[i].build_id >= recording->string_count)
			return false;
	for (i = 0; i < recording->stack_count; i++)
		if (recording->stacks[i].first_frame > recording->frame_count ||
		    recording->frame_count - recording->stacks[i].first_frame <
			    recording->stacks[i].frame_count)
			return false;
	for (i = 0; i < recording->frame_count; i++)
		if (!is_index(recording->frames[i].module, recording->module_count))
			return false;
	return recording->stack_count > 0 && recording->stacks[0].frame_count == 0;
}

static bool names_are_valid(const struct recording *recording)
{
	for (size_t i = 0; i < recording->naming_count; i++)
		if (recording->namings[i].path >= recording->string_count ||
		    recording->namings[i].build_id >= recording->string_count ||
		    recording->namings[i].client >= recording->string_count)
			return false;
	for (size_t i = 0; i < recording->named_frame_count; i++)
		if (recording->named_frames[i].function >= recording->string_count ||
		    recording->named_frames[i].file >= recording->string_count)
			return false;
	for (size_t i = 0; i < recording->named_code_count; i++) {
		const struct rec_named_code *code = &recording->named_codes[i];

		if (code->naming >= recording->naming_count || code->frame_count == 0 ||
		    code->first_frame > recording->named_frame_count ||
		    recording->named_frame_count - code->first_frame < code->frame_count)
			return false;
	}
	for (size_t i = 0; i < recording->named_data_count; i++)
		if (recording->named_data[i].naming >= recording->naming_count ||
		    recording->named_data[i].object >= recording->string_count)
			return false;
	return true;
}

bool recording_is_valid(const struct recording *recording)
{
	return recording->string_count > 0 && recording->strings[0][0] == '\0' &&
	       ops_are_valid(recording) && waits_are_valid(recording) &&
	       links_are_valid(recording) && samples_are_valid(recording) &&
	       owners_are_valid(recording) && stacks_are_valid(recording) &&
	       names_are_valid(recording);
}
