/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that dumps are written to, by the recorder and by the wcprof command.
 *
 * Where others may write to the directory, as in /tmp, they may have put a link, a file or a pipe
 * in the dump's place. The dump is not written there. In all other directories a path means what it
 * says, links and all.
 */
#ifndef WCPROF_OUTFILE_H
#define WCPROF_OUTFILE_H

#include "recorder.h"

/*
 * Opens for writing; makes what is not there, for this user alone. `flags` go with those that every
 * such file has; O_TRUNC is done when it is sure whose file it is. The path is changed meanwhile.
 * -EPERM: others may have put it there.
 */
int outfile_open(char *path, int flags) HIDDEN;

/* Of that, as the end of a sentence. */
#define OUTFILE_WHY \
	"others may have put it there; name a file in a directory that only you may write to"

#endif
