/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions by their names, and the ground of the other searches.
 *
 * A name is the linker's, or as the program's text has it, or the end of that. A function that is
 * copied into its callers is seen only where it is called. That is said, or refused if it is
 * nowhere. One thread.
 */
#include "finding.h"

#include <errno.h>
#include <fnmatch.h>
#include <libiberty/demangle.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "nearest.h"
#include "source.h"
#include "variables_fetches.h"

enum { COPIES_SHOWN_MAX = 4 };

bool finding_fail(struct finding *finding, int result, const char *format, ...)
{
	va_list arguments;

	if (finding->result != 0)
		return false;
	finding->result = result;
	va_start(arguments, format);
	vsnprintf(finding->error, PROBE_ERROR_BYTES, format, arguments);
	va_end(arguments);
	return false;
}

void finding_note(struct finding *finding, const char *format, ...)
{
	char line[PROBE_ERROR_BYTES], *notes = NULL;
	const char *old = finding->found->notes;
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	if (asprintf(&notes, "%s%s\n", old ? old : "", line) < 0)
		return;
	free(finding->found->notes);
	finding->found->notes = notes;
}

const char *finding_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool finding_searches(const struct finding *finding, const struct mapped_file *file)
{
	static const char own[] = "libwcprof.so";

	return strncmp(finding_base_name(file->path), own, sizeof(own) - 1) != 0 &&
	       mapped_is_called(file, finding->text->module);
}

void finding_write_files(const struct finding *finding, char *to, size_t size)
{
	if (finding->text->module[0])
		snprintf(to, size, "%.400s", finding->text->module);
	else
		snprintf(to, size, "%.400s%s", finding->mapped->files[0].path,
			 finding->mapped->count > 1 ? " and its libraries" : "");
}

struct probe_place *finding_add(struct finding *finding, struct mapped_file *file,
				enum probe_kind kind, uint64_t address)
{
	struct probe_places *found = finding->found;
	struct probe_place *places;

	for (size_t i = 0; i < found->count; i++)
		if (found->places[i].module == &file->module && found->places[i].address == address)
			return NULL; /* another name of the same place */
	if (found->count == PROBE_PLACES_MAX) {
		finding_fail(finding, -E2BIG, "that is more than %d places: name them more closely",
			     PROBE_PLACES_MAX);
		return NULL;
	}
	places = realloc(found->places, (found->count + 1) * sizeof(*places));
	if (!places) {
		finding_fail(finding, -ENOMEM, "out of memory");
		return NULL;
	}
	found->places = places;
	places += found->count++;
	*places = (struct probe_place){ .kind = kind, .module = &file->module, .address = address };
	if (mapped_offset(file, address, &places->offset))
		return places;
	finding_fail(finding, -ENOTSUP, "0x%llx of %s is no code", (unsigned long long)address,
		     file->path);
	return NULL;
}

/* --- functions --- */

char *finding_readable(const char *name)
{
	char *plain = strndup(name, strcspn(name, "@"));
	char *readable = plain ? cplus_demangle(plain, DMGL_ANSI | DMGL_AUTO) : NULL;

	if (!readable)
		return plain;
	free(plain);
	return readable;
}

bool finding_is_end(const char *name, const char *wanted)
{
	size_t length = strlen(name), wanted_length = strlen(wanted);

	return strcmp(name, wanted) == 0 ||
	       (length > wanted_length + 2 &&
		memcmp(name + length - wanted_length - 2, "::", 2) == 0 &&
		strcmp(name + length - wanted_length, wanted) == 0);
}

/* "parse.constprop.0" and "parse.isra.0" are parse, as gcc changed its parameters. */
static bool is_clone_of(const char *symbol, const char *wanted)
{
	size_t length = strlen(wanted);

	return strncmp(symbol, wanted, length) == 0 &&
	       (strncmp(symbol + length, ".constprop.", 11) == 0 ||
		strncmp(symbol + length, ".isra.", 6) == 0 ||
		strncmp(symbol + length, ".lto_priv.", 10) == 0);
}

static bool is_wanted(const char *wanted, const struct mapped_function *function,
		      const char *readable)
{
	size_t length = strcspn(function->name, "@");

	if (probe_is_glob(wanted))
		return fnmatch(wanted, readable, 0) == 0 && !strstr(function->name, ".cold");
	return (strlen(wanted) == length && memcmp(wanted, function->name, length) == 0) ||
	       is_clone_of(function->name, wanted) || finding_is_end(readable, wanted);
}

const struct mapped_function *finding_name(struct finding *finding, struct mapped_file *file,
					   struct probe_place *place)
{
	const struct mapped_function *functions, *function = NULL;
	size_t count = mapped_functions(finding->mapped, file, &functions);
	char *readable;

	for (size_t i = 0; i < count && functions[i].address <= place->address; i++)
		if (place->address - functions[i].address < functions[i].bytes ||
		    place->address == functions[i].address)
			function = &functions[i];
	if (!function) {
		if (!finding_bounds(file, place->address, &place->low, &place->high))
			place->low = place->high = 0;
		return NULL;
	}
	readable = finding_readable(function->name);
	snprintf(place->function, sizeof(place->function), "%s", readable ? readable : "");
	free(readable);
	if (function->bytes) {
		place->low = function->address;
		place->high = function->address + function->bytes;
	}
	return function;
}

bool finding_open(struct finding *finding, struct mapped_file *file,
		  const struct mapped_function *function, struct probe_place *place,
		  struct variables *variables)
{
	place->has_debug_info =
		variables_open(variables, mapped_dwarf(finding->mapped, file), place->address);
	if (!place->has_debug_info)
		return false;
	variables->is_exported = function && function->is_exported;
	variables->is_clone = function && (strstr(function->name, ".isra.") ||
					   strstr(function->name, ".constprop."));
	variables->frame.tables[1] = dwfl_module_eh_cfi(file->dwfl_module, &(Dwarf_Addr){ 0 });
	variables_passing(variables, &place->takes_stack_parameters, &place->is_variadic);
	variables_declared(variables, place->file, sizeof(place->file), &place->line);
	return true;
}

static void find_function(struct finding *finding, struct mapped_file *file,
			  const struct mapped_function *function)
{
	struct variables variables;
	char *readable = finding_readable(function->name);
	struct probe_place *place = NULL;

	if (readable && is_wanted(finding->text->function, function, readable))
		place = finding_add(finding, file, PROBE_AT_ENTRY, function->address);
	if (place && function->is_chosen_later)
		finding_fail(finding, -ENOTSUP,
			     "%s of %s only chooses one of several functions when the program "
			     "starts: probe the chosen one, as %s_* lists them",
			     readable, file->path, readable);
	if (place && finding->result == 0) {
		finding_name(finding, file, place);
		snprintf(place->function, sizeof(place->function), "%s", readable);
		snprintf(place->label, sizeof(place->label), "%s", readable);
		finding_open(finding, file, function, place, &variables);
		finding->result =
			fetches_fill(finding->text, place->has_debug_info ? &variables : NULL, NULL,
				     0, place, finding->error);
	}
	free(readable);
}

static void find_in_file(struct finding *finding, struct mapped_file *file)
{
	const struct mapped_function *functions;
	size_t count = mapped_functions(finding->mapped, file, &functions);

	for (size_t i = 0; i < count && finding->result == 0; i++)
		find_function(finding, file, &functions[i]);
}

/* --- functions that are copied into others --- */

struct copies {
	char text[PROBE_ERROR_BYTES / 2]; /* "query.c:41, main.c:12" */
	size_t count;
};

static bool see_copy(void *context, const char *file, uint32_t line)
{
	struct copies *copies = context;
	size_t used = strlen(copies->text);

	if (copies->count++ < COPIES_SHOWN_MAX)
		snprintf(copies->text + used, sizeof(copies->text) - used, "%s%.80s:%u",
			 used ? ", " : "", file ? finding_base_name(file) : "?", line);
	return true;
}

/* Where it has no entry in any file. A function of the same name in another file is another one. */
static bool may_have_copies(const struct finding *finding, const struct mapped_file *file)
{
	bool has = finding->found->count == 0;

	for (size_t i = 0; i < finding->found->count && !has; i++)
		has = finding->found->places[i].module == &file->module;
	return has && finding_searches(finding, file);
}

static void find_copies(struct finding *finding)
{
	const char *name = finding->text->function;
	struct copies copies = { .count = 0 };
	const char *more, *places;

	for (size_t i = 0; i < finding->mapped->count; i++)
		if (may_have_copies(finding, &finding->mapped->files[i]))
			source_inlined(mapped_dwarf(finding->mapped, &finding->mapped->files[i]),
				       name, see_copy, &copies);
	if (copies.count == 0)
		return;
	more = copies.count > COPIES_SHOWN_MAX ? ", ..." : "";
	places = copies.count == 1 ? "place" : "places";
	if (finding->found->count > 0)
		finding_note(finding,
			     "%s is also copied into its callers, at %zu %s where it is not "
			     "seen: %s%s",
			     name, copies.count, places, copies.text, more);
	else
		finding_fail(finding, -ENOTSUP,
			     "%s has no entry, as it is copied into each of its callers (%zu "
			     "%s): probe a line of it, or one that calls it (%s%s)",
			     name, copies.count, places, copies.text, more);
}

/* --- names that are not there --- */

/* False: there are only those that other files may call, as static functions have been stripped. */
static bool see_names(struct finding *finding, struct mapped_file *file, struct nearest *nearest)
{
	const struct mapped_function *functions;
	size_t count = mapped_functions(finding->mapped, file, &functions);
	bool has_own = false;

	for (size_t i = 0; i < count; i++) {
		char *readable = finding_readable(functions[i].name);

		has_own |= !functions[i].is_exported;
		if (readable)
			nearest_see(nearest, readable);
		free(readable);
	}
	return has_own;
}

static void fail_unknown(struct finding *finding)
{
	struct nearest nearest = { .wanted = finding->text->function };
	char files[512], names[NEAREST_COUNT * (NEAREST_NAME_BYTES + 2)] = "";
	const char *stripped = NULL;
	size_t searched = 0;

	for (size_t i = 0; i < finding->mapped->count; i++) {
		struct mapped_file *file = &finding->mapped->files[i];

		if (!finding_searches(finding, file))
			continue;
		if (!see_names(finding, file, &nearest) && searched == 0)
			stripped = file->path;
		searched++;
	}
	finding_write_files(finding, files, sizeof(files));
	if (searched == 0) {
		finding_fail(finding, -ENOENT, "the process has no file `%s` as code", files);
		return;
	}
	for (size_t i = 0; i < nearest.count; i++) {
		size_t used = strlen(names);

		snprintf(names + used, sizeof(names) - used, "%s%s", used ? ", " : "",
			 nearest.names[i]);
	}
	finding_fail(finding, -ENOENT, "no function `%s` in %s%s%s%s%s%s", finding->text->function,
		     files, names[0] ? "; nearest: " : "", names,
		     stripped ? "; static functions of " : "", stripped ? stripped : "",
		     stripped ? " are stripped: install its -dbgsym package" : "");
}

void finding_functions(struct finding *finding)
{
	for (size_t i = 0; i < finding->mapped->count && finding->result == 0; i++)
		if (finding_searches(finding, &finding->mapped->files[i]))
			find_in_file(finding, &finding->mapped->files[i]);
	if (finding->result == 0 && !probe_is_glob(finding->text->function))
		find_copies(finding);
	if (finding->result == 0 && finding->found->count == 0)
		fail_unknown(finding);
}
