/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds packages; packages.h has the contract.
 *
 * Modules that are one file are looked up once. All files that are here are looked up in dpkg's
 * lists together, as each list is read once.
 */
#include "packages.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/tuples.h"
#include "dpkg.h"
#include "elfnotes.h"
#include "format.h"
#include "packagedirs.h"
#include "recording/intern.h"

static const char *const words[PACKAGE_SORTS] = {
	[PACKAGE_UNKNOWN] = "",  [PACKAGE_OWN] = "own",       [PACKAGE_DEB] = "deb",
	[PACKAGE_NOTE] = "note", [PACKAGE_PYTHON] = "python", [PACKAGE_NODE] = "npm",
	[PACKAGE_GEM] = "gem",   [PACKAGE_JDK] = "jdk",
};

/* A file, and the modules that are it. */
struct packaged_file {
	uint32_t module; /* the first one */
	struct package package;
	const char *root; /* below which it is here; NULL = it is not here */
	struct elf_notes notes;
};

struct finding {
	struct recording *recording;
	const char *root;
	struct packaged_file *files;
	size_t count;
	uint32_t *file_of; /* by module */
};

/* --- What the dump says --- */

static bool take_from_dump(struct finding *finding, struct packaged_file *file)
{
	const struct recording *recording = finding->recording;
	const struct rec_module *module = &recording->modules[file->module];

	for (size_t i = 0; i < recording->naming_count; i++) {
		const struct rec_naming *naming = &recording->namings[i];

		if (naming->client || naming->path != module->path ||
		    naming->build_id != module->build_id || !naming->package_sort)
			continue;
		file->package = (struct package){ .name = naming->package,
						  .version = naming->package_version };
		return package_parse(recording->strings[naming->package_sort], &file->package.sort);
	}
	return false;
}

/* --- The file here --- */

static bool is_here(struct finding *finding, struct packaged_file *file, const char *root)
{
	const struct rec_module *module = &finding->recording->modules[file->module];
	const char *build_id = finding->recording->strings[module->build_id];
	char path[PATH_MAX];

	if ((size_t)snprintf(path, sizeof(path), "%s%s", root,
			     finding->recording->strings[module->path]) >= sizeof(path) ||
	    !elf_notes_read(&file->notes, path) ||
	    (build_id[0] && strcmp(build_id, file->notes.build_id) != 0))
		return false;
	file->root = root;
	return true;
}

static void look_for(struct finding *finding, struct packaged_file *file)
{
	const struct recording *recording = finding->recording;
	const char *path = recording->strings[recording->modules[file->module].path];

	if (take_from_dump(finding, file) || path[0] != '/' ||
	    (finding->root[0] && is_here(finding, file, finding->root)))
		return;
	(void)is_here(finding, file, "");
}

/* --- By which package --- */

static void take(struct finding *finding, struct packaged_file *file, enum package_sort sort,
		 const char *name, const char *version)
{
	file->package = (struct package){
		.sort = sort,
		.name = recording_intern(finding->recording, name),
		.version = version ? recording_intern(finding->recording, version) : 0,
	};
}

/* Of files below one root. */
static void take_from_dpkg(struct finding *finding, const char *root)
{
	struct dpkg_file *asked = memory_new(finding->count, sizeof(*asked));
	struct packaged_file **files = memory_new(finding->count, sizeof(*files));
	size_t count = 0;

	for (size_t i = 0; i < finding->count; i++) {
		struct packaged_file *file = &finding->files[i];
		const struct rec_module *module = &finding->recording->modules[file->module];

		if (!file->root || strcmp(file->root, root) != 0)
			continue;
		files[count] = file;
		asked[count++].path = finding->recording->strings[module->path];
	}
	struct dpkg *dpkg = count > 0 ? dpkg_find(asked, count, root) : NULL;
	for (size_t i = 0; dpkg && i < count; i++)
		if (asked[i].name)
			take(finding, files[i], PACKAGE_DEB, asked[i].name, asked[i].version);
	dpkg_free(dpkg);
	free(asked);
	free(files);
}

static void take_otherwise(struct finding *finding, struct packaged_file *file)
{
	const struct recording *recording = finding->recording;
	const char *path = recording->strings[recording->modules[file->module].path];
	struct package_dir directory;

	if (!file->root || file->package.sort != PACKAGE_UNKNOWN)
		return;
	if (file->notes.name[0])
		take(finding, file, PACKAGE_NOTE, file->notes.name, file->notes.version);
	else if (package_dir_find(&directory, path, file->root))
		take(finding, file, directory.sort, directory.name, directory.version);
	else
		file->package.sort = PACKAGE_OWN;
}

/* --- All of it --- */

static void list_files(struct finding *finding)
{
	const struct recording *recording = finding->recording;
	struct tuples known;

	finding->files = memory_new(recording->module_count, sizeof(*finding->files));
	finding->file_of = memory_new(recording->module_count, sizeof(*finding->file_of));
	tuples_begin(&known, 2);
	for (uint32_t i = 0; i < recording->module_count; i++) {
		const struct rec_module *module = &recording->modules[i];
		const uint32_t key[] = { module->path, module->build_id };

		finding->file_of[i] = tuples_add(&known, key);
		if (finding->file_of[i] < finding->count)
			continue;
		finding->files[finding->count++] = (struct packaged_file){ .module = i };
	}
	tuples_free(&known);
}

void packages_build(struct packages *packages, struct recording *recording, const char *root)
{
	struct finding finding = { .recording = recording, .root = root };

	list_files(&finding);
	for (size_t i = 0; i < finding.count; i++)
		look_for(&finding, &finding.files[i]);
	take_from_dpkg(&finding, "");
	if (root[0])
		take_from_dpkg(&finding, root);
	for (size_t i = 0; i < finding.count; i++)
		take_otherwise(&finding, &finding.files[i]);
	packages->module_count = recording->module_count;
	packages->of_module = memory_new(recording->module_count, sizeof(*packages->of_module));
	for (size_t i = 0; i < recording->module_count; i++)
		packages->of_module[i] = finding.files[finding.file_of[i]].package;
	free(finding.files);
	free(finding.file_of);
}

void packages_free(struct packages *packages)
{
	free(packages->of_module);
	*packages = (struct packages){ 0 };
}

struct package packages_of(const struct packages *packages, uint32_t module)
{
	return module < packages->module_count ? packages->of_module[module]
					       : (struct package){ .sort = PACKAGE_UNKNOWN };
}

const char *package_word(enum package_sort sort)
{
	return words[sort];
}

bool package_parse(const char *word, enum package_sort *sort)
{
	for (int i = PACKAGE_OWN; i < PACKAGE_SORTS; i++)
		if (strcmp(words[i], word) == 0) {
			*sort = (enum package_sort)i;
			return true;
		}
	return false;
}
