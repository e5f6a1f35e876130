/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A word of the user's as one of an enum's values.
 */
#ifndef WCPROF_CHOICE_H
#define WCPROF_CHOICE_H

#include <stdbool.h>
#include <stddef.h>

struct choice {
	const char *word;
	int value;
};

/* Whether the word is one of them; then `value` is its. */
bool choice_find(const struct choice *choices, size_t count, const char *word, int *value);

#endif
