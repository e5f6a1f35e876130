/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clients that are not recorded, as steps.
 *
 * A client's time is its own: no class has it, and it uses no CPU. A closed one thinks for so long
 * before each send. Where one thread is all clients it waits for that one instead, which works for
 * it so long. An open one sends at its time, or as soon as it has the answer before.
 *
 * One thread.
 */
#include "base/memory.h"
#include "script_parts.h"

#include <assert.h>

bool script_is_asked(const struct script *script, uint32_t op)
{
	return script->clients.count && op < script->clients.first_op &&
	       script->clients.send_of[op] != NO_INDEX;
}

/* Of the requests that begin with this read. */
static void begin_requests(struct compiler *compiler, uint32_t read)
{
	const struct requests *requests = &compiler->script->requests;

	for (enum stamp_point point = STAMP_BEGIN; point <= STAMP_END; point++) {
		size_t count;
		const struct stamp_place *places = requests_places(requests, read, point, &count);

		for (size_t i = 0; i < count; i++)
			if (places[i].stamp % 2 == 0)
				script_emit(compiler, STEP_STAMP, places[i].stamp, 0);
	}
}

/* The next step is before a question. */
static void think_add(struct compiler *compiler, uint32_t read)
{
	struct gathered *gathered = &compiler->gathered;

	gathered->thinks = memory_grow(gathered->thinks, &gathered->think_capacity,
				       gathered->think_count + 1, sizeof(*gathered->thinks));
	gathered->thinks[gathered->think_count++] =
		(struct think){ .step = (uint32_t)compiler->script->step_count,
				.thread = compiler->rec->ops[read].thread };
	gathered->asked[compiler->rec->ops[read].thread]++;
}

/* It waits for the thread that all clients are, which works for it so long. No wake-up is left out
 * of that: most questions find their server awake. */
static void work(struct compiler *compiler, uint32_t read, uint64_t work_ns)
{
	compiler->gathered.asked[compiler->rec->ops[read].thread]++;
	script_emit(compiler, STEP_COME, 0, 0);
	script_emit(compiler, STEP_DELAY, script_scope(compiler), work_ns);
	script_emit(compiler, STEP_LEAVE, 0, 0);
}

/* Up to the time at which a client sends. */
static void think(struct compiler *compiler, const struct clients *clients, uint32_t op)
{
	uint32_t asked = clients->asked[op - clients->first_op];
	const struct rec_op *send = &compiler->rec->ops[op];
	uint64_t due_ns = clients->due_ns[op - clients->first_op];
	uint64_t work_ns = clients->work_ns ? clients->work_ns[op - clients->first_op] : UINT64_MAX;

	if (clients->sort == CLIENTS_OPEN) {
		assert(due_ns >= compiler->thread.beat_ns);
		script_emit(compiler, STEP_UNTIL, script_scope(compiler),
			    due_ns - compiler->thread.beat_ns);
		compiler->thread.beat_ns = due_ns;
	} else if (work_ns != UINT64_MAX) {
		work(compiler, asked, work_ns);
	} else if (send->start_ns > compiler->thread.now_ns) {
		if (asked != NO_INDEX)
			think_add(compiler, asked);
		script_emit(compiler, STEP_DELAY, script_scope(compiler),
			    send->start_ns - compiler->thread.now_ns);
	}
	compiler->thread.now_ns = send->start_ns;
}

static void do_op(struct compiler *compiler, const struct clients *clients, uint32_t op)
{
	const struct rec_op *call = &compiler->rec->ops[op];
	const struct flows *flows = &compiler->script->flows;
	uint32_t transfer = flows->transfer_of[op];
	bool is_send = flow_direction_of(compiler->rec->strings[call->name]) != FLOW_READ;
	uint32_t asked = clients->asked[op - clients->first_op];

	if (is_send)
		think(compiler, clients, op);
	if (asked != NO_INDEX)
		begin_requests(compiler, asked);
	if (transfer != NO_INDEX)
		script_emit(compiler, is_send ? STEP_SEND : STEP_RECEIVE, transfer,
			    flows->transfers[transfer].latency_ns);
	else if (!is_send && call->end_ns > compiler->thread.now_ns)
		script_emit(compiler, STEP_DELAY, script_scope(compiler),
			    call->end_ns - compiler->thread.now_ns);
	if (call->end_ns > compiler->thread.now_ns)
		compiler->thread.now_ns = call->end_ns;
}

/* It is over when the thread is back from its poll. */
void script_thinks_wake(struct compiler *compiler)
{
	struct script *script = compiler->script;

	for (size_t i = 0; i < compiler->gathered.think_count; i++) {
		struct step *step = &script->steps[compiler->gathered.thinks[i].step];

		step->ns -= step->ns < script->sleep_run_ns ? step->ns : script->sleep_run_ns;
	}
}

void script_compile_client(struct compiler *compiler, uint32_t thread)
{
	const struct clients *clients = &compiler->script->clients;
	struct actor *actor = &compiler->script->actors[thread];
	size_t end = compiler->timeline->first[thread + 1];

	assert(clients->count && thread >= clients->first_thread);
	compiler->thread = (struct thread_state){ .index = thread,
						  .process = compiler->rec->threads[thread].process,
						  .class = NO_INDEX,
						  .at = compiler->timeline->first[thread],
						  .now_ns = actor->start_ns,
						  .beat_ns = actor->start_ns,
						  .scope = NO_INDEX,
						  .adopted = NO_INDEX };
	actor->is_client = true;
	actor->first_step = (uint32_t)compiler->script->step_count;
	if (clients->sort == CLIENTS_OPEN)
		script_emit(compiler, STEP_SCHEDULE, 0, 0);
	for (; compiler->thread.at < end; compiler->thread.at++) {
		const struct moment *moment = &compiler->timeline->moments[compiler->thread.at];

		if (moment_type(moment) == MOMENT_OP_BEGIN ||
		    moment_type(moment) == MOMENT_OP_POINT)
			do_op(compiler, clients, moment->index);
	}
	compiler->gathered.finish_ns[thread] = compiler->thread.now_ns;
	compiler->gathered.worked[thread] = true;
	script_emit(compiler, STEP_MARK, 0, 0);
	script_emit(compiler, STEP_END, 0, 0);
}
