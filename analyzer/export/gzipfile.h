/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file that is compressed by gzip while it is written.
 *
 * The first failure is kept and told at the end. The same bytes always give the same file. One
 * thread.
 */
#ifndef WCPROF_GZIPFILE_H
#define WCPROF_GZIPFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct gzip_file;

/* Writes where `file` stands, which stays open. */
struct gzip_file *gzip_file_open(FILE *file);

void gzip_file_write(struct gzip_file *file, const void *bytes, size_t length);

/* False: not all was written; errno is that of the first failure. */
bool gzip_file_close(struct gzip_file *file);

#endif
