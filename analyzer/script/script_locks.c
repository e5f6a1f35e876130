/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holds of locks, as steps: acquire and release, or the token that a section under a lock takes or
 * puts.
 *
 * A section that takes a token becomes: acquire, take, and its steps from its last hold on. Its
 * doings before that, in between its waits, are the looking, and are not replayed.
 *
 * One thread.
 */
#include "base/memory.h"
#include "script_parts.h"

#include <assert.h>

uint32_t *script_lock_classes(const struct releases *releases, const struct recording *rec,
			      const struct class_table *classes)
{
	uint32_t *class_of = memory_new(releases->locks.count, sizeof(*class_of));

	for (size_t i = 0; i < releases->locks.count; i++)
		class_of[i] = NO_INDEX;
	for (size_t op = 0; op < rec->op_count; op++)
		if (releases->lock_of[op] != NO_INDEX)
			class_of[releases->lock_of[op]] = classes->of_op[op];
	return class_of;
}

void script_keys_add(struct script *script, const struct keys *keys)
{
	size_t capacity = script->lock_count;

	script->lock_class = memory_grow(script->lock_class, &capacity,
					 script->lock_count + keys->count, sizeof(uint32_t));
	script->key_count = keys->count;
	for (uint32_t i = 0; i < keys->count; i++)
		script->lock_class[script->lock_count++] = NO_INDEX;
}

/* The lock of the key that its thread gets in a section, or gives back there; NO_INDEX = none. */
static uint32_t key_of(const struct compiler *compiler, const uint32_t *keys,
		       const struct section *section)
{
	uint32_t key =
		section && keys ? keys[section - compiler->script->monitors.sections] : NO_INDEX;

	return key == NO_INDEX ? NO_INDEX : (uint32_t)compiler->releases->locks.count + key;
}

/* The latency of a lock wait that just ended, from the release that ended it. */
static uint64_t lock_latency(struct compiler *compiler, uint32_t lock, uint32_t hold)
{
	uint32_t index = compiler->thread.lock_wait;

	compiler->thread.lock_wait = NO_INDEX;
	if (index == NO_INDEX)
		return LATENCY_UNKNOWN;
	const struct rec_wait *wait = &compiler->rec->waits[index];
	const struct release *release =
		releases_granting(compiler->releases, compiler->rec, lock, hold, wait->start_ns,
				  wait->end_ns, compiler->thread.index);
	if (!release) {
		script_stays(compiler, index, wait->end_ns - wait->start_ns);
		return LATENCY_UNKNOWN;
	}
	if (!compiler->rec->extras[hold].shared)
		script_outrun_add(compiler,
				  releases_first(compiler->releases, lock, wait->start_ns),
				  release);
	compiler->gathered.latencies_ns =
		memory_grow(compiler->gathered.latencies_ns, &compiler->gathered.latency_capacity,
			    compiler->gathered.latency_count + 1, sizeof(uint64_t));
	compiler->gathered.latencies_ns[compiler->gathered.latency_count++] =
		wait->end_ns - release->at_ns;
	return wait->end_ns - release->at_ns;
}

bool script_by_tokens(const struct compiler *compiler, const struct section *section)
{
	return section->take != NO_INDEX &&
	       compiler->script->monitors.conditions[section->take].model != PUT_NONE;
}

static const struct section *section_of(const struct compiler *compiler, uint32_t hold)
{
	uint32_t section = compiler->script->monitors.section_of_hold[hold];

	return section == NO_INDEX ? NULL : &compiler->script->monitors.sections[section];
}

void script_take(struct compiler *compiler, const struct section *section)
{
	struct job_list *jobs = &compiler->script->jobs[section->take];

	assert(script_by_tokens(compiler, section) && section->last_hold != NO_INDEX);
	jobs->lock = compiler->releases->lock_of[section->last_hold];
	script_emit(compiler, STEP_TAKE, section->take,
		    compiler->script->monitors.conditions[section->take].latency_ns);
	script_taken_add(compiler, section->end_ns);
	compiler->gathered.taken[compiler->gathered.taken_count - 1].items = section->items;
}

static bool is_reader(const struct compiler *compiler, uint32_t hold)
{
	return compiler->rec->extras[hold].shared;
}

void script_hold_begins(struct compiler *compiler, uint32_t op)
{
	const struct section *section = section_of(compiler, op);
	uint32_t lock = compiler->releases->lock_of[op];
	bool tokens = section && script_by_tokens(compiler, section);

	assert(lock < compiler->script->lock_count); /* of every hold */
	script_sees_it_was_told(compiler, op);
	if (script_quantum_drops(compiler, op))
		return;
	if (tokens && section->takes_late && op != section->first_hold)
		return;
	if (!tokens && script_try_gained(compiler, op))
		return;
	script_tries_give_up(compiler);
	if (compiler->thread.is_skipping) {
		if (section && op == section->last_hold &&
		    compiler->thread.skip_section == section) {
			compiler->thread.is_skipping = false;
			compiler->thread.lock_wait = NO_INDEX;
		}
		return;
	}
	if (rec_is_file_lock(compiler->rec->extras[op].address))
		script_round_begins(compiler, op);
	uint32_t key = section && op == section->first_hold
			       ? key_of(compiler, compiler->found->keys.entered, section)
			       : NO_INDEX;
	if (key != NO_INDEX)
		script_emit(compiler, STEP_ACQUIRE, key, LATENCY_UNKNOWN);
	uint32_t wait = compiler->thread.lock_wait;
	uint64_t latency_ns = lock_latency(compiler, lock, op);
	script_emit(compiler,
		    is_reader(compiler, op)           ? STEP_SHARE
		    : compiler->rec->extras[op].tried ? STEP_GRAB
						      : STEP_ACQUIRE,
		    lock, latency_ns);
	if (wait != NO_INDEX)
		script_origin_is_wait(compiler, wait);
	script_stamps(compiler, op, STAMP_GAINED);
	if (key == NO_INDEX && (!tokens || section->takes_late))
		return;
	if (key == NO_INDEX)
		script_take(compiler, section);
	if (op != section->last_hold) {
		compiler->thread.is_skipping = true;
		compiler->thread.skip_section = section;
	}
}

void script_hold_ends(struct compiler *compiler, uint32_t op)
{
	const struct section *section = section_of(compiler, op);
	bool tokens = section && script_by_tokens(compiler, section);

	assert(compiler->releases->lock_of[op] < compiler->script->lock_count);
	script_tries_give_up(compiler);
	script_round_ends(compiler, op);
	if (compiler->thread.is_skipping)
		return;
	script_quantum_takes(compiler, op);
	if (section && op == section->last_hold) {
		if (tokens && section->takes_late && section->first_wait == NO_INDEX)
			script_take(compiler, section);
		if (section->put != NO_INDEX &&
		    put_by_section(compiler->script->monitors.conditions[section->put].model))
			script_emit(compiler, STEP_PUT, section->put, 0);
	} else if (tokens && section->takes_late) {
		return;
	}
	script_emit(compiler, is_reader(compiler, op) ? STEP_UNSHARE : STEP_RELEASE,
		    compiler->releases->lock_of[op], 0);
	uint32_t key = section && op == section->last_hold
			       ? key_of(compiler, compiler->found->keys.left, section)
			       : NO_INDEX;
	if (key != NO_INDEX)
		script_emit(compiler, STEP_RELEASE, key, 0);
}
