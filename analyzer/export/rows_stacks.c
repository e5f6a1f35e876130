/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks as rows. A frame counts by the build id of its file and its offset there. Without a build
 * id it counts by the names of its functions.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/emit.h"
#include "base/memory.h"
#include "report/facts.h"
#include "rows_parts.h"

static void add_names(struct row_id *id, const struct analysis *analysis, uint32_t frame)
{
	const struct frame_names *names = analysis->labels ? &analysis->labels->frames : NULL;
	if (!names || !names->first)
		return;
	for (uint32_t i = names->first[frame]; i < names->first[frame + 1]; i++)
		row_id_add_text(id, analysis->recording->strings[names->names[i]]);
}

static void add_frame(struct row_id *id, const struct analysis *analysis, uint32_t index)
{
	const struct recording *recording = analysis->recording;
	const struct rec_frame frame = recording->frames[index];
	const char *text = rec_frame_text(recording, frame);
	const struct rec_module *module =
		frame.module == NO_INDEX ? NULL : &recording->modules[frame.module];
	if (text) {
		row_id_add_text(id, text);
	} else if (module && recording->strings[module->build_id][0]) {
		row_id_add_text(id, recording->strings[module->build_id]);
		row_id_add_number(id, frame.offset);
	} else {
		add_names(id, analysis, index);
	}
}

static struct row_id id_of(const struct analysis *analysis, uint32_t stack)
{
	const struct rec_stack *frames = &analysis->recording->stacks[stack];
	struct row_id id = row_id_begin();
	for (uint32_t i = 0; i < frames->frame_count; i++)
		add_frame(&id, analysis, frames->first_frame + i);
	return id;
}

static const uint32_t *words_of(const struct row_id *id)
{
	_Static_assert(sizeof(*id) == 4 * sizeof(uint32_t), "an id is four words");
	return (const uint32_t *)(const void *)id;
}

void rows_stacks_build(struct rows_stacks *stacks, const struct analysis *analysis)
{
	const struct recording *recording = analysis->recording;
	size_t count = recording->stack_count ? recording->stack_count : 1;
	struct tuples known;
	uint32_t *first = memory_new(count, sizeof(*first));
	*stacks = (struct rows_stacks){
		.ids = memory_new(count, sizeof(*stacks->ids)),
		.same = memory_new(count, sizeof(*stacks->same)),
		.is_named = memory_new(count, sizeof(*stacks->is_named)),
		.count = count,
	};
	tuples_begin(&known, 4);
	for (uint32_t i = 1; i < count; i++) {
		if (recording->stacks[i].frame_count == 0)
			continue;
		stacks->ids[i] = id_of(analysis, i);
		uint32_t number = tuples_add(&known, words_of(&stacks->ids[i]));
		first[number] = first[number] ? first[number] : i;
		stacks->same[i] = first[number];
	}
	tuples_free(&known);
	free(first);
}

void rows_stacks_free(struct rows_stacks *stacks)
{
	free(stacks->ids);
	free(stacks->same);
	free(stacks->is_named);
	*stacks = (struct rows_stacks){ 0 };
}

/* --- wc_stack --- */

/* One value of each function of a stack. */
struct column {
	const char *name;
	void (*put)(FILE *file, const struct analysis *analysis, uint32_t frame, uint32_t index);
};

static void put_function(FILE *file, const struct analysis *analysis, uint32_t frame,
			 uint32_t index)
{
	(void)frame;
	emit_json_string(file, analysis->recording->strings[analysis->labels->frames.names[index]]);
}

static struct frame_place source_of(const struct analysis *analysis, uint32_t index)
{
	const struct frame_place *places = analysis->labels->frames.places;
	return places ? places[index] : (struct frame_place){ 0 };
}

static void put_file(FILE *file, const struct analysis *analysis, uint32_t frame, uint32_t index)
{
	(void)frame;
	emit_json_string(file, analysis->recording->strings[source_of(analysis, index).file]);
}

static void put_line(FILE *file, const struct analysis *analysis, uint32_t frame, uint32_t index)
{
	(void)frame;
	fprintf(file, "%" PRIu32, source_of(analysis, index).line);
}

static void put_package(FILE *file, const struct analysis *analysis, uint32_t frame, uint32_t index)
{
	(void)index;
	emit_json_string(file, facts_frame_package(analysis, frame));
}

static const struct column columns[] = {
	{ "frames", put_function },
	{ "files", put_file },
	{ "lines", put_line },
	{ "packages", put_package },
};

static void put_column(struct rows *rows, const struct column *column, uint32_t stack)
{
	const struct analysis *analysis = rows->analysis;
	const struct rec_stack *frames = &analysis->recording->stacks[stack];
	const struct frame_names *names = analysis->labels ? &analysis->labels->frames : NULL;
	bool has_one = false;
	fprintf(rows->file, ",\"%s\":[", column->name);
	for (uint32_t f = 0; names && names->first && f < frames->frame_count; f++) {
		uint32_t frame = frames->first_frame + f;
		for (uint32_t i = names->first[frame]; i < names->first[frame + 1]; i++) {
			if (has_one)
				fputc(',', rows->file);
			column->put(rows->file, analysis, frame, i);
			has_one = true;
		}
	}
	fputc(']', rows->file);
}

/* Each once, also where several windows have it. */
static bool is_new(struct rows *rows, const struct row_id *id)
{
	uint32_t count = rows->stacks_written.count;
	return tuples_add(&rows->stacks_written, words_of(id)) == count;
}

void rows_of_stacks(struct rows *rows)
{
	char text[ROW_ID_BYTES];
	for (uint32_t i = 1; i < rows->stacks.count; i++) {
		const struct row_id *id = &rows->stacks.ids[i];
		if (!rows->stacks.is_named[i] || !is_new(rows, id))
			continue;
		row_begin(rows, ROWS_STACK);
		row_text(rows, "stack", row_id_text(*id, text));
		for (size_t c = 0; c < sizeof(columns) / sizeof(columns[0]); c++)
			put_column(rows, &columns[c], i);
		row_end(rows);
	}
}
