/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Datadog's code-provenance.json: which libraries the program's code is of, with the files of each.
 *
 *     {"v1":[{"kind":"library","name":"libssl3","version":"3.0.15-1","paths":["/usr/lib/..."]}]}
 *
 * A package comes once, in order of its first file. The program's own files, and those of which
 * nothing is known, are in none.
 */
#include <stdlib.h>

#include "base/emit.h"
#include "base/memory.h"
#include "base/tuples.h"
#include "exporters.h"

struct libraries {
	const struct recording *recording;
	const struct packages *packages;
	struct tuples known; /* (sort, name, version) */
	uint32_t *of_module; /* index there, NO_INDEX = of none */
	struct tuples paths; /* (index there, path) that were written */
};

static void put_member(FILE *file, const char *key, const char *text)
{
	fprintf(file, "\"%s\":", key);
	emit_json_string(file, text);
	fputc(',', file);
}

static void list_libraries(struct libraries *libraries)
{
	const struct recording *recording = libraries->recording;
	libraries->of_module = memory_new(recording->module_count, sizeof(*libraries->of_module));
	tuples_begin(&libraries->known, 3);
	for (uint32_t i = 0; i < recording->module_count; i++) {
		struct package package = packages_of(libraries->packages, i);
		const uint32_t key[] = { package.sort, package.name, package.version };
		libraries->of_module[i] =
			package.name ? tuples_add(&libraries->known, key) : NO_INDEX;
	}
}

static void put_paths(struct libraries *libraries, FILE *file, uint32_t library)
{
	const struct recording *recording = libraries->recording;
	bool has_one = false;
	fputs("\"paths\":[", file);
	for (uint32_t i = 0; i < recording->module_count; i++) {
		const uint32_t key[] = { library, recording->modules[i].path };
		uint32_t count = libraries->paths.count;
		if (libraries->of_module[i] != library ||
		    tuples_add(&libraries->paths, key) != count)
			continue;
		fputs(has_one ? "," : "", file);
		emit_json_string(file, recording->strings[recording->modules[i].path]);
		has_one = true;
	}
	fputc(']', file);
}

static void put_library(struct libraries *libraries, FILE *file, uint32_t library)
{
	const uint32_t *key = tuples_at(&libraries->known, library);
	const char **strings = libraries->recording->strings;
	fputs(library > 0 ? ",\n{" : "\n{", file);
	put_member(file, "kind", key[0] == PACKAGE_JDK ? "standard library" : "library");
	put_member(file, "name", strings[key[1]]);
	put_member(file, "version", strings[key[2]]);
	put_paths(libraries, file, library);
	fputc('}', file);
}

void export_provenance(struct export *export)
{
	static const struct packages none;
	const struct analysis *analysis = export->analysis;
	struct libraries libraries = { .recording = analysis->recording,
				       .packages = analysis->labels ? &analysis->labels->packages
								    : &none };
	FILE *file = export_file(export);
	list_libraries(&libraries);
	tuples_begin(&libraries.paths, 2);
	fputs("{\"v1\":[", file);
	for (uint32_t i = 0; i < libraries.known.count; i++)
		put_library(&libraries, file, i);
	fputs("]}\n", file);
	tuples_free(&libraries.known);
	tuples_free(&libraries.paths);
	free(libraries.of_module);
}
