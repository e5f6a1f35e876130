/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locks that threads wait for at the moment; top_view.h has the contract.
 */
#include <stdlib.h>

#include "blocked.h"
#include "top_view.h"

bool top_waiting_find(struct top_waiting_list *list, const struct top_state *state)
{
	struct remains remains = state->reader->remains;
	struct blocked_list threads;
	pid_t pid = remains_pid(&remains);

	*list = (struct top_waiting_list){ NULL, 0 };
	if (state->is_frozen || pid <= 0 ||
	    blocked_read(&threads, (uint32_t)pid, remains.arena) != 0)
		return false;
	list->rows = calloc(threads.count + 1, sizeof(*list->rows));
	for (uint32_t i = 0; list->rows && i < threads.count; i++) {
		const struct blocked_thread *thread = &threads.threads[i];
		size_t at = 0;

		if (thread->on.type != RECORD_WAIT)
			continue;
		while (at < list->count && list->rows[at].address != thread->on.value)
			at++;
		list->count += at == list->count;
		struct top_waiting *row = &list->rows[at];

		row->address = thread->on.value;
		row->waiters++;
		if (thread->wait_ns > row->longest_ns)
			row->longest_ns = thread->wait_ns;
		if (thread->holder) {
			row->holder = (pid_t)thread->holder;
			row->held_ns = thread->held_ns;
		}
	}
	blocked_free(&threads);
	return list->rows != NULL;
}

void top_waiting_free(struct top_waiting_list *list)
{
	free(list->rows);
	*list = (struct top_waiting_list){ NULL, 0 };
}

const struct top_waiting *top_waiting_at(const struct top_waiting_list *list, uint64_t address)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->rows[i].address == address)
			return &list->rows[i];
	return NULL;
}
