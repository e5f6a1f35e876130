/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One end of a socket. See endpoint.h.
 *
 * An address may be longer, as the kernel says, than its room was, and a path in it need not be
 * ended.
 */
#include "endpoint.h"

#include <assert.h>

#include "syscalls.h"

#include "in_target.h"

static long get(struct endpoint *end, long number, int fd)
{
	socklen_t bytes = sizeof(end->address);
	long result;

	*end = (struct endpoint){ .address.any.sa_family = AF_UNSPEC };
	result = sys_call(number, fd, (long)&end->address, (long)&bytes, 0, 0, 0);
	if (result == 0)
		end->bytes = bytes < sizeof(end->address) ? bytes : sizeof(end->address);
	return result;
}

long endpoint_get_local(struct endpoint *end, int fd)
{
	return get(end, SYS_getsockname, fd);
}

long endpoint_get_peer(struct endpoint *end, int fd)
{
	return get(end, SYS_getpeername, fd);
}

void endpoint_set(struct endpoint *end, const void *address, size_t bytes)
{
	*end = (struct endpoint){ .address.any.sa_family = AF_UNSPEC };
	if (!address || bytes < sizeof(sa_family_t))
		return;
	end->bytes = bytes < sizeof(end->address) ? bytes : sizeof(end->address);
	memcpy(&end->address, address, end->bytes);
}

bool endpoint_is_inet(const struct endpoint *end)
{
	return end->address.any.sa_family == AF_INET || end->address.any.sa_family == AF_INET6;
}

uint32_t endpoint_port(const struct endpoint *end)
{
	bool is_v6 = end->address.any.sa_family == AF_INET6;

	return ntohs(is_v6 ? end->address.v6.sin6_port : end->address.v4.sin_port);
}

static void put_v4(struct text *text, const uint8_t *bytes)
{
	for (int i = 0; i < 4; i++) {
		if (i > 0)
			text_put_literal(text, ".");
		text_put_u64(text, bytes[i]);
	}
}

/* The longest run of at least two zero groups, which is written as "::"; 8: there is none. */
static int zeros_begin(const uint8_t *bytes, int *count)
{
	int begin = 8;

	*count = 1;
	for (int i = 0; i < 8; i++) {
		int k = i;

		while (k < 8 && bytes[2 * k] == 0 && bytes[2 * k + 1] == 0)
			k++;
		if (k - i > *count) {
			begin = i;
			*count = k - i;
		}
	}
	return begin;
}

static void put_group(struct text *text, uint32_t group)
{
	static const char digits[] = "0123456789abcdef";

	for (int shift = 12; shift >= 0; shift -= 4)
		if (shift == 0 || group >> shift)
			text_put_bytes(text, &digits[group >> shift & 15], 1);
}

static void put_v6(struct text *text, const uint8_t *bytes)
{
	int zeros, begin = zeros_begin(bytes, &zeros);

	text_put_literal(text, "[");
	for (int i = 0; i < 8; i++) {
		if (i == begin) {
			text_put_literal(text, "::");
			i += zeros - 1;
			continue;
		}
		put_group(text, (uint32_t)bytes[2 * i] << 8 | bytes[2 * i + 1]);
		if (i < 7 && i + 1 != begin)
			text_put_literal(text, ":");
	}
	text_put_literal(text, "]");
}

void endpoint_put_inet(struct text *text, const struct endpoint *end)
{
	const struct in6_addr *v6 = &end->address.v6.sin6_addr;
	sa_family_t family = end->address.any.sa_family;

	if (family == AF_INET)
		put_v4(text, (const uint8_t *)&end->address.v4.sin_addr);
	else if (family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(v6))
		put_v4(text, v6->s6_addr + 12);
	else if (family == AF_INET6)
		put_v6(text, v6->s6_addr);
	else
		text_put_literal(text, "*");
	if (family == AF_UNSPEC)
		return;
	text_put_literal(text, ":");
	text_put_u64(text, endpoint_port(end));
}

/* A name of the abstract kind begins with a NUL. */
size_t endpoint_path_bytes(const struct endpoint *end)
{
	size_t bytes = end->bytes - offsetof(struct sockaddr_un, sun_path);

	if (end->address.any.sa_family != AF_UNIX ||
	    end->bytes <= offsetof(struct sockaddr_un, sun_path))
		return 0;
	return end->address.path.sun_path[0] ? strnlen(end->address.path.sun_path, bytes) : bytes;
}

void endpoint_put_path(struct text *text, const struct endpoint *end)
{
	const char *path = end->address.path.sun_path;
	size_t bytes = endpoint_path_bytes(end);

	assert(bytes > 0);
	if (path[0] == '\0')
		text_put_literal(text, "@");
	text_put_bytes(text, path + (path[0] == '\0'), bytes - (path[0] == '\0'));
}
