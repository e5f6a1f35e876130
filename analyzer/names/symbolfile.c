/* SPDX-License-Identifier: Apache-2.0 */
/* Sources of names; symbolfile.h has the contract. One thread. */
#include "symbolfile.h"

#include <assert.h>
#include <string.h>
#include <unistd.h>

#include "openfiles.h"

/* Finds the names that the dumps have for a file, or for a process's code outside all files. */
static uint32_t find_naming(const struct recording *recording, const struct symbol_file *file)
{
	uint32_t client =
		file->process == NO_INDEX ? 0 : recording->processes[file->process].client;

	for (size_t i = 0; i < recording->naming_count; i++) {
		const struct rec_naming *naming = &recording->namings[i];

		if (naming->client == client &&
		    (client || (file->process == NO_INDEX && naming->path == file->path &&
				naming->build_id == file->build_id)))
			return (uint32_t)i;
	}
	return NO_INDEX;
}

struct symbol_file symbol_file_of(const struct recording *recording, uint32_t index)
{
	const struct rec_module *module = &recording->modules[index];
	struct symbol_file file = {
		.path = module->path,
		.build_id = module->build_id,
		.process = rec_module_is_jit(recording, module) ? module->process : NO_INDEX,
		.module = index,
	};

	assert(index < recording->module_count);
	file.naming = find_naming(recording, &file);
	return file;
}

bool symbol_file_is_same(const struct symbol_file *a, const struct symbol_file *b)
{
	return a->path == b->path && a->build_id == b->build_id && a->process == b->process;
}

/* Whether the process ran on this machine; a dump that does not say so is taken at its word. */
static bool is_here(const struct recording *recording, const struct rec_process *process)
{
	const char *host = recording->strings[process->host];
	char own[256] = "";

	return !host[0] || (gethostname(own, sizeof(own) - 1) == 0 && strcmp(own, host) == 0);
}

static void open_map(struct symbol_file *file, const struct recording *recording,
		     char *const *dumps, size_t dump_count)
{
	const struct rec_process *process = &recording->processes[file->process];
	FILE *lines = perfmap_open(process->pid, process->start_unix_ns,
				   is_here(recording, process), dumps, dump_count);

	if (!lines)
		return;
	perfmap_read(&file->map, lines);
	fclose(lines);
}

static void open_object(struct symbol_file *file, const struct recording *recording,
			const char *root)
{
	const char *path = recording->strings[file->path];
	const char *build_id = recording->strings[file->build_id];
	char below[4096];

	if (root && path[0] == '/' &&
	    (size_t)snprintf(below, sizeof(below), "%s%s", root, path) < sizeof(below)) {
		file->object = openfiles_get(below, build_id);
		if (file->object->state == OBJECTFILE_OPEN)
			return;
	}
	file->object = openfiles_get(path, build_id);
}

void symbol_file_open(struct symbol_file *file, const struct recording *recording, const char *root,
		      char *const *dumps, size_t dump_count)
{
	assert(file->naming == NO_INDEX);
	if (file->is_opened)
		return;
	file->is_opened = true;
	if (file->process != NO_INDEX)
		open_map(file, recording, dumps, dump_count);
	else
		open_object(file, recording, root);
}

static enum symbol_file_state state_of(const struct symbol_file *file)
{
	if (file->naming != NO_INDEX)
		return SYMBOL_FILE_GIVEN;
	if (!file->is_opened)
		return SYMBOL_FILE_UNUSED;
	if (file->process != NO_INDEX)
		return file->map.count ? SYMBOL_FILE_OPEN : SYMBOL_FILE_MISSING;
	switch (file->object->state) {
	case OBJECTFILE_OPEN:
		return SYMBOL_FILE_OPEN;
	case OBJECTFILE_OTHER_BUILD:
		return SYMBOL_FILE_OTHER_BUILD;
	case OBJECTFILE_MISSING:
		break;
	}
	return SYMBOL_FILE_MISSING;
}

struct symbol_file_info symbol_file_info(const struct symbol_file *file,
					 const struct recording *recording)
{
	bool is_jit_code = file->process != NO_INDEX;

	return (struct symbol_file_info){
		.path = recording->strings[file->path],
		.build_id = recording->strings[file->build_id],
		.found_build_id = file->object ? file->object->found_build_id : "",
		.client = is_jit_code
				  ? recording->strings[recording->processes[file->process].client]
				  : "",
		.state = state_of(file),
	};
}

void symbol_file_close(struct symbol_file *file)
{
	perfmap_free(&file->map);
}
