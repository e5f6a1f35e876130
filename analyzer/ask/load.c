/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes the load of clients; load.h has the contract.
 *
 * An open client's first send, counted from the begin of the run, comes sooner by the factor. So do
 * all sends after it, counted from each other. All times that closed clients think get one factor.
 *
 * One thread.
 */
#include "load.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>

static int refuse(char error[OPTIONS_ERROR_BYTES], const char *why)
{
	snprintf(error, OPTIONS_ERROR_BYTES, "--what-if: \"load\": %s", why);
	return -EINVAL;
}

static void open_change(struct script *script, double times)
{
	const struct clients *clients = &script->clients;

	for (size_t i = 0; i < clients->count; i++) {
		struct actor *actor = &script->actors[clients->first_thread + i];
		uint64_t after_ns = actor->start_ns - script->start_ns;

		actor->start_ns = script->start_ns + (uint64_t)((double)after_ns / times);
		for (struct step *step = &script->steps[actor->first_step]; step->type != STEP_END;
		     step++)
			if (step->type == STEP_UNTIL)
				step->ns = (uint64_t)((double)step->ns / times);
	}
}

/* How long clients thought, and how long they were there, in all. */
struct thinking {
	double think_ns;
	double all_ns;
};

static struct thinking thinking_of(const struct script *script)
{
	const struct clients *clients = &script->clients;
	struct thinking thinking = { 0, 0 };

	for (size_t i = 0; i < clients->asker_count; i++) {
		const struct actor *actor = &script->actors[clients->first_thread + i];

		thinking.all_ns += (double)(actor->finish_ns - actor->start_ns);
		for (const struct step *step = &script->steps[actor->first_step];
		     step->type != STEP_END; step++)
			thinking.think_ns += step->type == STEP_DELAY ? (double)step->ns : 0;
	}
	return thinking;
}

static int closed_change(struct script *script, double times, char error[OPTIONS_ERROR_BYTES])
{
	const struct clients *clients = &script->clients;
	struct thinking thinking = thinking_of(script);
	double awaited_ns = thinking.all_ns - thinking.think_ns;
	double left_ns = thinking.all_ns / times - awaited_ns;
	char why[OPTIONS_ERROR_BYTES - 24];

	if (left_ns < 0 || thinking.think_ns <= 0) {
		snprintf(why, sizeof(why),
			 "each client waits for its answers, and thinks for %.0f%% of its time: "
			 "without "
			 "that, load*%.2f; ask for clients*2",
			 100 * thinking.think_ns / fmax(thinking.all_ns, 1),
			 thinking.all_ns / fmax(awaited_ns, 1));
		return refuse(error, why);
	}
	for (size_t i = 0; i < clients->asker_count; i++) {
		const struct actor *actor = &script->actors[clients->first_thread + i];

		for (struct step *step = &script->steps[actor->first_step]; step->type != STEP_END;
		     step++)
			if (step->type == STEP_DELAY)
				step->ns =
					(uint64_t)((double)step->ns * left_ns / thinking.think_ns);
	}
	return 0;
}

int load_change(struct script *script, double times, char error[OPTIONS_ERROR_BYTES])
{
	const struct clients *clients = &script->clients;

	assert(times > 0);
	if (!clients->count)
		return refuse(error, "no connection was accepted from a client that is not "
				     "recorded; ask for CLASS*0.5");
	if (clients->end == CLIENTS_END_ONE_THREAD)
		return refuse(error, "one thread has all clients, and asks as soon as it can; ask "
				     "for clients*2");
	if (clients->sort == CLIENTS_CLOSED)
		return closed_change(script, times, error);
	open_change(script, times);
	return 0;
}
