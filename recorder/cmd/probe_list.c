/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of what can be probed, by the same searches as probes themselves.
 *
 * The text of a line is shown if its file can be read here. Its path is that of the machine on
 * which the program was compiled. One thread.
 */
#include "probe_list.h"

#include <dwarf.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "finding.h"
#include "grow.h"
#include "source.h"
#include "usdt.h"
#include "variables_members.h"

enum {
	LINES_SHOWN = 30,  /* from a line on */
	LINES_MAX = 10000, /* of a function */
	ARGUMENTS_MAX = 12 /* that a mark has */
};

/* --- functions --- */

struct names {
	char **names;
	size_t count, room;
};

static void add_name(struct names *names, char *name)
{
	char **larger = grow_for_one(names->names, &names->room, names->count, sizeof(*larger));

	if (!larger) {
		free(name);
		return;
	}
	names->names = larger;
	names->names[names->count++] = name;
}

static int compare_names(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

static size_t print_names(struct names *names, const char *path, FILE *to)
{
	size_t printed = 0;

	if (names->count > 0)
		qsort(names->names, names->count, sizeof(*names->names), compare_names);
	for (size_t i = 0; i < names->count; i++) {
		if (i > 0 && strcmp(names->names[i], names->names[i - 1]) == 0)
			continue;
		fprintf(to, "%s\t%s\n", names->names[i], path);
		printed++;
	}
	for (size_t i = 0; i < names->count; i++)
		free(names->names[i]);
	free(names->names);
	return printed;
}

static size_t list_file(struct finding *finding, struct mapped_file *file, FILE *to)
{
	const struct mapped_function *functions;
	size_t count = mapped_functions(finding->mapped, file, &functions);
	struct names names = { 0 };

	for (size_t i = 0; i < count; i++) {
		char *readable = finding_readable(functions[i].name);

		if (readable && !strstr(functions[i].name, ".cold") &&
		    fnmatch(finding->text->function, readable, 0) == 0)
			add_name(&names, readable);
		else
			free(readable);
	}
	return print_names(&names, file->path, to);
}

int probe_list_functions(struct probe_target *target, const char *pattern, FILE *to,
			 char error[PROBE_ERROR_BYTES])
{
	struct probe_text text;
	struct finding finding = { &target->mapped, &text, NULL, error, 0 };
	int result = probe_parse(pattern ? pattern : "*", &text, error);
	size_t printed = 0;
	char files[512];

	if (result != 0)
		return result;
	for (size_t i = 0; i < (pattern ? target->mapped.count : 1); i++)
		if (finding_searches(&finding, &target->mapped.files[i]))
			printed += list_file(&finding, &target->mapped.files[i], to);
	if (printed > 0)
		return 0;
	finding_write_files(&finding, files, sizeof(files));
	finding_fail(&finding, -ENOENT, "no function `%s` in %s", text.function, files);
	return finding.result;
}

/* --- marks --- */

static bool print_mark(void *context, const struct usdt_mark *mark)
{
	struct names *names = context;
	size_t count = 0;
	char *line;

	for (const char *at = mark->arguments; *at; at += strspn(at, " ")) {
		at += strcspn(at, " ");
		count++;
	}
	if (asprintf(&line, "usdt:%s:%s\t%zu argument%s", mark->provider, mark->name, count,
		     count == 1 ? "" : "s") >= 0)
		add_name(names, line);
	return true;
}

int probe_list_marks(struct probe_target *target, FILE *to, char error[PROBE_ERROR_BYTES])
{
	size_t printed = 0;

	for (size_t i = 0; i < target->mapped.count; i++) {
		struct names names = { 0 };

		if (mapped_load(&target->mapped, &target->mapped.files[i]))
			usdt_each(target->mapped.files[i].elf, print_mark, &names);
		printed += print_names(&names, target->mapped.files[i].path, to);
	}
	if (printed > 0)
		return 0;
	snprintf(error, PROBE_ERROR_BYTES, "%s and its libraries have no marks (USDT)",
		 target->mapped.files[0].path);
	return -ENOENT;
}

/* --- variables --- */

struct printing {
	struct variables *variables;
	FILE *to;
	size_t count;
};

static void print_variable(void *context, Dwarf_Die *variable, bool is_parameter)
{
	struct printing *printing = context;
	const char *name = dwarf_diename(variable), *why;
	struct location location;
	Dwarf_Attribute attribute;
	Dwarf_Die type, stripped;
	char type_name[128] = "?";
	bool is_found;

	if (dwarf_formref_die(dwarf_attr_integrate(variable, DW_AT_type, &attribute), &type))
		members_write_type(&type, type_name, sizeof(type_name));
	why = variables_find(printing->variables, name, &stripped, &location, &is_found);
	fprintf(printing->to, "  %s\t%s%s%s%s\n", name, type_name,
		is_parameter ? "" : "\tlocal variable", why ? "\t" : "", why ? why : "");
	printing->count++;
}

static struct mapped_file *file_of(struct probe_target *target, const struct probe_place *place)
{
	for (size_t i = 0; i < target->mapped.count; i++)
		if (&target->mapped.files[i].module == place->module)
			return &target->mapped.files[i];
	return NULL;
}

static void print_place(struct probe_target *target, const struct probe_place *place, FILE *to)
{
	struct variables variables;
	struct printing printing = { &variables, to, 0 };
	struct mapped_file *file = file_of(target, place);

	fprintf(to, "%s", place->function[0] ? place->function : "?");
	if (place->line)
		fprintf(to, " (%s:%u)", place->file, place->line);
	if (!variables_open(&variables, mapped_dwarf(&target->mapped, file), place->address)) {
		fprintf(to, ": no debug information, so $arg1 to $arg6 only\n");
		return;
	}
	variables.is_exported = true;
	fprintf(to, ":\n");
	variables_each(&variables, print_variable, &printing);
	if (printing.count == 0)
		fprintf(to, "  (none)\n");
}

int probe_list_variables(struct probe_target *target, const char *place, FILE *to,
			 char error[PROBE_ERROR_BYTES])
{
	struct probe_places found;
	int result = probe_find(target, place, &found, error);

	if (result != 0)
		return result;
	for (size_t i = 0; i < found.count; i++)
		print_place(target, &found.places[i], to);
	probe_places_free(&found);
	return 0;
}

/* --- lines --- */

struct code_lines {
	const char *file; /* the one that is listed */
	uint32_t first, last;
	bool has_code[LINES_MAX];
};

static void note_line(void *context, const char *file, uint32_t line)
{
	struct code_lines *lines = context;

	if (strcmp(file, lines->file) != 0 || line < lines->first ||
	    line - lines->first >= LINES_MAX)
		return;
	lines->has_code[line - lines->first] = true;
	if (line > lines->last)
		lines->last = line;
}

/* NULL: it is not here, or is no file. */
static FILE *open_source(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat stat;

	if (fd >= 0 && fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode))
		return fdopen(fd, "r");
	if (fd >= 0)
		close(fd);
	return NULL;
}

static void print_lines(const struct code_lines *lines, FILE *to)
{
	FILE *source = open_source(lines->file);
	char *text = NULL;
	size_t room = 0;
	ssize_t length = 0;

	fprintf(to, "%s:%u\n", lines->file, lines->first);
	for (uint32_t line = 1; line <= lines->last; line++) {
		length = source ? getline(&text, &room, source) : -1;
		if (line < lines->first)
			continue;
		if (lines->has_code[line - lines->first])
			fprintf(to, "%6u", line);
		else if (length > 0)
			fprintf(to, "      ");
		else
			continue;
		fprintf(to, "  %s", length > 0 ? text : "");
		if (length <= 0 || text[length - 1] != '\n')
			fprintf(to, "\n");
	}
	free(text);
	if (source)
		fclose(source);
}

static int list_lines(struct probe_target *target, const struct probe_place *place, FILE *to,
		      char *error)
{
	struct mapped_file *file = file_of(target, place);
	struct code_lines *lines = calloc(1, sizeof(*lines));
	Dwarf *dwarf = mapped_dwarf(&target->mapped, file);

	if (!lines || !place->line) {
		snprintf(error, PROBE_ERROR_BYTES,
			 lines ? "%s has no debug information here, so no lines" : "%s: no memory",
			 place->module->path);
		free(lines);
		return -ENOTSUP;
	}
	lines->file = place->file;
	lines->first = place->line;
	if (place->kind == PROBE_AT_LINE) {
		source_lines(dwarf, place->file, 0, 0, note_line, lines);
		if (lines->last > lines->first + LINES_SHOWN)
			lines->last = lines->first + LINES_SHOWN;
	} else {
		source_lines(dwarf, NULL, place->low, place->high, note_line, lines);
	}
	print_lines(lines, to);
	free(lines);
	return 0;
}

int probe_list_lines(struct probe_target *target, const char *place, FILE *to,
		     char error[PROBE_ERROR_BYTES])
{
	struct probe_places found;
	int result = probe_find(target, place, &found, error);

	/* A line may be in several functions, and is one all the same. */
	for (size_t i = 0; i < found.count && result == 0; i++)
		if (i == 0 || found.places[i].kind == PROBE_AT_ENTRY)
			result = list_lines(target, &found.places[i], to, error);
	probe_places_free(&found);
	return result;
}
