/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each look of top as an object of JSON; top_view.h has the contract. There is a member for each
 * table of the screen.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "client.h"
#include "probe_code.h"
#include "top_contrast.h"
#include "top_view.h"
#include "visible.h"

enum { CALL_STACKS = 50 }; /* of each function */

static const char *const part_words[TOP_ACTIVITIES] = {
	[TOP_IO] = "io",         [TOP_POLL] = "poll",   [TOP_SLEEP] = "sleep",
	[TOP_LOCK] = "lock",     [TOP_OTHER] = "other", [TOP_RUNNING] = "running",
	[TOP_QUEUED] = "queued",
};

static void put_classes(const struct top_state *state, size_t most)
{
	size_t count;
	struct top_class *classes = top_classes_of(state, &count);

	printf(",\"classes\":[");
	for (size_t i = 0; i < count && i < most; i++)
		printf("%s{\"class\":%s,\"kind\":\"%s\",\"count\":%.0f,\"ns\":%.0f,"
		       "\"max_ns\":%.0f}",
		       i ? "," : "", visible_json(classes[i].name), classes[i].kind,
		       classes[i].sum.count, classes[i].sum.ns, classes[i].sum.max_ns);
	putchar(']');
	free(classes);
}

static void put_locks(const struct top_state *state, size_t most)
{
	size_t count;
	struct top_lock *locks = top_locks_of(state, &count);

	printf(",\"locks\":[");
	for (size_t i = 0; i < count && i < most; i++) {
		const struct top_lock *lock = &locks[i];
		char name[TOP_LABEL_BYTES];

		top_labels_lock(state->labels, lock->address, lock->ident, name, sizeof(name));
		printf("%s{\"lock\":%s,\"address\":%" PRIu64
		       ",\"taken\":%.0f,\"held_ns\":%.0f,\"waited\":%.0f,\"wait_ns\":%.0f,"
		       "\"max_wait_ns\":%.0f,\"waiters\":%u,\"holder\":%d,\"holder_ns\":%" PRIu64
		       "}",
		       i ? "," : "", visible_json(name), lock->address, lock->taken.count,
		       lock->taken.ns, lock->waited.count, lock->waited.ns, lock->waited.max_ns,
		       lock->waiters, (int)lock->holder, lock->held_ns);
	}
	putchar(']');
	free(locks);
}

static void put_thread(const struct top_state *state, const struct top_cpu_thread *thread)
{
	printf("{\"tid\":%d,\"name\":%s,\"cpu\":%.4f,\"queued\":%.4f", (int)thread->tid,
	       visible_json(thread->name), thread->run, thread->queued);
	for (enum top_part part = 0; part < TOP_PARTS; part++)
		printf(",\"%s_ns\":%.0f", part_words[part],
		       top_thread_ns(state, thread->tid, part));
	putchar('}');
}

static void put_threads(const struct top_state *state)
{
	printf(",\"threads\":[");
	for (size_t i = 0; i < state->cpu->count; i++) {
		if (i)
			putchar(',');
		put_thread(state, &state->cpu->threads[i]);
	}
	putchar(']');
}

static void put_request(const struct top_state *state, const struct top_request *request)
{
	bool is_marked = state->sums->requests.source == TOP_MARKED;
	char name[TOP_LABEL_BYTES], kind[TOP_LABEL_BYTES];

	top_labels_string(state->labels, request->ident, name, sizeof(name));
	top_labels_string(state->labels, request->kind, kind, sizeof(kind));
	printf("{\"ns\":%" PRIu64, request->taken_ns);
	for (enum top_part part = 0; part < TOP_PARTS; part++)
		printf(",\"%s_ns\":%" PRIu64, part_words[part], request->parts_ns[part]);
	printf(",\"%s\":%s,\"kind\":%s,\"beyond_p95\":%s,\"running\":%s}",
	       is_marked ? "ident" : "connection", visible_json(name), visible_json(kind),
	       request->is_slow ? "true" : "false", request->is_running ? "true" : "false");
}

static void put_requests(const struct top_state *state, size_t most)
{
	size_t count;
	struct top_request *list = top_requests_list(
		&state->sums->requests, top_view_since_ns(state->sums, state->view, state->now_ns),
		&count);

	count = list ? count : 0;
	printf(",\"requests\":{\"source\":\"%s\",\"count\":%zu,\"p50_ns\":%" PRIu64
	       ",\"p99_ns\":%" PRIu64 ",\"max_ns\":%" PRIu64 "},\"slow\":[",
	       state->sums->requests.source == TOP_MARKED ? "marked" : "served", count,
	       count ? list[count / 2].taken_ns : 0, count ? list[count / 100].taken_ns : 0,
	       count ? list[0].taken_ns : 0);
	free(list);
	list = top_slow_of(state, &count);
	for (size_t i = 0; i < count && i < most; i++) {
		if (i)
			putchar(',');
		put_request(state, &list[i]);
	}
	putchar(']');
	free(list);
}

/* --- stacks --- */

/* Time in all, in slow requests or calls, and in the others. */
struct heavy {
	const struct top_stack *stack;
	double ns, slow_ns, rest_ns;
};

static int compare_heavy(const void *left, const void *right)
{
	const struct heavy *a = left, *b = right;

	if (a->ns != b->ns)
		return (a->ns < b->ns) - (a->ns > b->ns);
	return a->stack < b->stack ? -1 : 1;
}

static int compare_slow(const void *left, const void *right)
{
	const struct heavy *a = left, *b = right;

	return a->slow_ns != b->slow_ns ? (a->slow_ns < b->slow_ns) - (a->slow_ns > b->slow_ns)
					: compare_heavy(a, b);
}

static void put_stack(const struct top_state *state, const struct heavy *heavy)
{
	static char names[TOP_FRAMES_MAX][TOP_LABEL_BYTES];
	size_t count = top_stack_names(state, heavy->stack, names);

	printf("{\"state\":\"%s\",\"ns\":%.0f,\"slow_ns\":%.0f,\"rest_ns\":%.0f,\"frames\":[",
	       part_words[heavy->stack->activity], heavy->ns, heavy->slow_ns, heavy->rest_ns);
	for (size_t i = 0; i < count; i++)
		printf("%s%s", i ? "," : "", visible_json(names[i]));
	printf("]}");
}

/* The outermost function of each first. */
static void put_stack_list(const struct top_state *state, struct heavy *list, size_t count,
			   size_t most, int (*compare)(const void *, const void *))
{
	if (count)
		qsort(list, count, sizeof(*list), compare);
	printf(",\"stacks\":[");
	for (size_t i = 0; i < count && i < most; i++) {
		if (i)
			putchar(',');
		put_stack(state, &list[i]);
	}
	putchar(']');
}

/* The most time first. */
static void put_stacks(const struct top_state *state, size_t most)
{
	const struct top_stacks *stacks = &state->sums->stacks;
	struct heavy *list = malloc((stacks->count + 1) * sizeof(*list));
	size_t count = 0;

	for (size_t i = 0; list && i < stacks->count; i++) {
		const struct top_stack *stack = &stacks->stacks[i];
		double ns = top_stack_ns(state->sums, stack, TOP_OF_ALL, state->view);

		if (ns > 0)
			list[count++] = (struct heavy){
				stack, ns,
				top_stack_ns(state->sums, stack, TOP_OF_SLOW, state->view),
				top_stack_ns(state->sums, stack, TOP_OF_REST, state->view)
			};
	}
	put_stack_list(state, list, count, most, compare_heavy);
	free(list);
}

/* Slow calls beside the others, the most time in slow ones first. */
static void put_contrast(const struct top_state *state, const struct top_contrast *contrast,
			 size_t most)
{
	const struct top_stacks *stacks = &state->sums->stacks;
	struct heavy *list = malloc((stacks->count + 1) * sizeof(*list));
	size_t count = 0;

	bool is_told = list && contrast->stack_ns && contrast->count[TOP_OF_SLOW] > 0;

	for (size_t i = 0; is_told && i < stacks->count; i++) {
		const double *ns = contrast->stack_ns[i];

		if (ns[TOP_OF_ALL] > 0)
			list[count++] = (struct heavy){ &stacks->stacks[i], ns[TOP_OF_ALL],
							ns[TOP_OF_SLOW], ns[TOP_OF_REST] };
	}
	printf(",\"slow\":{\"count\":%.0f,\"ns\":%.0f},\"others\":{\"count\":%.0f,\"ns\":%.0f}",
	       contrast->count[TOP_OF_SLOW], contrast->taken_ns[TOP_OF_SLOW],
	       contrast->count[TOP_OF_REST], contrast->taken_ns[TOP_OF_REST]);
	put_stack_list(state, list, count, most < CALL_STACKS ? most : CALL_STACKS, compare_slow);
	free(list);
}

/* --- probes, what a fix would buy, what is recorded --- */

static void put_call(const struct top_state *state, const struct top_call_sum *sum, size_t most,
		     uint64_t since_ns)
{
	char name[TOP_LABEL_BYTES], values[TOP_LINE_BYTES];
	struct top_contrast contrast = top_contrast_calls(state->sums, sum->name, since_ns);

	top_labels_string(state->labels, sum->name, name, sizeof(name));
	top_values_text(state, sum->slowest, values, sizeof(values));
	printf("{\"name\":%s,\"count\":%zu,\"p50_ns\":%" PRIu64 ",\"p95_ns\":%" PRIu64
	       ",\"p99_ns\":%" PRIu64 ",\"max_ns\":%" PRIu64 ",\"slowest\":%s",
	       visible_json(name), sum->count, sum->p50_ns, sum->p95_ns, sum->p99_ns, sum->most_ns,
	       visible_json(values));
	put_contrast(state, &contrast, most);
	putchar('}');
	top_contrast_free(&contrast);
}

static void put_calls(const struct top_state *state, size_t most)
{
	uint64_t since_ns = top_view_since_ns(state->sums, state->view, state->now_ns);
	size_t count;
	struct top_call_sum *sums = top_calls_list(&state->sums->calls, since_ns, &count);

	printf(",\"calls\":[");
	for (size_t i = 0; sums && i < count && i < most; i++) {
		if (i)
			putchar(',');
		put_call(state, &sums[i], most, since_ns);
	}
	putchar(']');
	free(sums);
}

static void put_real(const char *key, uint64_t bits)
{
	double value = top_value_real(bits);

	if (isfinite(value))
		printf(",\"%s\":%.17g", key, value);
	else
		printf(",\"%s\":null", key);
}

static void put_range(const struct top_state *state, const char *key, uint32_t type,
		      const struct top_range *range)
{
	char text[TOP_LABEL_BYTES];

	printf(",\"%s\":{\"count\":%zu", key, range->count);
	if (!range->count) {
		putchar('}');
	} else if (type == PROBE_STRING) {
		top_labels_string(state->labels, (uint32_t)range->median, text, sizeof(text));
		printf(",\"most_frequent\":%s,\"frequent_count\":%zu}", visible_json(text),
		       range->frequent_count);
	} else if (type == PROBE_SIGNED) {
		printf(",\"median\":%" PRId64 ",\"least\":%" PRId64 ",\"most\":%" PRId64 "}",
		       (int64_t)range->median, (int64_t)range->least, (int64_t)range->most);
	} else if (type == PROBE_REAL) {
		put_real("median", range->median);
		put_real("least", range->least);
		put_real("most", range->most);
		putchar('}');
	} else {
		printf(",\"median\":%" PRIu64 ",\"least\":%" PRIu64 ",\"most\":%" PRIu64 "}",
		       range->median, range->least, range->most);
	}
}

static void put_values(const struct top_state *state, size_t most)
{
	struct top_value_rows rows;

	top_values_build(&rows, &state->sums->calls, &state->sums->requests,
			 top_view_since_ns(state->sums, state->view, state->now_ns));
	printf(",\"values\":[");
	for (size_t i = 0; i < rows.count && i < most; i++) {
		char label[2 * TOP_LABEL_BYTES];

		(void)top_value_label(state, &rows.rows[i], label);
		printf("%s{\"value\":%s,\"slow_are\":\"%s\"", i ? "," : "", visible_json(label),
		       rows.is_of_requests ? "requests" : "calls");
		put_range(state, "slow", rows.rows[i].type, &rows.rows[i].slow);
		put_range(state, "others", rows.rows[i].type, &rows.rows[i].usual);
		putchar('}');
	}
	putchar(']');
	top_values_free(&rows);
}

static void put_whatif(const struct top_state *state)
{
	const struct top_whatif *whatif = state->whatif;

	bool is_asked = whatif->child > 0 && state->now_ns > whatif->asked_ns;

	printf(",\"whatif\":{\"problem\":%s,\"age_ns\":%" PRIu64 ",\"window_ns\":%" PRIu64
	       ",\"next_since_ns\":%" PRIu64 ",\"next_window_ns\":%" PRIu64 ",\"text\":%s}",
	       visible_json(whatif->problem),
	       whatif->answer ? state->now_ns - whatif->answer_ns : 0, whatif->answer_last_ns,
	       is_asked ? state->now_ns - whatif->asked_ns : 0, is_asked ? whatif->last_ns : 0,
	       visible_json(whatif->answer ? whatif->answer : ""));
}

static void put_text_setting(const struct top_state *state, const char *key)
{
	char value[128] = "";

	(void)client_string(state->status, key, value, sizeof(value));
	printf("\"%s\":%s", key, visible_json(value));
}

static void put_settings(const struct top_state *state)
{
	static const char *const numbers[] = { "sample_hz", "min_io_ns", "port", "keep_s" };

	printf(",\"settings\":{");
	put_text_setting(state, "holds");
	putchar(',');
	put_text_setting(state, "thread");
	putchar(',');
	put_text_setting(state, "sample_when");
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		uint64_t value = 0;

		(void)client_number(state->status, numbers[i], &value);
		printf(",\"%s\":%" PRIu64, numbers[i], value);
	}
	putchar('}');
}

static void put_costs(const struct top_state *state)
{
	if (state->status)
		put_settings(state);
	if (state->cost->is_known)
		printf(",\"cost\":{\"ns_per_s\":%.0f,\"share\":%.6f}", state->cost->per_s_ns,
		       state->cost->share);
	printf(",\"top_cpu\":%.4f,\"missed\":%" PRIu64, state->own_cpu, state->reader->missed);
}

void top_view_json(const struct top_state *state, size_t rows)
{
	double seconds = top_view_seconds(state->sums, state->view, state->now_ns);

	printf("{\"pid\":%d,\"name\":%s,\"at_ns\":%" PRIu64
	       ",\"seconds\":%.3f,\"ended\":%s,\"events\":%.0f,\"cpu\":%.4f,\"queued\":%.4f",
	       (int)state->pid, visible_json(state->program), state->now_ns, seconds,
	       state->ended ? "true" : "false",
	       top_weighted(state->sums, state->sums->events, state->view), state->cpu->run,
	       state->cpu->queued);
	put_costs(state);
	put_requests(state, rows);
	put_classes(state, rows);
	put_locks(state, rows);
	put_threads(state);
	put_stacks(state, rows);
	put_calls(state, rows);
	put_values(state, rows);
	if (state->is_whatif_wanted)
		put_whatif(state);
	puts("}");
}
