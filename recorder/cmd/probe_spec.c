/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places of probes. The text is taken apart (grammar.h). Its function is looked for in the files of
 * the process (mapped.h). Each value becomes a program.
 *
 * The library itself is never among the files: a probe in it would see itself. One thread.
 */
#include "probe_spec.h"

#include <errno.h>
#include <fnmatch.h>
#include <libiberty/demangle.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "variables_fetches.h"
#include "grammar.h"
#include "mapped.h"
#include "variables.h"

struct probe_target {
	struct mapped mapped;
};

/* One search. */
struct finding {
	struct probe_target *target;
	const struct probe_text *text;
	struct probe_places *found;
	char *error;
	int result; /* 0 until something stops it */
};

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

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_searched(const struct finding *finding, const struct mapped_file *file)
{
	return strncmp(base_name(file->path), "libwcprof.so", strlen("libwcprof.so")) != 0 &&
	       mapped_is_called(file, finding->text->module);
}

/* --- functions --- */

/* As the program's text has it, without parameters. To be freed; NULL: no memory. */
static char *readable_name(const char *name)
{
	char *plain = strndup(name, strcspn(name, "@"));
	char *readable = plain ? cplus_demangle(plain, DMGL_ANSI | DMGL_AUTO) : NULL;

	if (!readable)
		return plain;
	free(plain);
	return readable;
}

/* "query::parse" is called "parse", too. */
static bool is_end_of_name(const char *name, const char *wanted)
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
		return fnmatch(wanted, readable, 0) == 0;
	return (strlen(wanted) == length && memcmp(wanted, function->name, length) == 0) ||
	       is_clone_of(function->name, wanted) || is_end_of_name(readable, wanted);
}

static struct probe_place *add_place(struct finding *finding, const struct mapped_file *file,
				     uint64_t address)
{
	struct probe_places *found = finding->found;
	struct probe_place *places;

	for (size_t i = 0; i < found->count; i++)
		if (found->places[i].module == &file->module && found->places[i].address == address)
			return NULL; /* another name of the same place */
	if (found->count == PROBE_PLACES_MAX) {
		finding->result = fail(finding->error, -E2BIG,
				       "`%s` is more than %d places: name them more closely",
				       finding->text->function, PROBE_PLACES_MAX);
		return NULL;
	}
	places = realloc(found->places, (found->count + 1) * sizeof(*places));
	if (!places) {
		finding->result = fail(finding->error, -ENOMEM, "out of memory");
		return NULL;
	}
	found->places = places;
	places += found->count++;
	*places = (struct probe_place){ .module = &file->module, .address = address };
	return places;
}

/* Its values, and facts of the function, by debug information. */
static void fill_place(struct finding *finding, struct mapped_file *file,
		       const struct mapped_function *function, struct probe_place *place)
{
	struct variables variables;

	place->has_debug_info = variables_open(
		&variables, mapped_dwarf(&finding->target->mapped, file), place->address);
	variables.is_exported = function->is_exported;
	variables.is_clone =
		strstr(function->name, ".isra.") || strstr(function->name, ".constprop.");
	if (place->has_debug_info)
		variables_passing(&variables, &place->takes_stack_parameters, &place->is_variadic);
	finding->result = fetches_fill(finding->text, place->has_debug_info ? &variables : NULL,
				       NULL, 0, place, finding->error);
}

static void find_function(struct finding *finding, struct mapped_file *file,
			  const struct mapped_function *function)
{
	char *readable = readable_name(function->name);
	struct probe_place *place = NULL;

	if (readable && is_wanted(finding->text->function, function, readable))
		place = add_place(finding, file, function->address);
	if (place && function->is_chosen_later)
		finding->result = fail(
			finding->error, -ENOTSUP,
			"%s of %s only chooses one of several functions when the program starts: "
			"probe the chosen one, as %s_* lists them",
			readable, file->path, readable);
	if (place) {
		snprintf(place->function, sizeof(place->function), "%s", readable);
		place->low = function->address;
		place->high = function->bytes ? function->address + function->bytes : 0;
		place->low = place->high ? place->low : 0;
		if (!mapped_offset(file, place->address, &place->offset))
			finding->result = fail(finding->error, -ENOTSUP, "%s of %s is no code",
					       readable, file->path);
	}
	if (place && finding->result == 0)
		fill_place(finding, file, function, place);
	free(readable);
}

static void find_in_file(struct finding *finding, struct mapped_file *file)
{
	const struct mapped_function *functions;
	size_t count = mapped_functions(&finding->target->mapped, file, &functions);

	for (size_t i = 0; i < count && finding->result == 0; i++)
		find_function(finding, file, &functions[i]);
}

int probe_find(struct probe_target *target, const char *text, struct probe_places *found,
	       char error[PROBE_ERROR_BYTES])
{
	struct probe_text parsed;
	struct finding finding = { target, &parsed, found, error, 0 };

	*found = (struct probe_places){ 0 };
	finding.result = probe_parse(text, &parsed, error);
	if (finding.result == 0 && parsed.where != PROBE_FUNCTION)
		finding.result = fail(error, -ENOTSUP, "only functions can be probed");
	for (size_t i = 0; i < target->mapped.count && finding.result == 0; i++)
		if (is_searched(&finding, &target->mapped.files[i]))
			find_in_file(&finding, &target->mapped.files[i]);
	if (finding.result == 0 && found->count == 0)
		finding.result = fail(error, -ENOENT, "no function `%s` in %s%s", parsed.function,
				      target->mapped.files[0].path,
				      target->mapped.count > 1 ? " and its libraries" : "");
	if (finding.result != 0)
		probe_places_free(found);
	return finding.result;
}
