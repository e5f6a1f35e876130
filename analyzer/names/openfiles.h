/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Object files that were opened once and stay open. Many windows of one recording, and many dumps,
 * have the same ones. Reading their symbols takes longer than the analysis of a short window.
 *
 * One thread. A file that is replaced meanwhile stays what it was.
 */
#ifndef WCPROF_OPENFILES_H
#define WCPROF_OPENFILES_H

#include "objectfile.h"

/* As objectfile_open(), of which the outcome is in its state. It is never closed. */
struct objectfile *openfiles_get(const char *path, const char *build_id);

#endif
