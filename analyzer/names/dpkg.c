/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Searches dpkg's lists; dpkg.h has the contract.
 *
 * Each file has up to three spellings that a list may have. All spellings are sorted; each line of
 * each list is looked up among them. A list is info/PACKAGE.list or info/PACKAGE:ARCHITECTURE.list.
 * Then versions are read from the stanzas of `status`.
 */
#include "dpkg.h"

#include <assert.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bound.h"
#include "base/memory.h"
#include "recording/intern.h"
#include "recording/recording.h"

enum { PATH_BYTES = 4096, SPELLINGS = 2 };

struct spelling {
	char *path;
	struct dpkg_file *file;
	/* That has diverted files of this path: a text, 0 = it is not diverted. */
	uint32_t diverter;
	bool is_moved; /* the file is what other packages have at this path */
};

struct dpkg {
	struct recording texts; /* its strings alone are used */
	struct spelling *spellings;
	size_t count, room;
};

/* --- Spellings --- */

static void spell(struct dpkg *dpkg, struct spelling spelling, const char *begin, const char *rest)
{
	spelling.path = memory_new(strlen(begin) + strlen(rest) + 1, 1);
	strcpy(stpcpy(spelling.path, begin), rest);
	dpkg->spellings = memory_grow(dpkg->spellings, &dpkg->room, dpkg->count + 1,
				      sizeof(*dpkg->spellings));
	dpkg->spellings[dpkg->count++] = spelling;
}

static int compare_spellings(const void *a, const void *b)
{
	return strcmp(((const struct spelling *)a)->path, ((const struct spelling *)b)->path);
}

static void sort(struct dpkg *dpkg)
{
	if (dpkg->count > 0)
		qsort(dpkg->spellings, dpkg->count, sizeof(*dpkg->spellings), compare_spellings);
}

static void spell_all(struct dpkg *dpkg, struct dpkg_file *files, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct spelling spelling = { .file = &files[i] };
		bool has_usr = strncmp(files[i].path, "/usr/", 5) == 0;

		files[i].name = files[i].version = NULL;
		spell(dpkg, spelling, "", files[i].path);
		spell(dpkg, spelling, has_usr ? "" : "/usr", files[i].path + (has_usr ? 4 : 0));
	}
	sort(dpkg);
}

/* The first one of this path; *count of them, as several files may be one. */
static struct spelling *find(const struct dpkg *dpkg, const char *path, size_t *count)
{
	const struct spelling sought = { .path = (char *)path };
	size_t first = bound_lower(&sought, dpkg->spellings, dpkg->count, sizeof(sought),
				   compare_spellings);

	*count = 0;
	while (first + *count < dpkg->count &&
	       compare_spellings(&dpkg->spellings[first + *count], &sought) == 0)
		++*count;
	return dpkg->spellings + first;
}

/* --- Files of dpkg's --- */

static FILE *open_below(const char *root, const char *path)
{
	char below[PATH_BYTES];
	int length = snprintf(below, sizeof(below), "%s/var/lib/dpkg/%s", root, path);

	return length > 0 && (size_t)length < sizeof(below) ? fopen(below, "re") : NULL;
}

/* Without its end; false: there is no more. */
static bool next_line(FILE *file, char **line, size_t *room)
{
	ssize_t length = getline(line, room, file);

	if (length <= 0)
		return false;
	if ((*line)[length - 1] == '\n')
		(*line)[length - 1] = '\0';
	return true;
}

/* Files that other packages have at `from` are at `to`, as `by` has its own one at `from`; ":" is
 * the administrator. */
static void divert(struct dpkg *dpkg, const char *from, const char *to, const char *by)
{
	uint32_t diverter = recording_intern(&dpkg->texts, by);
	size_t count;
	struct spelling *at = find(dpkg, from, &count);

	for (size_t i = 0; i < count; i++)
		at[i].diverter = diverter;
	at = find(dpkg, to, &count);
	size_t first = (size_t)(at - dpkg->spellings);
	for (size_t i = 0; i < count; i++) {
		const struct spelling moved = { .file = dpkg->spellings[first + i].file,
						.diverter = diverter,
						.is_moved = true };
		spell(dpkg, moved, "", from);
	}
	if (count > 0)
		sort(dpkg);
}

static void read_diversions(struct dpkg *dpkg, const char *root)
{
	FILE *file = open_below(root, "diversions");
	char *lines[3] = { NULL, NULL, NULL };
	size_t rooms[3] = { 0, 0, 0 };

	while (file && next_line(file, &lines[0], &rooms[0]) &&
	       next_line(file, &lines[1], &rooms[1]) && next_line(file, &lines[2], &rooms[2]))
		divert(dpkg, lines[0], lines[1], lines[2]);
	for (int i = 0; i < 3; i++)
		free(lines[i]);
	if (file)
		fclose(file);
}

static void read_list(struct dpkg *dpkg, FILE *file, uint32_t package)
{
	char *line = NULL;
	size_t room = 0, count;

	while (next_line(file, &line, &room)) {
		struct spelling *at = find(dpkg, line, &count);

		for (size_t i = 0; i < count; i++)
			if (at[i].diverter == 0 || (at[i].diverter == package) != at[i].is_moved)
				at[i].file->name = dpkg->texts.strings[package];
	}
	free(line);
}

/* Lists are named PACKAGE.list, or PACKAGE:ARCHITECTURE.list. False: there are none. */
static bool read_lists(struct dpkg *dpkg, const char *root)
{
	char path[PATH_BYTES];
	struct dirent *entry;

	if ((size_t)snprintf(path, sizeof(path), "%s/var/lib/dpkg/info", root) >= sizeof(path))
		return false;
	DIR *directory = opendir(path);
	if (!directory)
		return false;
	while ((entry = readdir(directory))) {
		size_t length = strlen(entry->d_name), name = strcspn(entry->d_name, ":");

		if (length < 5 || strcmp(entry->d_name + length - 5, ".list") != 0)
			continue;
		name = name < length ? name : length - 5;
		snprintf(path, sizeof(path), "info/%s", entry->d_name);
		FILE *file = open_below(root, path);
		if (!file)
			continue;
		read_list(dpkg, file, recording_intern_bytes(&dpkg->texts, entry->d_name, name));
		fclose(file);
	}
	closedir(directory);
	return true;
}

/* Stanzas of "Field: value", apart by empty lines. */
static void read_versions(struct dpkg *dpkg, struct dpkg_file *files, size_t count,
			  const char *root)
{
	FILE *file = open_below(root, "status");
	char *line = NULL, package[PATH_BYTES] = "";
	size_t room = 0;

	while (file && next_line(file, &line, &room)) {
		if (strncmp(line, "Package: ", 9) == 0)
			snprintf(package, sizeof(package), "%.*s", PATH_BYTES - 1, line + 9);
		if (strncmp(line, "Version: ", 9) != 0)
			continue;
		/* the call may move the strings */
		uint32_t version = recording_intern(&dpkg->texts, line + 9);
		for (size_t i = 0; i < count; i++)
			if (files[i].name && strcmp(files[i].name, package) == 0)
				files[i].version = dpkg->texts.strings[version];
	}
	free(line);
	if (file)
		fclose(file);
}

struct dpkg *dpkg_find(struct dpkg_file *files, size_t count, const char *root)
{
	struct dpkg *dpkg = memory_new(1, sizeof(*dpkg));

	recording_intern(&dpkg->texts, "");
	spell_all(dpkg, files, count);
	read_diversions(dpkg, root);
	if (!read_lists(dpkg, root)) {
		dpkg_free(dpkg);
		return NULL;
	}
	read_versions(dpkg, files, count, root);
	return dpkg;
}

void dpkg_free(struct dpkg *dpkg)
{
	if (!dpkg)
		return;
	for (size_t i = 0; i < dpkg->count; i++)
		free(dpkg->spellings[i].path);
	free(dpkg->spellings);
	intern_free(dpkg->texts.intern);
	free(dpkg->texts.strings);
	free(dpkg);
}
