/* SPDX-License-Identifier: Apache-2.0 */
/* Object files that stay open; openfiles.h has the contract. */
#include "openfiles.h"

#include <string.h>

#include "base/memory.h"

struct openfile {
	struct openfile *next;
	char *path;
	char *build_id;
	struct objectfile object;
};

static struct openfile *openfiles;

struct objectfile *openfiles_get(const char *path, const char *build_id)
{
	struct openfile *file = openfiles;

	while (file && (strcmp(file->path, path) != 0 || strcmp(file->build_id, build_id) != 0))
		file = file->next;
	if (file)
		return &file->object;
	file = memory_new(1, sizeof(*file));
	file->path = strdup(path);
	file->build_id = strdup(build_id);
	objectfile_open(&file->object, path, build_id);
	file->next = openfiles;
	openfiles = file;
	return &file->object;
}
