// SPDX-License-Identifier: MIT
#include "symbolize/dwarf/line_program.h"

#include "base/array.h"

#include <dwarf.h>

#define FORMATS_MAX 16
#define LNE_INLINED 0x90 // nvcc's: the row that calls, and the name of what it calls

struct source {
	const char *name;
	uint64_t directory;
};

struct line_program {
	struct line_sections sections;
	const char *comp_dir;
	const char *unit_name; // file 0 before DWARF 5; may be NULL
	uint16_t version;
	uint8_t offset_bytes;
	uint8_t min_instruction;
	int8_t line_base;
	uint8_t line_range;
	uint8_t opcode_base;
	uint8_t lengths[256]; // operands of each standard opcode
	struct source *files;
	size_t file_count, file_capacity;
	const char **directories;
	size_t directory_count, directory_capacity;
	struct bytes code;
	struct line_index *index; // NULL: none is wanted
};

static bool add_directory(struct line_program *p, const char *name)
{
	if (!array_reserve(&p->directories, &p->directory_capacity, p->directory_count + 1))
		return false;
	p->directories[p->directory_count++] = name;
	return true;
}

static bool add_file(struct line_program *p, struct source file)
{
	if (!array_reserve(&p->files, &p->file_capacity, p->file_count + 1))
		return false;
	p->files[p->file_count++] = file;
	return true;
}

// DWARF 2 to 4: two lists of names, each ended by an empty one; 0 is the unit's own.
static bool read_old_tables(struct line_program *p, struct cursor *c)
{
	const char *name;

	if (!add_directory(p, p->comp_dir) || !add_file(p, (struct source){ p->unit_name, 0 }))
		return false;
	while ((name = cursor_string(c)) && *name)
		if (!add_directory(p, name))
			return false;
	while ((name = cursor_string(c)) && *name) {
		struct source file = { name, cursor_uleb(c) };
		cursor_skip_leb(c); // time of modification
		cursor_skip_leb(c); // size
		if (!add_file(p, file))
			return false;
	}
	return true;
}

// A field of an entry: a text, or a number.
static void read_field(const struct line_program *p, struct cursor *c, uint64_t form,
                       const char **text, uint64_t *number)
{
	switch (form) {
	case DW_FORM_string:
		*text = cursor_string(c);
		break;
	case DW_FORM_line_strp:
		*text = bytes_string(p->sections.line_str, cursor_number(c, p->offset_bytes));
		break;
	case DW_FORM_strp:
		*text = bytes_string(p->sections.str, cursor_number(c, p->offset_bytes));
		break;
	case DW_FORM_strp_sup:
		cursor_skip(c, p->offset_bytes);
		break;
	case DW_FORM_udata:
		*number = cursor_uleb(c);
		break;
	case DW_FORM_data1:
		*number = cursor_u8(c);
		break;
	case DW_FORM_data2:
		*number = cursor_u16(c);
		break;
	case DW_FORM_data4:
		*number = cursor_u32(c);
		break;
	case DW_FORM_data8:
		*number = cursor_u64(c);
		break;
	case DW_FORM_data16: // MD5
		cursor_skip(c, 16);
		break;
	case DW_FORM_block:
		cursor_skip(c, cursor_uleb(c));
		break;
	default:
		cursor_fail(c);
	}
}

struct format {
	uint64_t content, form;
};

static size_t read_formats(struct cursor *c, struct format formats[FORMATS_MAX])
{
	size_t count = cursor_u8(c);

	if (count > FORMATS_MAX)
		cursor_fail(c);
	for (size_t i = 0; i < count && !c->bad; i++) {
		formats[i].content = cursor_uleb(c);
		formats[i].form = cursor_uleb(c);
	}
	return c->bad ? 0 : count;
}

// DWARF 5: a table of directories or of files, which describes its own columns.
static bool read_new_table(struct line_program *p, struct cursor *c, bool is_files)
{
	struct format formats[FORMATS_MAX];
	size_t columns = read_formats(c, formats);
	uint64_t count = cursor_uleb(c);

	for (uint64_t i = 0; i < count && columns && !c->bad; i++) {
		struct source entry = { 0 };
		const uint8_t *before = c->at;
		for (size_t k = 0; k < columns; k++) {
			const char *text = NULL;
			uint64_t number = 0;
			read_field(p, c, formats[k].form, &text, &number);
			if (formats[k].content == DW_LNCT_path)
				entry.name = text;
			else if (formats[k].content == DW_LNCT_directory_index)
				entry.directory = number;
		}
		// An entry of no bytes could be repeated 2^64 times.
		if (c->bad || c->at == before)
			return false;
		if (is_files ? !add_file(p, entry) : !add_directory(p, entry.name))
			return false;
	}
	return !c->bad;
}

static bool read_header(struct line_program *p, uint64_t offset)
{
	struct cursor c = cursor_at(p->sections.line, offset);
	uint64_t length = cursor_u32(&c);

	p->offset_bytes = 4;
	if (length == UINT32_MAX) {
		length = cursor_u64(&c);
		p->offset_bytes = 8;
	}
	if (c.bad)
		return false;
	if (length < cursor_left(&c))
		c.end = c.at + length;
	p->version = cursor_u16(&c);
	if (p->version >= 5)
		cursor_skip(&c, 2); // sizes of address and segment selector
	uint64_t header_length = cursor_number(&c, p->offset_bytes);
	struct cursor code = c;
	cursor_skip(&code, header_length);
	p->code = (struct bytes){ code.at, cursor_left(&code) };
	p->min_instruction = cursor_u8(&c);
	if (p->version >= 4)
		cursor_skip(&c, 1); // operations per instruction: 1 on all machines of ours
	cursor_skip(&c, 1);         // default_is_stmt
	p->line_base = (int8_t)cursor_u8(&c);
	p->line_range = cursor_u8(&c);
	p->opcode_base = cursor_u8(&c);
	for (unsigned int i = 1; i < p->opcode_base; i++)
		p->lengths[i] = cursor_u8(&c);
	if (c.bad || code.bad || p->version < 2 || p->version > 5 || !p->line_range)
		return false;
	if (p->version < 5)
		return read_old_tables(p, &c);
	return read_new_table(p, &c, false) && read_new_table(p, &c, true);
}

struct line_program *line_program_new(const struct line_sections *sections, uint64_t offset,
                                      const char *comp_dir, const char *unit_name)
{
	cleanup(line_program) struct line_program *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->sections = *sections;
	p->comp_dir = comp_dir;
	p->unit_name = unit_name;
	return read_header(p, offset) ? steal(p) : NULL;
}

void line_program_free(struct line_program *p)
{
	if (!p)
		return;
	free(p->files);
	free(p->directories);
	free(p);
}

void line_program_set_index(struct line_program *program, struct line_index *index)
{
	program->index = index;
}

void line_index_fini(struct line_index *index)
{
	free(index->items);
	*index = (struct line_index){ 0 };
}

// The state machine of DWARF 5, section 6.2, as far as it says what line an address is of.
struct machine {
	const struct line_program *program;
	uint64_t lowest_code;
	const uint64_t *addresses;
	size_t count;
	struct line_row *rows;

	uint64_t address;
	uint64_t file;
	uint64_t line;
	bool has_previous; // there is a row before in this sequence
	bool is_discarded;
	bool has_ended;
	uint64_t low, high; // of the rows of this sequence
	uint64_t previous_address;
	struct line_row previous;
	size_t next;   // the first address that is not below PREVIOUS_ADDRESS
	uint64_t fuel; // rows that may yet be filled: a bad program goes over them again and again

	bool (*visit)(void *context, const struct line_visit *row); // NULL: addresses are asked for
	void *context;
	size_t set_at;
	uint64_t call, function;
};

static void begin_sequence(struct machine *m)
{
	m->address = 0;
	m->file = 1;
	m->line = 1;
	m->has_previous = false;
	m->is_discarded = false;
	m->has_ended = false;
	m->set_at = 0;
	m->call = m->function = 0;
}

static size_t lower_bound(const uint64_t *addresses, size_t count, uint64_t wanted)
{
	return array_search(count, i, addresses[i] < wanted);
}

static void show_row(struct machine *m, bool is_end)
{
	struct line_visit row = { m->set_at, m->address,  m->file, m->line,
		                  m->call,   m->function, is_end };

	m->fuel -= m->fuel > 0;
	if (!m->visit(m->context, &row))
		m->fuel = 0;
}

// A row holds from its address up to the next row's.
static void emit_row(struct machine *m, bool is_end)
{
	if (m->visit) {
		show_row(m, is_end);
		return;
	}
	if (!m->has_previous) {
		m->low = m->high = m->address;
		m->is_discarded = m->address < m->lowest_code;
		m->next = m->is_discarded ? m->count
		                          : lower_bound(m->addresses, m->count, m->address);
	} else {
		for (; m->next < m->count && m->addresses[m->next] < m->address && m->fuel;
		     m->next++, m->fuel--)
			m->rows[m->next] = m->previous;
		if (m->address < m->previous_address && !m->is_discarded) // out of order
			m->next = lower_bound(m->addresses, m->count, m->address);
	}
	m->low = m->address < m->low ? m->address : m->low;
	m->high = m->address > m->high ? m->address : m->high;
	m->has_previous = true;
	m->previous_address = m->address;
	m->previous = (struct line_row){ (uint32_t)m->file, (uint32_t)m->line, true };
}

static void run_extended(struct machine *m, struct cursor *c)
{
	uint64_t length = cursor_uleb(c);
	struct cursor operands = *c;

	cursor_skip(c, length);
	if (c->bad || !length)
		return;
	operands.end = c->at;
	switch (cursor_u8(&operands)) {
	case DW_LNE_end_sequence:
		emit_row(m, true);
		m->has_ended = true;
		break;
	case DW_LNE_set_address:
		m->set_at = (size_t)(operands.at - m->program->sections.line.data);
		m->address = cursor_number(&operands, length - 1 == 4 ? 4 : 8);
		break;
	case LNE_INLINED:
		m->call = cursor_uleb(&operands);
		m->function = cursor_uleb(&operands);
		break;
	default: // DW_LNE_define_file is not written by anyone; discriminators are not used
		break;
	}
}

static void advance(struct machine *m, uint64_t operations)
{
	m->address += operations * m->program->min_instruction;
}

static void run_special(struct machine *m, uint8_t opcode)
{
	const struct line_program *p = m->program;
	uint8_t adjusted = (uint8_t)(opcode - p->opcode_base);

	advance(m, adjusted / p->line_range);
	m->line += (uint64_t)(int64_t)(p->line_base + adjusted % p->line_range);
	emit_row(m, false);
}

static void run_standard(struct machine *m, uint8_t opcode, struct cursor *c)
{
	const struct line_program *p = m->program;

	switch (opcode) {
	case DW_LNS_copy:
		emit_row(m, false);
		break;
	case DW_LNS_advance_pc:
		advance(m, cursor_uleb(c));
		break;
	case DW_LNS_advance_line:
		m->line += (uint64_t)cursor_sleb(c);
		break;
	case DW_LNS_set_file:
		m->file = cursor_uleb(c);
		break;
	case DW_LNS_const_add_pc:
		advance(m, (uint64_t)(255 - p->opcode_base) / p->line_range);
		break;
	case DW_LNS_fixed_advance_pc:
		m->address += cursor_u16(c);
		break;
	default:
		for (unsigned int i = 0; i < p->lengths[opcode]; i++)
			cursor_skip_leb(c);
	}
}

// Up to its end. The result is the number of operations run.
static uint64_t run_sequence(struct machine *m, struct cursor *c)
{
	uint64_t operations = 0;

	begin_sequence(m);
	while (!c->bad && c->at < c->end && m->fuel && !m->has_ended) {
		uint8_t opcode = cursor_u8(c);
		if (opcode >= m->program->opcode_base)
			run_special(m, opcode);
		else if (opcode)
			run_standard(m, opcode, c);
		else
			run_extended(m, c);
		operations++;
	}
	return operations;
}

// False if there is no memory.
static bool note_sequence(struct machine *m, struct line_index *index, size_t offset)
{
	if (!m->has_previous || m->is_discarded || m->low == m->high)
		return true; // says nothing about any address
	if (!array_reserve(&index->items, &index->capacity, index->count + 1))
		return false;
	index->items[index->count++] = (struct line_sequence){ m->low, m->high, offset };
	return true;
}

static uint64_t run_all(struct machine *m, struct line_index *index)
{
	struct cursor c = cursor_at(m->program->code, 0);
	uint64_t operations = 0;
	bool noted = true;

	if (index)
		index->count = 0;
	while (!c.bad && c.at < c.end && m->fuel) {
		size_t offset = (size_t)(c.at - m->program->code.data);
		operations += run_sequence(m, &c);
		noted = noted && index && note_sequence(m, index, offset);
	}
	if (index)
		index->complete = noted && m->fuel;
	return operations;
}

static uint64_t run_indexed(struct machine *m, const struct line_index *index)
{
	uint64_t operations = 0;

	for (size_t i = 0; i < index->count && m->fuel; i++) {
		const struct line_sequence *sequence = &index->items[i];
		size_t at = lower_bound(m->addresses, m->count, sequence->low);
		operations++;
		if (at == m->count || m->addresses[at] >= sequence->high)
			continue;
		struct cursor c = cursor_at(m->program->code, sequence->offset);
		operations += run_sequence(m, &c);
	}
	return operations;
}

uint64_t line_program_run(const struct line_program *program, uint64_t lowest_code,
                          const uint64_t *addresses, size_t count, struct line_row *rows)
{
	struct machine m = { .program = program,
		             .lowest_code = lowest_code,
		             .addresses = addresses,
		             .count = count,
		             .rows = rows,
		             .fuel = program->code.size + 64 * (uint64_t)count };

	memset(rows, 0, count * sizeof(*rows));
	if (program->index && program->index->complete)
		return run_indexed(&m, program->index);
	return run_all(&m, program->index);
}

void line_program_visit(const struct line_program *program,
                        bool (*visit)(void *context, const struct line_visit *row), void *context)
{
	struct machine m = { .program = program,
		             .visit = visit,
		             .context = context,
		             .fuel = program->code.size + 64 };

	run_all(&m, NULL);
}

const char *line_program_path(const struct line_program *p, uint64_t file, char *buffer,
                              size_t size)
{
	if (file >= p->file_count || !p->files[file].name)
		return NULL;
	const char *name = p->files[file].name;
	uint64_t index = p->files[file].directory;
	const char *directory = index < p->directory_count ? p->directories[index] : NULL;
	// Directory 0 is the one that the compiler ran in; the others are relative to it.
	const char *base = index ? p->comp_dir : NULL;
	if (*name == '/')
		snprintf(buffer, size, "%s", name);
	else if (!directory || !*directory)
		snprintf(buffer, size, "%s%s%s", base ? base : "", base ? "/" : "", name);
	else if (*directory == '/' || !base)
		snprintf(buffer, size, "%s/%s", directory, name);
	else
		snprintf(buffer, size, "%s/%s/%s", base, directory, name);
	return buffer;
}
