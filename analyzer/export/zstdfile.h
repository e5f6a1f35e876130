/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file that is compressed by zstd while it is written.
 *
 * The same bytes always give the same file. One thread.
 */
#ifndef WCPROF_ZSTDFILE_H
#define WCPROF_ZSTDFILE_H

#include <stdio.h>

/* All that is written to the stream is compressed into `file`, which its fclose() closes, too. Any
 * write that failed is told by that. */
FILE *zstd_file_open(FILE *file);

#endif
