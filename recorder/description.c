/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The description of one descriptor. See description.h.
 *
 * getsockname() comes first: what is no socket answers ENOTSOCK at once, and is told by its link in
 * /proc. Which sockets are a pair is noted when they are made: nobody can tell later. Whether a
 * connection was accepted is known from the accept() that made it. For one that is older than the
 * recording, its local end tells: a port where this process listens, or the end that has the path.
 * For the former the lowest descriptors are searched once for sockets that listen.
 */
#include "description.h"

#include <assert.h>
#include <sys/vfs.h>

#include "atomics.h"
#include "sequence.h"
#include "syscalls.h"

#include "in_target.h"

enum {
	PORTS = 65536,
	PAIRS_MAX = 4096, /* newer pairs take the places of older ones */
	FILES_MAX = 1024, /* so do newer paths */
	PEER_ASKED = 1,   /* no socket's inode: somebody is looking for it */
	MQUEUE_MAGIC = 0x19800202,
	LISTENERS_SCANNED = 256 /* sockets that listen are made early and have low numbers */
};

_Static_assert(DESCRIPTION_BYTES > DESCRIPTION_LINK_BYTES + 64,
	       "a path fits, with what stands around it");

/* All relaxed: each word says something for itself. Written by any thread. */
static uint32_t eventfd_count; /* goes on in a forked child, whose process is another */
static uint32_t has_scanned;
static uint64_t pipe_device;           /* of all pipes without a name; 0 = none was seen yet */
static uint64_t listening[PORTS / 64]; /* bit = this process listens, or did, at that port */
static uint64_t pairs[PAIRS_MAX];      /* inode | inode of its peer << 32, by inode */
static uint64_t files[FILES_MAX];      /* hashes of paths that were files' */

/* Ports and pairs stay known: a forked child serves connections that its parent accepted. */
void description_forget(void)
{
	store_relaxed(&has_scanned, 0);
}

/* --- Sockets -------------------------------------------------------------------------------- */

static void put_inode(struct text *text, uint64_t inode)
{
	text_put_literal(text, "[");
	text_put_u64(text, inode);
	text_put_literal(text, "]");
}

static int32_t socket_option(int fd, int option)
{
	int32_t value = 0;
	socklen_t bytes = sizeof(value);

	return sys_getsockopt(fd, SOL_SOCKET, option, &value, &bytes) == 0 ? value : -1;
}

static void note_listener(const struct endpoint *end)
{
	uint32_t port = endpoint_port(end);

	or_release(&listening[port / 64], UINT64_C(1) << (port % 64));
}

static void scan_for_listeners(struct endpoint *end)
{
	if (exchange_acq_rel(&has_scanned, 1))
		return;
	for (int fd = 0; fd < LISTENERS_SCANNED; fd++)
		if (socket_option(fd, SO_ACCEPTCONN) > 0 && endpoint_get_local(end, fd) == 0 &&
		    endpoint_is_inet(end))
			note_listener(end);
}

static bool is_listened_at(struct description *description, const struct endpoint *end)
{
	uint32_t port = endpoint_port(end);

	scan_for_listeners(&description->other_end);
	return load_relaxed(&listening[port / 64]) >> (port % 64) & 1;
}

static void put_connection(struct description *description, const struct endpoint *local,
			   const struct endpoint *peer)
{
	struct text *text = &description->text;
	static const struct endpoint anybody;

	endpoint_put_inet(text,
			  description->is_crowded && !description->is_accepted ? &anybody : local);
	text_put_literal(text, ">");
	endpoint_put_inet(text,
			  description->is_crowded && description->is_accepted ? &anybody : peer);
}

static void describe_inet(struct description *description, int fd, const struct endpoint *local)
{
	struct text *text = &description->text;
	int32_t type = socket_option(fd, SO_TYPE);
	struct endpoint *peer = &description->peer_end;

	text_put(text, type == SOCK_STREAM ? "tcp " : type == SOCK_DGRAM ? "udp " : "ip ");
	if (endpoint_get_peer(peer, fd) != 0)
		endpoint_set(peer, description->peer, description->peer_bytes);
	if (type == SOCK_STREAM && !endpoint_is_inet(peer) &&
	    socket_option(fd, SO_ACCEPTCONN) > 0) {
		note_listener(local);
		text_put_literal(text, "listen ");
		endpoint_put_inet(text, local);
		return;
	}
	if (type == SOCK_STREAM)
		description->is_passing = !endpoint_is_inet(peer);
	else if (type == SOCK_DGRAM)
		description->is_passing = endpoint_port(local) == 0;
	if (type == SOCK_STREAM && !description->is_accepted && endpoint_is_inet(peer))
		description->is_accepted = is_listened_at(description, local);
	put_connection(description, local, peer);
}

static void put_unix(struct text *text, int fd)
{
	int32_t type = socket_option(fd, SO_TYPE);

	text_put_literal(text, "unix");
	text_put(text, type == SOCK_DGRAM ? " dgram" : type == SOCK_SEQPACKET ? " seqpacket" : "");
}

static uint64_t *pair_at(uint64_t inode)
{
	return &pairs[inode % PAIRS_MAX];
}

void description_pair(int fd, int other)
{
	struct stat status, other_status;

	if (sys_fstat(fd, &status) != 0 || sys_fstat(other, &other_status) != 0 ||
	    (status.st_ino | other_status.st_ino) > UINT32_MAX)
		return;
	store_relaxed(pair_at(status.st_ino), status.st_ino | other_status.st_ino << 32);
	store_relaxed(pair_at(other_status.st_ino), other_status.st_ino | status.st_ino << 32);
}

/* Its peer's inode; 0: not known. */
static uint32_t peer_of(uint64_t inode)
{
	uint64_t pair = load_relaxed(pair_at(inode));

	return (uint32_t)pair == inode && pair >> 32 != PEER_ASKED ? (uint32_t)(pair >> 32) : 0;
}

/* Nobody saw the two meet: whoever may make a descriptor asks the kernel, once. */
static void want_peer(struct description *description, uint64_t inode)
{
	uint64_t asked = inode | (uint64_t)PEER_ASKED << 32;

	if (inode > UINT32_MAX || peer_of(inode) != 0 || load_relaxed(pair_at(inode)) == asked)
		return;
	store_relaxed(pair_at(inode), asked);
	description->lonely = (uint32_t)inode;
}

static void put_pair(struct text *text, uint64_t inode)
{
	uint32_t peer = peer_of(inode);

	text_put_literal(text, ":");
	put_inode(text, inode);
	if (peer == 0)
		return;
	text_put_literal(text, ">");
	put_inode(text, peer);
}

/* A datagram goes by names, of which either end may have one. */
static void describe_names(struct description *description, const struct endpoint *local,
			   const struct endpoint *peer, uint64_t inode)
{
	struct text *text = &description->text;

	text_put_literal(text, " ");
	if (endpoint_path_bytes(local) > 0)
		endpoint_put_path(text, local);
	else
		text_put_literal(text, "*");
	if (endpoint_path_bytes(peer) > 0) {
		text_put_literal(text, ">");
		endpoint_put_path(text, peer);
	}
	if (description->is_crowded)
		return;
	text_put_literal(text, "#");
	text_put_u64(text, inode);
}

/* The end that has the path that the two met at; the other one when none has. */
static const struct endpoint *meeting_end(struct description *description,
					  const struct endpoint *local, const struct endpoint *peer)
{
	if (endpoint_path_bytes(peer) > 0 && !description->is_accepted)
		return peer;
	if (endpoint_path_bytes(local) > 0 && peer->bytes > 0)
		description->is_accepted = true;
	return local;
}

static void describe_unix(struct description *description, int fd, const struct endpoint *local,
			  uint64_t inode)
{
	struct text *text = &description->text;
	bool is_listening = socket_option(fd, SO_ACCEPTCONN) > 0;
	struct endpoint *peer = &description->peer_end;
	const struct endpoint *named;

	put_unix(text, fd);
	if (endpoint_get_peer(peer, fd) != 0)
		endpoint_set(peer, description->peer, description->peer_bytes);
	description->is_passing =
		peer->bytes == 0 && !is_listening && socket_option(fd, SO_TYPE) != SOCK_DGRAM;
	if (socket_option(fd, SO_TYPE) == SOCK_DGRAM &&
	    (endpoint_path_bytes(local) > 0 || endpoint_path_bytes(peer) > 0)) {
		describe_names(description, local, peer, inode);
		return;
	}
	named = meeting_end(description, local, peer);
	if (endpoint_path_bytes(named) > 0) {
		text_put(text, is_listening ? " listen " : " ");
		endpoint_put_path(text, named);
	}
	if (description->is_crowded || is_listening)
		return;
	if (peer->bytes > 0)
		want_peer(description, inode);
	if (endpoint_path_bytes(named) == 0) {
		put_pair(text, inode);
	} else {
		text_put_literal(text, "#");
		text_put_u64(text, inode);
	}
}

static void describe_socket(struct description *description, int fd, const struct endpoint *local)
{
	struct text *text = &description->text;
	struct stat *status = &description->status;

	if (endpoint_is_inet(local)) {
		describe_inet(description, fd, local);
		return;
	}
	status->st_ino = 0;
	(void)sys_fstat(fd, status);
	if (local->address.any.sa_family == AF_UNIX) {
		describe_unix(description, fd, local, status->st_ino);
	} else if (local->address.any.sa_family == AF_NETLINK) {
		text_put_literal(text, "netlink");
	} else {
		text_put_literal(text, "socket");
		if (!description->is_crowded) {
			text_put_literal(text, ":");
			put_inode(text, status->st_ino);
		}
	}
}

/* --- Everything else ------------------------------------------------------------------------ */

static bool begins_with(const char *string, const char *start)
{
	return strncmp(string, start, strlen(start)) == 0;
}

static void put_folded(struct text *text, const char *path, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++) {
		bool is_digit = path[i] >= '0' && path[i] <= '9';

		if (!is_digit)
			text_put_bytes(text, path + i, 1);
		else if (i == 0 || path[i - 1] < '0' || path[i - 1] > '9')
			text_put_literal(text, "N");
	}
}

/* A queue of POSIX has a name like that of a file in the root, and an inode of its own. */
static bool is_queue(int fd, const char *name)
{
	struct statfs status;

	return !strchr(name + 1, '/') &&
	       sys_call(SYS_fstatfs, fd, (long)&status, 0, 0, 0, 0) == 0 &&
	       status.f_type == MQUEUE_MAGIC;
}

static void describe_queue(struct description *description, const char *name, size_t bytes)
{
	struct text *text = &description->text;

	text_put_literal(text, "mqueue ");
	text_put_bytes(text, name, bytes);
	if (description->is_crowded)
		return;
	text_put_literal(text, "#");
	text_put_u64(text, description->status.st_ino);
}

static void describe_path(struct description *description, int fd, const char *path, uint32_t mode)
{
	static const char gone[] = " (deleted)";
	struct text *text = &description->text;
	size_t bytes = strlen(path);

	if (S_ISCHR(mode) &&
	    (begins_with(path, "/dev/pts/") || begins_with(path, "/dev/tty") ||
	     begins_with(path, "/dev/ptmx") || begins_with(path, "/dev/console"))) {
		text_put_literal(text, "tty");
		return;
	}
	if (bytes > sizeof(gone) && strcmp(path + bytes - (sizeof(gone) - 1), gone) == 0)
		bytes -= sizeof(gone) - 1;
	if (S_ISREG(mode) && is_queue(fd, path)) {
		describe_queue(description, path, bytes);
		return;
	}
	while (description->is_crowded && bytes > 1 && path[bytes - 1] != '/')
		bytes--;
	if (S_ISFIFO(mode)) {
		text_put_literal(text, "fifo ");
		text_put_bytes(text, path, bytes);
	} else {
		text_put_literal(text, "file ");
		put_folded(text, path, bytes);
	}
}

uint64_t description_next_origin(void)
{
	return (uint64_t)sys_getpid() << 32 | (add_relaxed(&eventfd_count, 1) + 1);
}

/* The kernel gives all eventfds one inode: one that nobody saw being made is the first's who uses
 * it. */
static uint64_t origin_of(struct description *description)
{
	uint64_t none = 0, next;

	if (!description->origin)
		return description_next_origin();
	if (load_relaxed(description->origin) != 0)
		return load_relaxed(description->origin);
	next = description_next_origin();
	return cas_acq_rel(description->origin, &none, next) ? next : none;
}

static void put_origin(struct text *text, uint64_t origin)
{
	text_put_literal(text, ":[");
	text_put_u64(text, origin >> 32);
	text_put_literal(text, ":");
	text_put_u64(text, (uint32_t)origin);
	text_put_literal(text, "]");
}

/* "anon_inode:[eventpoll]", "anon_inode:inotify" */
static void describe_anonymous(struct description *description, const char *name)
{
	struct text *text = &description->text;

	name += *name == '[';
	if (begins_with(name, "eventpoll"))
		text_put_literal(text, "epoll");
	else
		text_put_bytes(text, name, strcspn(name, "]"));
	if (!begins_with(name, "eventfd") || description->is_crowded)
		return;
	put_origin(text, origin_of(description));
}

/* No /proc, or a program that may not look into it. */
static void describe_mode(struct description *description, const struct stat *status)
{
	struct text *text = &description->text;

	if (!S_ISFIFO(status->st_mode)) {
		text_put(text, S_ISCHR(status->st_mode) ? "device" : "file");
		return;
	}
	text_put_literal(text, "pipe");
	if (description->is_crowded)
		return;
	text_put_literal(text, ":");
	put_inode(text, status->st_ino);
}

/* A path that says by itself what the link in /proc would, at a tenth of the cost. */
static bool is_plain(const char *path)
{
	return path && path[0] == '/' && !begins_with(path, "/proc/") &&
	       !begins_with(path, "/dev/") && !strstr(path, "//") && !strstr(path, "/./") &&
	       !strstr(path, "/../") && strlen(path) < DESCRIPTION_LINK_BYTES;
}

static void describe_link(struct description *description, int fd, const struct stat *status)
{
	static const char anonymous[] = "anon_inode:";
	char *link = description->link;
	char name[40];
	struct text of_link = { .bytes = name, .size = sizeof(name) };
	long bytes;

	text_put_literal(&of_link, "/proc/thread-self/fd/");
	text_put_u64(&of_link, (uint64_t)fd);
	(void)text_end(&of_link);
	bytes = sys_readlink(name, link, DESCRIPTION_LINK_BYTES - 1);
	link[bytes > 0 ? bytes : 0] = '\0';
	if (link[0] == '/')
		describe_path(description, fd, link, status->st_mode);
	else if (begins_with(link, anonymous))
		describe_anonymous(description, link + sizeof(anonymous) - 1);
	else
		describe_mode(description, status);
	if (begins_with(link, "pipe:"))
		store_relaxed(&pipe_device, status->st_dev);
}

/* Never 0. */
static uint64_t hash_path(const char *path)
{
	uint64_t hash = 0, word = 0;

	for (size_t left = strlen(path), step; left > 0; left -= step, path += step) {
		step = left < sizeof(word) ? left : sizeof(word);
		memcpy(&word, path, step);
		hash = sequence_scatter(hash ^ word);
	}
	return hash | 1;
}

/* A server may open one file for each request. So a path that was a file's is one's again, and
 * nothing is asked. Known race: meanwhile it has become another kind of thing's. */
static void describe_plain(struct description *description, int fd)
{
	uint64_t hash = hash_path(description->path);
	uint64_t *file = &files[(hash >> 32) % FILES_MAX];
	struct stat *status = &description->status;

	status->st_mode = 0;
	if (load_relaxed(file) != hash && sys_fstat(fd, status) != 0)
		return;
	describe_path(description, fd, description->path, status->st_mode);
	if (S_ISREG(status->st_mode) && begins_with(description->bytes, "file "))
		store_relaxed(file, hash);
}

static void describe_file(struct description *description, int fd)
{
	struct stat *status = &description->status;

	if (is_plain(description->path))
		describe_plain(description, fd);
	else if (sys_fstat(fd, status) != 0)
		return;
	else if (S_ISFIFO(status->st_mode) && status->st_dev == load_relaxed(&pipe_device))
		describe_mode(description, status);
	else
		describe_link(description, fd, status);
}

/* --- The whole ------------------------------------------------------------------------------ */

void description_begin(struct description *description, bool is_crowded)
{
	description->text =
		(struct text){ .bytes = description->bytes, .size = sizeof(description->bytes) };
	description->is_crowded = is_crowded;
	description->is_accepted = description->is_passing = false;
	description->lonely = 0;
	description->path = NULL;
	description->origin = NULL;
	description->peer = NULL;
	description->peer_bytes = 0;
}

void description_make(struct description *description, int fd)
{
	assert(fd >= 0);
	if (!description->path && endpoint_get_local(&description->local_end, fd) == 0)
		describe_socket(description, fd, &description->local_end);
	else
		describe_file(description, fd);
}
