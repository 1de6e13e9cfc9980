// SPDX-License-Identifier: MIT
#include "base/known_calls.h"

#include "base/name_list.h"
#include "base/path.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>

struct calls {
	const char *names; // separated by |: plain names of C, without what the library adds
	const char *parts; // the same, that other names begin with
	const char *advice;
};

static const struct calls calls[] = {
	{ "strcmp|strncmp|strcasecmp|strncasecmp|memcmp|bcmp|wcscmp|wmemcmp|strcoll", "",
	  "If the loop looks for one of many entries: use a hash table, or sort them once and call "
	  "bsearch(); if it walks a chain of a hash table: a hash function that spreads the keys, and "
	  "more buckets. If it tells few words apart: compare lengths or first bytes first, or turn "
	  "words into numbers once." },
	{ "strlen|strnlen|wcslen|rawmemchr", "",
	  "Where the string does not change, call strlen() once before the loop and keep the length "
	  "beside the string. strcat(), sscanf() and loops that end at strlen(s) walk the whole "
	  "string each time: keep a pointer to its end, and parse by strtol() or strtod()." },
	{ "strstr|strcasestr|memmem|wcsstr|rb_memsearch", "",
	  "Go on from where the last match ended instead of from the start, look for many words in "
	  "one pass (one regular expression, Aho-Corasick), or split the text once into a hash "
	  "table." },
	{ "strchr|strrchr|memchr|memrchr|strchrnul|strpbrk|strspn|strcspn|strtok|strtok_r|strsep",
	  "",
	  "Go on from where the last search ended, and split the text once instead of for each "
	  "question; for a set of bytes use a table of 256 flags." },
	{ "strtod|strtof|strtold|strtol|strtoul|strtoll|strtoull|atof|atoi|sscanf|fscanf|vfscanf|"
	  "vsscanf|vfscanf_internal|strtod_l_internal|strtol_l_internal|strtoul_l_internal",
	  "",
	  "Parse each text once and keep the numbers; store numbers in binary form; call "
	  "strtol() or, in C++17, std::from_chars() instead of sscanf() and streams." },
	{ "pow|powf|exp|expf|log|logf|log2|log10|exp2|sin|cos|tan|sinf|cosf|atan2|tanh|sincos|"
	  "ieee754_pow|ieee754_exp|ieee754_log",
	  "",
	  "Compute what does not change once before the loop; write small powers as "
	  "multiplications; use the float versions where 7 digits are enough; "
	  "-O3 -ffast-math calls versions for vectors (libmvec)." },
	{ "", "std::__find_if|std::find|std::count|std::ranges::find|std::search|std::any_of",
	  "If it runs once for each of many elements, look them up in a std::unordered_set or "
	  "std::unordered_map, or sort once and use std::lower_bound()." },
	{ "",
	  "std::_Hashtable|std::__detail::_Map_base|std::__detail::_Hashtable_base|"
	  "std::__detail::_Hash_code_base|std::__detail::_Hash_node_base|"
	  "std::__detail::_Mod_range_hashing|std::unordered_map|std::unordered_set|"
	  "std::_Hash_bytes",
	  "Look each key up once and keep the iterator or reference; if chains are long "
	  "(bucket_size()), use a hash function that spreads the keys and reserve(); a table with "
	  "open addressing takes fewer loads." },
	{ "", "std::_Rb_tree|std::map|std::set",
	  "Where order does not matter, use std::unordered_map; where it is filled once, a sorted "
	  "std::vector; look each key up once and keep the iterator." },
	{ "",
	  "{slot '__getitem__' of 'numpy.ndarray' objects}|{comparison of 'numpy.ndarray' objects}",
	  "a[keys == k] reads all of the array: where it runs for each of many k, group once with "
	  "numpy.bincount(keys, weights=a), argsort(keys) and numpy.split(), or pandas' groupby()." },
	{ "dynamic_cast|do_dyncast", "",
	  "dynamic_cast compares names of types along the hierarchy: use a virtual function, a kind "
	  "that the base class stores (and then static_cast), or std::variant with std::visit(); "
	  "final classes make it cheaper." },
	{ "genfromtxt|savetxt", "",
	  "It is written in Python and takes microseconds for each number: read by numpy.loadtxt() "
	  "(1.23 and later, in C) or pandas.read_csv(), and keep what is read again in binary form "
	  "(numpy.save(), numpy.load())." },
	{ "",
	  "numpy.random._generator.Generator.choice|numpy.random.mtrand.RandomState.choice|"
	  "{method 'choice' of 'numpy.random",
	  "choice() with p= adds up all probabilities at each call: draw many at once (size=), or "
	  "keep their sums (c = numpy.cumsum(p)) and draw by numpy.searchsorted(c, rng.random())." },
	{ "one_hot|torch::autograd::THPVariable_one_hot", "{built-in method torch._C._nn.one_hot}",
	  "one_hot() makes a matrix that is as wide as there are classes, nearly all of it zeros: "
	  "take rows by index instead of multiplying by it (embedding(), weight[ids]), and give "
	  "losses class numbers (cross_entropy())." },
	{ "vectorize", "",
	  "numpy.vectorize() calls a Python function for each element: write the function with "
	  "array operations (numpy.where(), numpy.select()), or compile it (Numba's @vectorize)." },
	{ "",
	  "{built-in method builtins.eval}|{built-in method builtins.exec}|"
	  "{built-in method builtins.compile}",
	  "Each call of it on a text parses and compiles that: where the same text comes again, call "
	  "compile() on it once and keep the code, or make a function of it "
	  "(eval(\"lambda n: \" + text)); for plain data use ast.literal_eval() or JSON." },
	{ "pformat|pprint|saferepr", "PrettyPrinter.pformat|PrettyPrinter.pprint",
	  "pprint formats in Python, and sorts the keys of each dict. Where the text may be dropped, "
	  "as a debug message is, check the level first (log.isEnabledFor(logging.DEBUG)): an "
	  "f-string is made before the logger is called; else use repr() or json.dumps()." },
	{ "", "Series.__getitem__|Series.__setitem__|NDFrame.__getattr__|Series.__getattr__",
	  "Each access to one element of a Series takes microseconds: where a function is given rows "
	  "(apply() with axis=1, iterrows()), compute with whole columns "
	  "(frame[\"a\"] * frame[\"b\"], numpy.where()); for a loop take the columns out first "
	  "(to_numpy(), tolist())." },
	{ "concat", "",
	  "Joining in a loop copies each time all that is there already: collect the pieces in a "
	  "list, and join them once behind the loop (pandas.concat(pieces))." },
	{ "iterrows", "DataFrame.iterrows",
	  "iterrows() makes a Series of each row: compute with whole columns "
	  "(frame[\"a\"] * frame[\"b\"], numpy.where(), groupby()); where it must be a loop, "
	  "use itertuples(), or zip() the columns." },
	{ "itertuples", "DataFrame.itertuples",
	  "Compute with whole columns instead of row by row: frame[\"a\"] * frame[\"b\"], "
	  "numpy.where(), groupby()." },
	{ "", "DataFrame.apply",
	  "apply() calls a Python function for each row or column: compute with whole columns "
	  "(frame[\"a\"] * frame[\"b\"], numpy.where())." },
	{ "", "Series.apply",
	  "apply() calls a Python function for each element: compute with the whole Series "
	  "(arithmetic, numpy.where(), .str and .dt methods, map() with a dict)." },
	{ "", "GroupBy.apply|DataFrameGroupBy.apply|SeriesGroupBy.apply",
	  "apply() calls a Python function for each group: use the built-in aggregations (sum(), "
	  "mean(), agg(\"sum\"), transform())." },
	{ "", "DataFrame.__init__",
	  "To make a DataFrame takes some 0.1 ms, however few rows it has: collect rows as tuples or "
	  "dicts in a list, and make one frame of all." },
	{ "",
	  "_LocIndexer.__setitem__|_iLocIndexer.__setitem__|_LocationIndexer.__setitem__|"
	  "_AtIndexer.__setitem__|_iAtIndexer.__setitem__|_ScalarAccessIndexer.__setitem__",
	  "Each assignment by .loc[], .iloc[] or .at[] takes tens of microseconds: collect the "
	  "values in a list or array and assign a whole column once." },
	{ "",
	  "_LocationIndexer.__getitem__|_ScalarAccessIndexer.__getitem__|_AtIndexer.__getitem__|"
	  "_iLocIndexer.__getitem__|_LocIndexer.__getitem__",
	  "Each access by .loc[], .iloc[] or .at[] takes microseconds: take the columns out once "
	  "(to_numpy(), zip()), or compute with whole columns." },
	{ "",
	  "{built-in method builtins.format}|{built-in method builtins.repr}|"
	  "{method 'format' of 'str' objects}|{built-in method builtins.ascii}",
	  "Where the text may be dropped, as a debug message is, let the logger make it "
	  "(log.debug(\"%s\", value)), or check the level first; else format less of large objects." },
	{ "", "std::random_device",
	  "To open std::random_device and to seed an engine (std::mt19937 has 2.5 KB of state) takes "
	  "microseconds, a number from it nanoseconds: make the engine once (static thread_local) "
	  "and draw all numbers from it." },
	{ "snprintf|vsnprintf|sprintf|vsprintf|asprintf|vasprintf",
	  "std::to_string|std::__cxx11::to_string|std::__1::to_string",
	  "Where the text may be dropped, as a debug message is, check the level before it is made; "
	  "else write numbers by std::to_chars() into a buffer that is kept." },
	{ "getc|fgetc|getchar|IO_getc|putc|fputc|putchar|IO_putc", "",
	  "Each call takes the stream's lock for one character: read whole lines or blocks "
	  "(getline(), fread()) and walk them, or use getc_unlocked() and putc_unlocked()." },
	{ "", "std::collections::hash::map::HashMap|std::collections::hash::set::HashSet",
	  "Rust's HashMap hashes by SipHash, which withstands hostile keys: for keys of your own use "
	  "the crate rustc-hash (FxHashMap) or ahash; index a Vec where keys are small numbers; "
	  "reserve() what it will hold." },
	{ "", "encoding/json.Unmarshal|encoding/json.Marshal|encoding/json.(*Decoder).Decode",
	  "encoding/json goes by reflection, and makes each value anew: decode into a struct that "
	  "has the needed fields alone instead of map[string]any, keep what was parsed, or use a "
	  "generated decoder (easyjson) or sonic." },
	{ "", "DictReader.__next__",
	  "csv.DictReader makes a dict of each row: use csv.reader(), and the columns by number "
	  "(row[2]), or pandas.read_csv()." },
	{ "", "Template.substitute|Template.safe_substitute",
	  "string.Template matches its text by a regular expression, and calls a function for each "
	  "field: use f-strings, str.format() or %." },
	{ "", "_BaseNetwork.__contains__",
	  "Compare whole numbers: keep int(network.network_address) and int(network.netmask) of "
	  "each network; of many networks, keep a set for each length of prefix." },
	{ "safe_load|safe_load_all|full_load", "",
	  "PyYAML's loaders are written in Python: yaml.load(text, Loader=yaml.CSafeLoader) takes a "
	  "tenth of the time; JSON less again." },
	{ "", "ABCMeta.__instancecheck__|{built-in method _abc._abc_instancecheck}",
	  "isinstance() of an abstract class (collections.abc, typing) asks that class's own code: "
	  "look for concrete types first (dict, list, tuple), or keep what to do by type(x) in a "
	  "dict." },
	{ "",
	  "{built-in method _hashlib.pbkdf2_hmac}|_hashlib.pbkdf2_hmac|"
	  "{built-in method _hashlib.scrypt}|_hashlib.scrypt|{built-in method _bcrypt",
	  "It is made to be slow, so that passwords cannot be tried out: check a password once for "
	  "each session, and keep a token for what follows." },
	{ "",
	  "runtime.chanrecv1|runtime.chanrecv2|runtime.chansend1|runtime.chanrecv|"
	  "runtime.chansend|runtime.selectgo",
	  "Each value that goes through a channel takes a lock, and without a buffer mostly a switch "
	  "of goroutines: send slices of many values, and give the channel a buffer "
	  "(make(chan T, 100))." },
	{ "list_contains|PySequence_Contains|list_index|list_remove|list_count",
	  "{method 'index' of 'list'|{method 'remove' of 'list'|{method 'count' of 'list'|"
	  "{method 'index' of 'tuple'|{built-in method _operator.contains",
	  "It walks the list at each call: keep the elements in a set, or positions in a dict, made "
	  "once before the loop." },
	{ "",
	  "v8::internal::Builtin_JsonParse|v8::internal::Builtin_JsonStringify|"
	  "v8::internal::JsonParser",
	  "Parse each document once and keep the result; write only what is new; send one line for "
	  "each record instead of one large document." },
	{ "list_insert|ins1", "{method 'insert' of 'list'",
	  "insert(0, x) and pop(0) move all elements: use collections.deque (appendleft(), "
	  "popleft()), or append and reverse() once; to keep order, sort once, or use heapq." },
};

// "__strcmp_avx2", "__memcmp_evex_movbe", "__GI_strlen": "strcmp", "memcmp", "strlen".
static size_t plain(const char **name)
{
	static const char *const added[] = { "_avx",  "_evex", "_sse",     "_erms",      "_movbe",
		                             "_fma",  "_ssse", "_generic", "_unaligned", "_asimd",
		                             "_neon", "_sve",  "_mte" };

	while (**name == '_')
		(*name)++;
	if (strncmp(*name, "GI_", 3) == 0)
		*name += 3;
	while (**name == '_')
		(*name)++;
	size_t length = strcspn(*name, "@.( ");
	for (size_t i = 0; i < sizeof(added) / sizeof(added[0]); i++) {
		const char *end = strstr(*name, added[i]);
		if (end && (size_t)(end - *name) < length)
			length = (size_t)(end - *name);
	}
	return length;
}

// "std::find" is "std::find<…>" and "bool std::find<…>", and not "std::finder".
static bool begins_with(const char *name, const char *parts)
{
	for (size_t size; *parts; parts += size + (parts[size] == '|')) {
		size = strcspn(parts, "|");
		bool leads = strncmp(name, "std::", 5) == 0 || strncmp(parts, "std::", 5) != 0;
		const char *at = leads ? name : strstr(name, " std::");
		at += at && *at == ' ';
		if (at && strncmp(at, parts, size) == 0 && !isalnum((unsigned char)at[size]) &&
		    at[size] != '_')
			return true;
	}
	return false;
}

const char *known_advice_of_call(const char *function)
{
	const char *name = function;

	if (!function || !*function)
		return NULL;
	size_t length = plain(&name);
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if ((length && name_list_has(calls[i].names, name, length)) ||
		    begins_with(function, calls[i].parts))
			return calls[i].advice;
	return NULL;
}

bool known_passes_on(const char *function)
{
	static const char *const names[] = { "Builtins_CEntry_",
		                             "Builtins_InterpreterEntryTrampoline",
		                             "Builtins_BaselineOrInterpreter",
		                             "Builtins_JSEntry",
		                             "Builtins_AdaptorWithBuiltinExitFrame",
		                             "Builtins_InterpreterPushArgsThenFastCall" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(function, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

// The name of an interpreter in the name of the file MODULE, and what follows it: "ruby" and
// "3.1.so.3.1" of "libruby-3.1.so.3.1".
static const char *interpreter_of(const char *module, size_t *length, const char **rest)
{
	const char *name = module ? path_base(module) : "";

	if (strncmp(name, "lib", 3) == 0 && strstr(name, ".so"))
		name += 3;
	*length = strcspn(name, "0123456789.");
	*rest = name + *length;
	while (*length && name[*length - 1] == '-')
		--*length;
	return name;
}

const char *known_profiler_of(const char *module)
{
	static const struct {
		const char *names, *profiler;
	} table[] = {
		{ "ruby", "rbspy record -- ruby SCRIPT, or the gem stackprof" },
		{ "php|php-cgi|php-fpm", "the extension Excimer or SPX, or Xdebug's profiler" },
		{ "luajit", "luajit -jp SCRIPT" },
		{ "lua", "a hook of debug.sethook(), or run it in LuaJIT: luajit -jp SCRIPT" },
		{ "perl", "perl -d:NYTProf SCRIPT" },
		{ "R", "Rprof(), line.profiling = TRUE, or the package profvis" },
		{ "tcl|tclsh|wish", "the package profiler of Tcllib" },
		{ "guile", "statprof: ,profile in its prompt" },
		{ "awk|gawk|mawk", "gawk --profile, which counts how often each line ran" },
		{ "sh|bash|dash|zsh|ksh",
		  "PS4='+$EPOCHREALTIME $LINENO ' bash -x SCRIPT, which prints when each line ran" },
	};
	const char *rest;
	size_t length;
	const char *name = interpreter_of(module, &length, &rest);

	for (size_t i = 0; length && i < sizeof(table) / sizeof(table[0]); i++)
		if (name_list_has(table[i].names, name, length))
			return table[i].profiler;
	return NULL;
}

const char *known_jit_of(const char *module)
{
	const char *rest;
	size_t length;
	const char *name = interpreter_of(module, &length, &rest);
	int major = 0, minor = 0;

	if (name_list_has("php", name, length))
		return "Functions that its JIT compiles have names here: bottleneck --names php "
		       "-d opcache.enable_cli=1 -d opcache.jit=tracing "
		       "-d opcache.jit_buffer_size=64M SCRIPT.";
	if (!name_list_has("ruby", name, length) || sscanf(rest, "%d.%d", &major, &minor) != 2 ||
	    major < 3 || (major == 3 && minor < 3))
		return NULL;
	return "If it was built with YJIT, functions that this compiles have names here: "
	       "bottleneck ruby --yjit --yjit-perf SCRIPT.";
}
