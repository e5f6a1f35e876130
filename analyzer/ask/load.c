/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes the load of open clients; load.h has the contract.
 *
 * A client's first send, counted from the begin of the run, comes sooner by the factor. So do all
 * sends after it, counted from each other. One thread.
 */
#include "load.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>

static int refuse(char error[OPTIONS_ERROR_BYTES], const char *why)
{
	snprintf(error, OPTIONS_ERROR_BYTES, "--what-if: \"load\": %s", why);
	return -EINVAL;
}

int load_change(struct script *script, double times, char error[OPTIONS_ERROR_BYTES])
{
	const struct clients *clients = &script->clients;

	assert(times > 0);
	if (!clients->count)
		return refuse(error, "no connection was accepted from a client that is not "
				     "recorded; ask for CLASS*0.5");
	if (clients->sort == CLIENTS_CLOSED)
		return refuse(error,
			      "clients wait for their answers, and send more only if these "
			      "come sooner; --clients open takes them to send at their times");
	for (size_t i = 0; i < clients->count; i++) {
		struct actor *actor = &script->actors[clients->first_thread + i];
		uint64_t after_ns = actor->start_ns - script->start_ns;

		actor->start_ns = script->start_ns + (uint64_t)((double)after_ns / times);
		for (struct step *step = &script->steps[actor->first_step]; step->type != STEP_END;
		     step++)
			if (step->type == STEP_UNTIL)
				step->ns = (uint64_t)((double)step->ns / times);
	}
	return 0;
}
