/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Machines, and descriptions of descriptors; hosts.h has the contract.
 *
 * A machine is a boot. Dumps that do not say theirs are told apart by the machine's name. The scope
 * of a description is its machine's number, from 1. That of an address is the number of a network
 * name space, and those come after the machines'.
 *
 * One thread.
 */
#include "hosts.h"

#include "base/memory.h"
#include "base/tuples.h"
#include "format.h"
#include "intern.h"

#include <stdlib.h>
#include <string.h>

/* Kernel objects of other machines than the first: above their numbers (format.h). */
enum { OBJECT_CLOCK_SHIFT = 48 };

static void clocks_find(struct recording *rec)
{
	struct tuples known;
	size_t room = 0;

	tuples_begin(&known, 2);
	for (size_t i = 0; i < rec->process_count; i++) {
		struct rec_process *process = &rec->processes[i];
		const uint32_t key[] = { process->boot, process->boot ? 0 : process->host };

		process->clock = tuples_add(&known, key);
		if (process->clock < rec->clock_count)
			continue;
		rec->clocks =
			memory_grow(rec->clocks, &room, rec->clock_count + 1, sizeof(*rec->clocks));
		rec->clocks[rec->clock_count++] =
			(struct rec_clock){ .boot = process->boot, .host = process->host };
	}
	tuples_free(&known);
}

/* --- descriptions --- */

struct scoping {
	struct recording *rec;
	uint32_t *network_of; /* by process: the scope of its addresses */
	struct tuples twins;  /* string, scope */
	uint32_t *twin_of;    /* by twin: the string that it has become */
	size_t twin_room;
	size_t scope_room;
};

static bool is_address(const char *text)
{
	return strncmp(text, "tcp ", 4) == 0 || strncmp(text, "udp ", 4) == 0;
}

/* How many scopes there are beside those of machines. */
static uint32_t networks_find(struct scoping *scoping)
{
	const struct recording *rec = scoping->rec;
	struct tuples known;

	tuples_begin(&known, 3);
	scoping->network_of = memory_new(rec->process_count, sizeof(*scoping->network_of));
	for (size_t i = 0; i < rec->process_count; i++) {
		const struct rec_process *process = &rec->processes[i];
		const uint32_t key[] = { process->clock, (uint32_t)process->network,
					 (uint32_t)(process->network >> 32) };

		scoping->network_of[i] = (uint32_t)rec->clock_count + 1 + tuples_add(&known, key);
	}
	uint32_t count = known.count;
	tuples_free(&known);
	return count;
}

static void set_scope(struct scoping *scoping, uint32_t string, uint32_t scope)
{
	struct recording *rec = scoping->rec;

	if (rec->string_count > rec->scope_count) {
		rec->scopes = memory_grow(rec->scopes, &scoping->scope_room, rec->string_count,
					  sizeof(*rec->scopes));
		memset(rec->scopes + rec->scope_count, 0,
		       (rec->string_count - rec->scope_count) * sizeof(*rec->scopes));
		rec->scope_count = rec->string_count;
	}
	rec->scopes[string] = scope;
}

/* The string that this description is there: the first place keeps it as it is. */
static uint32_t string_in(struct scoping *scoping, uint32_t string, uint32_t process)
{
	struct recording *rec = scoping->rec;
	uint32_t scope = is_address(rec->strings[string]) ? scoping->network_of[process]
							  : rec->processes[process].clock + 1;
	const uint32_t key[] = { string, scope };
	uint32_t count = scoping->twins.count, twin = tuples_add(&scoping->twins, key);

	if (twin < count)
		return scoping->twin_of[twin];
	if (hosts_scope_of(rec, string)) {
		uint32_t added = recording_add_twin(rec, string);

		if (added == NO_INDEX) /* no memory: the next thing that asks for some says so */
			return string;
		string = added;
	}
	scoping->twin_of = memory_grow(scoping->twin_of, &scoping->twin_room, count + 1,
				       sizeof(*scoping->twin_of));
	scoping->twin_of[twin] = string;
	set_scope(scoping, string, scope);
	return string;
}

static void descriptions_tell_apart(struct scoping *scoping)
{
	struct recording *rec = scoping->rec;

	tuples_begin(&scoping->twins, 2);
	for (size_t i = 0; i < rec->op_count; i++) {
		struct rec_op *op = &rec->ops[i];

		if ((op->kind != KIND_IO && op->kind != KIND_POLL) || op->thread == NO_INDEX)
			continue;
		uint32_t process = rec->threads[op->thread].process;

		if (op->ident)
			op->ident = string_in(scoping, op->ident, process);
		if (rec->extras[i].other_ident)
			rec->extras[i].other_ident =
				string_in(scoping, rec->extras[i].other_ident, process);
	}
	tuples_free(&scoping->twins);
	free(scoping->twin_of);
}

/* --- objects of the kernel's --- */

static uint64_t object_of(const struct recording *rec, uint32_t thread, uint64_t address)
{
	uint64_t sort = SHARED_ADDRESS | KERNEL_OBJECT;

	if (thread == NO_INDEX || (address & sort) != sort)
		return address;
	return address | (uint64_t)rec->processes[rec->threads[thread].process].clock
				 << OBJECT_CLOCK_SHIFT;
}

static void objects_tell_apart(struct recording *rec)
{
	for (size_t i = 0; i < rec->wait_count; i++)
		rec->waits[i].address = object_of(rec, rec->waits[i].thread, rec->waits[i].address);
	for (size_t i = 0; i < rec->link_count; i++)
		rec->links[i].address = object_of(rec, rec->links[i].thread, rec->links[i].address);
	for (size_t i = 0; rec->extras && i < rec->op_count; i++)
		if (rec->ops[i].kind == KIND_HOLD)
			rec->extras[i].address =
				object_of(rec, rec->ops[i].thread, rec->extras[i].address);
}

void hosts_find(struct recording *recording)
{
	struct scoping scoping = { .rec = recording };

	if (recording->clock_count)
		return;
	clocks_find(recording);
	if (networks_find(&scoping) > 1 && recording->extras)
		descriptions_tell_apart(&scoping);
	if (recording->clock_count > 1)
		objects_tell_apart(recording);
	free(scoping.network_of);
}
