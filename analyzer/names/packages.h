/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code provenance: which package each file with code is from, and its version.
 *
 * The dump says it first. Else the file itself does, if it is here and still of the recorded
 * build. There are dpkg's lists, the note .note.package, and the directories that languages'
 * package managers have. A file of none of these is the program's own. Built once, read-only
 * afterwards; strings are added to the recording. One thread builds it.
 */
#ifndef WCPROF_PACKAGES_H
#define WCPROF_PACKAGES_H

#include "recording/recording.h"

enum package_sort {
	PACKAGE_UNKNOWN, /* the file is not here */
	PACKAGE_OWN,     /* of no package: the program's own */
	PACKAGE_DEB,
	PACKAGE_NOTE, /* of another distribution, by the file's note */
	PACKAGE_PYTHON,
	PACKAGE_NODE,
	PACKAGE_GEM,
	PACKAGE_JDK
};

enum { PACKAGE_SORTS = PACKAGE_JDK + 1 };

struct package {
	enum package_sort sort;
	uint32_t name;    /* string id, 0 = none */
	uint32_t version; /* string id, 0 = not known */
};

struct packages {
	struct package *of_module;
	size_t module_count;
};

/* Files are looked for below `root` first; "" = nowhere else. */
void packages_build(struct packages *packages, struct recording *recording, const char *root);
void packages_free(struct packages *packages);

/* Of a module; NO_INDEX is of none. */
struct package packages_of(const struct packages *packages, uint32_t module);

/* "deb" ...; "" = not known. */
const char *package_word(enum package_sort sort);
/* False: there is no such word. */
bool package_parse(const char *word, enum package_sort *sort);

#endif
