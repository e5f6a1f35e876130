/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks the kernel's socket diagnostics for the peers of sockets. See peers.h.
 *
 * Wishes are entries without a peer, in a table that only grows: the threads take places by an
 * atomic count, and the drainer goes on where it stopped. A socket that was closed before it was
 * asked for, and one whose program may not ask (no such kernel module, seccomp), is counted.
 */
#include "peers.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <string.h>

#include "syscalls.h"

#include "in_target.h"

enum { ANSWER_BYTES = 1024, ANSWER_WAIT_MS = 100 };

struct question {
	struct nlmsghdr header;
	struct unix_diag_req request;
};

void peers_want(struct arena *arena, uint32_t inode)
{
	uint32_t index = add_relaxed(&arena->peers_wanted, 1);
	uint64_t at = ARENA_PEERS + (uint64_t)index * sizeof(struct peer_entry);

	if (index >= PEERS_MAX || !arena_ready(arena, at, sizeof(struct peer_entry))) {
		arena_count(arena, COUNTER_unknown_peers);
		return;
	}
	/* Pairs with peers_find(), which stops at a place that is taken and not filled yet. */
	store_release(&((struct peer_entry *)arena_at(arena, at))->inode, inode);
}

static bool ask(int fd, uint32_t inode)
{
	struct question question = {
		.header = { .nlmsg_len = sizeof(question),
			    .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			    .nlmsg_flags = NLM_F_REQUEST },
		.request = { .sdiag_family = AF_UNIX,
			     .udiag_states = UINT32_MAX,
			     .udiag_ino = inode,
			     .udiag_show = UDIAG_SHOW_PEER,
			     .udiag_cookie = { INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE } },
	};

	return sys_send(fd, &question, sizeof(question), MSG_DONTWAIT) == (long)sizeof(question);
}

/* The peer in an answer; 0: it says none. */
static uint32_t peer_in(const char *answer, size_t bytes)
{
	const size_t before = NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(struct unix_diag_msg));
	const struct nlmsghdr *header = (const struct nlmsghdr *)answer;
	uint32_t peer = 0;

	if (bytes < before || header->nlmsg_type != SOCK_DIAG_BY_FAMILY)
		return 0;
	for (size_t at = before; at + sizeof(struct rtattr) <= bytes;) {
		const struct rtattr *attribute = (const struct rtattr *)(answer + at);

		if (attribute->rta_type == UNIX_DIAG_PEER && at + RTA_LENGTH(sizeof(peer)) <= bytes)
			memcpy(&peer, answer + at + RTA_LENGTH(0), sizeof(peer));
		at += attribute->rta_len < sizeof(*attribute) ? sizeof(*attribute)
							      : RTA_ALIGN(attribute->rta_len);
	}
	return peer;
}

/* The kernel answers while it takes the question: the wait is for what never should be. */
static uint32_t find(int fd, uint32_t inode)
{
	_Alignas(struct nlmsghdr) char answer[ANSWER_BYTES];
	struct pollfd poll = { fd, POLLIN, 0 };
	long got;

	if (fd < 0 || !ask(fd, inode) || sys_poll(&poll, 1, ANSWER_WAIT_MS) != 1)
		return 0;
	got = sys_recv(fd, answer, sizeof(answer), MSG_DONTWAIT);
	return got > 0 ? peer_in(answer, (size_t)got) : 0;
}

void peers_find(struct arena *arena)
{
	uint32_t wanted = load_relaxed(&arena->peers_wanted);
	struct peer_entry *entries = (struct peer_entry *)arena_at(arena, ARENA_PEERS);
	int fd;

	if (wanted > PEERS_MAX)
		wanted = PEERS_MAX;
	if (arena->peers_sought == wanted)
		return;
	fd = (int)SYS3(socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	while (arena->peers_sought < wanted) {
		struct peer_entry *entry = entries + arena->peers_sought;
		uint64_t offset = ARENA_PEERS + (uint64_t)((char *)entry - (char *)entries);
		uint32_t inode = 0;

		if (arena_granule_is_ready(arena, offset / ARENA_GRANULE_BYTES))
			inode = load_acquire(&entry->inode);
		if (inode == 0)
			break;
		store_relaxed(&entry->peer, find(fd, inode));
		if (entry->peer == 0)
			arena_count(arena, COUNTER_unknown_peers);
		store_release(&arena->peers_sought, arena->peers_sought + 1);
	}
	if (fd >= 0)
		sys_close(fd);
}
