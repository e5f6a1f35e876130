/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locks with a quantum, as steps.
 *
 * The code that a thread runs while it has such a lock is cut into pieces. Between them it hands
 * the lock over if it is asked to. It does not look in a call: a long call has a look after it.
 * A recorded hand-over becomes a step of that sort, too. The replay decides anew what comes of it.
 *
 * One thread.
 */
#include "script_parts.h"

#include <assert.h>

static uint32_t section_of(const struct compiler *compiler, uint32_t hold)
{
	return compiler->found->quanta.takes ? compiler->script->monitors.section_of_hold[hold]
					     : NO_INDEX;
}

static void yields(struct compiler *compiler, uint32_t condition)
{
	script_emit(compiler, STEP_YIELD, condition,
		    compiler->script->monitors.conditions[condition].latency_ns);
}

/* From one look to the next; 0 = the thread has no such lock. */
static uint64_t look_ns(const struct compiler *compiler)
{
	uint32_t condition = compiler->thread.has_token;

	if (condition == NO_INDEX)
		return 0;
	return compiler->script->monitors.conditions[condition].quantum_ns / LOOKS_A_QUANTUM;
}

void script_quantum_passes(struct compiler *compiler, uint64_t ns)
{
	compiler->thread.unlooked_ns += ns;
}

uint64_t script_quantum_piece(struct compiler *compiler, uint64_t ns)
{
	uint64_t most_ns = look_ns(compiler);

	if (!most_ns)
		return ns;
	if (compiler->thread.unlooked_ns >= most_ns) {
		yields(compiler, compiler->thread.has_token);
		compiler->thread.unlooked_ns = 0;
	}
	uint64_t left_ns = most_ns - compiler->thread.unlooked_ns;
	uint64_t piece_ns = ns < left_ns ? ns : left_ns;
	script_quantum_passes(compiler, piece_ns);
	return piece_ns;
}

bool script_quantum_drops(struct compiler *compiler, uint32_t hold)
{
	const struct quanta *quanta = &compiler->found->quanta;
	const struct section *sections = compiler->script->monitors.sections;
	uint32_t section = section_of(compiler, hold);

	if (section == NO_INDEX || quanta->puts[section] == NO_INDEX ||
	    compiler->thread.is_skipping)
		return false;
	compiler->thread.has_token = NO_INDEX;
	if (quanta->retakes[section] == NO_INDEX || hold != sections[section].first_hold)
		return false;
	compiler->thread.lock_wait = NO_INDEX;
	yields(compiler, quanta->puts[section]);
	compiler->thread.is_skipping = true;
	compiler->thread.skip_section = &sections[quanta->retakes[section]];
	return true;
}

void script_quantum_takes(struct compiler *compiler, uint32_t hold)
{
	uint32_t section = section_of(compiler, hold);

	if (section != NO_INDEX && hold == compiler->script->monitors.sections[section].last_hold &&
	    compiler->found->quanta.takes[section] != NO_INDEX) {
		compiler->thread.has_token = compiler->found->quanta.takes[section];
		compiler->thread.unlooked_ns = 0;
	}
}

void script_quantum_ends(struct compiler *compiler)
{
	if (compiler->thread.has_token != NO_INDEX)
		script_emit(compiler, STEP_PUT, compiler->thread.has_token, 0);
}

bool script_quantum_switches(const struct compiler *compiler, uint32_t wait)
{
	uint32_t condition = compiler->script->monitors.condition_of_wait[wait];

	return compiler->found->quanta.takes && condition != NO_INDEX &&
	       compiler->found->quanta.is_switch[condition];
}
