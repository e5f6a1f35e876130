/* SPDX-License-Identifier: Apache-2.0 */
/* Closures by number, lambdas by the place where they are written; closures.h has the contract. */
#include "closures.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES_MAX = 1024 };

static const char unnumbered[] = "{{closure}}", numbered[] = "{closure#";

/* "{closure#1}<...>" is what the compiler calls it, "...::{{closure}}" what the linker does. */
static const char *closure_name(struct demangler *demangler, const char *readable,
				const char *own_name)
{
	size_t length = strlen(readable), most = sizeof(unnumbered) - 1;
	const char *end = own_name ? strchr(own_name, '}') : NULL;
	char text[NAME_BYTES_MAX];

	if (!end || strncmp(own_name, numbered, sizeof(numbered) - 1) != 0 || length < most ||
	    length >= sizeof(text) / 2 || end - own_name >= (ptrdiff_t)sizeof(text) / 2 ||
	    strcmp(readable + length - most, unnumbered) != 0)
		return readable;
	snprintf(text, sizeof(text), "%.*s%.*s", (int)(length - most), readable,
		 (int)(end + 1 - own_name), own_name);
	return demangle_intern(demangler, text);
}

/* Of those in the standard library's headers it says so, as for all its functions. */
static const char *lambda_name(struct demangler *demangler, const struct unitindex_frame *frame)
{
	const char *slash = strrchr(frame->declared, '/');
	char text[NAME_BYTES_MAX];

	snprintf(text, sizeof(text), "%soperator() %s:%" PRIu32,
		 strstr(frame->declared, "/c++/") ? "std::" : "",
		 slash ? slash + 1 : frame->declared, frame->declared_line);
	return demangle_intern(demangler, text);
}

const char *closures_name(struct demangler *demangler, const struct unitindex_frame *frame)
{
	if (!frame->function)
		return NULL;
	if (strcmp(frame->function, "operator()") == 0 && frame->declared && frame->declared_line)
		return lambda_name(demangler, frame);
	return closure_name(demangler, demangle_symbol(demangler, frame->function),
			    frame->own_name);
}
