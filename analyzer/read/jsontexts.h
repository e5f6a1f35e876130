/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The texts of some members of one object of JSON, as files and notes about packages have them.
 *
 * Any thread.
 */
#ifndef WCPROF_JSONTEXTS_H
#define WCPROF_JSONTEXTS_H

#include <stdbool.h>
#include <stddef.h>

enum {
	JSON_TEXTS_BYTES = 128,             /* of a text, with its end */
	JSON_TEXTS_FILE_BYTES_MAX = 1 << 20 /* a package.json has some kB */
};

/* Fills in the text of each member of these names that is a plain text and not too long; "" else.
 * False: the bytes are no object of JSON. */
bool json_texts(const char *bytes, size_t length, const char *const *names, size_t count,
		char (*texts)[JSON_TEXTS_BYTES]);
/* The same of a file. */
bool json_texts_of_file(const char *path, const char *const *names, size_t count,
			char (*texts)[JSON_TEXTS_BYTES]);

#endif
