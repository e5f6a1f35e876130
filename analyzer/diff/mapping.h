/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules that rename what has another name in a newer build: s/old/new/, as sed has it.
 *
 * `old` is an extended regular expression. In `new`, \1 to \9 and & stand for what it matched. A g
 * at the end takes all matches instead of the first. Any character may be in place of the slashes.
 * Read-only once parsed; any thread.
 */
#ifndef WCPROF_MAPPING_H
#define WCPROF_MAPPING_H

#include <regex.h>

#include "base/options.h"

struct mapping_rule {
	regex_t regex;
	char *replacement;
	bool takes_all;
};

struct mapping {
	struct mapping_rule rules[TEXTS_MAX];
	size_t count;
};

/* 0, or -EINVAL with a line in `error`; then there is nothing to free. */
int mapping_parse(struct mapping *mapping, const struct text_list *rules,
		  char error[OPTIONS_ERROR_BYTES]);
void mapping_free(struct mapping *mapping);

/* The name by all rules, one after the other; to be freed. */
char *mapping_apply(const struct mapping *mapping, const char *name);

#endif
