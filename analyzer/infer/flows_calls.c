/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which way a call moves bytes, by its name; flows.h has the contract.
 */
#include "flows.h"

#include <stddef.h>
#include <string.h>

/* The directions of a call on its descriptor, and on the other one where it has two. */
struct call_directions {
	enum flow_direction own;
	enum flow_direction other;
};

/*
 * Parts of the names of calls, also those of libc's streams. Of these the bytes are those that went
 * through the descriptor: where the buffer served, there is none.
 */
static const char *const reading[] = { "read", "recv", "receive", "rcv", "get", "scan", NULL };
static const char *const writing[] = { "write", "send",   "snd",   "put",     "print",
				       "flush", "fclose", "fseek", "fsetpos", NULL };

static bool begins_any(const char *rest, const char *const *parts)
{
	for (; *parts; parts++)
		if (**parts == *rest && strncmp(rest, *parts, strlen(*parts)) == 0)
			return true;
	return false;
}

/* Asked of every call many times: few letters begin a part. */
static enum flow_direction direction_in(const char *call)
{
	enum flow_direction found = FLOW_NONE;

	for (; *call; call++) {
		bool may_read = *call == 'r' || *call == 'g' || *call == 's';
		bool may_write = *call == 'w' || *call == 's' || *call == 'p' || *call == 'f';

		if (may_read && begins_any(call, reading))
			return FLOW_READ;
		if (may_write && begins_any(call, writing))
			found = FLOW_WRITE;
	}
	return found;
}

static struct call_directions directions_of(const char *call)
{
	if (strcmp(call, "splice") == 0)
		return (struct call_directions){ FLOW_READ, FLOW_WRITE };
	if (strcmp(call, "tee") == 0) /* the bytes that it reads stay there */
		return (struct call_directions){ FLOW_NONE, FLOW_WRITE };
	if (strncmp(call, "sendfile", 8) == 0)
		return (struct call_directions){ FLOW_WRITE, FLOW_READ };
	if (strcmp(call, "vmsplice") == 0)
		return (struct call_directions){ FLOW_WRITE, FLOW_NONE };
	return (struct call_directions){ direction_in(call), FLOW_NONE };
}

enum flow_direction flow_direction_of(const char *call)
{
	return directions_of(call).own;
}

enum flow_direction flow_other_direction_of(const char *call)
{
	return directions_of(call).other;
}
