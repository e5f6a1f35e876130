/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of a column cut to its width, such that a reader can still tell them apart.
 */
#ifndef WCPROF_SHORTEN_H
#define WCPROF_SHORTEN_H

#include <stddef.h>

/*
 * Replaces each of the names, which are allocated, by one of at most `columns` columns. A name that
 * is too long has ".." in its middle. Where that makes two different names equal, both show the
 * part in which they differ, too: "head..part..tail". Names that differ in nothing but how often
 * one character is repeated may stay equal. Any thread.
 */
void shorten_all(char **names, size_t count, size_t columns);

#endif
