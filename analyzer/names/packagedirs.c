/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules of package managers; packagedirs.h has the contract.
 *
 *     .../site-packages/NAME/...   beside NAME-VERSION.dist-info, also of NAME.libs; dist-packages
 *     .../node_modules/NAME/...    NAME/package.json has the version; @SCOPE/NAME, too
 *     .../gems/NAME-VERSION/...    and .../extensions/PLATFORM/ABI/NAME-VERSION/...
 *     HOME/lib/...                 with HOME/release: a JDK, whose JAVA_VERSION that has
 *
 * The innermost directory counts.
 */
#include "packagedirs.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format.h"

/* The part of a path behind the last "/NAME/"; NULL = it has none. */
static const char *behind(const char *path, const char *name)
{
	size_t length = strlen(name);
	const char *found = NULL;

	for (const char *at = path; (at = strchr(at, '/')); at++)
		if (strncmp(at + 1, name, length) == 0 && at[1 + length] == '/')
			found = at + length + 2;
	return found && *found ? found : NULL;
}

static void copy(char to[JSON_TEXTS_BYTES], const char *from, size_t length)
{
	snprintf(to, JSON_TEXTS_BYTES, "%.*s", (int)(length < INT_MAX ? length : INT_MAX), from);
}

/* --- Python --- */

/* Names of distributions and of their modules differ in -, _, . and case. */
static bool is_same_name(const char *a, size_t a_length, const char *b, size_t b_length)
{
	if (a_length != b_length)
		return false;
	for (size_t i = 0; i < a_length; i++) {
		int left = tolower((unsigned char)a[i]), right = tolower((unsigned char)b[i]);

		left = left == '-' || left == '.' ? '_' : left;
		right = right == '-' || right == '.' ? '_' : right;
		if (left != right)
			return false;
	}
	return true;
}

/* NAME-VERSION.dist-info, or .egg-info. */
static bool take_info(struct package_dir *found, const char *entry, const char *name, size_t length)
{
	const char *dash = strchr(entry, '-'), *end = strstr(entry, ".dist-info");

	end = end ? end : strstr(entry, ".egg-info");
	if (!dash || !end || end < dash ||
	    !is_same_name(entry, (size_t)(dash - entry), name, length))
		return false;
	copy(found->name, entry, (size_t)(dash - entry));
	copy(found->version, dash + 1, (size_t)(end - dash - 1));
	return true;
}

static bool find_python(struct package_dir *found, const char *path, const char *root)
{
	const char *rest = behind(path, "site-packages");
	char directory[PATH_MAX];
	struct dirent *entry;

	rest = rest ? rest : behind(path, "dist-packages");
	if (!rest)
		return false;
	/* NAME/..., NAME.libs/..., NAME.cpython-311-x86_64-linux-gnu.so */
	size_t length = strcspn(rest, "/");
	size_t dot = strcspn(rest, "./");
	length = dot < length ? dot : length;
	copy(found->name, rest, length);
	found->sort = PACKAGE_PYTHON;
	if ((size_t)snprintf(directory, sizeof(directory), "%s%.*s", root, (int)(rest - path),
			     path) >= sizeof(directory))
		return true;
	DIR *listing = opendir(directory);
	while (listing && (entry = readdir(listing)))
		if (take_info(found, entry->d_name, rest, length))
			break;
	if (listing)
		closedir(listing);
	return true;
}

/* --- Node, Ruby, Java --- */

static bool find_node(struct package_dir *found, const char *path, const char *root)
{
	static const char *const names[] = { "version" };
	const char *rest = behind(path, "node_modules");
	char file[PATH_MAX];

	if (!rest)
		return false;
	size_t length = strcspn(rest, "/");
	if (rest[0] == '@' && rest[length])
		length += 1 + strcspn(rest + length + 1, "/");
	copy(found->name, rest, length);
	found->sort = PACKAGE_NODE;
	if ((size_t)snprintf(file, sizeof(file), "%s%.*s/package.json", root,
			     (int)(rest - path + (ptrdiff_t)length), path) < sizeof(file))
		(void)json_texts_of_file(file, names, 1, &found->version);
	return true;
}

/* NAME-VERSION/... */
static bool take_gem(struct package_dir *found, const char *rest)
{
	size_t length = strcspn(rest, "/"), dash = length;

	while (dash > 0 && !(rest[dash] == '-' && isdigit((unsigned char)rest[dash + 1])))
		dash--;
	if (dash == 0 || !rest[length])
		return false;
	found->sort = PACKAGE_GEM;
	copy(found->name, rest, dash);
	copy(found->version, rest + dash + 1, length - dash - 1);
	return true;
}

static bool find_gem(struct package_dir *found, const char *path)
{
	const char *rest = behind(path, "gems"), *extension = behind(path, "extensions");

	for (int i = 0; extension && i < 2; i++) {
		extension = strchr(extension, '/');
		extension = extension ? extension + 1 : NULL;
	}
	return (rest && take_gem(found, rest)) || (extension && take_gem(found, extension));
}

/* JAVA_VERSION="17.0.9" */
static bool take_release(struct package_dir *found, FILE *file)
{
	static const char key[] = "JAVA_VERSION=\"";
	char line[512];

	while (fgets(line, sizeof(line), file)) {
		const char *value = line + sizeof(key) - 1;

		if (strncmp(line, key, sizeof(key) - 1) != 0)
			continue;
		found->sort = PACKAGE_JDK;
		strcpy(found->name, "jdk");
		copy(found->version, value, strcspn(value, "\""));
		return true;
	}
	return false;
}

static bool find_jdk(struct package_dir *found, const char *path, const char *root)
{
	const char *rest = behind(path, "lib");
	char name[PATH_MAX];

	if (!rest ||
	    (size_t)snprintf(name, sizeof(name), "%s%.*srelease", root,
			     (int)(rest - path) - (int)strlen("lib/"), path) >= sizeof(name))
		return false;
	FILE *file = fopen(name, "re");
	bool is_jdk = file && take_release(found, file);
	if (file)
		fclose(file);
	return is_jdk;
}

bool package_dir_find(struct package_dir *found, const char *path, const char *root)
{
	*found = (struct package_dir){ .sort = PACKAGE_UNKNOWN };
	return find_node(found, path, root) || find_python(found, path, root) ||
	       find_gem(found, path) || find_jdk(found, path, root);
}
