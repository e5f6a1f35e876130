/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of source as places of a probe. A line without code stands for the next one that has some,
 * which is said. One thread.
 */
#include "finding.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "source.h"
#include "variables_fetches.h"

static void add_line(struct finding *finding, struct mapped_file *file,
		     const struct source_line *line, uint64_t address)
{
	const struct mapped_function *function;
	struct probe_place *place = finding_add(finding, file, PROBE_AT_LINE, address);
	struct variables variables;

	if (!place)
		return;
	function = finding_name(finding, file, place);
	finding_open(finding, file, function, place, &variables);
	snprintf(place->file, sizeof(place->file), "%s", line->file);
	place->line = line->line;
	snprintf(place->label, sizeof(place->label), "%.200s:%u", finding_base_name(line->file),
		 line->line);
	finding->result = fetches_fill(finding->text, place->has_debug_info ? &variables : NULL,
				       NULL, 0, place, finding->error);
}

static void find_in_file(struct finding *finding, struct mapped_file *file, bool *is_known)
{
	const struct probe_text *text = finding->text;
	struct source_line *line = malloc(sizeof(*line));

	if (!line)
		return;
	source_find(mapped_dwarf(finding->mapped, file), text->file, text->line, line);
	*is_known |= line->file != NULL;
	if (line->is_too_many)
		finding_fail(finding, -E2BIG, "%s:%u has code in more than %d functions",
			     text->file, line->line, SOURCE_PLACES_MAX);
	if (line->count > 0 && line->line != text->line)
		finding_note(finding, "%s:%u has no code: its line %u is probed", text->file,
			     text->line, line->line);
	for (size_t i = 0; i < line->count && finding->result == 0; i++)
		add_line(finding, file, line, line->places[i].address);
	free(line);
}

void finding_lines(struct finding *finding)
{
	const struct probe_text *text = finding->text;
	char files[512];
	bool is_known = false, has_any = false;

	if (text->is_return) {
		finding_fail(finding, -EINVAL, "a line does not return: probe its function");
		return;
	}
	for (size_t i = 0; i < finding->mapped->count && finding->result == 0; i++) {
		struct mapped_file *file = &finding->mapped->files[i];

		if (!finding_searches(finding, file))
			continue;
		has_any |= mapped_dwarf(finding->mapped, file) != NULL;
		find_in_file(finding, file, &is_known);
	}
	if (finding->result != 0 || finding->found->count > 0)
		return;
	finding_write_files(finding, files, sizeof(files));
	if (is_known)
		finding_fail(finding, -ENOENT, "%s has no code at or behind line %u", text->file,
			     text->line);
	else if (has_any)
		finding_fail(finding, -ENOENT, "no file `%s` among the sources of %s", text->file,
			     files);
	else
		finding_fail(finding, -ENOTSUP,
			     "%s has no debug information here, so no lines: build it with -g or "
			     "install its -dbgsym package",
			     files);
}
