/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Name look-ups: one op each. What libc does inside them is not seen, but for look-up modules that
 * it loads, whose own calls appear as ops within.
 */
#include "hooks.h"

static uint64_t dns_begin(enum call call, struct caller caller)
{
	struct self *self = hook_enter();
	if (!self)
		return 0;
	uint64_t op =
		op_begin(self, KIND_DNS, call, 0, -1, caller_stack(self, caller), caller.frame);
	self_leave(self);
	return op;
}

static void dns_end(uint64_t op, bool has_failed)
{
	struct self *self = op ? hook_enter() : NULL;
	if (!self)
		return;
	op_end(self, op, has_failed ? OUTCOME_ERROR : OUTCOME_OK, 0);
	self_leave(self);
}

int hook_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
		     struct addrinfo **found)
{
	uint64_t op = dns_begin(CALL_getaddrinfo, CALLER);
	int result = real.getaddrinfo(node, service, hints, found);
	dns_end(op, result != 0);
	return result;
}

int hook_getnameinfo(const struct sockaddr *address, socklen_t size, char *host,
		     socklen_t host_room, char *service, socklen_t service_room, int flags)
{
	uint64_t op = dns_begin(CALL_getnameinfo, CALLER);
	int result = real.getnameinfo(address, size, host, host_room, service, service_room, flags);
	dns_end(op, result != 0);
	return result;
}

struct hostent *hook_gethostbyname(const char *name)
{
	uint64_t op = dns_begin(CALL_gethostbyname, CALLER);
	struct hostent *result = real.gethostbyname(name);
	dns_end(op, !result);
	return result;
}

struct hostent *hook_gethostbyname2(const char *name, int family)
{
	uint64_t op = dns_begin(CALL_gethostbyname2, CALLER);
	struct hostent *result = real.gethostbyname2(name, family);
	dns_end(op, !result);
	return result;
}
