/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The name that a process goes by.
 */
#include "programs.h"

#include <string.h>

const char *program_called(const struct recording *recording, uint32_t process)
{
	const struct rec_process *of = &recording->processes[process];
	const char *name =
		of->op == NO_INDEX ? "" : recording->strings[recording->ops[of->op].name];
	const char *file = recording->strings[of->exe], *slash = strrchr(file, '/');

	if (*name)
		return name;
	return slash && slash[1] ? slash + 1 : file;
}
