/* SPDX-License-Identifier: Apache-2.0 */
/* Fills in a template; traceurl.h has the contract. */
#include "traceurl.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

static const char trace_word[] = "{trace}", span_word[] = "{span}";

static bool begins_with(const char *text, const char *word)
{
	return strncmp(text, word, strlen(word)) == 0;
}

char *trace_url(const char *template, const char *trace, const char *span)
{
	char *url;
	size_t length;
	FILE *file = memory_stream(&url, &length);
	for (const char *at = trace[0] && template ? template : ""; *at;) {
		bool is_trace = begins_with(at, trace_word), is_span = begins_with(at, span_word);
		if (is_trace || is_span) {
			fputs(is_trace ? trace : span, file);
			at += strlen(is_trace ? trace_word : span_word);
		} else {
			fputc(*at++, file);
		}
	}
	fclose(file);
	return url;
}

int trace_url_check(const char *template, char error[OPTIONS_ERROR_BYTES])
{
	if (!template || !template[0])
		return 0;
	if (!begins_with(template, "https://") && !begins_with(template, "http://"))
		snprintf(error, OPTIONS_ERROR_BYTES,
			 "--trace-url: \"%.60s\" does not begin with https:// or http://; give a "
			 "link with {trace} in it",
			 template);
	else if (!strstr(template, trace_word))
		snprintf(error, OPTIONS_ERROR_BYTES,
			 "--trace-url: \"%.60s\" has no {trace}; put it where the id goes",
			 template);
	else
		return 0;
	return -EINVAL;
}
