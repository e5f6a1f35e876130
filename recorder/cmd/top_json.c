/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each look of top as an object of JSON; top_view.h has the contract.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "top_view.h"
#include "visible.h"

static void put_classes(const struct top_state *state, size_t most)
{
	const char *comma = "";
	size_t shown = 0;

	printf(",\"classes\":[");
	for (size_t i = 0; i < state->sums->classes.count && shown < most; i++) {
		const struct top_entry *entry = &state->sums->classes.entries[i];
		struct top_sum sum = top_sum_of(state->sums, entry, TOP_TAKEN, state->view);
		char name[TOP_LABEL_BYTES];

		if (!(sum.count > 0))
			continue;
		shown++;
		top_labels_class(state->labels, entry, name, sizeof(name));
		printf("%s{\"class\":%s,\"kind\":\"%s\",\"count\":%.0f,\"ns\":%.0f,"
		       "\"max_ns\":%.0f}",
		       comma, visible_json(name), top_labels_kind(entry), sum.count, sum.ns,
		       sum.max_ns);
		comma = ",";
	}
	putchar(']');
}

static void put_locks(const struct top_state *state, size_t most)
{
	const char *comma = "";
	size_t shown = 0;

	printf(",\"locks\":[");
	for (size_t i = 0; i < state->sums->locks.count && shown < most; i++) {
		const struct top_entry *entry = &state->sums->locks.entries[i];
		struct top_sum taken = top_sum_of(state->sums, entry, TOP_TAKEN, state->view);
		struct top_sum waited = top_sum_of(state->sums, entry, TOP_WAITED, state->view);
		char name[TOP_LABEL_BYTES];

		if (!(taken.count + waited.count > 0))
			continue;
		shown++;
		top_labels_lock(state->labels, entry->key[0], entry->ident, name, sizeof(name));
		printf("%s{\"lock\":%s,\"address\":%" PRIu64
		       ",\"taken\":%.0f,\"held_ns\":%.0f,\"waited\":%.0f,\"wait_ns\":%.0f,"
		       "\"max_wait_ns\":%.0f}",
		       comma, visible_json(name), entry->key[0], taken.count, taken.ns,
		       waited.count, waited.ns, waited.max_ns);
		comma = ",";
	}
	putchar(']');
}

static void put_threads(const struct top_state *state)
{
	const char *comma = "";

	printf(",\"threads\":[");
	for (size_t i = 0; i < state->cpu->count; i++) {
		const struct top_cpu_thread *thread = &state->cpu->threads[i];

		printf("%s{\"tid\":%d,\"name\":%s,\"cpu\":%.4f,\"queued\":%.4f}", comma,
		       (int)thread->tid, visible_json(thread->name), thread->run, thread->queued);
		comma = ",";
	}
	putchar(']');
}

static void put_slow(const struct top_request *list, size_t count, const struct top_state *state)
{
	printf(",\"slow\":[");
	for (size_t i = 0; i < count; i++) {
		const struct top_request *request = &list[i];
		char name[TOP_LABEL_BYTES];

		top_labels_string(state->labels, request->ident, name, sizeof(name));
		printf("%s{\"ns\":%" PRIu64 ",\"io_ns\":%" PRIu64 ",\"poll_ns\":%" PRIu64
		       ",\"sleep_ns\":%" PRIu64 ",\"lock_ns\":%" PRIu64 ",\"other_ns\":%" PRIu64
		       ",\"connection\":%s}",
		       i ? "," : "", request->taken_ns, request->parts_ns[TOP_IO],
		       request->parts_ns[TOP_POLL], request->parts_ns[TOP_SLEEP],
		       request->parts_ns[TOP_LOCK], request->parts_ns[TOP_OTHER],
		       visible_json(name));
	}
	putchar(']');
}

void top_view_json(const struct top_state *state, size_t rows)
{
	size_t count;
	struct top_request *list =
		top_requests_list(state->sums, state->view, state->now_ns, &count);
	double seconds = top_view_seconds(state->sums, state->view, state->now_ns);

	if (!list)
		count = 0;
	printf("{\"pid\":%d,\"name\":%s,\"at_ns\":%" PRIu64
	       ",\"seconds\":%.3f,\"ended\":%s,\"events\":%.0f,\"cpu\":%.4f,\"queued\":%.4f",
	       (int)state->pid, visible_json(state->program), state->now_ns, seconds,
	       state->has_ended ? "true" : "false", top_events_of(state->sums, state->view),
	       state->cpu->run, state->cpu->queued);
	printf(",\"requests\":{\"count\":%zu,\"p50_ns\":%" PRIu64 ",\"p99_ns\":%" PRIu64
	       ",\"max_ns\":%" PRIu64 "}",
	       count, count ? list[count / 2].taken_ns : 0, count ? list[count / 100].taken_ns : 0,
	       count ? list[0].taken_ns : 0);
	put_classes(state, rows);
	put_locks(state, rows);
	put_threads(state);
	put_slow(list, count < rows ? count : rows, state);
	puts("}");
	free(list);
}
