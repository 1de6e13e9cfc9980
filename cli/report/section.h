/* SPDX-License-Identifier: MIT */
/*
 * The report as data: sections with typed columns, rows of cells, and sentences. Whoever prints one
 * knows neither queries nor rules, and whoever builds one no format.
 *
 *	static const struct section_column columns[] = {
 *		{ .id = "path", .heading = "file", .type = CELL_TEXT, .at = { 2, 1, 1 }, .room = 1,
 *		  FIELD(struct file_row, path) },
 *		{ .id = "bytes", .heading = "bytes", .type = CELL_BYTES, .at = { 1, 2, 2 },
 *		  FIELD(struct file_row, bytes) },
 *	};
 *	struct section *s = section_new(report, "files", "files by size");
 *	SECTION_COLUMNS(s, columns);
 *	section_rows(s, rows, count, sizeof(*rows));
 *	return section_end(s, err);
 *
 * A column is one entry of such a list: it says what it is called in each format, where it stands
 * there, and what of a row is in it. A report is for one reader, a format, and has only that one's
 * columns and rows: people are shown the rows that matter, programs get all.
 *
 * The report owns its sections with all that they hold, and the answers given to report_keep(),
 * until report_free(); texts of cells are borrowed from those, from the profile, or constant.
 * Where memory is short it is section_end() that fails. One thread at a time.
 */
#pragma once

#include "base/cleanup.h"
#include "base/format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SECTION_PAGE_ROWS 5000 /* of a table in a page; the rest is counted */

struct error;
struct profile;
struct rule_limits;
struct view;

enum reader {
	READER_TEXT,  /* people, on a terminal */
	READER_PAGE,  /* the same, in a browser */
	READER_SHEET, /* programs: a table as CSV or JSON */
	READER_JSON,  /* programs: the report itself, as JSON; the page has parts of it, too */
	READERS
};

enum cell_type {
	CELL_TEXT,
	CELL_NS,
	CELL_BYTES,
	CELL_COUNT,
	CELL_INTEGER,  /* may be negative */
	CELL_LABEL,    /* a number that names: of a thread, of a GPU */
	CELL_NUMBER,   /* any, with its unit in the column's name */
	CELL_FRACTION, /* 0 to 1 */
	CELL_SHARE,    /* a part of something */
	CELL_MARGIN,   /* half of a 95 % interval, in points of 1.0 */
	CELL_BOOL,
	CELL_PLACE, /* file, line and module */
	CELL_ROWS,  /* those of another section; on no terminal and in no CSV, as the next */
	CELL_ROW,   /* the first of another section; no value if it has none */
	CELL_SERIES /* numbers one after the other, of a graph; on no terminal and in no CSV */
};

/* How much of a reader's attention it is worth. */
enum tone {
	TONE_PLAIN,
	TONE_DIM,
	TONE_WAIT,
	TONE_WARM,
	TONE_HOT
};

enum cell_flag {
	CELL_UNKNOWN = 1, /* there is no value */
	CELL_IDLE = 2,    /* there is one, which tells people nothing */
	CELL_SAMPLED = 4, /* it is an estimate from samples; else exact */
	CELL_TIED = 8,    /* and the next row's may be the same */
	CELL_ABSENT = 16  /* the row is of a kind that has none: a page has no member for it */
};

struct section_cell {
	uint8_t flags;
	uint8_t tone; /* enum tone; PLAIN: the row's */
	union {
		const char *text; /* NULL or "": unknown */
		uint64_t count;   /* NS, BYTES, COUNT, LABEL */
		int64_t integer;
		double number; /* NUMBER, FRACTION, MARGIN */
		bool yes;
		struct {
			uint64_t part, all;
		} share;
		struct {
			const char *file, *module; /* NULL: unknown */
			int line;                  /* 0: unknown */
		} place;
		const struct section *section; /* ROWS, ROW; NULL: unknown */
		struct {
			const uint64_t *values;
			size_t count;
		} series;
	};
};

/* How a value is printed for people. */
enum cell_form {
	FORM_PLAIN,    /* times in the section's unit, so that they compare by eye */
	FORM_BESIDE,   /* times in its other unit */
	FORM_OWN,      /* times that differ by orders of magnitude, each in a unit of its own */
	FORM_DURATION, /* the same, with as many figures as a sentence has */
	FORM_MOMENT,   /* since the start of the run: seconds, to the millisecond */
	FORM_SCALED,   /* counts with a prefix: "1.2 G" */
	FORM_FIGURES,  /* numbers with three significant figures */
	FORM_CHANGE,   /* in a page, what was added: integers are nanoseconds, numbers ratios */
	FORM_NAMED,    /* in a page, rows as objects: their values have names */
	FORM_DECIMAL,  /* numbers, and margins without a sign, with one decimal */
	FORM_ANY /* numbers of any size and sign: "41,022", "-3", "2.5", "1.10 T", "1.2e+30" */
};

enum cell_field {
	FIELD_NONE,
	FIELD_TEXT,
	FIELD_U64,
	FIELD_U32,
	FIELD_I64,
	FIELD_INT,
	FIELD_DOUBLE,
	FIELD_BOOL,
	FIELD_CHARS /* a text within the row */
};

struct section;

struct section_column {
	const char *id; /* in JSON and CSV; of the list, where it is in neither */
	const char *page_id, *page_heading; /* NULL: as the others */
	const char *heading;
	enum cell_type type;
	uint8_t at[READERS];   /* where it stands, by reader; 0: nowhere. Those of one place are in
	                          the order of the list. */
	uint8_t none[READERS]; /* whether 0 is no value there */

	/* What is in it: MAKE's answer, or else a field of the row. */
	void (*make)(const struct section *s, const void *row, struct section_cell *cell);
	enum cell_field field;
	size_t offset;

	/* For terminals. */
	enum cell_form form;
	enum clip clip;
	uint8_t room;      /* of what is left of the line, against others'; 0: all it needs */
	uint8_t width_min; /* narrower terminals go without it */
	bool right;        /* a text that stands on the right, as numbers do */
	uint8_t parts;     /* its text has parts, a line each: as many as fit beside so many columns
	                      of the line, but one at least; 0: it has none */
	bool stem;  /* its text has the lines of a tree before a line end: of them only the end
	               is shown where they take more than a quarter of the line */
	bool prose; /* of lists: a paragraph, beside those that are not; of headers: in a line of
	               its own */
	uint8_t priority;  /* where the line is too short, the highest go first; 0: none */
	uint8_t reserve;   /* columns of the line that those with a priority leave to it */
	bool if_any;       /* not where nothing would stand in it */
	const char *alone; /* its heading where the column before it is left out; NULL: the same */
	const char *nothing; /* in place of no value; NULL: a blank */
	const char *legend;  /* behind the subtitle, where it is shown; NULL: none */
	const char *tied;    /* a note below, where a cell is tied; NULL: none */
};

/* The member FIELD of a row of TYPE. A double in an INTEGER column is rounded; NaN is no value. */
#define FIELD(TYPE, FIELD)                                                                         \
	.offset = offsetof(TYPE, FIELD), .field = _Generic(((TYPE *)0)->FIELD,                     \
		const char *: FIELD_TEXT,                                                          \
		uint64_t: FIELD_U64,                                                               \
		uint32_t: FIELD_U32,                                                               \
		int64_t: FIELD_I64,                                                                \
		int: FIELD_INT,                                                                    \
		double: FIELD_DOUBLE,                                                              \
		bool: FIELD_BOOL,                                                                  \
		char *: FIELD_CHARS)

struct section_row {
	struct section_cell *cells; /* one for each column */
	enum tone tone;
	const struct section *below; /* rows that show it; NULL: none */
};

/* How people see rows. */
enum section_form {
	SECTION_TABLE,
	SECTION_LIST,   /* numbered, with paragraphs */
	SECTION_PARTS,  /* of a whole, in one line. Columns: group, name, how much. Those of the
	                  first group are always there, others where they are a tenth of 1 % */
	SECTION_HEADER, /* the first line of a report. Columns: what was run, and facts. One row */
	SECTION_SIDES   /* the same, and a line for each row. Columns: its letter, what was run */
};

enum note_form {
	NOTE_SAY,  /* a paragraph, as of the limits */
	NOTE_LINE, /* one line, however long */
	NOTE_BLOCK /* a paragraph flush with the table */
};

struct section_note {
	enum note_form form;
	bool above;        /* the table; else below */
	const char *words; /* with \u00b7, \u00b1 and \u00d7 where a terminal has such signs */
	struct section_note *next;
};

struct section {
	struct report *report;
	const char *id;    /* as JSON and CSV call the table */
	const char *title; /* as people do; NULL: a blank line in its place; "": nothing, it goes on
	                      where the section before it ends */
	const char *subtitle; /* NULL: none */
	enum section_form form;
	void *context;               /* of the builder, for its columns */
	uint64_t all;                /* what shares of fields are shares of */
	uint64_t unit_ns, beside_ns; /* the longest times, by which units are chosen */
	struct section_column *columns;
	size_t column_count;
	struct section_row *rows;
	size_t row_count, row_capacity;
	size_t left_out; /* rows beyond those that are there */
	bool shown;      /* to people; else there is nothing to say, not even a title */
	struct section_note *notes, **last_note;
	struct section *next; /* that is shown behind it, on a terminal; NULL: none */
};

struct report {
	const struct profile *profile;
	const struct view *view;
	const struct rule_limits *limits; /* of findings; NULL: the rules' own */
	enum reader reader;
	bool ascii;          /* the reader knows no other characters */
	const char *advised; /* what the answer says to do, which nothing need say again; NULL */
	bool fits_limits;    /* who prints a brief report has room for as many limits as fit */
	const char *cut;     /* what the view leaves out, in words; NULL: nothing, or not needed */
	/* For section.c. */
	struct report_block *blocks;
	struct report_answer *answers;
	size_t used, room;
	struct section spare; /* where there is no memory for another */
	bool failed;
};

/* A report for READER; there is nothing in it yet. */
struct report report_of(const struct profile *profile, const struct view *view, enum reader reader);
void report_free(struct report *r);

static inline void report_at_scope_end(struct report *r)
{
	report_free(r);
}

/* SIZE zeroed bytes that live as long as the report. NULL if there is no memory. */
void *report_take(struct report *r, size_t size);
/* A text of it; "" if there is no memory. */
__attribute__((format(printf, 2, 3))) const char *report_say(struct report *r, const char *format,
                                                             ...);
/* Takes ANSWER over, which may be NULL: FREE will be called with it. Returns it; NULL if
   there is no memory, and then it is gone, or if it is NULL: then ERR is as it was. */
void *report_keep(struct report *r, void *answer, void (*free)(void *answer), struct error *err);

/* Defines keep_NAME(), which keeps an answer that NAME_free() frees. */
#define REPORT_KEEPS(name, type)                                                                   \
	static void drop_##name(void *answer)                                                      \
	{                                                                                          \
		name##_free(answer);                                                               \
	}                                                                                          \
	static type keep_##name(struct report *r, type answer, struct error *err)                  \
	{                                                                                          \
		return report_keep(r, answer, drop_##name, err);                                   \
	}                                                                                          \
	_Static_assert(sizeof(type) == sizeof(void *), "answers are pointers")

/* A new section without columns, rows and notes. ID and TITLE are borrowed. Never NULL. */
struct section *section_new(struct report *r, const char *id, const char *title);

/* Adds those of COLUMNS that the reader has, before any row; they are copied. */
void section_columns(struct section *s, const struct section_column *columns, size_t count);
/* The copy of the one that is called ID, to change it for this section, before any row; NULL if the
   reader does not have it. */
struct section_column *section_column(const struct section *s, const char *id);

/* Takes that column out again. */
void section_without(struct section *s, const char *id);

#define SECTION_COLUMNS(s, columns)                                                                \
	section_columns(s, columns, sizeof(columns) / sizeof((columns)[0]))

/* Adds a row, which is not needed afterwards. NULL if there is no memory. */
struct section_row *section_row(struct section *s, const void *row);
/* COUNT of SIZE bytes each. */
void section_rows(struct section *s, const void *rows, size_t count, size_t size);

/* The same of a page, as many as it takes. */
void section_page_rows(struct section *s, const void *rows, size_t count, size_t size);

/* The same for any reader: as many as the view or a page takes, or all. */
void section_all_rows(struct section *s, const void *rows, size_t count, size_t size);

__attribute__((format(printf, 4, 5))) void section_note(struct section *s, enum note_form form,
                                                        bool above, const char *format, ...);

/* A paragraph below the table. */
#define section_say(s, ...) section_note(s, NOTE_SAY, false, __VA_ARGS__)

/* Takes its notes out but for the first FIRST and the last LAST ones. Returns how many that were.
 */
size_t section_keep_notes(struct section *s, size_t first, size_t last);

/* That there is no GPU, where a table of one was asked for: then S has no title. */
void section_no_gpu(struct section *s);

/* S, or NULL if memory was short. */
struct section *section_end(struct section *s, struct error *err);

/* Whether nothing stands in it for the section's reader. */
bool section_cell_is_nothing(const struct section *s, const struct section_column *c,
                             const struct section_cell *cell);
