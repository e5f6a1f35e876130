/* SPDX-License-Identifier: Apache-2.0 */
/* Files of an export, one after the other; outputs.h has the contract. */
#include "outputs.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/outfile.h"

static void fail(struct export *export, const char *why)
{
	if (export->error[0])
		return;
	snprintf(export->error, EXPORT_ERROR_BYTES, "-o %.300s%s%s: %s", export->path,
		 export->name[0] ? "/" : "", export->name, why);
}

void export_fail_to_open(struct export *export)
{
	fail(export,
	     errno == EPERM ? "others may have put it there; give another name" : strerror(errno));
}

/* Each step that may write is looked at. Why an earlier one failed is not known any more. */
void export_close(struct export *export)
{
	if (!export->file)
		return;
	bool is_written = !ferror(export->file) && fflush(export->file) == 0;
	if (export->file != stdout)
		is_written = fclose(export->file) == 0 && is_written;
	if (!is_written)
		fail(export, "cannot be written; is the disk full?");
	export->file = NULL;
}

FILE *export_open(struct export *export, const char *path)
{
	export->file = outfile_create(path);
	if (!export->file)
		export_fail_to_open(export);
	return export->file;
}

FILE *export_file(struct export *export)
{
	return export->file;
}

FILE *export_file_in(struct export *export, const char *name)
{
	char *path;
	export_close(export);
	snprintf(export->name, sizeof(export->name), "%s", name);
	if (export->error[0] || asprintf(&path, "%s/%s", export->path, name) < 0)
		return NULL;
	FILE *file = export_open(export, path);
	free(path);
	return file;
}

void export_note(struct export *export, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(export->note, sizeof(export->note), format, arguments);
	va_end(arguments);
}
