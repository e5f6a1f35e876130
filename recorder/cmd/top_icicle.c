/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks as an icicle; top_icicle.h has the contract.
 *
 * Functions of one name under one caller are one node. Nodes of a row are in the order of their
 * names, so that they keep their places from look to look. A node that is narrower than a column is
 * not seen.
 */
#include "top_icicle.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "visible.h"

enum { NODES_MAX = 16384, COLUMNS_MAX = 400, ROWS_MAX = 300, NAME_BYTES = 160 };
enum { CHARACTER_BYTES = 4 }; /* of a column: characters of no width find no room beyond that */
/* Of a node's time: a caller has nothing of its own if it has less. */
static const double nothing = 0.001;

struct node {
	double weight, other;
	uint32_t child; /* the first one, + 1; 0 = none */
	uint32_t next;  /* the next of its caller, + 1 */
	char name[NAME_BYTES];
};

struct icicle {
	struct node *nodes; /* the first is the root, which has no name */
	size_t count;
	icicle_write *write; /* NULL = shares */
	bool is_shortened;
	size_t columns, rows;
	size_t depth; /* of what is drawn */
	char *text;   /* rows of columns + 1 bytes, as characters may have more than one each */
	size_t row_bytes;
};

struct icicle *icicle_begin(void)
{
	struct icicle *icicle = calloc(1, sizeof(*icicle));

	if (icicle)
		icicle->nodes = calloc(NODES_MAX, sizeof(*icicle->nodes));
	if (icicle && icicle->nodes) {
		icicle->count = 1;
		return icicle;
	}
	free(icicle);
	return NULL;
}

void icicle_end(struct icicle *icicle)
{
	if (!icicle)
		return;
	free(icicle->nodes);
	free(icicle->text);
	free(icicle);
}

double icicle_total(const struct icicle *icicle)
{
	return icicle->nodes[0].weight;
}

void icicle_compare(struct icicle *icicle, icicle_write *write)
{
	icicle->write = write;
}

/* Its place among the others is by name. NULL: there are too many. */
static struct node *child_of(struct icicle *icicle, struct node *node, const char *name)
{
	uint32_t *link = &node->child;

	while (*link) {
		struct node *child = &icicle->nodes[*link - 1];
		int order = strncmp(child->name, name, NAME_BYTES - 1);

		if (order == 0)
			return child;
		if (order > 0)
			break;
		link = &child->next;
	}
	if (icicle->count == NODES_MAX)
		return NULL;
	struct node *made = &icicle->nodes[icicle->count++];

	*made = (struct node){ .next = *link };
	snprintf(made->name, sizeof(made->name), "%s", name);
	*link = (uint32_t)icicle->count;
	return made;
}

void icicle_add(struct icicle *icicle, const char *const *names, size_t count, double weight,
		double other)
{
	struct node *node = icicle->nodes;

	for (size_t i = 0; node; i++) {
		node->weight += weight;
		node->other += other;
		if (i == count)
			return;
		node = child_of(icicle, node, names[i]);
	}
}

/* --- drawing --- */

/* The node that stands for this one: the next behind it that does more than call one other. */
static const struct node *shortened(const struct icicle *icicle, const struct node *node)
{
	while (icicle->is_shortened && node->child) {
		const struct node *child = &icicle->nodes[node->child - 1];

		if (child->next || node->weight - child->weight > nothing * node->weight)
			break;
		node = child;
	}
	return node;
}

static size_t depth_of(const struct icicle *icicle, const struct node *node, size_t most)
{
	size_t deepest = 0;

	if (most == 0)
		return 0;
	for (uint32_t at = node->child; at; at = icicle->nodes[at - 1].next) {
		const struct node *child = shortened(icicle, &icicle->nodes[at - 1]);
		size_t depth = 1 + depth_of(icicle, child, most - 1);

		deepest = depth > deepest ? depth : deepest;
	}
	return deepest;
}

/* The begin of a text that has so many characters at most; UTF-8. */
static void write_share(const struct icicle *icicle, const struct node *node, char *to, size_t size)
{
	if (icicle->write)
		icicle->write(node->weight, node->other, to, size);
	else
		snprintf(to, size, "%.0f%%", 100 * node->weight / icicle_total(icicle));
}

/* "|name 43%    ", of so many columns; the share only if the name has room. */
static void cell_text(const struct icicle *icicle, const struct node *node, const char *before,
		      bool goes_on, size_t columns, char *to, size_t size)
{
	char share[32], label[2 * NAME_BYTES], cell[COLUMNS_MAX * CHARACTER_BYTES + 1];
	size_t used;

	write_share(icicle, node, share, sizeof(share));
	snprintf(label, sizeof(label), "%s%s", before, node->name);
	if (visible_columns(label) + strlen(share) + 3 <= columns) {
		used = strlen(label);
		snprintf(label + used, sizeof(label) - used, " %s", share);
	}
	goes_on = goes_on && columns > 1;
	snprintf(to, size, "|%s%s",
		 visible_fit(label, columns - 1 - goes_on, cell,
			     (columns - 1) * CHARACTER_BYTES + 1),
		 goes_on ? "+" : "");
}

struct row {
	char *text;
	size_t columns; /* that have something */
};

static void row_fill(struct row *row, size_t column)
{
	size_t used = strlen(row->text);

	if (row->columns < column && row->columns > 0) {
		row->text[used++] = '|';
		row->columns++;
	}
	while (row->columns < column) {
		row->text[used++] = ' ';
		row->columns++;
	}
	row->text[used] = '\0';
}

static struct row row_at(const struct icicle *icicle, size_t depth)
{
	char *text = icicle->text + depth * icicle->row_bytes;

	return (struct row){ text, visible_columns(text) };
}

static void draw_cell(struct icicle *icicle, const struct node *node, const struct node *shown,
		      size_t depth, size_t begin, size_t end)
{
	struct row row = row_at(icicle, depth);
	size_t used;

	row_fill(&row, begin);
	used = strlen(row.text);
	cell_text(icicle, shown, shown == node ? "" : "..",
		  depth + 1 == icicle->rows && shown->child != 0, end - row.columns,
		  row.text + used, icicle->row_bytes - used);
}

static size_t column_of(const struct icicle *icicle, double weight)
{
	return (size_t)(weight / icicle_total(icicle) * (double)icicle->columns + 0.5);
}

static void draw(struct icicle *icicle, const struct node *node, size_t depth, double from)
{
	for (uint32_t at = node->child; at && depth < icicle->rows;
	     at = icicle->nodes[at - 1].next) {
		const struct node *child = &icicle->nodes[at - 1];
		const struct node *shown = shortened(icicle, child);
		size_t begin = column_of(icicle, from);
		size_t end = column_of(icicle, from + child->weight);

		from += child->weight;
		/* the end of the one before may take a column of this one */
		if (row_at(icicle, depth).columns > begin)
			begin = row_at(icicle, depth).columns;
		if (end <= begin)
			continue;
		draw_cell(icicle, child, shown, depth, begin, end);
		draw(icicle, shown, depth + 1, from - child->weight);
		icicle->depth = depth + 1 > icicle->depth ? depth + 1 : icicle->depth;
	}
}

size_t icicle_draw(struct icicle *icicle, size_t columns, size_t rows)
{
	icicle->columns = columns < COLUMNS_MAX ? columns : COLUMNS_MAX;
	icicle->rows = rows < ROWS_MAX ? rows : ROWS_MAX;
	icicle->row_bytes = (icicle->columns + 2) * CHARACTER_BYTES;
	icicle->depth = 0;
	icicle->is_shortened = false;
	free(icicle->text);
	icicle->text = calloc(icicle->rows + 1, icicle->row_bytes);
	if (!icicle->text || columns == 0 || !(icicle_total(icicle) > 0))
		return 0;
	icicle->is_shortened = depth_of(icicle, icicle->nodes, icicle->rows + 1) > icicle->rows;
	draw(icicle, icicle->nodes, 0, 0);
	for (size_t i = 0; i < icicle->depth; i++) {
		struct row row = row_at(icicle, i);

		if (row.columns < icicle->columns)
			row_fill(&row, row.columns + 1);
	}
	return icicle->depth;
}

const char *icicle_row(const struct icicle *icicle, size_t row)
{
	return icicle->text + row * icicle->row_bytes;
}
