/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places of probes. The text is taken apart (grammar.h). Its place is looked for (finding.h) in the
 * files of the process (mapped.h). Each value becomes a program (variables_fetches.h). One thread.
 */
#include "probe_spec.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "finding.h"
#include "source.h"

static int fail(char *error, int result, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static int fail(char *error, int result, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(error, PROBE_ERROR_BYTES, format, arguments);
	va_end(arguments);
	return result;
}

static struct probe_target *open_target(pid_t pid, const char *path, char *error)
{
	struct probe_target *target = calloc(1, sizeof(*target));
	int result = -ENOMEM;

	if (target)
		result = path ? mapped_open_file(&target->mapped, path)
			      : mapped_open(&target->mapped, pid);
	if (result == 0)
		return target;
	free(target);
	if (path && result == -ENOEXEC)
		fail(error, 0, "%s is no program or library of this kind of machine", path);
	else if (path)
		fail(error, 0, "cannot read %s: %s", path, strerror(-result));
	else
		fail(error, 0, "cannot read the map of process %d: %s", (int)pid,
		     strerror(-result));
	return NULL;
}

struct probe_target *probe_target_open(pid_t pid, char error[PROBE_ERROR_BYTES])
{
	return open_target(pid, NULL, error);
}

struct probe_target *probe_target_open_file(const char *path, char error[PROBE_ERROR_BYTES])
{
	return open_target(0, path, error);
}

void probe_target_close(struct probe_target *target)
{
	if (!target)
		return;
	mapped_close(&target->mapped);
	free(target);
}

void probe_places_free(struct probe_places *places)
{
	free(places->places);
	free(places->notes);
	*places = (struct probe_places){ 0 };
}

int probe_find(struct probe_target *target, const char *text, struct probe_places *found,
	       char error[PROBE_ERROR_BYTES])
{
	struct probe_text parsed;
	struct finding finding = { &target->mapped, &parsed, found, error, 0 };

	*found = (struct probe_places){ 0 };
	finding.result = probe_parse(text, &parsed, error);
	if (finding.result == 0) {
		switch (parsed.where) {
		case PROBE_FUNCTION:
			finding_functions(&finding);
			break;
		case PROBE_SOURCE_LINE:
			finding_lines(&finding);
			break;
		case PROBE_MARK:
			finding_marks(&finding);
			break;
		}
	}
	if (finding.result != 0)
		probe_places_free(found);
	return finding.result;
}

/* --- Sites ------------------------------------------------------------------------------------ */

struct siting {
	struct condition_sites *sites;
	uint64_t bias;
	bool is_too_many;
};

static void add_range(void *context, uint64_t low, uint64_t high)
{
	struct siting *siting = context;
	struct condition_sites *sites = siting->sites;

	low += siting->bias;
	high += siting->bias;
	if (sites->count && sites->ranges[sites->count - 1].high == low)
		sites->ranges[sites->count - 1].high = high;
	else if (sites->count == CONDITION_SITES_MAX)
		siting->is_too_many = true;
	else
		sites->ranges[sites->count++] = (struct condition_range){ low, high };
}

/* All that the file has of the line, at whichever of its places that is. */
static void add_line(struct probe_target *target, const struct probe_place *place,
		     struct siting *siting)
{
	for (size_t i = 0; i < target->mapped.count; i++) {
		struct mapped_file *file = &target->mapped.files[i];

		if (&file->module == place->module)
			source_ranges(mapped_dwarf(&target->mapped, file), place->file, place->line,
				      add_range, siting);
	}
}

int probe_sites(struct probe_target *target, const char *text, struct condition_sites *sites,
		char error[PROBE_ERROR_BYTES])
{
	struct siting siting = { .sites = sites };
	struct probe_places found;
	int result = probe_find(target, text, &found, error);

	*sites = (struct condition_sites){ 0 };
	for (size_t i = 0; result == 0 && i < found.count; i++) {
		const struct probe_place *place = &found.places[i];

		siting.bias = place->module->bias;
		if (place->kind == PROBE_AT_ENTRY && place->low < place->high)
			add_range(&siting, place->low, place->high);
		else if (place->kind == PROBE_AT_LINE &&
			 (i == 0 || place->module != place[-1].module))
			add_line(target, place, &siting);
	}
	if (result == 0)
		probe_places_free(&found);
	if (result == 0 && siting.is_too_many)
		return fail(error, -E2BIG, "lock@%s: its code is in more than %d pieces", text,
			    CONDITION_SITES_MAX);
	if (result == 0 && sites->count == 0)
		return fail(error, -ENOENT, "lock@%s: it is not known where its code is", text);
	return result;
}
