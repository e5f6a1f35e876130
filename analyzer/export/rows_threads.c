/* SPDX-License-Identifier: Apache-2.0 */
/* Time of threads as rows: the slices of a walk, added up by the class of the thread. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/facts.h"
#include "rows_parts.h"
#include "walk.h"

struct time_sums {
	const char *thread_class;
	uint64_t state_ns[WALK_STATES];
	uint64_t *cause_ns; /* of those that are blocked */
};

struct time_table {
	struct time_sums *rows;
	size_t count, room, causes;
};

static struct time_sums *find_sums(struct time_table *table, const char *thread_class)
{
	for (size_t i = 0; i < table->count; i++)
		if (strcmp(table->rows[i].thread_class, thread_class) == 0)
			return &table->rows[i];
	table->rows =
		memory_grow(table->rows, &table->room, table->count + 1, sizeof(*table->rows));
	table->rows[table->count] =
		(struct time_sums){ .thread_class = thread_class,
				    .cause_ns = memory_new(table->causes, sizeof(uint64_t)) };
	return &table->rows[table->count++];
}

static void add_thread(struct time_sums *sums, struct walk *walk, uint32_t thread)
{
	struct walk_slice slice;
	for (walk_thread(walk, thread); walk_next(walk, &slice);) {
		uint64_t ns = slice.end_ns - slice.start_ns;
		sums->state_ns[slice.state] += ns;
		if (slice.state == WALK_BLOCKED)
			sums->cause_ns[slice.cause] += ns;
	}
}

static void write_sums(struct rows *rows, const struct time_table *table,
		       const struct time_sums *sums)
{
	row_begin(rows, ROWS_TIME);
	row_text(rows, "thread_class", sums->thread_class);
	row_count(rows, "running_ns", sums->state_ns[WALK_RUNNING]);
	row_count(rows, "queued_ns", sums->state_ns[WALK_QUEUED]);
	row_map_begin(rows, "blocked_ns");
	for (uint32_t i = 0; i < table->causes; i++)
		if (sums->cause_ns[i])
			row_map_count(rows, thread_cause_word(rows->analysis->recording, i),
				      sums->cause_ns[i]);
	row_map_end(rows);
	row_count(rows, "idle_ns", sums->state_ns[WALK_IDLE]);
	row_count(rows, "unseen_ns", sums->state_ns[WALK_UNEXPLAINED]);
	row_end(rows);
}

void rows_of_threads(struct rows *rows)
{
	const struct recording *recording = rows->analysis->recording;
	struct time_table table = { .causes = recording->reasons.count + recording->kinds.count };
	struct walk walk;
	walk_begin(&walk, rows->analysis);
	for (uint32_t thread = 0; thread < walk_thread_count(&walk); thread++)
		add_thread(find_sums(&table, facts_thread_name(rows->analysis, thread)), &walk,
			   thread);
	walk_end(&walk);
	for (size_t i = 0; i < table.count; i++) {
		write_sums(rows, &table, &table.rows[i]);
		free(table.rows[i].cause_ns);
	}
	free(table.rows);
}
