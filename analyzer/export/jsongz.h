/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes JSON through gzip: the commas, brackets and names are the caller's, values come from here.
 *
 * A write that fails is left to the file's own error mark. One thread to a writer.
 */
#ifndef WCPROF_JSONGZ_H
#define WCPROF_JSONGZ_H

#include <stdint.h>
#include <stdio.h>

struct jsongz;

/* Writes to `file`, which stays the caller's. */
struct jsongz *jsongz_new(FILE *file);
/* Writes what is left, and frees the writer. */
void jsongz_end(struct jsongz *);

/* As it is: punctuation, names in quotes. */
void jsongz_raw(struct jsongz *, const char *text);
void jsongz_number(struct jsongz *, uint64_t number);
/* As milliseconds, exactly: 1500000 becomes 1.5. */
void jsongz_ms(struct jsongz *, uint64_t ns);
/* A string, made printable as utf8_printable() does it. */
void jsongz_text(struct jsongz *, const char *text);

#endif
