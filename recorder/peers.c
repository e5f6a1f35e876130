/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks the kernel's socket diagnostics for the peers of sockets. See peers.h.
 *
 * Wishes are entries without a peer, in a table that only grows. A thread takes the next place by
 * writing its inode there, so that no place is taken and empty, and counts it. The drainer goes on
 * where it stopped. Sockets that stay without a peer are counted: closed before, no memory, or the
 * program may not ask (no such kernel module, seccomp).
 */
#include "peers.h"

#include <assert.h>
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

/* Pairs with peers_find(): the places below are taken. */
static void count_up_to(struct arena *arena, uint32_t taken)
{
	uint32_t wanted = load_relaxed(&arena->peers_wanted);

	while (wanted < taken && !cas_acq_rel(&arena->peers_wanted, &wanted, taken))
		;
}

void peers_want(struct arena *arena, uint32_t inode)
{
	for (uint32_t index = load_relaxed(&arena->peers_wanted); index < PEERS_MAX; index++) {
		uint64_t at = ARENA_PEERS + (uint64_t)index * sizeof(struct peer_entry);
		uint32_t nobody = 0;

		if (!arena_ready(arena, at, sizeof(struct peer_entry)))
			break;
		if (!cas_acq_rel(&((struct peer_entry *)arena_at(arena, at))->inode, &nobody,
				 inode))
			continue;
		count_up_to(arena, index + 1);
		return;
	}
	arena_count(arena, COUNTER_unknown_peers);
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
	/* Pairs with count_up_to(). */
	uint32_t wanted = load_acquire(&arena->peers_wanted);
	struct peer_entry *entries = (struct peer_entry *)arena_at(arena, ARENA_PEERS);
	int fd;

	assert(wanted <= PEERS_MAX);
	if (arena->peers_sought == wanted)
		return;
	fd = (int)SYS3(socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	while (arena->peers_sought < wanted) {
		struct peer_entry *entry = entries + arena->peers_sought;

		store_relaxed(&entry->peer, find(fd, entry->inode));
		if (entry->peer == 0)
			arena_count(arena, COUNTER_unknown_peers);
		store_release(&arena->peers_sought, arena->peers_sought + 1);
	}
	if (fd >= 0)
		sys_close(fd);
}
