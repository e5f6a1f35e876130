/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cgroups by their files. See cgroups.h.
 *
 * /proc/self/cgroup has the path within the hierarchy, /proc/self/mountinfo the part of the
 * hierarchy that is mounted. A container often sees only its own part, mounted as if it were all.
 * Then its path begins with the mount's root, and the rest of it lies below the mount point. Where
 * the two do not fit together, the mount point itself is taken for the cgroup. By raw system calls;
 * the analyzer, which links nothing of the recorder's, reads the usual places by stdio.
 */
#include "cgroups.h"

#include <string.h>

#include "text.h"

#include "in_target.h"

enum version { V1, V2 };

/* Without a limit version 1 says 2^63, less a page. */
static const uint64_t unlimited_bytes = UINT64_C(1) << 62;

static const struct version_files {
	const char *limits[2];
	const char *used;
	const char *idle; /* the key in memory.stat */
} files_of[CGROUP_VERSIONS] = {
	[V1] = { { "memory.limit_in_bytes", NULL },
		 "memory.usage_in_bytes",
		 "total_inactive_file" },
	[V2] = { { "memory.max", "memory.high" }, "memory.current", "inactive_file" },
};

/* --- Words ----------------------------------------------------------------------------------- */

/* Cuts off the next word, and leaves *at behind it; "" at the end. */
static char *take_word(char **at, const char *separators)
{
	char *word = *at;

	*at += strcspn(*at, separators);
	if (**at)
		*(*at)++ = '\0';
	return word;
}

static bool has_word(const char *list, const char *word)
{
	size_t bytes = strlen(word);

	for (const char *at = list; *at; at += strspn(at, ",")) {
		size_t length = strcspn(at, ",");

		if (length == bytes && memcmp(at, word, bytes) == 0)
			return true;
		at += length;
	}
	return false;
}

static bool is_octal(const char *at)
{
	return at[0] == '\\' && at[1] >= '0' && at[1] <= '3' && at[2] >= '0' && at[2] <= '7' &&
	       at[3] >= '0' && at[3] <= '7';
}

/* In mountinfo a blank is \040. */
static void unescape(char *word)
{
	char *to = word;

	for (const char *at = word; *at; to++)
		if (is_octal(at)) {
			*to = (char)((at[1] - '0') << 6 | (at[2] - '0') << 3 | (at[3] - '0'));
			at += 4;
		} else {
			*to = *at++;
		}
	*to = '\0';
}

/* --- Directories ------------------------------------------------------------------------------ */

/* "4:cpu,memory:/path" or "0::/path": the path of a version; NULL: the line is about another
 * controller. */
static const char *membership_path(char *line, const char *controller, enum version *version)
{
	char *at = line;
	const char *id = take_word(&at, ":");
	const char *controllers = take_word(&at, ":");
	bool is_v2 = strcmp(id, "0") == 0 && !*controllers;

	*version = is_v2 ? V2 : V1;
	return (is_v2 || has_word(controllers, controller)) && *at == '/' ? at : NULL;
}

struct mount {
	const char *root; /* the part of the hierarchy that is mounted */
	const char *point;
	enum version version;
};

/* "36 35 98:0 ROOT POINT rw,noatime shared:1 - TYPE SOURCE rw,memory". */
static bool parse_mount(char *line, const char *controller, struct mount *mount)
{
	const char *type, *word;
	char *root, *point;

	for (int i = 0; i < 3; i++)
		(void)take_word(&line, " ");
	root = take_word(&line, " ");
	point = take_word(&line, " ");
	unescape(root);
	unescape(point);
	do
		word = take_word(&line, " ");
	while (*word && strcmp(word, "-") != 0);
	type = take_word(&line, " ");
	(void)take_word(&line, " ");
	*mount = (struct mount){ root, point, strcmp(type, "cgroup2") == 0 ? V2 : V1 };
	return root[0] == '/' && point[0] == '/' &&
	       (mount->version == V2 ||
		(strcmp(type, "cgroup") == 0 && has_word(line, controller)));
}

/* The part of a path that is below a root; NULL: it is not below it. */
static const char *path_below(const char *path, const char *root)
{
	size_t bytes = strcmp(root, "/") == 0 ? 0 : strlen(root);

	if (strncmp(path, root, bytes) != 0 || (path[bytes] != '/' && path[bytes] != '\0'))
		return NULL;
	return strcmp(path + bytes, "/") == 0 ? "" : path + bytes;
}

/* In a name space of its own a cgroup outside shows as "/..": where that is, is not known. */
static void place(struct cgroup *cgroup, const struct mount *mount, const char *path)
{
	const char *below = strstr(path, "/..") ? NULL : path_below(path, mount->root);
	struct text text = { .bytes = cgroup->path, .size = sizeof(cgroup->path) };

	/* Later mounts hide earlier ones; one that shows the cgroup itself is better than none. */
	if (!below && cgroup->path[0])
		return;
	text_put(&text, mount->point);
	cgroup->mount_bytes = text.used;
	text_put(&text, below ? below : "");
	if (!text_end(&text))
		cgroup->path[0] = '\0';
}

static void find_memberships(struct cgroups *cgroups, const char *memberships)
{
	enum version version;
	const char *path;
	char *line;

	for (int i = V1; i <= V2; i++)
		cgroups->memberships[i][0] = '\0';
	if (!lines_open(&cgroups->lines, memberships))
		return;
	while ((line = lines_next(&cgroups->lines)) != NULL) {
		struct text text = { .size = CGROUP_PATH_BYTES };

		path = membership_path(line, cgroups->controller, &version);
		text.bytes = cgroups->memberships[version];
		if (!path || text.bytes[0])
			continue;
		text_put(&text, path);
		if (!text_end(&text))
			text.bytes[0] = '\0';
	}
	lines_close(&cgroups->lines);
}

/* In one pass: the kernel takes some 36 us to write out the mounts. */
static void find_directories(struct cgroups *cgroups, const char *mounts)
{
	struct mount mount;
	char *line;

	if (!lines_open(&cgroups->lines, mounts))
		return;
	while ((line = lines_next(&cgroups->lines)) != NULL) {
		if (!parse_mount(line, cgroups->controller, &mount))
			continue;
		if (cgroups->memberships[mount.version][0])
			place(&cgroups->versions[mount.version], &mount,
			      cgroups->memberships[mount.version]);
	}
	lines_close(&cgroups->lines);
}

void cgroups_find(struct cgroups *cgroups, const char *controller, const char *memberships,
		  const char *mounts)
{
	cgroups->controller = controller;
	for (int version = V1; version <= V2; version++)
		cgroups->versions[version].path[0] = '\0';
	find_memberships(cgroups, memberships);
	find_directories(cgroups, mounts);
}

/* --- Limits ----------------------------------------------------------------------------------- */

static bool open_file(struct cgroups *cgroups, const char *directory, size_t bytes,
		      const char *name)
{
	struct text path = { .bytes = cgroups->file, .size = sizeof(cgroups->file) };

	text_put_bytes(&path, directory, bytes);
	text_put_literal(&path, "/");
	text_put(&path, name);
	return text_end(&path) && lines_open(&cgroups->lines, cgroups->file);
}

/* The number that a file has, or unlimited_bytes. */
static uint64_t read_number(struct cgroups *cgroups, const char *directory, size_t bytes,
			    const char *name)
{
	uint64_t value = unlimited_bytes;
	const char *line;

	if (!open_file(cgroups, directory, bytes, name))
		return unlimited_bytes;
	line = lines_next(&cgroups->lines);
	/* "max", and what is no number, are no limit. */
	if (line && !text_parse_u64(line, strlen(line), &value))
		value = unlimited_bytes;
	lines_close(&cgroups->lines);
	return value < unlimited_bytes ? value : unlimited_bytes;
}

/* The number that follows a key in a file, or 0. */
static uint64_t read_key(struct cgroups *cgroups, const char *directory, size_t bytes,
			 const char *name, const char *key)
{
	uint64_t value = 0;
	char *line;

	if (!open_file(cgroups, directory, bytes, name))
		return 0;
	while ((line = lines_next(&cgroups->lines)) != NULL) {
		if (strcmp(take_word(&line, " "), key) != 0)
			continue;
		if (!text_parse_u64(line, strlen(line), &value))
			value = 0;
		break;
	}
	lines_close(&cgroups->lines);
	return value;
}

static void look_at(struct cgroups *cgroups, const char *directory, size_t bytes,
		    const struct version_files *files, cgroups_limit *take, void *context)
{
	uint64_t limit = read_number(cgroups, directory, bytes, files->limits[0]);
	uint64_t other =
		files->limits[1] ? read_number(cgroups, directory, bytes, files->limits[1]) : limit;
	uint64_t used, left;

	limit = other < limit ? other : limit;
	if (limit == unlimited_bytes)
		return;
	used = read_number(cgroups, directory, bytes, files->used);
	if (used == unlimited_bytes)
		return;
	left = limit > used ? limit - used : 0;
	/* It costs the kernel some time to sum this up. */
	if (left < limit / 2) {
		uint64_t idle = read_key(cgroups, directory, bytes, "memory.stat", files->idle);

		left = idle < limit - left ? left + idle : limit;
	}
	take(context, limit, left);
}

/* The directory above; 0: `bytes` are the mount point's. */
static size_t bytes_above(const struct cgroup *cgroup, size_t bytes)
{
	do
		bytes--;
	while (bytes > 0 && cgroup->path[bytes] != '/');
	return bytes >= cgroup->mount_bytes ? bytes : 0;
}

void cgroups_each(struct cgroups *cgroups, cgroups_limit *take, void *context)
{
	for (int version = V1; version <= V2; version++) {
		const struct cgroup *cgroup = &cgroups->versions[version];

		for (size_t bytes = strlen(cgroup->path); bytes > 0;
		     bytes = bytes_above(cgroup, bytes))
			look_at(cgroups, cgroup->path, bytes, &files_of[version], take, context);
	}
}

/* --- Quotas of CPU time ----------------------------------------------------------------------- */

/* The two numbers of cpu.max are microseconds: "max 100000" is no quota. */
static void read_max(struct cgroups *cgroups, const char *directory, size_t bytes,
		     uint64_t *quota_us, uint64_t *period_us)
{
	char *line;

	if (!open_file(cgroups, directory, bytes, "cpu.max"))
		return;
	if ((line = lines_next(&cgroups->lines)) != NULL) {
		const char *word = take_word(&line, " ");

		if (!text_parse_u64(word, strlen(word), quota_us) ||
		    !text_parse_u64(line, strlen(line), period_us))
			*quota_us = 0;
	}
	lines_close(&cgroups->lines);
}

/* The kernel takes no longer ones: what is more is unlimited. */
static bool is_quota(uint64_t us)
{
	return us > 0 && us < UINT64_C(1) << 48;
}

static bool quota_at(struct cgroups *cgroups, const char *directory, size_t bytes,
		     enum version version, struct cgroup_quota *quota)
{
	uint64_t quota_us = 0, period_us = 0;

	if (version == V2) {
		read_max(cgroups, directory, bytes, &quota_us, &period_us);
	} else {
		/* Without a quota version 1 says -1, which is no number here. */
		quota_us = read_number(cgroups, directory, bytes, "cpu.cfs_quota_us");
		period_us = read_number(cgroups, directory, bytes, "cpu.cfs_period_us");
	}
	if (!is_quota(quota_us) || !is_quota(period_us))
		return false;
	quota->milli_cpus = quota_us * 1000 / period_us;
	quota->milli_cpus += quota->milli_cpus == 0;
	quota->stopped_ns =
		version == V2
			? 1000 * read_key(cgroups, directory, bytes, "cpu.stat", "throttled_usec")
			: read_key(cgroups, directory, bytes, "cpu.stat", "throttled_time");
	return true;
}

void cgroups_each_quota(struct cgroups *cgroups, cgroups_quota *take, void *context)
{
	for (int version = V1; version <= V2; version++) {
		const struct cgroup *cgroup = &cgroups->versions[version];
		struct cgroup_quota quota;

		for (size_t bytes = strlen(cgroup->path); bytes > 0;
		     bytes = bytes_above(cgroup, bytes))
			if (quota_at(cgroups, cgroup->path, bytes, (enum version)version, &quota))
				take(context, &quota);
	}
}
